"""Notices of log-outs by the issuer: they end all sessions of the person, once, and nothing else passes for one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.access.issuer.verify_token import BACK_CHANNEL, LOGOUT_EVENT
from app.database.engine import Database
from tests.builders.issuers import AUDIENCE, CLIENT, LocalIssuer, running_issuer, sign
from tests.builders.issuers import begin_log_in as begin
from tests.builders.queries import rows
from tests.databases import Databases
from tests.service import RunningService, running_service

HTML = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def scene(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningService, LocalIssuer]]:
    with databases.lent() as url, running_issuer() as issuer:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("oidc"), **issuer.settings()) as service:
            yield service, issuer
        database.close()


@contextmanager
def log_in(service: RunningService) -> Iterator[httpx.Client]:
    """A browser in which the person has logged in."""
    with service.new_client(headers=HTML) as browser:
        browser.get(begin(browser, "/settings"))
        assert browser.get("/v1/me").status_code == 200
        yield browser


def sessions(service: RunningService) -> int:
    """Stored sessions: a process may know an ended one for 5 seconds."""
    return int(rows(service.database, "SELECT count(*) FROM sessions")[0][0])


def notice(issuer: LocalIssuer, **changes: object) -> dict[str, Any]:
    """Claims of a notice, without those that are changed to None."""
    claims = issuer.claims(aud=CLIENT, events={LOGOUT_EVENT: {}}, jti="j1", sid="s") | changes
    return {name: value for name, value in claims.items() if value is not None}


def send(service: RunningService, token: str) -> httpx.Response:
    with service.new_client() as sender:
        return sender.post(BACK_CHANNEL, data={"logout_token": token})


def test_a_notice_ends_every_session_of_the_person_once(scene: tuple[RunningService, LocalIssuer]) -> None:
    service, issuer = scene
    token = sign(notice(issuer, jti="once"))
    with log_in(service), log_in(service):
        before, first, after = sessions(service), send(service, token), sessions(service)
    with log_in(service):
        again = send(service, token)

        assert sessions(service) == 1
    assert (before, after) == (2, 0)
    assert (first.status_code, first.headers["Cache-Control"]) == (200, "no-store")
    assert (again.status_code, again.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": AUDIENCE},
        {"iss": "https://elsewhere.example"},
        {"events": None},
        {"events": {"http://schemas.openid.net/event/other": {}}},
        {"events": [LOGOUT_EVENT]},
        {"nonce": "n"},
        {"jti": None},
        {"sub": None},
        {"iat": None},
        {"exp": 1_000_000},
    ],
)
def test_a_token_that_is_no_notice_to_this_service_ends_nothing(
    scene: tuple[RunningService, LocalIssuer], changes: dict[str, object]
) -> None:
    service, issuer = scene
    with log_in(service):
        before = sessions(service)
        answer = send(service, sign(notice(issuer, **{"jti": "other", **changes})))

        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
        assert sessions(service) == before


def test_a_token_of_another_key_and_a_text_that_is_none_end_nothing(scene: tuple[RunningService, LocalIssuer]) -> None:
    service, issuer = scene
    forged = send(service, sign(notice(issuer), "second"))
    nonsense = send(service, "nonsense")

    assert (forged.status_code, nonsense.status_code) == (400, 400)


def test_without_an_issuer_there_is_no_such_address(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        assert send(service, "x").status_code == 404
