"""Rendering of every page: its template, style and scripts, names of people, and the header of a deployment.

Everything is escaped, and an unknown name is an error. An address of a file holds a digest of all files, so
that browsers may keep it; files refer to each other by relative addresses.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache, partial
from http import HTTPStatus
from importlib.resources import files
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ..access.gate.caller import Services
from ..access.gate.gate import ASSETS, CLOCK_COOKIE
from ..access.keys.queries import name_keys
from ..access.principals import USER_PREFIX, Permission, Principal
from ..access.users.user_rules import list_assignees
from ..base.clock import utc_now
from ..base.errors import NotFound, Unavailable
from ..base.values import frozen_by_name
from ..charts.time_ranges import RangePreset
from ..checks.advice.advice import Advice
from ..checks.schedule.worker_queries import choose_notice, read_workers_seen
from ..domain.check import CheckRun
from ..domain.deployment import NOT_READ, Deployment
from ..overview.fleet import DeploymentState, DeploymentStatus, look_at_state
from ..web.compress import build_file_response
from ..web.route_declarations import UUID_PATTERN
from . import words
from .check_words import say_origin, say_step
from .range_bar import build_bar, find_page_range, find_zone, keep_range
from .terms import find_term

router = APIRouter(include_in_schema=False)

_STATIC = files(__package__) / "static"

_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

_DIGEST_CHARACTERS = 12

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

REFERRER_POLICY = "same-origin"
"""With `no-referrer` browsers would hide that a form was sent from a page of this service."""

_YEAR_SECONDS = 31_536_000
"""Time for which a browser keeps a chosen zone."""

_Value = TypeVar("_Value")

_SCHEDULE = "schedule"
"""Actor of checks that the schedule asks for."""

STATES = {
    DeploymentState.UNFAIR: "unfair",
    DeploymentState.FAILING: "check failed",
    DeploymentState.SUSPECTED: "suspected",
    DeploymentState.UNWATCHED: "other side not watched",
    DeploymentState.STALE: "stale",
    DeploymentState.UNDECIDED: "undecided",
    DeploymentState.WAITING: "waiting for records",
    DeploymentState.NO_MONITOR: "no monitor",
    DeploymentState.FAIR: "fair",
}


def build_asset_url(name: str) -> str:
    return f"{ASSETS}{_digest_files()}/{name}"


@router.get(ASSETS + "{release}/{name}")
def send_asset(release: str, name: str, request: Request) -> Response:
    if name not in _list_files() or release != _digest_files():
        raise NotFound("file of the pages", name)
    kind = name.rpartition(".")[2]
    return build_file_response(
        request.scope,
        _read_file(name),
        _MEDIA_TYPES[kind],
        cache_control="public, max-age=31536000, immutable",
    )


@cache
def _list_files() -> frozenset[str]:
    return frozenset(file.name for file in _STATIC.iterdir() if file.name.rpartition(".")[2] in _MEDIA_TYPES)


@cache
def _digest_files() -> str:
    return hashlib.sha256(b"".join(_read_file(name) for name in sorted(_list_files()))).hexdigest()[
        :_DIGEST_CHARACTERS
    ]


@cache
def _read_file(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


def _build_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # No newer files: during an upgrade the new templates do not fit the running code.
        auto_reload=False,
    )
    # A drawer is put into a page made earlier: ids of both must differ.
    environment.globals.update(
        asset=build_asset_url, find_term=find_term, NOT_READ=NOT_READ, new_id=lambda: secrets.token_hex(4)
    )
    environment.filters.update(words.FILTERS | {"picture": Markup})
    environment.globals["tags"] = environment.get_template("tags.html").module
    return environment


_ENVIRONMENT = _build_environment()


def compile_templates() -> None:
    """Compiles every template, so that first visitors do not wait for it."""
    for name in _ENVIRONMENT.list_templates(extensions=("html",)):
        _ENVIRONMENT.get_template(name)


def show_page(
    request: Request, template: str, values: Mapping[str, Any], *, status: int = HTTPStatus.OK
) -> HTMLResponse:
    """Fills a template with the values, the header of their deployment, and what every page has.

    Without a log-in there is no principal, and no header is read.
    """
    principal = request.scope.get("state", {}).get("principal")
    permissions = () if principal is None else principal.role.permissions
    choice = find_page_range(request)
    zone = find_zone(request)
    parameters = request.query_params
    context = {
        "zone": zone,
        "parameters": [pair for pair in parameters.multi_items() if pair[0] not in {"zone", "clock"}],
        "principal": principal,
        "may": frozenset(permission.value for permission in permissions),
        "MANAGE": Permission.MANAGE.value,
        "RECORDS": Permission.RECORDS.value,
        "ACKNOWLEDGE": Permission.ACKNOWLEDGE.value,
        "path": request.url.path,
        "now": utc_now(),
        **values,
    }
    may_read = principal is not None and status != HTTPStatus.SERVICE_UNAVAILABLE
    deployment = values.get("deployment")
    if isinstance(deployment, Deployment):
        context["base"] = f"/deployments/{deployment.id}"
    if isinstance(deployment, Deployment) and may_read:
        if "header" not in values:
            context["header"] = _read_if_possible(
                request, partial(read_header, deployment_no=deployment.no, now=utc_now())
            )
        if "bar" not in values and choice is not None:
            context["bar"] = build_bar(request, choice, None, usual=RangePreset.ALL)
        context["is_checked_here"] = template == "configure.html" and "check" in values["shown"]
    # A page that has read the workers itself passes the notice along.
    if "worker_notice" not in values:
        context["worker_notice"] = (
            _read_if_possible(request, lambda session: choose_notice(read_workers_seen(session)))
            if may_read
            else None
        )
    context["parts"] = _ENVIRONMENT.get_template("parts.html").make_module(context)
    content = _ENVIRONMENT.get_template(template).render(context)
    if choice is not None:
        content = keep_range(content, choice)
    response = HTMLResponse(
        words.put_in_zone(content, zone),
        status,
        headers={"Content-Security-Policy": CONTENT_POLICY, "Referrer-Policy": REFERRER_POLICY},
    )
    if parameters.get("clock"):
        response.set_cookie(
            CLOCK_COOKIE, zone.key.replace("/", "."), max_age=_YEAR_SECONDS, httponly=True, samesite="lax"
        )
    return response


def _read_if_possible(request: Request, read: Callable[[Session], _Value]) -> _Value | None:
    """None where the database does not answer."""
    services: Services = request.state.services
    try:
        with services.database.transaction() as session:
            return read(session)
    except (Unavailable, SQLAlchemyError):
        return None


def require_id(kind: str, text: str) -> None:
    """Raises NotFound for a text that is no id: the database would refuse some."""
    if not re.fullmatch(UUID_PATTERN, text):
        raise NotFound(kind, text)


def name_actors(session: Session, actors: Iterable[str | None]) -> dict[str, str]:
    distinct_actors = {actor for actor in actors if actor is not None}
    key_ids = [actor for actor in distinct_actors if not actor.startswith(USER_PREFIX) and actor != _SCHEDULE]
    keys = name_keys(session, key_ids) if key_ids else {}
    names = {}
    for actor in distinct_actors:
        if actor == _SCHEDULE:
            names[actor] = "the schedule"
        elif actor.startswith(USER_PREFIX):
            names[actor] = actor.removeprefix(USER_PREFIX)
        else:
            names[actor] = f"{keys[actor]} (key {actor})" if actor in keys else f"key {actor}"
    return names


def offer_assignees(session: Session, principal: Principal, deployment_no: int | None) -> dict[str, str]:
    """Lists who may be assigned an alert: the caller first; without a deployment, those who see all."""
    names = {f"{USER_PREFIX}{name}": name for name in list_assignees(session, deployment_no)}
    return {principal.actor: "me"} | {
        actor: name for actor, name in names.items() if actor != principal.actor
    }


@frozen_by_name
class DeploymentHeader:
    """Header of a deployment's pages. `since` is the first hour of what is unfair, or, if
    `is_from_first_hour`, it may have been so before.

    `updated` is the end of the records of the newest figures, of the check `check_id`. `busy` is a check that
    waits or runs, with the advice on it and the name of the `asker`.
    """

    state: DeploymentState
    since: datetime | None
    updated: datetime | None
    check_id: str | None
    open_alerts: int
    now: datetime
    is_from_first_hour: bool
    busy: CheckRun | None
    advice: Advice | None
    asker: str

    @property
    def words(self) -> str:
        return STATES[self.state]

    @property
    def origin(self) -> str:
        return "" if self.busy is None else say_origin(self.busy, self.asker)

    @property
    def step(self) -> str:
        return "" if self.busy is None or self.advice is None else say_step(self.busy, self.advice)


def make_header(
    status: DeploymentStatus,
    now: datetime,
    *,
    busy: CheckRun | None = None,
    advice: Advice | None = None,
    asker: str = "",
) -> DeploymentHeader:
    state = status.state.state
    success = status.entry.success
    evidence = status.state.evidence if state is DeploymentState.UNFAIR else None
    return DeploymentHeader(
        state=state,
        since=None if evidence is None else evidence.unfair_since,
        is_from_first_hour=evidence is not None and evidence.is_from_first_hour,
        updated=None if success is None else success.measured_at,
        check_id=None if success is None else success.id,
        open_alerts=status.state.open_alerts,
        now=now,
        busy=busy,
        advice=advice,
        asker=asker,
    )


def read_header(session: Session, deployment_no: int, now: datetime) -> DeploymentHeader:
    return make_header(look_at_state(session, deployment_no, now=now), now)
