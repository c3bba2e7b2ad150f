"""Pages of checks and of the explanation of figures."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, BeforeValidator, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from ..access.gate.caller import NowIn, Reader, SessionIn
from ..alerts.queries import read_present_alerts
from ..charts.forest import build_past_forest
from ..charts.pictures.drawing import PAGE
from ..charts.pictures.twin_tables import draw_ranges_chart, draw_shares_chart
from ..charts.series import rename_shares
from ..charts.time_ranges import RangePreset
from ..checks import queries as checks
from ..checks.advice.advice import advise_on_check
from ..checks.advice.causes import read_outlook
from ..checks.result_queries import read_measurements
from ..checks.views.build_views import VIEW_OF_DATA, build_check_view, explain_figure, list_views
from ..checks.views.explain_figure import DATA_WORDS, build_judged_figure
from ..checks.views.headlines import IMPACT
from ..checks.views.view_shapes import GroupShare, ViewKind
from ..checks.views.view_source import read_counted_check
from ..deployments.deployment_in_address import ReadableDeployment, Watched
from ..deployments.monitor.queries import find_missing_sides
from ..domain.alert import Alert
from ..domain.check import CheckRun, CheckState, DataSet, FigureKey, Measurement, Scope
from ..domain.deployment import Deployment
from ..domain.groups import GroupWords
from ..domain.paging import Paging
from ..evidence.attribution.queries import find_newest_attributions
from ..evidence.present_state import read_deployment_evidence
from ..overview.queries import JudgedKey, read_gravest_figures
from ..statistics.catalogue import CATALOGUE
from ..statistics.sentences.statements import UNBADGED, find_unbadged
from ..web.route_declarations import NumberCursor, cut
from . import check_words
from .deployment.forest_rows import (
    ChosenRow,
    Label,
    build_figure_query,
    build_forest_context,
    list_live_alerts,
)
from .range_bar import KEEPS_RANGE, RangeIn, build_bar, find_chosen_span
from .render import name_actors, require_id, show_page
from .words import format_measurement, format_share, round_change

router = APIRouter(
    prefix="/deployments/{deployment_id}/checks", include_in_schema=False, dependencies=[KEEPS_RANGE]
)

MAX_CHECKS = 30
MAX_MEASUREMENTS = 500
"""Rows of a list of checks, and of the measurements of one."""

StateIn = Annotated[CheckState | None, BeforeValidator(lambda text: text or None), Query()]


class FigureAddress(BaseModel):
    metric: Annotated[str, Field(max_length=100)]
    data: DataSet
    scope: Scope
    attribute: Label | None = None
    group: Label | None = None


class ChosenView(ChosenRow):
    view: ViewKind | None = None


class MeasurementFilter(BaseModel):
    """Measurements that the address names; an empty member allows all."""

    metric: Annotated[str, Field(max_length=100)] = ""
    attribute: Annotated[str, Field(max_length=1000)] = ""

    def allows(self, measurement: Measurement) -> bool:
        return self.metric in ("", measurement.metric) and self.attribute in ("", measurement.attribute)


@router.get("")
def show_checks_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    now: NowIn,
    before_no: NumberCursor,
    time_range: RangeIn,
    state: StateIn = None,
) -> Response:
    deployment = watched.deployment
    span = find_chosen_span(time_range, now)
    paging = Paging(MAX_CHECKS + 1, before_no)
    listed, cursor = cut(
        checks.page_checks(session, deployment.no, paging, state=state, ends_in=span), paging
    )
    older = f"?{urlencode({'state': state or '', 'cursor': cursor})}" if cursor else None

    judged_keys = [
        JudgedKey(deployment.no, check.no, check.span.end, IMPACT, is_of_label=False)
        for check in listed
        if check.state is CheckState.SUCCEEDED
    ]
    figures = read_gravest_figures(session, judged_keys)
    verdicts = {figure.check_no: figure.verdict for figure in figures if figure.verdict}

    values = {
        "checks": listed,
        "verdicts": verdicts,
        "names": name_actors(session, (check.created_by for check in listed)),
        "state": state,
        "states": list(CheckState),
        "older": older,
        "bar": build_bar(request, time_range, span, usual=RangePreset.ALL),
    }
    return show_page(
        request,
        "checks.html",
        values | {"deployment": deployment, "has_monitor": watched.monitor is not None, "words": check_words},
    )


@router.get("/number/{no}")
def redirect_to_check(
    deployment: ReadableDeployment,
    session: SessionIn,
    time_range: RangeIn,
    no: Annotated[int, Path(ge=1, le=2**63 - 1)],
) -> Response:
    """Redirects from the number of a check to its page: pictures have numbers, which are shorter than ids."""
    check = checks.get_check_by_number(session, deployment.no, no)
    query = time_range.query()
    return RedirectResponse(
        f"/deployments/{deployment.id}/checks/{check.id}{f'?{urlencode(query)}' if query else ''}"
    )


@router.get("/{check_id}")
def show_check_page(
    request: Request,
    principal: Reader,
    watched: Watched,
    session: SessionIn,
    check_id: str,
    chosen: Annotated[ChosenView, Query()],
) -> Response:
    deployment = watched.deployment
    monitor = watched.monitor
    check = _get_check(session, deployment, check_id)
    states = list_views(session, deployment, check)
    available = [state.kind for state in states if state.reason is None]
    kind = chosen.view
    if kind is None:
        preferred_kinds = [ViewKind.AS_LOGGED] if ViewKind.AS_LOGGED in available else available
        kind = preferred_kinds[0] if preferred_kinds else ViewKind.OPENSCALE
    measurements = read_measurements(session, check.no)
    group_words = GroupWords.of(monitor)
    values = {
        "deployment": deployment,
        "check": check,
        "kind": kind,
        "words": check_words,
        "model_answer": checks.read_model_answer(session, check.no) if principal.may_read_records else None,
        "advice": advise_on_check(check, read_outlook(session, deployment.no)),
        "states": states,
        "view": build_check_view(session, deployment, check, kind),
        "monitor": monitor,
        "missing": find_missing_sides(monitor),
        "measured": len(measurements),
        "favourable": (check.window or {}).get("favourable"),
        "number_of": format_measurement,
        "round_change": round_change,
        "share_of": format_share,
        "figure_query": build_figure_query,
        "name_group": partial(_name_group, group_words),
        "name_subject": partial(_name_subject, group_words),
        "draw_shares": lambda view, **options: draw_shares_chart(
            kind, rename_shares(group_words, view), PAGE, **options
        ),
        "draw_ranges": lambda view: draw_ranges_chart(kind, rename_shares(group_words, view), PAGE),
        "catalogue": CATALOGUE,
    }
    alerts: Sequence[Alert] = ()
    if check.state is CheckState.SUCCEEDED:
        forest = build_past_forest(
            session, read_deployment_evidence(session, deployment.no), check, measurements, end=check.span.end
        )
        alerts = list_live_alerts(read_present_alerts(session, deployment.no))
        attribution = find_newest_attributions(session, deployment.no).done
        is_of_check = attribution is not None and attribution.span == check.span
        values |= build_forest_context(forest, chosen, alerts, attribution if is_of_check else None)
        values["newest"] = check
    names = name_actors(session, [check.created_by, *(alert.acknowledged_by for alert in alerts)])
    return show_page(request, "check.html", values | {"names": names})


@router.get("/{check_id}/measurements")
def show_measurements_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    check_id: str,
    chosen: Annotated[MeasurementFilter, Query()],
) -> Response:
    check = _get_check(session, watched.deployment, check_id)
    measurements = read_measurements(session, check.no)
    unbadged = find_unbadged([build_judged_figure(measurement) for measurement in measurements])
    shown = [
        (measurement, position in unbadged)
        for position, measurement in enumerate(measurements)
        if chosen.allows(measurement)
    ]
    values = {
        "deployment": watched.deployment,
        "check": check,
        "words": check_words,
        "measurements": shown[:MAX_MEASUREMENTS],
        "measured": len(shown),
        "chosen": chosen,
        "metrics": dict.fromkeys(measurement.metric for measurement in measurements),
        "attributes": dict.fromkeys(
            measurement.attribute for measurement in measurements if measurement.attribute
        ),
        "unbadged_words": UNBADGED,
        "number_of": format_measurement,
        "figure_query": build_figure_query,
        "name_subject": partial(_name_subject, GroupWords.of(watched.monitor)),
        "catalogue": CATALOGUE,
        "data_sets": DATA_WORDS,
    }
    return show_page(request, "check_measurements.html", values)


@router.get("/{check_id}/figure")
def show_figure_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    check_id: str,
    address: Annotated[FigureAddress, Query()],
) -> Response:
    deployment = watched.deployment
    names = GroupWords.of(watched.monitor)
    check = _get_check(session, deployment, check_id)
    counted = read_counted_check(session, check)
    explanation = explain_figure(session, deployment, counted, FigureKey(**dict(address)), names)
    values = {
        "deployment": deployment,
        "check": check,
        "counted_span": counted.origin.span,
        "kind": VIEW_OF_DATA[address.data],
        "words": check_words,
        "explanation": explanation,
        "number": format_measurement(explanation.measurement),
    }
    return show_page(request, "check_figure.html", values)


def _get_check(session: Session, deployment: Deployment, check_id: str) -> CheckRun:
    require_id("check", check_id)
    return checks.get_check(session, deployment.no, check_id)


def _name_group(names: GroupWords, attribute: str, group: GroupShare) -> str:
    if group.group is None:
        return f"all {group.role}"
    return names.label(attribute, group.group)


def _name_subject(names: GroupWords, measurement: Measurement) -> str:
    name = (
        names.label(measurement.attribute, measurement.group)
        if measurement.attribute is not None and measurement.group
        else check_words.name_scope(measurement)
    )
    return f"{name}, furthest out" if (measurement.worst_of or 0) > 1 else name
