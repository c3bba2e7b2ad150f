"""The resources that one service process keeps open."""

import asyncio

import structlog

from ..alerts.mail_server import mail_server_of
from ..errors import Unavailable
from ..frozen import frozen
from ..gateway.service import Gateway
from ..ingest import Ingestion
from ..mitigation.live.plan import ActivePlans, PlanReader
from ..mitigation.live.service import ActiveMitigation
from ..outbound.egress import EgressPolicy, read_policy
from ..outbound.hops import identify
from ..reports.making import ReportMaker
from ..scoring.live import LiveModels
from ..security import passwords
from ..security.authenticator import Authenticator
from ..security.failed_log_ins import FailedLogIns
from ..security.key_limits import LimitKeeper
from ..security.oidc.bearers import BearerTokens
from ..security.oidc.configuration import read_configuration
from ..security.oidc.issuer import Issuer
from ..security.secrets import SecretBox, open_secret_box
from ..security.throttle import Throttle
from ..settings import Settings
from ..store.database.engine import Database
from ..store.database.listener import name_installation, record_listener
from ..store.database.replica import Replica
from ..store.deployments.deployments import Deployments
from ..store.overviews.vitals import is_migrated
from ..turns import Room, Turns
from .oidc import OidcLogIns, make_transport

REQUESTS_AT_ONCE = 16
"""The rest of the pool's 20 connections serve key look-ups and readiness."""

UPLOADS_AT_ONCE = 4
"""Each needs disk space and a processor."""

UPLOADS_OF_KEY = 2
"""Max uploads at once of one key or user."""

LOG_INS_WAITING, LOG_INS_OF_ADDRESS = 40, 4
"""Passwords waiting to be compared."""

log = structlog.get_logger("evenhand.services")


@frozen
class Services:
    settings: Settings
    policy: EgressPolicy
    database: Database
    replica: Replica | None
    authenticator: Authenticator
    secret_box: SecretBox
    ingestion: Ingestion
    mitigation: ActiveMitigation
    gateway: Gateway
    reports: ReportMaker
    failed_log_ins: FailedLogIns
    oidc: OidcLogIns | None
    throttle: Throttle
    limits: LimitKeeper
    log_ins: Turns
    turns: asyncio.Semaphore
    uploads: Room

    async def start(self) -> None:
        """Starts the background work; waits in it for a database that does not answer yet.

        Raises:
            SetupError: stored credentials were encrypted with another secret key.
        """
        try:
            await asyncio.to_thread(self._verify_database)
        except Unavailable:
            log.warning("the database does not answer yet")
        self.limits.start()
        await self.ingestion.start()
        await self.gateway.start()

    async def stop(self) -> None:
        await self.mitigation.stop()
        await self.gateway.stop()
        await self.ingestion.stop()
        if self.oidc is not None:
            await self.oidc.issuer.close()
        await self.limits.stop()
        self.database.close()
        if self.replica is not None:
            self.replica.close()

    def _verify_database(self) -> None:
        with self.database.transaction() as session:
            if is_migrated(session):
                Deployments(session, self.secret_box).verify_sealer()
                record_listener(session, self.settings.exposed_on)
                identify(name_installation(session))


def open_services(settings: Settings, database_url: str) -> Services:
    """Builds the services; connects nothing yet.

    Raises:
        SetupError: an address, the secret key, the allow-list or the mail server cannot be used.
    """
    policy = read_policy(settings)
    mail_server_of(settings)  # refused at the start, not when the first e-mail is due
    database = Database(database_url)
    secret_box = open_secret_box(settings)
    ingestion = Ingestion(database, sealer=secret_box)
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
        ingestion=ingestion,
        mitigation=ActiveMitigation(ingestion, ActivePlans(ingestion, PlanReader(database, secret_box).read), LiveModels(policy)),
        gateway=Gateway(database, secret_box, ingestion, policy, data_dir=settings.data_dir, spool_bytes=settings.spool_bytes),
        reports=ReportMaker(database.url),
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
