"""The issuer's documents: kept, fetched again when keys change, never as often as a stranger likes, and used while it is away."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from time import time
from typing import Any

import httpx
import pytest

from app.access.issuer import issuer as issuers
from app.access.issuer.issuer import Issuer
from app.access.issuer.verify_token import OidcConfiguration
from app.base.errors import Unauthenticated, Unavailable
from tests.builders.issuers import public_jwk, sign

URL = "https://login.example.com"


class Scripted(httpx.AsyncBaseTransport):
    """An issuer that answers with what is set here, and counts."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.keys = ["first"]
        self.is_away = False
        self.changes: dict[str, Any] = {}
        self.sent: list[str] = []
        self.padding = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request.url.path)
        if self.is_away:
            raise httpx.ConnectError("away")
        if request.url.path == "/keys":
            return httpx.Response(200, json={"keys": [public_jwk(name) for name in self.keys]})
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        ends = dict(zip(names, (f"{URL}/authorise", f"{URL}/token", f"{URL}/keys"), strict=True))
        return httpx.Response(200, json={"issuer": URL, **ends, "padding": self.padding, **self.changes})

    def issuer(self) -> Issuer:
        own = OidcConfiguration(
            issuer=URL,
            client_id="evenhand",
            client_secret=None,
            audience=None,
            scopes="openid",
            name_claim="name",
            rules=(),
            public_url="https://e.example",
            session=timedelta(hours=1),
        )
        return Issuer(own, lambda: self, clock=lambda: self.now)


def token(key: str = "first") -> str:
    now = int(time())
    return sign({"iss": URL, "aud": "a", "sub": "s", "iat": now, "exp": now + 300}, key)


def run(test: Callable[[Scripted, Issuer], Coroutine[Any, Any, None]]) -> Scripted:
    scripted = Scripted()

    async def begin() -> None:
        await test(scripted, scripted.issuer())

    asyncio.run(begin())
    return scripted


def test_documents_are_fetched_once_for_many_tokens_at_once() -> None:
    async def test(_scripted: Scripted, issuer: Issuer) -> None:
        await asyncio.gather(*(issuer.verify(token(), audience="a") for _ in range(20)))

    assert run(test).sent == ["/.well-known/openid-configuration", "/keys"]


def test_a_new_key_is_found_and_the_old_one_forgotten() -> None:
    async def test(scripted: Scripted, issuer: Issuer) -> None:
        await issuer.verify(token(), audience="a")
        scripted.keys = ["second"]
        scripted.now += issuers.MIN_PAUSE_SECONDS
        assert (await issuer.verify(token("second"), audience="a"))["sub"] == "s"
        with pytest.raises(Unauthenticated, match="does not name"):
            await issuer.verify(token("first"), audience="a")

    run(test)


def test_made_up_keys_do_not_make_us_ask_the_issuer_more_often_than_every_30_seconds() -> None:
    async def test(scripted: Scripted, issuer: Issuer) -> None:
        for no in range(100):
            scripted.now += 1
            with pytest.raises(Unauthenticated):
                await issuer.verify(sign({"sub": "s"}, "other", kid=f"made up {no}"), audience="a")

    assert len(run(test).sent) <= 2 * (1 + 100 // int(issuers.MIN_PAUSE_SECONDS))


def test_known_keys_are_used_for_a_day_while_the_issuer_is_away_and_then_no_token_is_believed() -> None:
    async def test(scripted: Scripted, issuer: Issuer) -> None:
        await issuer.verify(token(), audience="a")
        scripted.is_away = True
        scripted.now += issuers.MAX_AGE_SECONDS
        assert await issuer.verify(token(), audience="a")
        scripted.now += 1
        with pytest.raises(Unavailable):
            await issuer.verify(token(), audience="a")
        scripted.is_away = False
        scripted.now += issuers.MIN_PAUSE_SECONDS
        assert await issuer.verify(token(), audience="a")

    run(test)


def test_an_issuer_that_never_answered_is_unavailable_and_not_asked_by_every_caller() -> None:
    async def test(scripted: Scripted, issuer: Issuer) -> None:
        scripted.is_away = True
        for _ in range(50):
            with pytest.raises(Unavailable):
                await issuer.read_discovery()

    assert len(run(test).sent) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": f"{URL}/"},
        {"issuer": "https://evil.example"},
        {"jwks_uri": "http://login.example.com/keys"},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": None},
        {"padding": "x" * 2**20},
    ],
)
def test_a_document_of_another_issuer_with_open_addresses_or_of_too_many_bytes_is_not_used(changes: dict[str, Any]) -> None:
    async def test(scripted: Scripted, issuer: Issuer) -> None:
        scripted.changes = changes
        with pytest.raises(Unavailable):
            await issuer.read_discovery()

    run(test)
