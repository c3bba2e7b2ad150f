"""The typed aliases of a route's signature: the caller, the permission, the deployment.

`scope="function"` ends the request's transaction before the answer: else a failed commit would be answered
200.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Request
from sqlalchemy.orm import Session

from ...base.clock import utc_now
from ...base.frozen import frozen
from ...base.settings import Settings
from ...base.turns import Room, Turns
from ...calls.egress_policy import EgressPolicy, read_policy
from ...database.engine import Database
from ...database.replica import Replica
from ...web.parameters import ID_PATTERN
from .. import passwords
from ..authenticator import Authenticator
from ..failed_log_ins import FailedLogIns
from ..issuer.issuer import BearerTokens, Issuer
from ..issuer.issuer_configuration import read_configuration
from ..issuer.issuer_log_in import OidcLogIns, make_transport
from ..keys.limit_keeper import LimitKeeper
from ..principals import Permission, Principal
from ..secret_box import SecretBox, open_secret_box
from ..throttle import Throttle
from .audit_requests import note_request

REQUESTS_AT_ONCE = 16
"""The rest of the pool's 20 connections serve key look-ups and readiness."""

UPLOADS_AT_ONCE = 4
"""Each needs disk space and a processor."""

UPLOADS_OF_KEY = 2
"""Max uploads at once of one key or user."""

LOG_INS_WAITING, LOG_INS_OF_ADDRESS = 40, 4
"""Passwords waiting to be compared."""


@frozen
class Services:
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

    async def stop(self) -> None:
        if self.oidc is not None:
            await self.oidc.issuer.close()
        await self.limits.stop()
        self.database.close()
        if self.replica is not None:
            self.replica.close()


def open_services(settings: Settings, database_url: str) -> Services:
    """Builds the services; connects nothing yet.

    Raises:
        SetupError: an address, the secret key or the allow-list cannot be used.
    """
    policy = read_policy(settings)
    database = Database(database_url)
    secret_box = open_secret_box(settings)
    failed_log_ins = FailedLogIns(database)
    configuration = read_configuration(settings)
    oidc = bearers = None
    if configuration is not None:
        issuer = Issuer(configuration, make_transport)
        oidc = OidcLogIns(configuration, issuer, database, secret_box, failed_log_ins)
        if configuration.audience is not None:
            bearers = BearerTokens(configuration, issuer, configuration.audience)
    return Services(
        settings=settings,
        policy=policy,
        database=database,
        replica=Replica(url.get_secret_value(), database) if (url := settings.database_replica_url) else None,
        authenticator=Authenticator(database, bearers=bearers),
        secret_box=secret_box,
        failed_log_ins=failed_log_ins,
        oidc=oidc,
        throttle=Throttle(),
        limits=LimitKeeper(database, processes=settings.api_processes),
        log_ins=Turns(
            passwords.AT_ONCE,
            waiting=LOG_INS_WAITING,
            waiting_each=LOG_INS_OF_ADDRESS,
            busy="Many people try to log in at this moment. Wait a few seconds and try again.",
        ),
        turns=asyncio.Semaphore(REQUESTS_AT_ONCE),
        uploads=Room(
            UPLOADS_AT_ONCE,
            each=UPLOADS_OF_KEY,
            busy="Too many uploads are being received already. Send it again in a moment.",
            busy_each=f"This key is sending {UPLOADS_OF_KEY} uploads already. Send it again when one of "
            "them was answered.",
        ),
    )


DeploymentId = Annotated[
    str,
    Path(description="The deployment's id.", pattern=ID_PATTERN, examples=["credit-risk"]),
]


Feature = TypeVar("Feature")

IS_INNER = "is_inner"
"""In the state of a request of a face."""


def open_feature(kind: type[Feature]) -> Callable[[Request], Awaitable[Feature]]:
    """A dependency: what a feature keeps open in this process."""

    async def find(request: Request) -> Feature:
        feature: Feature = request.state.features[kind]
        return feature

    return find


async def find_services(request: Request) -> Services:
    services: Services = request.state.services
    return services


ServicesIn = Annotated[Services, Depends(find_services)]


async def turn(services: ServicesIn) -> AsyncIterator[None]:
    """Else requests that wait for a connection fill the thread pool, and those that hold one wait for a
    thread.
    """
    async with services.turns:
        yield


def transaction(
    request: Request, services: ServicesIn, _turn: Annotated[None, Depends(turn, scope="function")]
) -> Iterator[Session]:
    # A page that only reads may be answered by a replica.
    if services.replica is not None and request.scope["state"].get("may_read_replica", False):
        # Audited by the gate: a replica takes no events.
        with services.replica.transaction() as session:
            yield session
        return
    with services.database.transaction() as session:
        yield session
        # That of the request in whose name this one is made is written before its answer.
        if IS_INNER not in request.scope["state"]:
            note_request(session)


SessionIn = Annotated[Session, Depends(transaction, scope="function")]


async def now() -> datetime:
    return utc_now()


NowIn = Annotated[datetime, Depends(now)]


async def find_principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


AnyKey = Annotated[Principal, Depends(find_principal)]


def allowed(permission: Permission) -> Callable[[Principal], Awaitable[Principal]]:
    """A dependency: the caller, if the role has the permission."""

    async def check(principal: AnyKey) -> Principal:
        principal.require_role(permission)
        return principal

    return check


Reader = Annotated[Principal, Depends(allowed(Permission.READ))]
Logger = Annotated[Principal, Depends(allowed(Permission.LOG))]
Acknowledger = Annotated[Principal, Depends(allowed(Permission.ACKNOWLEDGE))]
Manager = Annotated[Principal, Depends(allowed(Permission.MANAGE))]
Admin = Annotated[Principal, Depends(allowed(Permission.ADMIN))]


async def whole_manager(principal: Manager) -> Principal:
    principal.require(Permission.MANAGE)
    return principal


WholeManager = Annotated[Principal, Depends(whole_manager)]
