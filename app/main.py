"""Builds one web application from settings, services and routes."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial

import structlog
from fastapi import Depends, FastAPI
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from . import VERSION
from .access.authenticator import READING_METHODS
from .access.gate.caller import Services, open_services
from .access.gate.gate import Gate, is_of_programs
from .access.keys import routes as keys
from .access.users import routes as users
from .alerts import routes as alerts
from .alerts.channels import routes as alert_channels
from .alerts.channels.email import read_mail_server
from .alerts.rules import routes as alert_rules
from .base.errors import InvalidInput, SetupError, Unavailable
from .base.settings import Settings, load_settings
from .base.telemetry.json_logs import configure_logging
from .base.telemetry.traces import tracing
from .base.turns import Room
from .base.values import frozen
from .calls.pinned_transport import LOOP_HEADER, enter_call, identify_installation
from .calls.scoring.live_model import LiveModels
from .charts import measurement_routes as measurements
from .charts import routes as charts
from .checks import metric_routes as metrics
from .checks import routes as checks
from .checks import training_routes as training_measurements
from .checks.endpoint_test import routes as endpoint_tests
from .checks.schedule import routes as workers
from .checks.schedule.worker_queries import name_installation, record_listener
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
from .intake.gateway.openapi_entries import describe_gateway
from .intake.gateway.routes import AZURE_PATH, EVENTS, PREDICTIONS, EventRoute, GatewayRoute
from .intake.gateway.service import Gateway
from .intake.hot_routes import routes as record_tests
from .intake.hot_routes.hot_route import PREFIX, Bodies, HotRoute
from .intake.hot_routes.openapi_entries import describe_ingestion
from .intake.hot_routes.routes import FEEDBACK, PAYLOAD, IngestionRoute
from .intake.imports import routes as imports
from .intake.logging.service import Ingestion
from .intake.pseudonyms import routes as pseudonyms
from .intake.snippets import routes as logging_snippets
from .intake.volume import routes as arrivals
from .mitigation import routes as mitigation
from .mitigation.detector.bias_detector import LoadedDetectors
from .mitigation.live import routes as mitigated_predictions
from .mitigation.live.live_plan import ActivePlans, read_plan
from .mitigation.live.openapi_entries import ANSWER, MITIGATED
from .mitigation.live.service import ActiveMitigation
from .overview import routes as overview
from .overview.health import routes as health
from .overview.health.queries import is_migrated
from .pages import api_reference
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
from .web.middleware import (
    BodyLimit,
    RequestContext,
    refuse_loop,
    require_known_parameters,
    require_understood_body,
)
from .web.route_declarations import answers

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
    api_reference.router,
)


MAX_BODIES_AT_ONCE = 64
"""Memory for bodies of requests at once, in bodies of the largest size. Ingestion has a limit of its own."""

MAX_BODIES_OF_KEY = 16
"""As above, for one key."""

MAX_FORM_BYTES = 65_536
"""Bytes of a form of the pages. It is small: the form of the log-in needs no key."""


_LIVE_PATH = re.compile(r"/v1/deployments/[^/]+/mitigated-predictions")
_UPLOAD_PATHS = {
    "PUT": re.compile(r"/v1/deployments/[^/]+/training-data"),
    "POST": re.compile(r"/v1/deployments/[^/]+/(imports|corrections)"),
}

log = structlog.get_logger("evenhand.services")


@frozen
class Features:
    """Parts that run as long as the application."""

    services: Services
    ingestion: Ingestion
    mitigation: ActiveMitigation
    gateway: Gateway
    reports: ReportMaker

    async def start(self) -> None:
        """Waits in the background for a database that does not answer yet.

        Raises SetupError if stored credentials were encrypted with another secret key.
        """
        try:
            await asyncio.to_thread(self._verify_database)
        except Unavailable:
            log.warning("the database does not answer yet")
        self.services.limits.start()
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
                identify_installation(name_installation(session))


def open_features(settings: Settings, database_url: str) -> Features:
    """Raises SetupError."""
    read_mail_server(settings)  # refused at the start, not when the first e-mail is due
    services = open_services(settings, database_url)
    database = services.database
    secret_box = services.secret_box
    policy = services.policy
    ingestion = Ingestion(database, sealer=secret_box)
    plans = ActivePlans(ingestion, partial(read_plan, database, secret_box, LoadedDetectors()))
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
    """Raises SetupError."""
    # Before the parts are opened: nothing has to be closed if this fails.
    configured_url = settings.database_url
    url = database_url or (None if configured_url is None else configured_url.get_secret_value())
    if url is None:
        raise SetupError("Set DATABASE_URL, or start with `evenhand serve`, which brings its own database.")
    features = open_features(settings, url)
    services = features.services
    face, face_entry = mount_face(services)
    body_room = Room(
        MAX_BODIES_AT_ONCE * problems.MAX_BODY_BYTES,
        each=MAX_BODIES_OF_KEY * problems.MAX_BODY_BYTES,
        busy="Too much is being received already. Nothing was changed; send it again in a moment.",
        busy_each=f"This key is sending more than {MAX_BODIES_OF_KEY} MiB at once. Nothing was changed; send it "
        "again after an answer.",
    )

    def is_unaudited(scope: Scope) -> bool:
        return is_live_request(scope) or face.is_upload(scope)

    def has_own_limit(scope: Scope) -> bool:
        return is_upload(scope) or is_unaudited(scope)

    gated_app = GatedApp(features, face)
    limited = BodyLimit(
        app=gated_app, max_bytes=problems.MAX_BODY_BYTES, room=body_room, exempt=has_own_limit
    )
    gate = Gate(limited, services, is_unaudited=is_unaudited, open_paths=face.open_paths)
    with_gate = face.wrap(RequestContext(gate, settings.trusted_networks))
    bodies = Bodies()
    hot_routes = {
        PAYLOAD: IngestionRoute(services, PAYLOAD, bodies, features.ingestion),
        FEEDBACK: IngestionRoute(services, FEEDBACK, bodies, features.ingestion),
        PREDICTIONS: GatewayRoute(services, PREDICTIONS, features.gateway),
        EVENTS: EventRoute(services, EVENTS, features.gateway),
    }
    service = Service(hot_routes, with_gate, gated_app)
    face_entry.connect(api=_create_api(), service=service)
    return service


@cache
def _create_api() -> FastAPI:
    api = FastAPI(
        title="Evenhand",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(require_known_parameters), Depends(require_understood_body)],
        generate_unique_id_function=openapi.name_operation,
        responses=answers(InvalidInput),
    )
    problems.install(api)
    for router in _ROUTERS:
        api.include_router(router)
    openapi.install(
        api, {**describe_ingestion(), **describe_gateway()}, {MITIGATED: ANSWER}, [TrainingDistributionsIn]
    )
    return api


def is_live_request(scope: Scope) -> bool:
    """True of a mitigated prediction, which is not audited: it answers for a model, and stores records."""
    return scope["method"] == "POST" and _LIVE_PATH.fullmatch(scope["path"]) is not None


def is_upload(scope: Scope) -> bool:
    """True if the route reads the body by `spool_body`."""
    path = _UPLOAD_PATHS.get(scope["method"])
    return path is not None and path.fullmatch(scope["path"]) is not None


@frozen
class Service:
    """The whole application: hot routes, and the gate before everything else."""

    hot_routes: Mapping[str, HotRoute]
    with_gate: ASGIApp
    without_gate: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.without_gate(scope, receive, send)
            return
        hop_headers = [value for name, value in scope["headers"] if name == LOOP_HEADER]
        if hop_headers and not enter_call(b",".join(hop_headers)):
            await refuse_loop()(scope, receive, send)
            return
        path: str = scope["path"]
        deployment_id, name = "", EVENTS if path == AZURE_PATH else ""
        if path.startswith(PREFIX):
            deployment_id, _, name = path[len(PREFIX) :].partition("/")
        route = self.hot_routes.get(name)
        if route is not None and (route.other_methods or scope["method"] == "POST"):
            await route.respond(deployment_id, scope, receive, send)
        else:
            await self.with_gate(scope, receive, send)


class GatedApp:
    """Answers requests that have passed the gate, by a face, the API or a page."""

    def __init__(self, features: Features, face: Face) -> None:
        self._features = features
        self._face = face
        self._pages = BodyLimit(app=create_pages(), max_bytes=MAX_FORM_BYTES, exempt=lambda _scope: False)
        self._state = {
            "services": features.services,
            "features": {
                type(feature): feature
                for feature in (features.ingestion, features.mitigation, features.reports)
            },
        }
        self._lifespan = Router(lifespan=self._run)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        app: ASGIApp = _create_api()
        if scope["type"] == "http":
            scope["state"].update(self._state)
            if scope["path"].startswith(self._face.prefixes):
                app = self._face.app
            elif not is_of_programs(scope["path"]):
                scope["state"]["may_read_replica"] = scope["method"] in READING_METHODS
                app = self._pages
        await app(scope, receive, send)

    @asynccontextmanager
    async def _run(self, _app: object) -> AsyncIterator[None]:
        with tracing("api", version=VERSION, is_own=self._features.services.policy.is_own):
            await self._features.start()
            try:
                yield
            finally:
                await self._features.stop()


def app_from_environment() -> ASGIApp:
    """`uvicorn --factory app.main:app_from_environment`."""
    settings = load_settings()
    configure_logging(settings.log_level)
    return create_app(settings)
