"""The application of this face: its routes, and what holds for all of them."""

from functools import cache

from fastapi import Depends, FastAPI

from ..web import problems
from ..web.media import understood_only
from . import (
    data_marts,
    data_sets,
    distributions,
    log_in,
    measurements,
    monitor_definitions,
    monitor_instances,
    providers,
    recommendations,
    records,
    refusals,
    runs,
    subscriptions,
)
from .bodies import storable_only

_ROUTERS = (
    log_in.router,
    data_marts.router,
    providers.router,
    subscriptions.router,
    data_sets.router,
    records.router,
    distributions.router,
    monitor_definitions.router,
    monitor_instances.router,
    runs.router,
    measurements.router,
    recommendations.router,
    refusals.router,
)


@cache
def create_face() -> FastAPI:
    """Returns the application. It holds no state, so a process needs one.

    Parameters of the query that a route does not know are ignored, other than in REST v1: the SDK adds those of its projects and
    spaces to every address.
    """
    face = FastAPI(
        title="Evenhand for the OpenScale SDK",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(understood_only), Depends(storable_only)],
    )
    problems.install(face)
    for router in _ROUTERS:
        face.include_router(router)
    return face
