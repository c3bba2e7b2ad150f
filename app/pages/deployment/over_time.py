"""Part of a deployment's page over time: panels on one axis, or sums as charts."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import msgspec
from pydantic import Field
from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.errors import InvalidInput
from ...base.frozen import frozen, frozen_by_name
from ...charts.named_groups import rename_series
from ...charts.pictures.axes import TimeTick, time_ticks
from ...charts.pictures.drawing import PAGE, Chart
from ...charts.pictures.period_charts import series_chart, volume_chart
from ...charts.pictures.timeline_picture import (
    PanelPicture,
    TimeAxis,
    draw_moments,
    draw_panel,
    draw_stretches,
    draw_volume,
    level_axis,
)
from ...charts.series import SeriesWanted, build_series, count_volume
from ...charts.time_ranges import RangeChoice
from ...charts.timeline import ACCURACY, Timeline, TimePanel, read_timeline
from ...charts.timeline_words import count_step, name_step, say_steps
from ...checks.days.day_queries import FiguresWanted
from ...checks.days.roll_up import Period
from ...deployments.queries import WatchedDeployment
from ...domain.alert import Alert
from ...domain.check import DataSet, Measurement, Scope, Span
from ...domain.groups import GroupWords
from ...overview.judge import HEADLINE
from ...statistics.catalogue import CATALOGUE
from ...statistics.catalogue.metric import CountOf, RateOf
from ...statistics.intervals.verdicts import GRAVEST
from ..words import data_set
from .forest_rows import ChosenRow

LONGEST_SINGLE = timedelta(days=366)
"""Max time whose single checks a table lists; of a longer one it has months."""

SHOWN_PANELS = 8
"""Panels that are open from the start."""

MAX_PANELS = 60
MAX_EVENTS = 100
_NONE_OF_THEM = (0,) * len(GRAVEST)


@frozen
class Drawn:
    """Chart with the address and query of its exports. `chart` is None next to a timeline, and with a
    `problem`.
    """

    title: str
    address: str
    query: str
    chart: Chart | None
    problem: str


@frozen_by_name
class ShownPanel:
    """Picture of a panel, its sentences, and its steps for the script.

    `absent` says why there is no figure to draw.
    """

    panel: TimePanel
    picture: PanelPicture
    words: str
    absent: str
    earlier_words: str
    form: str
    steps: str
    alerts: tuple[float, ...]


@frozen_by_name
class TimeEvent:
    """`at` is a place in per cent of the axis; the address may be empty."""

    moment: datetime
    kind: str
    text: str
    address: str
    at: float


@frozen_by_name
class ShownTimeline:
    """`hatched`, `gaps` and `changes` are paths that every panel shares."""

    timeline: Timeline
    start: int
    end: int
    zone: str
    step: str
    panels: tuple[ShownPanel, ...]
    left_out: int
    volume: str
    volume_words: str
    hatched: str
    gaps: str
    changes: str
    events: tuple[TimeEvent, ...]
    left_out_events: int
    ticks: tuple[TimeTick, ...]


class ChosenCharts(ChosenRow):
    metric: str = Field(default=HEADLINE, max_length=100)
    data: DataSet = DataSet.AS_LOGGED
    rollup: Period | None = None


def read_over_time(
    session: Session,
    watched: WatchedDeployment,
    chosen: ChosenCharts,
    choice: RangeChoice,
    span: Span,
    measured: Sequence[Measurement],
    alerts: Sequence[Alert],
) -> dict[str, object]:
    """Values of the template. `measured` are of the newest check; the alerts include those opened in the
    span.
    """
    deployment = watched.deployment
    timeline = None
    if chosen.rollup is None and chosen.metric in CATALOGUE:
        stored = read_timeline(
            session,
            deployment.no,
            span,
            FiguresWanted(metric=chosen.metric, data=chosen.data),
            words=GroupWords.of(watched.monitor),
            alerts=alerts,
            compared=choice.earlier,
        )
        timeline = show_timeline(stored, deployment.id, choice.zone)
    titles = {
        measurement.metric: CATALOGUE[measurement.metric].title
        for measurement in measured
        if measurement.attribute is not None and measurement.metric in CATALOGUE
    }
    return {
        "over_time": timeline,
        "charts": _list_charts(session, watched, chosen, measured, span, alerts, is_drawn=timeline is None),
        "report_query": f"?{urlencode({'since': span.start.isoformat(), 'until': span.end.isoformat()})}",
        "shown_panels": SHOWN_PANELS,
        "elsewhere": _list_other_data(measured, chosen),
        "metrics": dict(sorted(titles.items(), key=itemgetter(1))),
        "data_sets": list(dict.fromkeys(measurement.data for measurement in measured)),
    }


def _list_other_data(measured: Sequence[Measurement], chosen: ChosenCharts) -> list[tuple[str, str]]:
    """Other data that the chosen metric was measured on, with their queries."""
    data_sets = dict.fromkeys(
        measurement.data
        for measurement in measured
        if measurement.metric == chosen.metric and measurement.attribute is not None
    )
    if chosen.data in data_sets:
        return []
    query = chosen.model_dump(mode="json", exclude_none=True, exclude={"attribute", "group"})
    return [(data_set(data.value), f"?{urlencode(query | {'data': data.value})}") for data in data_sets]


def show_timeline(timeline: Timeline, deployment_id: str, zone: ZoneInfo) -> ShownTimeline:
    axis = TimeAxis(span=timeline.span)
    metric = timeline.metric
    drawn = timeline.panels[:MAX_PANELS]
    levels = level_axis(metric, drawn)
    shift = timedelta() if timeline.earlier is None else timeline.earlier.shift
    panels = [
        _show_panel(panel, metric, timeline, draw_panel(panel, metric, axis, levels, shift=shift), axis)
        for panel in drawn
    ]
    if timeline.accuracy is not None:
        accuracy = timeline.accuracy
        picture = draw_panel(accuracy, ACCURACY.metric, axis, level_axis(ACCURACY.metric, [accuracy]))
        panels.append(_show_panel(accuracy, ACCURACY.metric, timeline, picture, axis))
    events = _list_events(timeline, deployment_id, axis)
    logged = [check.logged for check in timeline.checks if check.logged is not None]
    step = name_step(timeline.step)
    # A check is of an hour, also where a step is a part of one.
    longer = max(HOUR - timeline.step, timedelta())
    return ShownTimeline(
        timeline=timeline,
        start=round(timeline.span.start.timestamp()),
        end=round(timeline.span.end.timestamp()),
        zone=zone.key,
        step=step,
        panels=tuple(panels),
        left_out=len(timeline.panels) - len(drawn),
        volume=draw_volume(timeline.checks, timeline.step, axis),
        volume_words=f"{sum(logged):,} records logged in the checked hours, at most "
        f"{max(logged, default=0):,} in {count_step(timeline.step + longer)}",
        hatched=draw_stretches(
            (check.start - longer for check in timeline.checks if check.topped_up),
            timeline.step + longer,
            axis,
        ),
        gaps=draw_stretches(
            (check.start - longer for check in timeline.checks if check.failed),
            timeline.step + longer,
            axis,
            height=5,
        ),
        changes=draw_moments((change.at for change in timeline.changes), axis),
        events=tuple(events[-MAX_EVENTS:]),
        left_out_events=max(0, len(events) - MAX_EVENTS),
        ticks=time_ticks(timeline.span, zone),
    )


def _show_panel(
    panel: TimePanel, metric: str, timeline: Timeline, picture: PanelPicture, axis: TimeAxis
) -> ShownPanel:
    # Numbers, which the script words where the pointer is: a thousand sentences would take longer to make
    # than the page.
    steps = []
    for bar in picture.places:
        step = bar.step
        is_joined = not step.is_single
        count = step.verdicts.get
        steps.append(
            (
                bar.x,
                int(step.start.timestamp()) if is_joined else None,
                int((step.end if is_joined else step.at).timestamp()),
                *[end and round(end, 5) for end in (step.lowest, step.highest, step.lower, step.upper)],
                step.n,
                step.carried,
                [*map(count, GRAVEST, _NONE_OF_THEM)],
                step.check_no,
            )
        )
    match CATALOGUE[metric].measure:
        case RateOf():
            form = "share"
        case CountOf():
            form = "count"
        case _:
            form = "number"
    return ShownPanel(
        panel=panel,
        picture=picture,
        words="; ".join(text for text in (say_steps(metric, panel.steps), picture.beyond_note) if text),
        absent=""
        if picture.places
        else next((step.reason for step in reversed(panel.steps) if step.reason), "no reason is known"),
        earlier_words=say_steps(metric, panel.earlier)
        if timeline.earlier is not None and panel is not timeline.accuracy
        else "",
        form=form,
        steps=msgspec.json.encode(steps).decode(),
        alerts=tuple(
            axis.percent(alert.opened_at) for alert in timeline.alerts if _is_about(alert, panel, timeline)
        ),
    )


def _is_about(alert: Alert, panel: TimePanel, timeline: Timeline) -> bool:
    return (
        panel.scope is Scope.GROUP
        and alert.attribute == panel.attribute
        and alert.group in {panel.group, None}
        and alert.is_about(timeline.metric, timeline.data)
    )


def _list_events(timeline: Timeline, deployment_id: str, axis: TimeAxis) -> list[TimeEvent]:
    """Oldest first."""
    events = []

    def add(moment: datetime, kind: str, text: str, address: str = "") -> None:
        events.append(
            TimeEvent(moment=moment, kind=kind, text=text, address=address, at=axis.percent(moment))
        )

    for change in timeline.changes:
        if change.revision != change.revision_before:
            add(
                change.at,
                "revision",
                f"First check of model revision {change.revision or 'none'}, after "
                f"{change.revision_before or 'none'}",
            )
        if change.monitor != change.monitor_before:
            add(
                change.at,
                "monitor",
                f"First check with version {change.monitor} of the monitor, after {change.monitor_before}",
            )
    for alert in timeline.alerts:
        add(alert.opened_at, "alert", alert.sentence or alert.worst.rule_name, f"/alerts/{alert.id}")
    link = f"/deployments/{deployment_id}/checks"
    for step in timeline.checks:
        if step.failed:
            checks = "1 check" if step.failed == 1 else f"{step.failed:,} checks"
            add(
                max(step.start, timeline.span.start),
                "gap",
                f"{checks} without figures: {step.reason or 'no reason is known'}",
                link,
            )
    return sorted(events, key=lambda event: event.moment)


def _list_charts(
    session: Session,
    watched: WatchedDeployment,
    chosen: ChosenCharts,
    measured: Sequence[Measurement],
    span: Span,
    alerts: Sequence[Alert],
    *,
    is_drawn: bool,
) -> list[Drawn]:
    """One chart for each attribute with the metric, then volume and accuracy."""
    metric = chosen.metric
    data = chosen.data
    number = watched.deployment.no
    about = [
        figure
        for figure in measured
        if (figure.metric, figure.data) == (metric, data) and metric in CATALOGUE
    ]
    base = f"/v1/deployments/{watched.deployment.id}/charts"
    # So many single checks can only be shown rolled up.
    rollup = chosen.rollup or (Period.MONTH if span.end - span.start > LONGEST_SINGLE else None)
    when = {"since": span.start.isoformat(), "until": span.end.isoformat()} | (
        {} if rollup is None else {"rollup": rollup.value}
    )
    names = GroupWords.of(watched.monitor)
    charts = []
    opened = [alert for alert in alerts if span.start <= alert.opened_at < span.end]

    def add(title: str, address: str, query: dict[str, str], draw: Callable[[], Chart]) -> None:
        chart, problem = None, ""
        if is_drawn:
            try:
                chart = draw()
            except InvalidInput as error:
                problem = str(error)
        charts.append(Drawn(title, f"{base}/{address}", f"?{urlencode(query | when)}", chart, problem))

    def add_series(title: str, metric: str, data: DataSet, attribute: str | None) -> None:
        request = SeriesWanted(
            metric=metric, data=data, attribute=attribute, since=span.start, until=span.end, rollup=rollup
        )
        query = {
            "metric": metric,
            "data": data.value,
            **({} if attribute is None else {"attribute": attribute}),
        }
        add(
            title,
            "series",
            query,
            lambda: series_chart(
                rename_series(names, build_series(session, number, request)), PAGE, alerts=opened
            ),
        )

    for attribute in dict.fromkeys(figure.attribute for figure in about):
        name = CATALOGUE[metric].title
        title = f"{name} by {attribute}" if attribute else name
        add_series(f"{title}, {data_set(data.value)}", metric, data, attribute)
    if measured:
        title = "Records logged"
        add(
            title,
            "volume",
            {},
            lambda: volume_chart(
                count_volume(session, number, span.start, span.end, rollup), PAGE, rollup=rollup
            ),
        )
        add_series(
            "Accuracy of records with a label: how often the prediction was the label",
            ACCURACY.metric,
            ACCURACY.data,
            None,
        )
    return charts
