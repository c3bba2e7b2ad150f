"""The typed aliases of a route's signature, and the audit of a request.

`scope="function"` ends the request's transaction before the answer: else a failed commit would be answered
200.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Request
from sqlalchemy.orm import Session
from starlette.datastructures import QueryParams
from starlette.types import Scope

from ...base.clock import utc_now
from ...base.errors import Unauthenticated
from ...base.settings import Settings
from ...base.turns import Room, Turns
from ...base.values import frozen
from ...calls.egress_policy import EgressPolicy, read_policy
from ...database.engine import Database, Replica
from ...web.middleware import NO_ROUTE, name_client, name_route
from ...web.route_declarations import ID_PATTERN
from .. import passwords
from ..audit.event_queries import ORIGIN, AuditOutcome, insert_event
from ..authenticator import READING_METHODS, Authenticator
from ..failed_log_ins import UNKNOWN_ACTOR, FailedLogIns
from ..issuer.issuer import Issuer
from ..issuer.issuer_log_in import OidcLogIns, make_transport
from ..issuer.verify_token import read_configuration
from ..keys.limit_keeper import LimitKeeper
from ..principals import Permission, Principal
from ..secret_box import SecretBox, open_secret_box
from ..throttle import Throttle
from ..users import browser_sessions as sessions

MAX_CONCURRENT_REQUESTS = 16

MAX_CONCURRENT_UPLOADS = 4

MAX_UPLOADS_OF_KEY = 2

MAX_LOG_INS_WAITING = 40
MAX_LOG_INS_OF_ADDRESS = 4


@frozen
class Services:
    """Services that requests share, for the life of the process."""

    settings: Settings
    policy: EgressPolicy
    database: Database
    replica: Replica | None
    authenticator: Authenticator
    secret_box: SecretBox
    failed_log_ins: FailedLogIns
    oidc: OidcLogIns | None
    throttle: Throttle
    limits: LimitKeeper
    log_ins: Turns
    turns: asyncio.Semaphore
    uploads: Room

    async def log_in(self, name: str, password: str, *, address: str) -> str:
        """Raises Unauthenticated and TooManyTries."""
        client = name_client(address)
        async with self.log_ins.turn(client):
            self.throttle.admit(name, client)
            try:
                token = await asyncio.to_thread(
                    sessions.log_in_with_password, self.database, name, password, address=address
                )
            except Unauthenticated:
                self.throttle.note_failure(name, client)
                await asyncio.to_thread(
                    self.failed_log_ins.note, name, method=sessions.PASSWORD, address=address
                )
                raise
            self.throttle.note_success(name, client)
            return token

    async def stop(self) -> None:
        if self.oidc is not None:
            await self.oidc.issuer.close()
        await self.limits.stop()
        self.database.close()
        if self.replica is not None:
            self.replica.close()


def open_services(settings: Settings, database_url: str) -> Services:
    policy = read_policy(settings)
    database = Database(database_url)
    secret_box = open_secret_box(settings)
    failed_log_ins = FailedLogIns(database)
    configuration = read_configuration(settings)
    replica_url = settings.database_replica_url
    oidc = issuer_of_bearers = None
    if configuration is not None:
        issuer = Issuer(configuration, make_transport)
        oidc = OidcLogIns(configuration, issuer, database, secret_box, failed_log_ins)
        issuer_of_bearers = issuer if configuration.audience else None
    return Services(
        settings=settings,
        policy=policy,
        database=database,
        replica=None if replica_url is None else Replica(replica_url.get_secret_value(), database),
        authenticator=Authenticator(database, issuer=issuer_of_bearers),
        secret_box=secret_box,
        failed_log_ins=failed_log_ins,
        oidc=oidc,
        throttle=Throttle(),
        limits=LimitKeeper(database, processes=settings.api_processes),
        log_ins=Turns(
            passwords.MAX_CONCURRENT_HASHES,
            waiting=MAX_LOG_INS_WAITING,
            waiting_each=MAX_LOG_INS_OF_ADDRESS,
            busy="Many people try to log in at this moment. Wait a few seconds and try again.",
        ),
        turns=asyncio.Semaphore(MAX_CONCURRENT_REQUESTS),
        uploads=Room(
            MAX_CONCURRENT_UPLOADS,
            each=MAX_UPLOADS_OF_KEY,
            busy="Too many uploads are being received already. Send it again in a moment.",
            busy_each=f"This key is sending {MAX_UPLOADS_OF_KEY} uploads already. Send it again when one of "
            "them was answered.",
        ),
    )


DeploymentId = Annotated[
    str, Path(description="The deployment's id.", pattern=ID_PATTERN, examples=["credit-risk"])
]


Feature = TypeVar("Feature")

IS_INNER = "is_inner"


def open_feature(kind: type[Feature]) -> Callable[[Request], Awaitable[Feature]]:
    async def find(request: Request) -> Feature:
        feature: Feature = request.state.features[kind]
        return feature

    return find


async def find_services(request: Request) -> Services:
    services: Services = request.state.services
    return services


ServicesIn = Annotated[Services, Depends(find_services)]


async def hold_turn(services: ServicesIn) -> AsyncIterator[None]:
    async with services.turns:
        yield


def open_transaction(
    request: Request, services: ServicesIn, _turn: Annotated[None, Depends(hold_turn, scope="function")]
) -> Iterator[Session]:
    # A page that only reads may be answered by a replica.
    if services.replica is not None and request.scope["state"].get("may_read_replica", False):
        # Audited by the gate: a replica takes no events.
        with services.replica.transaction() as session:
            yield session
        return
    with services.database.transaction() as session:
        yield session
        # The event of an outer request is written before the outer answer.
        origin = ORIGIN.get()
        if IS_INNER not in request.scope["state"] and isinstance(origin, RequestOrigin):
            action = origin.find_action(HTTPStatus.OK)
            if action is not None:
                insert_request_event(session, origin, action, list_request_details(origin.scope))


SessionIn = Annotated[Session, Depends(open_transaction, scope="function")]


async def read_clock() -> datetime:
    return utc_now()


NowIn = Annotated[datetime, Depends(read_clock)]


async def find_principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


AnyKey = Annotated[Principal, Depends(find_principal)]


def require_permission(permission: Permission) -> Callable[[Principal], Awaitable[Principal]]:
    async def check(principal: AnyKey) -> Principal:
        principal.require_somewhere(permission)
        return principal

    return check


Reader = Annotated[Principal, Depends(require_permission(Permission.READ))]
Logger = Annotated[Principal, Depends(require_permission(Permission.LOG))]
Acknowledger = Annotated[Principal, Depends(require_permission(Permission.ACKNOWLEDGE))]
Manager = Annotated[Principal, Depends(require_permission(Permission.MANAGE))]
Admin = Annotated[Principal, Depends(require_permission(Permission.ADMIN))]


async def require_whole_manager(principal: Manager) -> Principal:
    principal.require(Permission.MANAGE)
    return principal


WholeManager = Annotated[Principal, Depends(require_whole_manager)]


READ, MADE, REFUSED, FAILED = "records.read", "request.made", "request.refused", "request.failed"

UNAUTHENTICATED = "request.unauthenticated"

_MAX_ID_CHARACTERS = 1000
_PARAMETER = re.compile(r"[a-z][a-z_-]{0,39}")


@dataclass
class RequestOrigin:
    """Request for the audit: counts its events, and says which one it still lacks."""

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
        self.events += action != READ or self.scope["method"] in READING_METHODS

    def find_action(self, status: int) -> str | None:
        """Action of the event that a request with this answer lacks; None if it lacks none."""
        if self.principal is None:
            return UNAUTHENTICATED if status == HTTPStatus.UNAUTHORIZED else None
        is_audited = self.reads_records or self.scope["method"] not in READING_METHODS
        if status < HTTPStatus.BAD_REQUEST:
            action = MADE if self.scope["method"] not in READING_METHODS else READ
            return action if is_audited and not self.events else None
        if status == HTTPStatus.FORBIDDEN:
            return REFUSED
        # Without a route there was nothing to change; a database that is away was not changed.
        if not is_audited or name_route(self.scope) == NO_ROUTE or status == HTTPStatus.SERVICE_UNAVAILABLE:
            return None
        return REFUSED if status < HTTPStatus.INTERNAL_SERVER_ERROR else FAILED


def require_records(request: Request) -> None:
    _mark_records_read()
    principal: Principal = request.state.principal
    principal.require_somewhere(Permission.READ)
    principal.require_somewhere(Permission.RECORDS)


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


def list_request_details(scope: Scope) -> dict[str, object]:
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
        actor=origin.principal.actor if origin.principal else UNKNOWN_ACTOR,
        action=action,
        outcome=outcome.get(action, AuditOutcome.DONE),
        deployment_id=None if deployment_id is None else _clean(deployment_id),
        details=details,
    )


def _clean(value: object) -> str:
    # Postgres keeps neither NUL nor lone surrogates, and an address may hold both.
    return str(value)[:_MAX_ID_CHARACTERS].replace("\x00", "").encode("utf-8", "replace").decode()
