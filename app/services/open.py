"""What one service process keeps open: made once by the composition root, handed to whoever needs it."""

import asyncio
from dataclasses import dataclass, field

import structlog

from app.alerts.mail_server import mail_server_of
from app.errors import Unavailable
from app.ingest import Ingestion
from app.mitigation.active import ActiveMitigation
from app.mitigation.active_plan import ActivePlans, PlanReader
from app.scoring.egress import EgressPolicy
from app.scoring.live import LiveModels
from app.security.authenticator import Authenticator
from app.security.secrets import SecretBox, open_secret_box
from app.security.throttle import Throttle
from app.settings import Settings
from app.store.deployments import Deployments
from app.store.engine import Database
from app.store.vitals import is_migrated

REQUESTS_AT_ONCE = 16
"""Requests that may hold a connection at the same time; a few of the pool's 20 stay for looking up keys and for readiness."""

UPLOADS_AT_ONCE = 4
"""Files of training data that are received or read at the same time; each takes the disk for its body and a processor for its rows."""

log = structlog.get_logger("evenhand.services")


@dataclass(frozen=True, slots=True)
class Services:
    """The process's settings, its pool of connections, its knowledge of keys, its encryption, and what is answered on the event loop."""

    settings: Settings
    database: Database
    authenticator: Authenticator
    secret_box: SecretBox
    ingestion: Ingestion
    mitigation: ActiveMitigation
    throttle: Throttle = field(default_factory=Throttle)
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(REQUESTS_AT_ONCE))
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))

    async def start(self) -> None:
        """Begins to work. A database that does not answer yet is waited for by whoever needs it, and shows as not ready.

        Raises:
            SetupError: stored credentials were encrypted with another secret key.
        """
        try:
            await asyncio.to_thread(self._verify_secret_key)
        except Unavailable:
            log.warning("the database does not answer yet")
        await self.ingestion.start()

    async def stop(self) -> None:
        """Ends all work in order and gives the connections back."""
        await self.mitigation.stop()
        await self.ingestion.stop()
        self.database.close()

    def _verify_secret_key(self) -> None:
        with self.database.transaction() as session:
            if is_migrated(session):
                Deployments(session, self.secret_box).verify_sealer()


def open_services(settings: Settings, database_url: str) -> Services:
    """The services on a migrated database. Nothing is connected yet.

    Raises:
        SetupError: the address, the secret key, the allow-list of endpoints or the mail server cannot be used.
    """
    policy = EgressPolicy.of(settings.allowed_endpoints)
    mail_server_of(settings)  # refused at the start, not when somebody wants to be told
    database = Database(database_url)
    secret_box = open_secret_box(settings)
    ingestion = Ingestion(database)
    plans = ActivePlans(ingestion, PlanReader(database, secret_box).read)
    return Services(
        settings=settings,
        database=database,
        authenticator=Authenticator(database),
        secret_box=secret_box,
        ingestion=ingestion,
        mitigation=ActiveMitigation(ingestion, plans, LiveModels(policy)),
    )
