"""Builds one web application from settings, services and routes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache

import structlog
from fastapi import Depends, FastAPI
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from . import VERSION
from .alerts.mail_server import mail_server_of
from .api import (
    activities,
    alert_channels,
    alert_rules,
    alerts,
    arrivals,
    attributions,
    charts,
    checks,
    corrections,
    correlated_features,
    debiased_predictions,
    deployments,
    docs,
    endpoint_tests,
    evidence,
    feedback_records,
    flagged_records,
    health,
    imports,
    keys,
    logging_snippets,
    measurements,
    metrics,
    mitigation,
    monitors,
    openapi,
    overview,
    payload_exports,
    payload_records,
    pseudonyms,
    recommended_monitors,
    record_tests,
    regulator_reports,
    reports,
    retention,
    subgroups,
    training_data,
    training_measurements,
    users,
    workers,
)
from .api.answers import answers
from .api.debiased_predictions import is_live_request
from .api.debiased_predictions_openapi import ANSWER, DEBIASED
from .api.events import EventRoutes
from .api.gateway import GatewayRoute
from .api.gateway_paths import gateway_paths
from .api.ingestion import IngestionRoutes
from .api.ingestion_paths import ingestion_paths
from .api.schemas.training_data import TrainingDistributionsIn
from .api.uploads import is_upload
from .dashboard import create_pages
from .errors import InvalidInput, SetupError, Unavailable
from .face import Face, mount_face
from .frozen import frozen
from .gateway.service import Gateway
from .ingest import Ingestion
from .mitigation.live.plan import ActivePlans, PlanReader
from .mitigation.live.service import ActiveMitigation
from .outbound.hops import identify
from .reports.making import ReportMaker
from .scoring.live import LiveModels
from .services import Services, open_services
from .settings import Settings, load_settings
from .store.database.listener import name_installation, record_listener
from .store.deployments.deployments import Deployments
from .store.overviews.vitals import is_migrated
from .telemetry.logs import configure_logging
from .telemetry.traces import tracing
from .turns import Room
from .web import problems
from .web.access import let_replica_answer, provide_services
from .web.auditing import AuditLayer
from .web.gate import KeyGate, is_of_programs
from .web.media import understood_only
from .web.middleware import BodyLimit, HeadAsGet, LoopGuard, RequestContext
from .web.parameters import known_parameters_only

_ROUTERS = (
    overview.router,
    deployments.router,
    pseudonyms.router,
    payload_exports.router,
    payload_records.router,
    feedback_records.router,
    corrections.router,
    record_tests.router,
    arrivals.router,
    imports.router,
    monitors.router,
    monitors.list_router,
    subgroups.monitor_router,
    recommended_monitors.router,
    training_data.router,
    training_measurements.router,
    correlated_features.router,
    checks.router,
    measurements.router,
    measurements.check_router,
    evidence.router,
    attributions.router,
    subgroups.router,
    charts.router,
    reports.router,
    regulator_reports.router,
    retention.router,
    retention.deployment_router,
    mitigation.router,
    debiased_predictions.router,
    flagged_records.router,
    metrics.router,
    alert_channels.router,
    alert_rules.router,
    alerts.router,
    keys.router,
    users.router,
    activities.router,
    endpoint_tests.router,
    logging_snippets.router,
    workers.router,
    health.router,
    docs.router,
)


BODIES_AT_ONCE, BODIES_OF_KEY = 64, 16
"""In total and of one key, not counting bodies of ingestion."""

MAX_FORM_BYTES = 65_536
"""People send these before they have logged in."""


log = structlog.get_logger("evenhand.services")


@frozen
class Features:
    """What features keep open in one service process."""

    services: Services
    ingestion: Ingestion
    mitigation: ActiveMitigation
    gateway: Gateway
    reports: ReportMaker

    async def start(self) -> None:
        """Starts the background work; waits in it for a database that does not answer yet.

        Raises:
            SetupError: stored credentials were encrypted with another secret key.
        """
        try:
            await asyncio.to_thread(self._verify_database)
        except Unavailable:
            log.warning("the database does not answer yet")
        self.services.limits.start()
        await self.ingestion.start()
        await self.gateway.start()

    async def stop(self) -> None:
        await self.mitigation.stop()
        await self.gateway.stop()
        await self.ingestion.stop()
        await self.services.stop()

    def _verify_database(self) -> None:
        with self.services.database.transaction() as session:
            if is_migrated(session):
                Deployments(session, self.services.secret_box).verify_sealer()
                record_listener(session, self.services.settings.exposed_on)
                identify(name_installation(session))


def open_features(settings: Settings, database_url: str) -> Features:
    """Builds what a service keeps open; connects nothing yet.

    Raises:
        SetupError: an address, the secret key, the allow-list or the mail server cannot be used.
    """
    mail_server_of(settings)  # refused at the start, not when the first e-mail is due
    services = open_services(settings, database_url)
    database, secret_box, policy = services.database, services.secret_box, services.policy
    ingestion = Ingestion(database, sealer=secret_box)
    plans = ActivePlans(ingestion, PlanReader(database, secret_box).read)
    return Features(
        services=services,
        ingestion=ingestion,
        mitigation=ActiveMitigation(ingestion, plans, LiveModels(policy)),
        gateway=Gateway(database, secret_box, ingestion, policy, data_dir=settings.data_dir, spool_bytes=settings.spool_bytes),
        reports=ReportMaker(database.url),
    )


def create_app(settings: Settings, database_url: str | None = None) -> ASGIApp:
    """Service on a migrated database: `database_url`, or the one in the settings.

    Raises:
        SetupError: no database is named, or a setting cannot be used.
    """
    # First: what is open would have to be closed again.
    if not database_url and settings.database_url is None:
        raise SetupError("Set DATABASE_URL, or start with `evenhand serve`, which brings its own database.")
    configured_url = "" if settings.database_url is None else settings.database_url.get_secret_value()
    features = open_features(settings, database_url or configured_url)
    services = features.services
    pages = BodyLimit(create_pages(), max_bytes=MAX_FORM_BYTES, exempt=lambda _scope: False)
    mounted = mount_face(services)
    face = None if mounted is None else mounted[0]
    faces = Faces(_create_api(), pages, features, face=face)
    room = Room(
        BODIES_AT_ONCE * problems.MAX_BODY_BYTES,
        each=BODIES_OF_KEY * problems.MAX_BODY_BYTES,
        busy="Too much is being received already. Nothing was changed; send it again in a moment.",
        busy_each=f"This key is sending more than {BODIES_OF_KEY} MiB at once. Nothing was changed; send it again after an answer.",
    )
    open_paths = frozenset() if face is None else face.open_paths

    def is_unaudited(scope: Scope) -> bool:
        return stores_records(scope) or (face is not None and face.is_upload(scope))

    limited = BodyLimit(
        faces,
        max_bytes=problems.MAX_BODY_BYTES,
        room=room,
        exempt=lambda scope: is_upload(scope) or is_unaudited(scope),
    )
    gate = KeyGate(limited, authenticator=services.authenticator, open_paths=open_paths)
    audited = AuditLayer(gate, database=services.database, turns=services.turns, exempt=is_unaudited, open_paths=open_paths)
    inner: ASGIApp = HeadAsGet(RequestContext(audited, trusted_proxies=settings.trusted_networks))
    if face is not None:
        inner = face.wrap(inner)
    ingestion = IngestionRoutes(inner, services, features.ingestion)
    service = GatewayRoute(EventRoutes(ingestion, services, features.gateway), services, features.gateway)
    if mounted is not None:
        mounted[1].connect(api=_create_api(), ingestion=ingestion, service=service)
    return LoopGuard(service)


@cache
def _create_api() -> FastAPI:
    api = FastAPI(
        title="Evenhand",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(known_parameters_only), Depends(understood_only)],
        generate_unique_id_function=openapi.name_operation,
        responses=answers(InvalidInput),
    )
    problems.install(api)
    for router in _ROUTERS:
        api.include_router(router)
    openapi.install(api, {**ingestion_paths(), **gateway_paths()}, {DEBIASED: ANSWER}, [TrainingDistributionsIn])
    return api


def stores_records(scope: Scope) -> bool:
    """Whether the request stores records or answers for a model, which is not audited."""
    return is_live_request(scope)


class Faces:
    def __init__(self, api: ASGIApp, pages: ASGIApp, features: Features, *, face: Face | None) -> None:
        self._api = api
        self._face = face
        self._pages = pages
        self._services = features.services
        self._open = {type(feature): feature for feature in (features.ingestion, features.mitigation, features.reports)}
        self._started = Router(lifespan=_lifespan(features))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._started(scope, receive, send)
            return
        provide_services(scope, self._services, self._open)
        if scope["type"] == "http" and self._face is not None and scope["path"].startswith(self._face.prefixes):
            await self._face.app(scope, receive, send)
            return
        if scope["type"] != "http" or is_of_programs(scope["path"]):
            await self._api(scope, receive, send)
            return
        let_replica_answer(scope)
        await self._pages(scope, receive, send)


def app_from_environment() -> ASGIApp:
    """Service of the environment: `uvicorn --factory app.main:app_from_environment`."""
    settings = load_settings()
    configure_logging(settings.log_level)
    return create_app(settings)


def _lifespan(features: Features) -> Callable[[object], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        with tracing("api", version=VERSION, is_own=features.services.policy.is_own):
            await features.start()
            try:
                yield
            finally:
                await features.stop()

    return lifespan
