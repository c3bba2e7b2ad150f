"""The checks of a deployment, one check with its four views, and what stands behind each of its figures."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from app.checks.sides import missing_sides
from app.dashboard import check_words
from app.dashboard.people import people
from app.dashboard.rendering import page
from app.dashboard.shown import KEY_LENGTH, figures_of, key_of, number_of, share_of
from app.domain.checks import CheckRun, CheckState, DataSet
from app.domain.deployments import Deployment
from app.errors import NotFound
from app.metrics.catalogue import CATALOGUE
from app.metrics.verdicts import GRAVEST
from app.store import checks
from app.store.monitors import monitor_of
from app.store.overview import group_figures
from app.store.results import measurements_of
from app.views.check_advice import advice_on_check, outlook_of
from app.views.check_views import ViewKind, ViewState
from app.views.figures import DATA_SETS, explained
from app.views.headlines import IMPACT, headlines, summary
from app.views.viewing import check_view, views_of
from app.web.access import NowIn, ReadableDeployment, SessionIn
from app.web.paging import cut, number_behind

router = APIRouter(prefix="/deployments/{deployment_id}/checks", include_in_schema=False)

SHOWN: Final = 30
MOST_MEASUREMENTS: Final = 500
"""Measurements that the page of a check lists; the CSV has all."""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEADLINES = frozenset({DataSet.PAYLOAD, DataSet.BALANCED})

State = Annotated[CheckState | Literal[""], Query()]
View = Annotated[ViewKind | None, Query()]
Figure = Annotated[str | None, Query(pattern=rf"^[0-9a-f]{{{KEY_LENGTH}}}$")]


@router.get("")
def checks_page(
    request: Request,
    deployment: ReadableDeployment,
    session: SessionIn,
    now: NowIn,
    before_no: Annotated[int, Depends(number_behind)],
    state: State = "",
) -> Response:
    """The checks, newest first."""
    found = checks.page(session, deployment.no, limit=SHOWN + 1, state=CheckState(state) if state else None, before_no=before_no or None)
    shown, cursor = cut(found, SHOWN, lambda one: one.no)
    older = f"?{urlencode({'state': state, 'cursor': cursor})}" if cursor else None
    values = {
        "checks": shown,
        "verdicts": _verdicts(session, shown),
        "names": people(session, (one.created_by for one in shown)),
        "state": state,
        "states": list(CheckState),
        "older": older,
        "now": now,
    }
    has_monitor = monitor_of(session, deployment.no) is not None
    return page(request, "checks.html", values | {"deployment": deployment, "has_monitor": has_monitor, "words": check_words})


@router.get("/{check_id}")
def check_page(
    request: Request, deployment: ReadableDeployment, session: SessionIn, check_id: str, *, view: View = None, figure: Figure = None
) -> Response:
    """One check; with `figure`, what stands behind one of its figures."""
    check = _stored(session, deployment, check_id)
    states = views_of(session, deployment, check)
    kind = view or _first(states)
    shared = {"deployment": deployment, "check": check, "kind": kind, "words": check_words, "names": people(session, [check.created_by])}
    shared["advice"] = advice_on_check(check, outlook_of(session, deployment.no))
    if figure is not None:
        return page(request, "check_figure.html", shared | _figure(session, deployment, check, kind, figure))
    return page(request, "check.html", shared | {"states": states} | _check(session, deployment, check, kind))


def _stored(session: Session, deployment: Deployment, check_id: str) -> CheckRun:
    if not _ID.fullmatch(check_id):
        raise NotFound("check", check_id)
    return checks.get(session, deployment.no, check_id)


def _check(session: Session, deployment: Deployment, check: CheckRun, kind: ViewKind) -> dict[str, Any]:
    measurements, monitor = measurements_of(session, check.no), monitor_of(session, deployment.no)
    shown = headlines(measurements, check.window)
    return {
        "view": check_view(session, deployment, check, kind),
        "headlines": shown,
        "summary": summary(shown),
        "monitor": monitor,
        "missing": missing_sides(monitor),
        "measurements": measurements[:MOST_MEASUREMENTS],
        "measured": len(measurements),
        "favourable": (check.window or {}).get("favourable"),
        "number_of": number_of,
        "share_of": share_of,
        "key_of": key_of,
        "catalogue": CATALOGUE,
        "data_sets": DATA_SETS,
    }


def _figure(session: Session, deployment: Deployment, check: CheckRun, kind: ViewKind, key: str) -> dict[str, Any]:
    shown = check_view(session, deployment, check, kind)
    known = {key_of(one): one for one in (*measurements_of(session, check.no), *figures_of(shown))}
    if key not in known:
        raise NotFound("figure of this check", key)
    one = known[key]
    explanation = explained(one, None if one.data is DataSet.TRAINING else shown.check)
    return {"explanation": explanation, "number": number_of(one), "processed_at": shown.processed_at}


def _first(states: Sequence[ViewState]) -> ViewKind:
    """The first view that the check has."""
    return next((state.kind for state in states if state.reason is None), ViewKind.PAYLOAD_PERTURBED)


def _verdicts(session: Session, shown: Sequence[CheckRun]) -> Mapping[int, str]:
    """Of each check the gravest verdict on the disparate impact of a group, as logged or with copies."""
    figures = group_figures(session, {check.no: IMPACT for check in shown if check.state is CheckState.SUCCEEDED})
    found: dict[int, str] = {}
    for grade in reversed(GRAVEST):
        found |= {one.check_no: grade for one in figures if grade and one.data in _HEADLINES and one.verdict == grade}
    return found
