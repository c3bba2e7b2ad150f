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
from .access.gate.audit_requests import AuditLayer
from .access.gate.caller import Services, let_replica_answer, open_services, provide_services
from .access.gate.gate import KeyGate, is_of_programs
from .access.keys import routes as keys
from .access.users import routes as users
from .alerts import routes as alerts
from .alerts.channels import routes as alert_channels
from .alerts.channels.mail_server import read_mail_server
from .alerts.rules import routes as alert_rules
from .base.errors import InvalidInput, SetupError, Unavailable
from .base.frozen import frozen
from .base.settings import Settings, load_settings
from .base.telemetry.json_logs import configure_logging
from .base.telemetry.traces import tracing
from .base.turns import Room
from .calls.hops import identify
from .calls.scoring.live_model import LiveModels
from .charts import measurement_routes as measurements
from .charts import routes as charts
from .checks import metric_routes as metrics
from .checks import routes as checks
from .checks import training_routes as training_measurements
from .checks.endpoint_test import routes as endpoint_tests
from .checks.schedule import routes as workers
from .checks.schedule.listener import name_installation, record_listener
from .deployments import activity_routes as activities
from .deployments import routes as deployments
from .deployments.monitor import correlation_routes as correlated_features
from .deployments.monitor import routes as monitors
from .deployments.queries import Deployments
from .deployments.recommendations import routes as recommended_monitors
from .deployments.training import routes as training_data
from .deployments.training.bodies import TrainingDistributionsIn
from .evidence import routes as evidence
from .evidence.attribution import routes as attributions
from .evidence.subgroups import routes as subgroups
from .face import Face, mount_face
from .intake.gateway.event_routes import EventRoutes
from .intake.gateway.openapi_entries import gateway_paths
from .intake.gateway.routes import GatewayRoute
from .intake.gateway.service import Gateway
from .intake.hot_routes import record_test_routes as record_tests
from .intake.hot_routes.openapi_entries import ingestion_paths
from .intake.hot_routes.routes import IngestionRoutes
from .intake.imports import routes as imports
from .intake.logging.service import Ingestion
from .intake.pseudonyms import routes as pseudonyms
from .intake.snippets import routes as logging_snippets
from .intake.volume import routes as arrivals
from .mitigation import routes as mitigation
from .mitigation.live import routes as mitigated_predictions
from .mitigation.live.live_plan import ActivePlans, PlanReader
from .mitigation.live.openapi_entries import ANSWER, MITIGATED
from .mitigation.live.routes import is_live_request
from .mitigation.live.service import ActiveMitigation
from .overview import routes as overview
from .overview.health import routes as health
from .overview.health.queries import is_migrated
from .pages import documentation_page as docs
from .pages.application import create_pages
from .records import routes as payload_records
from .records.corrections import routes as corrections
from .records.feedback import routes as feedback_records
from .records.second_look import routes as flagged_records
from .reports import routes as reports
from .reports.regulator import routes as regulator_reports
from .reports.report_processes import ReportMaker
from .retention import routes as retention
from .web import openapi_document as openapi
from .web import problems
from .web.middleware import BodyLimit, HeadAsGet, LoopGuard, RequestContext
from .web.problem_answers import answers
from .web.query_parameters import known_parameters_only
from .web.uploads import is_upload, understood_only

_ROUTERS = (
    overview.router,
    deployments.router,
    pseudonyms.router,
    payload_records.export_router,
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
    mitigated_predictions.router,
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
    """Resources that features keep open in one service process."""

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
    read_mail_server(settings)  # refused at the start, not when the first e-mail is due
    services = open_services(settings, database_url)
    database, secret_box, policy = services.database, services.secret_box, services.policy
    ingestion = Ingestion(database, sealer=secret_box)
    plans = ActivePlans(ingestion, PlanReader(database, secret_box).read)
    return Features(
        services=services,
        ingestion=ingestion,
        mitigation=ActiveMitigation(ingestion, plans, LiveModels(policy)),
        gateway=Gateway(
            database,
            secret_box,
            ingestion,
            policy,
            data_dir=settings.data_dir,
            spool_bytes=settings.spool_bytes,
        ),
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
        busy_each=f"This key is sending more than {BODIES_OF_KEY} MiB at once. Nothing was changed; send it "
        "again after an answer.",
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
    audited = AuditLayer(
        gate, database=services.database, turns=services.turns, exempt=is_unaudited, open_paths=open_paths
    )
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
    openapi.install(
        api, {**ingestion_paths(), **gateway_paths()}, {MITIGATED: ANSWER}, [TrainingDistributionsIn]
    )
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
        self._open = {
            type(feature): feature for feature in (features.ingestion, features.mitigation, features.reports)
        }
        self._started = Router(lifespan=_lifespan(features))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._started(scope, receive, send)
            return
        provide_services(scope, self._services, self._open)
        if (
            scope["type"] == "http"
            and self._face is not None
            and scope["path"].startswith(self._face.prefixes)
        ):
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
