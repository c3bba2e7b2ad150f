"""The OpenScale v2 API over REST v1 of Evenhand, for scripts written with IBM's Python SDK.

It translates, and decides nothing about fairness. Evenhand mounts it where it is installed: see the docstring of its module `face`.
"""

from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI

from . import (
    data_sets,
    log_in,
    marts,
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
from .door import OPEN, PREFIXES, OpenScaleDoor, is_upload
from .refused import Refused, answer_refused

if TYPE_CHECKING:
    from app.face import Entry

VERSION = "1.0.0"

ROUTERS = (
    log_in.router,
    marts.router,
    providers.router,
    subscriptions.router,
    data_sets.router,
    records.router,
    monitor_definitions.router,
    monitor_instances.router,
    runs.router,
    measurements.router,
    recommendations.router,
    refusals.router,
)


def mount(entry: "Entry") -> dict[str, Any]:
    """Returns what Evenhand needs to mount this face, the members of its `Face`.

    Unlike in REST v1, unknown parameters of a query are ignored: the SDK adds those of its projects and spaces.
    """
    app = FastAPI(
        title="Evenhand for the OpenScale SDK",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(storable_only)],
    )
    app.state.entry = entry
    entry.install(app)
    app.add_exception_handler(Refused, answer_refused)
    for router in ROUTERS:
        app.include_router(router)
    return {"app": app, "prefixes": PREFIXES, "open_paths": OPEN, "is_upload": is_upload, "wrap": OpenScaleDoor}
