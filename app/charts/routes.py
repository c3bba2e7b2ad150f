"""Routes of charts: the picture and its figures."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from ..access.gate.caller import NowIn, SessionIn
from ..alerts.queries import read_alerts_between
from ..base.errors import Conflict, InvalidInput, require_present
from ..base.spreadsheets import escape_formula, write_cell
from ..base.values import frozen
from ..checks.days.roll_up import Period
from ..checks.queries import get_check
from ..checks.routes import CheckId
from ..checks.views.build_views import build_check_view
from ..checks.views.view_shapes import CheckView, ViewKind
from ..deployments.deployment_in_address import ReadableDeployment, exported
from ..deployments.monitor.queries import find_monitor
from ..domain.alert import Alert
from ..domain.check import DataSet, Span
from ..domain.groups import GroupWords
from ..records.second_look.flagged_csv import write_csv_lines
from ..statistics.catalogue import CATALOGUE
from ..web.body import FILE_POLICY
from ..web.route_declarations import CONFLICT, Answers, FilterText, OptionalMoment, in_utc
from .measurement_routes import require_metric
from .pictures.drawing import LOOKS, Chart, Theme, as_png
from .pictures.period_charts import draw_series_chart, draw_volume_chart
from .pictures.twin_tables import (
    Twin,
    draw_ranges_chart,
    draw_shares_chart,
    tabulate_ranges,
    tabulate_series,
    tabulate_shares,
    tabulate_volume,
)
from .series import Series, SeriesQuery, build_series, count_volume, rename_series, rename_shares

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["charts"])

MAX_RANGE = timedelta(days=366)

Form = Literal["svg", "png", "csv"]
Part = Literal["groups", "sub_ranges", "with_copies"]
ThemeIn = Annotated[Theme, Query(description="For what background. The chart's own is transparent.")]
Rollup = Annotated[Period | None, Query(description="Sum up checked hours by day, week or month (UTC).")]

_SCHEMAS = {
    "text/html": {"type": "string"},
    "application/pdf": {"type": "string", "format": "binary"},
    "image/svg+xml": {"type": "string"},
    "image/png": {"type": "string", "format": "binary"},
    "text/csv": {"type": "string"},
    "application/json": {"type": "object"},
}


def describe_files(subject: str, *media_types: str) -> Answers:
    content = {name: {"schema": _SCHEMAS[name]} for name in media_types}
    return {
        200: {"description": f"The {subject}, in the form that the address ends with", "content": content}
    }


FORMS = describe_files("chart", "image/svg+xml", "image/png", "text/csv")


class Picture(Response):
    media_type = None


@frozen
class TimeRange:
    since: datetime | None
    until: datetime | None
    rollup: Period | None


def read_time_range(
    now: NowIn, *, since: OptionalMoment = None, until: OptionalMoment = None, rollup: Rollup = None
) -> TimeRange:
    """Reads the range; without `since` the year before `until`, the longest without a roll-up."""
    start = in_utc("since", since)
    end = in_utc("until", until)
    if rollup is not None:
        return TimeRange(start, end, rollup)
    range_end = end or now
    range_start = start or range_end - min(MAX_RANGE, range_end - datetime.min.replace(tzinfo=UTC))
    if range_end - range_start > MAX_RANGE:
        raise InvalidInput(
            "since",
            f"leaves more than {MAX_RANGE.days} days of single checks; choose a later one, or a rollup",
        )
    return TimeRange(range_start, end, None)


RangeIn = Annotated[TimeRange, Depends(read_time_range)]


def read_chosen_series(
    deployment: ReadableDeployment,
    session: SessionIn,
    period: RangeIn,
    metric: Annotated[str, Query(max_length=100, examples=["disparate_impact"])],
    data: DataSet = DataSet.AS_LOGGED,
    attribute: Annotated[
        FilterText, Query(description="Left out: the series of everybody, such as accuracy.")
    ] = None,
) -> Series:
    require_metric(metric, data)
    if not CATALOGUE[metric].is_stored and period.rollup is None:
        raise InvalidInput("rollup", f"is required, because checks do not store {metric}")
    query = SeriesQuery(
        metric=metric,
        data=data,
        attribute=attribute,
        since=period.since,
        until=period.until,
        rollup=period.rollup,
    )
    return build_series(session, deployment.no, query)


def read_view(
    deployment: ReadableDeployment, session: SessionIn, check_id: CheckId, view: ViewKind
) -> CheckView:
    check_view = build_check_view(session, deployment, get_check(session, deployment.no, check_id), view)
    if check_view.reason is not None:
        raise Conflict(check_view.reason)
    return check_view


def read_group_words(deployment: ReadableDeployment, session: SessionIn) -> GroupWords:
    return GroupWords.of(find_monitor(session, deployment.no))


WordsIn = Annotated[GroupWords, Depends(read_group_words)]
ViewIn = Annotated[CheckView, Depends(read_view)]
PartIn = Annotated[
    Part, Query(description="`sub_ranges` of a numeric attribute; `with_copies` in the mitigated view.")
]
AttributeIn = Annotated[FilterText, Query(description="Left out: the first one.")]


def list_alerts(
    deployment: ReadableDeployment,
    session: SessionIn,
    series: Annotated[Series, Depends(read_chosen_series)],
    period: RangeIn,
    now: NowIn,
) -> list[Alert]:
    since = period.since or datetime.min.replace(tzinfo=UTC)
    alerts = read_alerts_between(
        session,
        deployment.no,
        Span(since, period.until or now),
        metric=series.metric,
        data=series.data,
    )
    return [alert for alert in alerts if alert.opened_at >= since]


@router.get(
    "/charts/series.{form}", response_class=Picture, responses=FORMS, dependencies=[exported("figures")]
)
def chart_series(
    deployment: ReadableDeployment,
    names: WordsIn,
    form: Form,
    series: Annotated[Series, Depends(read_chosen_series)],
    alerts: Annotated[list[Alert], Depends(list_alerts)],
    theme: ThemeIn = Theme.LIGHT,
) -> Response:
    """Returns a metric over time, with limits, intervals and alerts. The range is at most a year unless it
    is rolled up.
    """
    if form == "csv":
        return send_csv_file(tabulate_series(series), f"{deployment.id}-{series.metric}")
    return _send_picture(draw_series_chart(rename_series(names, series), LOOKS[theme], alerts=alerts), form)


@router.get(
    "/charts/volume.{form}", response_class=Picture, responses=FORMS, dependencies=[exported("figures")]
)
def chart_volume(
    deployment: ReadableDeployment,
    form: Form,
    session: SessionIn,
    period: RangeIn,
    theme: ThemeIn = Theme.LIGHT,
) -> Response:
    """Returns the number of logged records over time, as the checks counted them."""
    volumes = count_volume(session, deployment.no, period.since, period.until, period.rollup)
    if form == "csv":
        return send_csv_file(tabulate_volume(volumes), f"{deployment.id}-volume")
    return _send_picture(draw_volume_chart(volumes, LOOKS[theme], rollup=period.rollup), form)


@router.get(
    "/checks/{check_id}/charts/{view}.{form}",
    response_class=Picture,
    responses=FORMS | CONFLICT,
    dependencies=[exported("figures")],
)
def chart_check(
    view: ViewIn,
    names: WordsIn,
    form: Form,
    *,
    attribute: AttributeIn = None,
    part: PartIn = "groups",
    theme: ThemeIn = Theme.LIGHT,
) -> Response:
    """Returns the favourable rates of an attribute's groups in one view of a check. 409 where the check
    has no such view.
    """
    views = view.counterfactual if part == "with_copies" else view.attributes
    shares = next((chosen for chosen in views if attribute in (None, chosen.attribute)), None)
    shares = require_present(shares, "attribute of this view", attribute or "with copies")
    if form == "csv":
        return send_csv_file(
            tabulate_ranges(shares) if part == "sub_ranges" else tabulate_shares(shares),
            f"{view.check.id}-{view.kind.value}",
        )
    renamed = rename_shares(names, shares)
    look = LOOKS[theme]
    if part == "sub_ranges":
        return _send_picture(draw_ranges_chart(view.kind, renamed, look), form)
    return _send_picture(draw_shares_chart(view.kind, renamed, look, with_copies=part == "with_copies"), form)


def _send_picture(chart: Chart, form: Literal["svg", "png"]) -> Response:
    safe = {"Content-Security-Policy": FILE_POLICY}
    if form == "svg":
        return Picture(chart.svg, media_type="image/svg+xml", headers=safe)
    return Picture(as_png(chart.svg), media_type="image/png", headers=safe)


class CsvDownload(Response):
    media_type = "text/csv"


def send_csv_file(twin: Twin, name: str) -> CsvDownload:
    content = write_csv_lines(
        [map(escape_formula, twin.columns), *(map(write_cell, row) for row in twin.rows)]
    )
    return CsvDownload(content, headers={"Content-Disposition": f'attachment; filename="{name}.csv"'})
