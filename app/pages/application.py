"""Application of the pages."""

from functools import cache

from fastapi import Depends, FastAPI

from ..web.parameters import known_parameters_only
from . import (
    activity,
    alert_page,
    alerts,
    assets,
    checks,
    configure,
    failures,
    fairness,
    glossary,
    ingestion,
    login,
    oidc,
    overview,
    registering,
    regulator_reports,
    retention,
    second_look,
    settings,
    transactions,
)

_ROUTERS = (
    registering.router,
    configure.router,
    checks.router,
    overview.router,
    fairness.router,
    transactions.router,
    ingestion.router,
    regulator_reports.router,
    retention.router,
    second_look.router,
    alerts.router,
    # After the lists: its address has a place for any id.
    alert_page.router,
    activity.router,
    glossary.router,
    settings.router,
    login.router,
    oidc.router,
    assets.router,
)


@cache
def create_pages() -> FastAPI:
    """Creates the application. It holds no state: the services come with each request."""
    pages = FastAPI(
        title="Evenhand pages",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(known_parameters_only)],
    )
    failures.install(pages)
    for router in _ROUTERS:
        pages.include_router(router)
    return pages
