"""Figures of a deployment over time: the chart of one group, and panels of all on one axis."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from operator import itemgetter
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import msgspec
from pydantic import Field
from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.errors import InvalidInput
from ...base.values import frozen, frozen_by_name
from ...charts.forest import ForestRow
from ...charts.pictures.axes import TimeTick, list_time_ticks
from ...charts.pictures.timeline_picture import (
    HEIGHT,
    PanelPicture,
    TimeAxis,
    build_level_axis,
    count_step,
    draw_moments,
    draw_panel,
    draw_stretches,
    draw_volume,
    name_step,
    say_panel,
    say_steps,
)
from ...charts.time_ranges import RangeChoice
from ...charts.timeline import ACCURACY, MAX_PANELS, Timeline, TimePanel, pool_panels, read_timeline
from ...checks.days.day_queries import FigureSelection
from ...checks.days.roll_up import Period
from ...deployments.queries import WatchedDeployment
from ...domain.alert import Alert
from ...domain.check import DataSet, FigureKey, Measurement, Scope, Span
from ...domain.groups import GroupWords
from ...evidence.present_state import ComparisonState
from ...overview.judge import HEADLINE
from ...statistics.catalogue import CATALOGUE
from ...statistics.catalogue.metric import CountFigure, RateFigure
from ...statistics.e_values.state_words import State
from ...statistics.intervals.verdicts import GRAVEST
from ..words import name_data_set
from .forest_rows import ChosenRow

MAX_TIME_OF_SINGLE_CHECKS = timedelta(days=366)
"""Longest time whose single checks a table lists; a longer one is listed by month."""

MAX_OPEN_PANELS = 8
"""Panels that are open from the start."""

GROUP_CHART_HEIGHT = 200
"""Height in pixels of the chart of one group."""

MIN_POOLED_TIME = timedelta(days=7)
"""From this length of time on a step of a group's chart is a day, measured from all its records."""

NO_ONSETS: Mapping[FigureKey, datetime] = {}

MAX_EVENTS = 100
"""Events that a chart lists, the newest."""


@frozen
class TableLink:
    title: str
    address: str
    query: str


@frozen_by_name
class PanelChart:
    """Picture of a panel, its sentences, and its `steps` for the script, as JSON.

    `absent` says why there is no figure to draw; `form` is share, count or number. In per cent of the axis:
    `alerts`, and `since`, from which on the figure is unfair.
    """

    panel: TimePanel
    picture: PanelPicture
    words: str
    absent: str
    earlier_words: str
    form: str
    steps: str
    alerts: tuple[float, ...]
    since: float | None


@frozen_by_name
class TimeEvent:
    """Event on the time axis, `at` in per cent of it; the address may be empty."""

    moment: datetime
    kind: str
    text: str
    address: str
    at: float


@frozen_by_name
class TimelineChart:
    """Chart over time. `hatched` (checks with earlier records), `gaps` (checks without figures) and `changes`
    are SVG paths that every panel shares.

    `marks` are the events that are drawn, one of several alike at one place. `start` and `end` are in seconds
    since 1970.
    """

    timeline: Timeline
    start: int
    end: int
    zone: str
    step: str
    panels: tuple[PanelChart, ...]
    left_out: int
    volume: str
    volume_words: str
    hatched: str
    gaps: str
    changes: str
    events: tuple[TimeEvent, ...]
    marks: tuple[TimeEvent, ...]
    left_out_events: int
    ticks: tuple[TimeTick, ...]


class ChosenCharts(ChosenRow):
    """Row, metric and data that the address of a page names; `rollup` is that of its tables."""

    metric: str = Field(default=HEADLINE, max_length=100)
    data: DataSet = DataSet.AS_LOGGED
    rollup: Period | None = None


def read_over_time(
    session: Session,
    watched: WatchedDeployment,
    chosen: ChosenCharts,
    choice: RangeChoice,
    span: Span,
    *,
    measured: Sequence[Measurement],
    alerts: Sequence[Alert],
    comparisons: Sequence[ComparisonState],
) -> dict[str, object]:
    """Reads the values of the template on all groups over time.

    `measured` are the figures of the newest check; the alerts include those opened in the span; `comparisons`
    say since when a figure is unfair.
    """
    deployment = watched.deployment
    chart = None
    if chosen.metric in CATALOGUE:
        timeline = read_timeline(
            session,
            deployment.no,
            span,
            FigureSelection(metric=chosen.metric, data=chosen.data),
            words=GroupWords.of(watched.monitor),
            alerts=alerts,
            compared=choice.earlier,
        )
        since = {
            state.key: state.since for state in comparisons if state.state is State.UNFAIR and state.since
        }
        chart = build_chart(timeline, deployment.id, choice.zone, since=since)
    titles = {
        measurement.metric: CATALOGUE[measurement.metric].title
        for measurement in measured
        if measurement.attribute is not None and measurement.metric in CATALOGUE
    }
    return {
        "over_time": chart,
        "charts": _list_tables(watched, chosen, measured, span),
        "shown_panels": MAX_OPEN_PANELS,
        "elsewhere": _list_other_data(measured, chosen),
        "metrics": dict(sorted(titles.items(), key=itemgetter(1))),
        "data_sets": list(dict.fromkeys(measurement.data for measurement in measured)),
    }


def _list_other_data(measured: Sequence[Measurement], chosen: ChosenCharts) -> list[tuple[str, str]]:
    data_sets = dict.fromkeys(
        measurement.data
        for measurement in measured
        if measurement.metric == chosen.metric and measurement.attribute is not None
    )
    if chosen.data in data_sets:
        return []
    query = chosen.model_dump(mode="json", exclude_none=True, exclude={"attribute", "group"})
    return [(name_data_set(data.value), f"?{urlencode(query | {'data': data.value})}") for data in data_sets]


def draw_groups(
    session: Session,
    watched: WatchedDeployment,
    rows: Sequence[ForestRow],
    *,
    span: Span,
    zone: ZoneInfo,
    alerts: Sequence[Alert],
) -> list[TimelineChart | None]:
    """Draws the chart of each row's group; None where it has no figure in the time."""
    timelines = {}
    charts = []
    keys = [row.leading.measurement.key for row in rows]
    groups = tuple(key.group for key in keys if key.group is not None)
    for row, key in zip(rows, keys, strict=True):
        if key.data not in timelines:
            timelines[key.data] = read_timeline(
                session,
                watched.deployment.no,
                span,
                FigureSelection(metric=key.metric, data=key.data, groups=groups),
                words=GroupWords.of(watched.monitor),
                alerts=alerts,
            )
        group_timeline = select_group(timelines[key.data], key)
        # A very long time keeps the steps that are stored.
        if group_timeline is not None and span.end - span.start >= MIN_POOLED_TIME:
            with suppress(InvalidInput):
                group_timeline = pool_panels(session, watched.deployment.no, group_timeline)
        charts.append(
            None
            if group_timeline is None
            else build_group_chart(group_timeline, watched.deployment.id, zone, row.leading.since)
        )
    return charts


def select_group(timeline: Timeline, key: FigureKey) -> Timeline | None:
    """Returns a timeline of one figure alone; None where the timeline does not have it."""
    for panel in timeline.panels:
        if panel.key(timeline) == key:
            alerts = tuple(alert for alert in timeline.alerts if _is_about(alert, panel, timeline))
            return replace(timeline, panels=(panel,), accuracy=None, alerts=alerts)
    return None


def build_group_chart(
    group_timeline: Timeline, deployment_id: str, zone: ZoneInfo, since: datetime | None
) -> TimelineChart:
    onsets = NO_ONSETS if since is None else {group_timeline.panels[0].key(group_timeline): since}
    return build_chart(group_timeline, deployment_id, zone, since=onsets, height=GROUP_CHART_HEIGHT)


def build_chart(
    timeline: Timeline,
    deployment_id: str,
    zone: ZoneInfo,
    *,
    since: Mapping[FigureKey, datetime] = NO_ONSETS,
    height: float = HEIGHT,
) -> TimelineChart:
    axis = TimeAxis(span=timeline.span)
    metric = timeline.metric
    drawn_panels = timeline.panels[:MAX_PANELS]
    levels = build_level_axis(metric, drawn_panels, height=height)
    shift = timedelta() if timeline.earlier is None else timeline.earlier.shift
    panels = [
        _build_panel(
            panel, metric, timeline, draw_panel(panel, metric, axis, levels, shift=shift), axis, since
        )
        for panel in drawn_panels
    ]
    if timeline.accuracy is not None:
        accuracy = timeline.accuracy
        picture = draw_panel(accuracy, ACCURACY.metric, axis, build_level_axis(ACCURACY.metric, [accuracy]))
        panels.append(_build_panel(accuracy, ACCURACY.metric, timeline, picture, axis, {}))
    events = _list_events(timeline, deployment_id, axis)
    logged = [check.logged for check in timeline.checks if check.logged is not None]
    step = name_step(timeline.step)
    # A check is of an hour, also where a step is a part of one.
    margin = max(HOUR - timeline.step, timedelta())
    topped_up = [check.start - margin for check in timeline.checks if check.topped_up]
    is_exception = 2 * len(topped_up) < len(timeline.checks)
    marks = {(event.kind, round(event.at)): event for event in events if event.kind != "gap"}
    return TimelineChart(
        timeline=timeline,
        start=round(timeline.span.start.timestamp()),
        end=round(timeline.span.end.timestamp()),
        zone=zone.key,
        step=step,
        panels=tuple(panels),
        left_out=len(timeline.panels) - len(drawn_panels),
        volume=draw_volume(timeline.checks, timeline.step, axis),
        volume_words=f"{sum(logged):,}, at most {max(logged, default=0):,} in "
        f"{count_step(timeline.step + margin)}",
        hatched=draw_stretches(
            topped_up if is_exception else (), timeline.step + margin, axis, height=height
        ),
        gaps=draw_stretches(
            (check.start - margin for check in timeline.checks if check.failed),
            timeline.step + margin,
            axis,
            height=5,
        ),
        changes=draw_moments((change.at for change in timeline.changes), axis, bottom=height),
        events=tuple(events[-MAX_EVENTS:]),
        marks=tuple(marks.values()),
        left_out_events=max(0, len(events) - MAX_EVENTS),
        ticks=list_time_ticks(timeline.span, zone),
    )


def _build_panel(
    panel: TimePanel,
    metric: str,
    timeline: Timeline,
    picture: PanelPicture,
    axis: TimeAxis,
    since: Mapping[FigureKey, datetime],
) -> PanelChart:
    onset = since.get(panel.key(timeline))
    match CATALOGUE[metric].measure:
        case RateFigure():
            form = "share"
        case CountFigure():
            form = "count"
        case _:
            form = "number"
    return PanelChart(
        panel=panel,
        picture=picture,
        words=say_panel(metric, panel, picture),
        absent="" if picture.places else panel.absence,
        earlier_words=say_steps(metric, panel.earlier)
        if timeline.earlier is not None and panel is not timeline.accuracy
        else "",
        form=form,
        steps=_encode_steps(picture),
        alerts=tuple(
            axis.percent(alert.opened_at) for alert in timeline.alerts if _is_about(alert, panel, timeline)
        ),
        since=None if onset is None or onset >= timeline.span.end else axis.percent(onset),
    )


def _encode_steps(picture: PanelPicture) -> str:
    # Numbers, which the script words where the pointer is: a thousand sentences would take longer to make
    # than the page.
    steps = []
    for place in picture.places:
        step = place.step
        has_several = not step.is_single
        steps.append(
            (
                place.x,
                int(step.start.timestamp()) if has_several else None,
                int((step.end if has_several else step.at).timestamp()),
                *[
                    None if end is None else round(end, 5)
                    for end in (step.lowest, step.highest, step.lower, step.upper)
                ],
                step.n,
                step.carried,
                [step.verdicts.get(verdict, 0) for verdict in GRAVEST],
                step.check_no,
            )
        )
    return msgspec.json.encode(steps).decode()


def _is_about(alert: Alert, panel: TimePanel, timeline: Timeline) -> bool:
    return (
        panel.scope is Scope.GROUP
        and alert.attribute == panel.attribute
        and alert.group in {panel.group, None}
        and alert.is_about(timeline.metric, timeline.data)
    )


def _list_events(timeline: Timeline, deployment_id: str, axis: TimeAxis) -> list[TimeEvent]:
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
    checks_address = f"/deployments/{deployment_id}/checks"
    for step in timeline.checks:
        if step.failed:
            checks = "1 check" if step.failed == 1 else f"{step.failed:,} checks"
            add(
                max(step.start, timeline.span.start),
                "gap",
                f"{checks} without figures: {step.reason or 'no reason is known'}",
                checks_address,
            )
    return sorted(events, key=lambda event: event.moment)


def _list_tables(
    watched: WatchedDeployment, chosen: ChosenCharts, measured: Sequence[Measurement], span: Span
) -> list[TableLink]:
    """Lists a table for each attribute with the metric, then volume and accuracy."""
    metric = chosen.metric
    data = chosen.data
    base = f"/v1/deployments/{watched.deployment.id}/charts"
    # So many single checks can only be shown rolled up.
    rollup = chosen.rollup or (Period.MONTH if span.end - span.start > MAX_TIME_OF_SINGLE_CHECKS else None)
    time_members = {"since": span.start.isoformat(), "until": span.end.isoformat()}
    if rollup is not None:
        time_members["rollup"] = rollup.value

    def build_link(title: str, address: str, **query: str) -> TableLink:
        return TableLink(title, f"{base}/{address}", f"?{urlencode(query | time_members)}")

    attributes = dict.fromkeys(
        figure.attribute
        for figure in measured
        if (figure.metric, figure.data) == (metric, data) and metric in CATALOGUE
    )
    tables = []
    for attribute in attributes:
        by = f" by {attribute}" if attribute else ""
        attribute_member = {} if attribute is None else {"attribute": attribute}
        title = f"{CATALOGUE[metric].title}{by}, {name_data_set(data.value)}"
        tables.append(build_link(title, "series", metric=metric, data=data.value, **attribute_member))
    if measured:
        tables.append(build_link("Records logged", "volume"))
        title = "Accuracy of records with a label: how often the prediction was the label"
        tables.append(build_link(title, "series", metric=ACCURACY.metric, data=ACCURACY.data.value))
    return tables
