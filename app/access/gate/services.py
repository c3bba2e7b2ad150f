"""Resources of one service process that every request may need."""

import asyncio

from ...base.frozen import frozen
from ...base.settings import Settings
from ...base.turns import Room, Turns
from ...calls.egress_policy import EgressPolicy, read_policy
from ...database.engine import Database
from ...database.replica import Replica
from .. import passwords
from ..authenticator import Authenticator
from ..failed_log_ins import FailedLogIns
from ..issuer.bearer_tokens import BearerTokens
from ..issuer.issuer import Issuer
from ..issuer.issuer_configuration import read_configuration
from ..issuer.issuer_log_in import OidcLogIns, make_transport
from ..keys.limit_keeper import LimitKeeper
from ..secret_box import SecretBox, open_secret_box
from ..throttle import Throttle

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
    issuer = None if configuration is None else Issuer(configuration, make_transport)
    oidc = bearers = None
    if configuration is not None and issuer is not None:
        oidc = OidcLogIns(configuration, issuer, database=database, box=secret_box, failed=failed_log_ins)
        if configuration.audience is not None:
            bearers = BearerTokens(configuration, issuer, audience=configuration.audience)
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
            busy_each=f"This key is sending {UPLOADS_OF_KEY} uploads already. Send it again when one of them was answered.",
        ),
    )
