"""Application of the pages."""

from functools import cache

from fastapi import Depends, FastAPI

from . import assets, report_page
from . import check_page as checks
from . import error_pages as failures
from . import help_page as manual
from . import intake_page as ingestion
from . import overview_page as overview
from .access import activity_page as activity
from .access import issuer_page as oidc
from .access import login_page as login
from .access import settings_page as settings
from .alerts import alert_page
from .alerts import page as alerts
from .configure import page as configure
from .configure import registration_page as registering
from .configure import retention_page as retention
from .deployment import explore_page as exploring
from .deployment import page as fairness
from .range_bar import known_page_parameters_only
from .record import page as transactions
from .record import second_look_page as second_look
import json

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from ..access.gate.gate import is_read_by_a_person
from ..web import problems
from .render import page


_ROUTERS = (
    registering.router,
    configure.router,
    checks.router,
    overview.router,
    fairness.router,
    exploring.router,
    transactions.router,
    ingestion.router,
    report_page.router,
    retention.router,
    second_look.router,
    alerts.router,
    # After the lists: its address has a place for any id.
    alert_page.router,
    activity.router,
    manual.router,
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
        dependencies=[Depends(known_page_parameters_only)],
    )
    failures.install(pages)
    for router in _ROUTERS:
        pages.include_router(router)
    return pages


def install(pages: FastAPI) -> None:
    """Answers every error with a page, or with a problem document to what shows no pages."""
    problems.install(pages, _answer)


def _answer(request: Request, error: Exception) -> Response:
    document = problems.answer_error(request, error)
    if not is_read_by_a_person(request.scope):
        return document
    values = {"errors": (), "method": request.method} | json.loads(bytes(document.body))
    shown = page(request, "failure.html", values, status=document.status_code)
    if "allow" in document.headers:
        shown.headers["allow"] = document.headers["allow"]
    return shown
