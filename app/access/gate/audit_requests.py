"""Audit: a request that may change something, reads records or is refused leaves an event before its
answer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import Depends, Request
from sqlalchemy.orm import Session
from starlette.datastructures import QueryParams
from starlette.types import Scope

from ...web.middleware import NO_ROUTE, name_route
from ..audit.event_queries import ORIGIN, AuditOutcome, insert_event
from ..authenticator import READING
from ..failed_log_ins import UNKNOWN
from ..principals import Permission, Principal

READ, MADE, REFUSED, FAILED = "records.read", "request.made", "request.refused", "request.failed"

UNAUTHENTICATED = "request.unauthenticated"

_MAX_ID = 1000
_PARAMETER = re.compile(r"[a-z][a-z_-]{0,39}")
"""Names of query parameters that are kept; their values may be about people."""


@dataclass
class RequestOrigin:
    """`events` counts those that were inserted."""

    scope: Scope
    events: int = 0
    reads_records: bool = False

    @property
    def address(self) -> str:
        return str(self.scope["state"]["client_address"])

    @property
    def request_id(self) -> str:
        return str(self.scope["state"]["request_id"])

    @property
    def route(self) -> str:
        return f"{self.scope['method']} {name_route(self.scope)}"

    @property
    def principal(self) -> Principal | None:
        principal: Principal | None = self.scope["state"].get("principal")
        return principal

    def count_event(self, action: str) -> None:
        """Notes an event; that of a read does not speak for a change."""
        self.events += action != READ or self.scope["method"] in READING

    def action_of(self, status: int) -> str | None:
        """Action of the event that is missing at that status, or None."""
        if self.principal is None:
            return UNAUTHENTICATED if status == HTTPStatus.UNAUTHORIZED else None
        is_audited = self.reads_records or self.scope["method"] not in READING
        if status < HTTPStatus.BAD_REQUEST:
            action = MADE if self.scope["method"] not in READING else READ
            return action if is_audited and not self.events else None
        if status == HTTPStatus.FORBIDDEN:
            return REFUSED
        # Without a route there was nothing to change; a database that is away was not changed.
        if not is_audited or name_route(self.scope) == NO_ROUTE or status == HTTPStatus.SERVICE_UNAVAILABLE:
            return None
        return REFUSED if status < HTTPStatus.INTERNAL_SERVER_ERROR else FAILED


def note_request(session: Session) -> None:
    """Inserts the event of this context's request, if it has none yet."""
    origin = ORIGIN.get()
    if isinstance(origin, RequestOrigin):
        action = origin.action_of(HTTPStatus.OK)
        if action is not None:
            insert_request_event(session, origin, action, request_details(origin.scope))


def require_records(request: Request) -> None:
    """Refuses roles that see figures only, and notes that the request reads single records."""
    _mark_records_read()
    principal: Principal = request.state.principal
    principal.require_role(Permission.READ)
    principal.require_role(Permission.RECORDS)


def _mark_shown_records(request: Request) -> None:
    principal: Principal = request.state.principal
    if principal.may_read_records:
        _mark_records_read()


def _mark_records_read() -> None:
    origin = ORIGIN.get()
    if isinstance(origin, RequestOrigin):
        origin.reads_records = True


READS_RECORDS = Depends(require_records)

SHOWS_RECORDS = Depends(_mark_shown_records)
"""The page leaves out records for roles that see figures only."""


def request_details(scope: Scope) -> dict[str, object]:
    """Ids in the address, but for the deployment's, and names of query parameters."""
    ids = {
        name: _clean(value) for name, value in scope.get("path_params", {}).items() if name != "deployment_id"
    }
    names = sorted({name for name in QueryParams(scope["query_string"]) if _PARAMETER.fullmatch(name)})
    return {"ids": ids, "parameters": names}


def insert_request_event(
    session: Session, origin: RequestOrigin, action: str, details: Mapping[str, object]
) -> None:
    outcome = {
        FAILED: AuditOutcome.FAILED,
        REFUSED: AuditOutcome.REFUSED,
        UNAUTHENTICATED: AuditOutcome.REFUSED,
    }
    deployment_id = origin.scope.get("path_params", {}).get("deployment_id")
    insert_event(
        session,
        actor=origin.principal.actor if origin.principal else UNKNOWN,
        action=action,
        outcome=outcome.get(action, AuditOutcome.DONE),
        deployment_id=None if deployment_id is None else _clean(deployment_id),
        details=details,
    )


def _clean(value: object) -> str:
    # Postgres keeps neither NUL nor lone surrogates, and an address may hold both.
    return str(value)[:_MAX_ID].replace("\x00", "").encode("utf-8", "replace").decode()
