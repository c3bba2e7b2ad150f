"""Every route that may change something, and every route that reads records, leaves an audit event."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from fastapi.routing import APIRoute
from starlette.types import Scope

from app import main
from app.access.authenticator import READING_METHODS
from app.access.gate.caller import MADE, RequestOrigin
from app.access.gate.gate import is_open
from app.access.principals import Principal, Role
from app.main import is_live_request
from app.pages import application as pages

APP = Path(__file__).parents[2] / "app"

INGESTION = {
    ("POST", "/v1/deployments/{deployment_id}/mitigated-predictions"),
}
"""Routes that store records of programs, or answer for a model: their records name themselves."""

LOG_INS = {
    ("POST", "/login"),
    ("POST", "/v1/log-ins"),
    ("POST", "/login/oidc/back-channel-logout"),
}
"""Routes whose events name the person or key that was tried: `session.started` and `session.refused`."""

RECORD_READERS = (
    *("list_matching_records", "read_record_details", "find_record", "find_records", "find_nth_newest", "find_newest_record"),
    *("page_flagged", "read_affected", "list_feedback", "find_feedback"),
)
"""Functions that return values of single records."""


def _changing() -> Iterator[tuple[str, str]]:
    routers = (*main._ROUTERS, *pages._ROUTERS)  # noqa: SLF001 - the lists of all routes
    for route in chain.from_iterable(router.routes for router in routers):
        if isinstance(route, APIRoute):
            yield from ((method, route.path) for method in route.methods - READING_METHODS)


def _scope(method: str, path: str) -> Scope:
    principal = Principal(actor="abcdefgh", role=Role.ADMIN)
    return {"method": method, "path": path, "route_template": path, "state": {"principal": principal}}


def test_every_changing_route_is_audited_but_those_of_ingestion_and_log_ins() -> None:
    routes = set(_changing())
    passed_by = {(method, path) for method, path in routes if is_open(path) or is_live_request(_scope(method, path))}
    unnoted = [found for found in routes - passed_by if RequestOrigin(_scope(*found)).find_action(200) != MADE]

    assert len(routes) > 50
    assert passed_by == INGESTION | LOG_INS
    assert not unnoted


def test_every_module_of_routes_that_reads_records_notes_it() -> None:
    silent = [
        str(file.relative_to(APP))
        for file in sorted(APP.rglob("*.py"))
        for source in [file.read_text()]
        if "@router.get(" in source
        and any(f"{name}(" in source for name in RECORD_READERS)
        and "READS_RECORDS" not in source
        and "SHOWS_RECORDS" not in source
        and "exported(" not in source
    ]

    assert not silent
