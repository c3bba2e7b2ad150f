"""OAuth 2 client credentials and headers: tokens are fetched once, renewed, refused in words, and never shown."""

import base64
import json
from collections.abc import Iterator
from email.message import Message
from urllib.parse import parse_qs

import pytest

from app.base.errors import ScoringFailed
from app.calls import credentials as tokens
from app.domain.deployment import Credentials, CredentialsKind
from tests.builders.scoring_clients import MAN, client_of
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, Reply, running

SECRET = "s3cret/ä b"  # noqa: S105 - made up


class Guarded(ModelServer):
    """A model that takes the newest token only, and the endpoint that gives tokens."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.asked: list[dict[str, list[str]]] = []
        self.life: float | None = 3600
        self.revoked: set[str] = set()
        self.refusal: Reply | None = None
        self.seen: list[Message] = []
        super().__init__(RuleScorer())

    def handled(self, path: str, body: bytes, headers: Message) -> Reply:
        if path == "/token":
            return self.refusal or self._give(body, headers)
        self.seen.append(headers)
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.given or token in self.revoked:
            return Reply(401, f"unknown token {token}, header {headers.get('X-Tenant')}".encode())
        return super().handled(path, body, headers)

    def _give(self, body: bytes, headers: Message) -> Reply:
        self.asked.append(parse_qs(body.decode()))
        pair = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
        assert pair == "evenhand:s3cret%2F%C3%A4+b"
        self.given.append(f"token-{len(self.given)}")
        life = {} if self.life is None else {"expires_in": self.life}
        return Reply(200, json.dumps({"access_token": self.given[-1], "token_type": "Bearer", **life}).encode())

    @property
    def credentials(self) -> Credentials:
        """Those of the client."""
        return Credentials(kind=CredentialsKind.OAUTH_CLIENT, name="evenhand", secret=SECRET, token_url=f"{self.base}/token", scope="score")


@pytest.fixture
def server() -> Iterator[Guarded]:
    tokens._cached_tokens.clear()  # noqa: SLF001 - of other tests
    with running(made := Guarded()):
        yield made


def test_one_token_serves_all_pages_and_later_clients(server: Guarded) -> None:
    client_of(server.url, credentials=server.credentials, page_size=1).score([MAN] * 6)
    client_of(server.url, credentials=server.credentials).score([MAN])

    assert server.given == ["token-0"]
    assert server.asked == [{"grant_type": ["client_credentials"], "scope": ["score"]}]


def test_a_token_is_renewed_when_it_expires(server: Guarded) -> None:
    server.life = 0
    client_of(server.url, credentials=server.credentials, page_size=1, concurrency=1).score([MAN] * 2)

    assert server.given == ["token-0", "token-1"]


def test_a_token_that_is_refused_is_replaced_once(server: Guarded) -> None:
    client = client_of(server.url, credentials=server.credentials)
    client.score([MAN])
    server.revoked = {"token-0"}

    assert len(client.score([MAN])) == 1
    assert server.given == ["token-0", "token-1"]


def test_an_endpoint_that_refuses_every_token_is_asked_twice_and_nothing_secret_is_shown(server: Guarded) -> None:
    server.revoked = {f"token-{no}" for no in range(9)}

    with pytest.raises(ScoringFailed, match="answered 401 Unauthorized") as failed:
        client_of(server.url, credentials=server.credentials, headers={"X-Tenant": "tenant-key-7"}).score([MAN])

    assert server.given == ["token-0", "token-1"]
    assert not any(secret in str(failed.value) for secret in (SECRET, "tenant-key-7", "token-1"))
    assert server.seen[-1]["X-Tenant"] == "tenant-key-7"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(401, b'{"error": "invalid_client"}'), r"the token endpoint 127\.0\.0\.1:\d+ answered 401 .*the client's id"),
        (Reply(200, b"{}"), "gave no access_token"),
        (Reply(200, b"<html>"), "gave no access_token"),
        (Reply(200, b'{"access_token": "a\\nb"}'), "an access_token that a header cannot carry"),
        (Reply(302, b"", {"Location": "http://169.254.169.254/"}), "a redirect"),
    ],
)
def test_a_token_endpoint_that_gives_none_is_named(server: Guarded, reply: Reply, words: str) -> None:
    server.refusal = reply

    with pytest.raises(ScoringFailed, match=words) as failed:
        client_of(server.url, credentials=server.credentials).score([MAN])

    assert SECRET not in str(failed.value)
    assert server.seen == []


def test_the_rules_for_addresses_hold_for_the_token_endpoint(server: Guarded) -> None:
    inside = Credentials(kind=CredentialsKind.OAUTH_CLIENT, name="a", secret="b", token_url="http://169.254.169.254/token")  # noqa: S106

    with pytest.raises(ScoringFailed, match="never called"):
        client_of(server.url, credentials=inside).score([MAN])

    assert "secret=" not in repr(inside)
