"""Application of the pages: its own answers to errors, the services and dependencies of the API."""

from fastapi import Depends, FastAPI

from ..services import Services
from ..web.parameters import known_parameters_only
from . import (
    activity,
    alerts,
    assets,
    checks,
    configure,
    failures,
    fairness,
    glossary,
    login,
    overview,
    registering,
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
    alerts.router,
    activity.router,
    glossary.router,
    settings.router,
    login.router,
    assets.router,
)


def create_pages(services: Services) -> FastAPI:
    """Returns the application of the pages; the caller starts and stops the services."""
    pages = FastAPI(
        title="Evenhand pages",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(known_parameters_only)],
    )
    pages.state.services = services
    failures.install(pages)
    for router in _ROUTERS:
        pages.include_router(router)
    return pages
