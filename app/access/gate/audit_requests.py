"""Audit: a request that may change something, reads records or is refused leaves an event before its
answer.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import structlog
from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...base.errors import Unavailable
from ...database.engine import Database
from ...web.middleware import NO_ROUTE, name_route
from ...web.problems import problem_response
from ..audit.audit_chain import AuditOutcome
from ..audit.event_queries import current_origin, insert_event, originating
from ..failed_log_ins import UNKNOWN, FailureBudget
from ..principals import Permission, Principal
from .gate import READING, is_open

READ, MADE, REFUSED, FAILED = "records.read", "request.made", "request.refused", "request.failed"

UNAUTHENTICATED = "request.unauthenticated"

_MAX_ID = 1000
_PARAMETER = re.compile(r"[a-z][a-z_-]{0,39}")
"""Names of query parameters that are kept; their values may be about people."""

log = structlog.get_logger("evenhand.audit")


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


class AuditLayer:
    """An answer whose event cannot be stored is not sent."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        database: Database,
        turns: asyncio.Semaphore,
        exempt: Callable[[Scope], bool],
        open_paths: Collection[str] = (),
    ) -> None:
        self._app = app
        self._open_paths = open_paths
        self._database = database
        self._turns = turns
        self._exempt = exempt
        self._budget = FailureBudget()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Log-ins leave events of their own, with the name that was tried.
        if (
            scope["type"] != "http"
            or is_open(scope["path"])
            or scope["path"] in self._open_paths
            or self._exempt(scope)
        ):
            await self._app(scope, receive, send)
            return
        origin, is_replaced = RequestOrigin(scope), False

        async def send_noted(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start":
                is_replaced = not await self._is_noted(origin, message["status"])
                if is_replaced:
                    error = Unavailable(
                        "The audit event of this request could not be stored, so its answer is withheld. "
                        "Try again in a moment."
                    )
                    await problem_response(error, origin.request_id)(scope, receive, send)
            if not is_replaced:
                await send(message)

        with originating(origin):
            await self._app(scope, receive, send_noted)

    async def _is_noted(self, origin: RequestOrigin, status: int) -> bool:
        """A refusal reveals nothing, so it may be sent without its event."""
        action = origin.action_of(status)
        if action is None:
            return True
        details = request_details(origin.scope) | {"status": status}
        if action == UNAUTHENTICATED:
            left_out = self._budget.admit()
            if left_out is None:
                return True
            details["failures_left_out"] = left_out
        try:
            async with self._turns:
                await asyncio.to_thread(self._insert, origin, action, details)
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("audit_event_lost", action=action, status=status, error=str(error))
            return action not in (READ, MADE)
        return True

    def _insert(self, origin: RequestOrigin, action: str, details: Mapping[str, object]) -> None:
        with self._database.transaction() as session:
            _insert(session, origin, action, details)


def note_request(session: Session) -> None:
    """Inserts the event of this context's request, if it has none yet."""
    origin = current_origin()
    if isinstance(origin, RequestOrigin):
        action = origin.action_of(HTTPStatus.OK)
        if action is not None:
            _insert(session, origin, action, request_details(origin.scope))


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
    origin = current_origin()
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


def _insert(session: Session, origin: RequestOrigin, action: str, details: Mapping[str, object]) -> None:
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
