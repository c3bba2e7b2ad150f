"""The composition root: one web application out of settings, services and routes."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import Depends, FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api import (
    activities,
    alert_channels,
    alert_rules,
    alerts,
    bias_detectors,
    charts,
    check_views,
    checks,
    correlated_features,
    debiased_predictions,
    deployments,
    docs,
    endpoint_tests,
    flagged_records,
    health,
    keys,
    logging_snippets,
    me,
    measurements,
    metrics,
    mitigation,
    monitors,
    openapi,
    overview,
    payload_records,
    recommended_monitors,
    reports,
    training_data,
    users,
    workers,
)
from app.api.debiased_predictions import is_live_request
from app.api.ingestion import IngestionRoutes
from app.api.ingestion_paths import ingestion_paths
from app.api.uploads import is_upload
from app.dashboard import create_pages
from app.errors import SetupError
from app.services import Services, open_services
from app.settings import Settings, load_settings
from app.telemetry.logs import configure_logging
from app.web import problems
from app.web.gate import KeyGate, is_of_programs
from app.web.media import understood_only
from app.web.middleware import BodyLimit, RequestContext
from app.web.parameters import known_parameters_only

_ROUTERS = (
    overview.router,
    deployments.router,
    payload_records.router,
    monitors.router,
    recommended_monitors.router,
    training_data.router,
    correlated_features.router,
    checks.router,
    check_views.router,
    measurements.router,
    charts.router,
    reports.router,
    mitigation.router,
    debiased_predictions.router,
    flagged_records.router,
    bias_detectors.router,
    metrics.router,
    alert_channels.router,
    alert_rules.router,
    alerts.router,
    keys.router,
    users.router,
    activities.router,
    me.router,
    endpoint_tests.router,
    logging_snippets.router,
    workers.router,
    health.router,
    docs.router,
)


MAX_FORM_BYTES = 65_536
"""Of what is sent to the pages: forms to log in and out, by people we do not know yet."""


def create_app(settings: Settings, database_url: str | None = None) -> ASGIApp:
    """The service on a migrated database: `database_url`, or else the one in the settings. Its lifespan starts and stops the services.

    Raises:
        SetupError: no database is named, or something in the settings cannot be used.
    """
    services = open_services(settings, database_url or _named_database(settings))
    api = FastAPI(
        title="Evenhand",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(known_parameters_only), Depends(understood_only)],
        lifespan=_lifespan(services),
    )
    api.state.services = services
    problems.install(api)
    for router in _ROUTERS:
        api.include_router(router)
    openapi.install(api, ingestion_paths())
    faces = Faces(api, BodyLimit(create_pages(services), max_bytes=MAX_FORM_BYTES, exempt=lambda _scope: False))
    limited = BodyLimit(faces, max_bytes=problems.MAX_BODY_BYTES, exempt=lambda scope: is_upload(scope) or is_live_request(scope))
    inner = RequestContext(KeyGate(limited, authenticator=services.authenticator))
    return IngestionRoutes(inner, authenticator=services.authenticator, ingestion=services.ingestion)


class Faces:
    """The API and the pages behind one address; the API also takes the messages of the lifespan."""

    def __init__(self, api: ASGIApp, pages: ASGIApp) -> None:
        self._api = api
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on to the face that its path belongs to."""
        face = self._pages if scope["type"] == "http" and not is_of_programs(scope["path"]) else self._api
        await face(scope, receive, send)


def app_from_environment() -> ASGIApp:
    """The same with the settings of the environment: `uvicorn --factory app.main:app_from_environment`."""
    settings = load_settings()
    configure_logging(settings.log_level)
    return create_app(settings)


def _named_database(settings: Settings) -> str:
    if settings.database_url is None:
        raise SetupError("Set DATABASE_URL, or start with `evenhand serve`, which brings its own database.")
    return settings.database_url.get_secret_value()


def _lifespan(services: Services) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await services.start()
        try:
            yield
        finally:
            await services.stop()

    return lifespan
