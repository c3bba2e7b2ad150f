"""Application of the pages, and its errors as pages."""

import json
from functools import cache

from fastapi import Depends, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from ..access.gate.gate import is_read_by_a_person
from ..web import problems
from . import check_page, intake_page, manual, overview_page, render, report_page
from .access import activity_page, issuer_page, login_page, settings_page
from .alerts import alert_page
from .alerts import page as alerts_page
from .configure import page as configure_page
from .configure import retention_page, steps
from .deployment import explore_page
from .deployment import page as fairness_page
from .range_bar import refuse_unknown_parameters
from .record import page as records_page
from .record import second_look_page

_ROUTERS = tuple(
    module.router
    for module in (
        *(steps, configure_page, check_page, overview_page, fairness_page, explore_page, records_page),
        *(intake_page, report_page, retention_page, second_look_page),
        # The address of an alert has a place for any id, so the lists come first.
        *(alerts_page, alert_page),
        *(activity_page, manual, settings_page, login_page, issuer_page, render),
    )
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
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    problems.install(pages, _answer_error)
    for router in _ROUTERS:
        pages.include_router(router)
    return pages


def _answer_error(request: Request, error: Exception) -> Response:
    document = problems.answer_error(request, error)
    if not is_read_by_a_person(request.scope):
        return document
    values = {"errors": (), "method": request.method} | json.loads(bytes(document.body))
    page = render.show_page(request, "failure.html", values, status=document.status_code)
    if "allow" in document.headers:
        page.headers["allow"] = document.headers["allow"]
    return page
