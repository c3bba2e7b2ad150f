"""Chart of a metric over time: one line for each group with its interval, the limits, and absent values with their reasons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from textwrap import wrap
from typing import Any

import altair as alt

from ..checks.rollups import Period
from ..domain.checks import DataSet, Span
from ..metrics.catalogue import CATALOGUE
from ..metrics.statements import as_text
from ..views.series import Series
from .channels import fixed_text, x_at, y_at
from .empty import empty_chart
from .numbers import NumberAxis, number_axis
from .points import ChartRows, LimitRun, Row, collect_rows, format_moment, limit_runs, milliseconds
from .rendering import Spec, layer_spec
from .theme import DASHES, LOOKS, Theme, ThemeLook, clip_name, config

HEIGHT = 280
TITLE_WIDTH = 50
"""Max characters of a line of the title, so that it fits on a telephone."""

MOST_ALERTS = 200
"""Max alerts that are marked: the newest."""

REDEFINED = "From here every record counts once on each side; before, every copy counted as a record (release 0.1)."

_TICKS = 6
_DAY = timedelta(days=1)
_BAND = 0.16
_FAINT_BAND = 0.06
_FEW_GROUPS = 3
"""Max groups whose bands are drawn in full; with more, the bands are faint, because they would hide each other."""

DATA_TITLES = {
    DataSet.PAYLOAD: "logged records",
    DataSet.PAYLOAD_PERTURBED: "logged records and their copies, each copy counted as a record",
    DataSet.BALANCED: "logged records, each once on either side, with their copies",
    DataSet.FEEDBACK: "labelled records",
    DataSet.TRAINING: "training data",
    DataSet.DEBIASED: "before and after mitigation",
    DataSet.DEBIASED_FEEDBACK: "labelled records, before and after mitigation",
}


@dataclass(frozen=True, slots=True)
class AlertMark:
    """An alert on a chart: when it was opened, and what it says."""

    at: datetime
    text: str


def series_chart(series: Series, *, theme: Theme = Theme.LIGHT, alerts: Sequence[AlertMark] = (), span: Span | None = None) -> Spec:
    """Returns the chart of a series. `span` is the time that the axis shows; left out, that of the points."""
    look = LOOKS[theme]
    points = [point for group in series.groups for point in group.points if point.value is not None]
    limits = _limits(series)
    levels = [one.level for runs in limits.values() for one in runs]
    axis = number_axis(series.metric, [point.value for point in points if point.value is not None], levels)
    rows = collect_rows(series, shades=look.groups, low=axis.low, high=axis.high)
    marks = sorted(alerts, key=lambda mark: mark.at)[-MOST_ALERTS:]
    x = time_axis()
    rules, labels = _limit_layers(limits, axis, look)
    layers = [
        *([] if span is None else [whole_span(span)]),
        *rules,
        *_line_layers(rows, axis, x),
        *_point_layers(rows, axis, look, x),
        *_event_layers(rows, marks, series.redefined_at, look, x),
        *labels,
        *([] if points or rows.absent or rows.gaps else [empty_chart("No measurements in this time.", height=HEIGHT, look=look)]),
    ]
    spec = layer_spec(layers, height=HEIGHT)
    named = {
        "lines": rows.lines,
        "absent": rows.absent,
        "gaps": rows.gaps,
        "alerts": [{"t": milliseconds(mark.at), "text": mark.text, "when": format_moment(mark.at)} for mark in marks],
    }
    named |= {"measured": rows.measured, "carried": rows.carried, "uncertain": rows.uncertain}
    moments = [point.at for point in points] if span is None else [span.start, span.end]
    configured = time_config(look, moments, series.rollup)
    described = {"title": _title(series, rows, marks), "description": description(series, limits), "config": configured}
    # Altair has named datasets of its own, of the inline data, which must stay.
    return spec | described | {"datasets": spec.get("datasets", {}) | {name: found for name, found in named.items() if found}}


def description(series: Series, limits_of: Mapping[str, list[LimitRun]]) -> str:
    """Returns the chart in a sentence, for people who do not see it."""
    count = sum(len(group.points) for group in series.groups)
    lacking = sum(point.value is None for group in series.groups for point in group.points)
    limits = [f"{name} {', then '.join(f'{as_text(one.level)}' for one in runs)}" for name, runs in limits_of.items() if runs]
    parts = [
        f"Line chart of {heading(series)} on {DATA_TITLES[series.data]}",
        f"{count} points of {len(series.groups)} series",
        *limits,
        *([f"{lacking} points without a value"] if lacking else []),
        *([f"{len(series.gaps)} checks without measurements"] if series.gaps else []),
        *([] if series.redefined_at is None else [f"from {format_moment(series.redefined_at)} on another definition than before"]),
    ]
    return "; ".join(parts) + ". The table next to it has the same figures."


def heading(series: Series) -> str:
    """Returns the title of the series."""
    title = CATALOGUE[series.metric].title
    return title if series.attribute is None else f"{title} by {clip_name(series.attribute)}"


def _title(series: Series, rows: ChartRows, marks: Sequence[AlertMark]) -> dict[str, Any]:
    known = DATA_TITLES[series.data]
    per = "one point a check" if series.rollup is None else f"by {series.rollup.value}"
    only = f", {rows.names[0]}" if len(rows.names) == 1 else ""
    notes = [f"{known[0].upper()}{known[1:]}{only}; {per}."]
    if rows.lines:
        notes.append("Bands are 95 % intervals. Of each stretch the extremes." if rows.is_dense else "Bands are 95 % intervals.")
    if rows.carried:
        notes.append("Hollow: carried forward.")
    if rows.uncertain:
        notes.append("Diamond: too few records for a verdict.")
    if rows.absent:
        what = "no value, carried forward or too few records" if rows.is_dense else "no value"
        notes.append(f"Marks at the bottom: {what}.")
    if rows.gaps:
        notes.append("Crosses: check without measurements.")
    if marks:
        notes.append("Dotted with a triangle: alert opened.")
    if series.redefined_at is not None:
        notes.append(f"Grey line, {format_moment(series.redefined_at)}: {REDEFINED[0].lower()}{REDEFINED[1:]}")
    return {"text": wrap(heading(series), TITLE_WIDTH), "subtitle": wrap(" ".join(notes), TITLE_WIDTH)}


def time_axis() -> alt.X:
    """Returns the axis of time, in UTC."""
    axis = alt.Axis(title="Time (UTC)", format=_TIME_FORMATS, grid=False, labelOverlap="greedy", labelSeparation=8, labelFlush=True)
    return alt.X("t:T", scale=alt.Scale(type="utc"), axis=axis)


def time_config(look: ThemeLook, moments: Iterable[datetime], rollup: Period | None) -> dict[str, Any]:
    """Returns the configuration of a chart over time: how many ticks these moments get. Sums of days have no ticks at hours."""
    found = list(moments)
    # Over a longer time six ticks are days by themselves.
    is_short = rollup is not None and bool(found) and max(found) - min(found) < _TICKS * _DAY
    return config(look) | {"axisXTemporal": {"tickCount": {"interval": "day", "step": 1} if is_short else _TICKS}}


def whole_span(span: Span) -> alt.Chart:
    """Returns a layer that shows empty_chart and makes the axis reach over all of the range."""
    ends = alt.InlineData([{"t": milliseconds(end)} for end in (span.start, span.end)])
    mark: alt.Chart = alt.Chart(ends).mark_rule(opacity=0, aria=False)
    return mark.encode(x=time_axis())


_TIME_FORMATS = {
    "year": "%d %b %Y",
    **dict.fromkeys(("quarter", "month", "week", "date", "day"), "%d %b"),
    **dict.fromkeys(("hours", "minutes"), "%H:%M"),
    "seconds": "%H:%M:%S",
}
"""Format of a tick, by the unit that it is the start of."""


def _value_axis(field: str, axis: NumberAxis) -> alt.Y:
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
    return alt.Y(f"{field}:Q", scale=scale, axis=alt.Axis(title=None, format=axis.format, tickCount=6))


def _line_layers(rows: ChartRows, axis: NumberAxis, x: alt.X) -> list[alt.Chart]:
    """Returns the lines of the groups over the bands of their intervals."""
    if not rows.lines:
        return []
    legend = None
    if len(rows.names) != 1:  # the subtitle names the only group
        columns = 2 if max((len(name) for name in rows.names), default=0) * 2 <= TITLE_WIDTH else 1
        legend = alt.Legend(title=None, orient="bottom", columns=columns, symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)
    # Eight colours and five dashes have no common divisor, so a pair comes again only after all others.
    dashes = [list(DASHES[place % len(DASHES)]) for place in range(len(rows.names))]
    # Both have the same legend: Vega-Lite makes one of equal legends.
    colour = alt.Color("g:N", scale=alt.Scale(domain=list(rows.names), range=list(rows.shades)), legend=legend)
    dash = alt.StrokeDash("g:N", scale=alt.Scale(domain=list(rows.names), range=dashes), legend=legend)

    base = alt.Chart(alt.NamedData("lines")).encode(x=x, detail=[alt.Detail("g:N"), alt.Detail("k:O")])
    opacity = _BAND if len(rows.names) <= _FEW_GROUPS else _FAINT_BAND
    band = base.mark_area(opacity=opacity, clip=True).encode(y=_value_axis("l", axis), y2=alt.Y2("u:Q"), fill=_SHADE)
    line = base.mark_line(strokeWidth=2, clip=True).encode(y=_value_axis("v", axis), color=colour, strokeDash=dash)
    return [band, line]


_SHADE = alt.Fill("c:N", scale=None, legend=None)
"""Colour that a row carries. A scale would be shared with the lines, and their legend would show bands instead of dashes."""

_SHADE_OF_STROKE = alt.Stroke("c:N", scale=None, legend=None)


def _point_layers(rows: ChartRows, axis: NumberAxis, look: ThemeLook, x: alt.X) -> list[alt.Chart]:
    """Returns the points by kind; where they are few, with whiskers."""
    tooltip = [
        alt.Tooltip("g:N", title="Group"),
        alt.Tooltip("when:N", title="Time"),
        alt.Tooltip("v:Q", title="Value", format=".1%" if axis.format.endswith("%") else ".3~g"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("n:Q", title="Records", format=","),
        alt.Tooltip("verdict:N", title="Verdict"),
    ]
    hollow: dict[str, Any] = {"filled": False, "fill": look.surface, "strokeWidth": 1.5}
    looks: list[tuple[str, list[Row], dict[str, Any]]] = [
        ("measured", rows.measured, {"filled": True, "size": 30}),
        ("carried", rows.carried, {**hollow, "size": 36}),
        ("uncertain", rows.uncertain, {**hollow, "size": 60, "shape": "diamond"}),
    ]
    layers: list[alt.Chart] = []
    for name, found, mark in looks:
        if not found:
            continue
        base = alt.Chart(alt.NamedData(name)).encode(x=x)
        whisker = base.mark_rule(strokeWidth=1, opacity=0.5, clip=True).encode(
            y=_value_axis("l", axis), y2=alt.Y2("u:Q"), stroke=_SHADE_OF_STROKE
        )
        shade = {"fill": _SHADE} if mark["filled"] else {"stroke": _SHADE_OF_STROKE}
        point = base.mark_point(**mark, opacity=1, clip=True).encode(y=_value_axis("v", axis), tooltip=tooltip, **shade)
        layers += [whisker, point] if len(found) <= len(rows.names) * _FEW_GROUPS else [point]
    return layers


def _event_layers(rows: ChartRows, marks: Sequence[AlertMark], redefined_at: datetime | None, look: ThemeLook, x: alt.X) -> list[alt.Chart]:
    """Returns the marks of absent values, of checks without measurements, of alerts, and of the time of another definition."""
    titles = {"g": "What", "why": "Why", "when": "From", "until": "To", "count": "How many"}
    tooltip = [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]
    layers: list[alt.Chart] = []
    if rows.absent:
        runs = alt.Chart(alt.NamedData("absent")).mark_rule(strokeWidth=6, strokeCap="square", color=look.muted)
        layers.append(runs.encode(x=x, x2=alt.X2("b:T"), y=y_at(HEIGHT - 4), tooltip=tooltip))
    if rows.gaps:
        base = alt.Chart(alt.NamedData("gaps")).encode(x=x, y=y_at(HEIGHT - 14), tooltip=tooltip)
        layers += [
            base.mark_rule(strokeWidth=3, color=look.limit).encode(x2=alt.X2("b:T")),
            base.mark_point(shape="M-1,-1L1,1M-1,1L1,-1", size=60, strokeWidth=2, color=look.limit, filled=False, opacity=1),
        ]

    if marks:
        tooltip = [alt.Tooltip("text:N", title="Alert"), alt.Tooltip("when:N", title="Opened")]
        base = alt.Chart(alt.NamedData("alerts")).encode(x=x, tooltip=tooltip)
        layers += [
            base.mark_rule(color=look.alert, strokeDash=[1, 3], strokeWidth=1.5),
            base.mark_point(shape="triangle-down", filled=True, size=90, color=look.alert, opacity=1).encode(y=y_at(6)),
        ]

    if redefined_at is not None:
        tooltip = [alt.Tooltip("text:N", title="Definition"), alt.Tooltip("when:N", title="From")]
        row = {"t": milliseconds(redefined_at), "text": REDEFINED, "when": format_moment(redefined_at)}
        base = alt.Chart(alt.InlineData([row])).encode(x=x, tooltip=tooltip)
        label = base.mark_text(align="right", baseline="top", dx=-4, fontSize=12, color=look.muted)
        layers += [
            base.mark_rule(color=look.muted, strokeWidth=2),
            label.encode(y=y_at(HEIGHT - 32), text=fixed_text("earlier definition")),
        ]
    return layers


def _limits(series: Series) -> dict[str, list[LimitRun]]:
    """Returns the limits by their names, with the times in which they applied."""
    points = sorted((point for group in series.groups for point in group.points), key=attrgetter("at"))
    return {"lower limit": limit_runs(points, "lower"), "upper limit": limit_runs(points, "upper")}


def _limit_layers(limits: Mapping[str, list[LimitRun]], axis: NumberAxis, look: ThemeLook) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """Returns the ideal and the limits as lines, to lie under the points, and their names, to lie over them.

    A limit that was changed is a line for each time in which it applied; one that was not changed spans the whole chart.
    """
    rules: list[alt.Chart] = []
    labels: list[alt.Chart] = []
    if axis.ideal is not None and axis.low < axis.ideal < axis.high:
        rules, labels = _level_lines([{"v": axis.ideal, "name": f"{axis.equal} {as_text(axis.ideal)}"}], look.muted, [1, 0], axis, look)
    for name, runs in limits.items():
        rows: list[Row] = []
        for one in runs:
            ends = {} if one.always else {"t": milliseconds(one.start), "b": milliseconds(one.end)}
            rows.append({"v": one.level, "name": f"{name} {as_text(one.level)}", **ends})
        if rows:
            of_limit, names = _level_lines(rows, look.limit, [7, 4], axis, look)
            rules += of_limit
            labels += names
    return rules, labels


def _level_lines(
    rows: list[Row], colour: str, dash: list[int], axis: NumberAxis, look: ThemeLook
) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """Returns lines at some heights, from `t` to `b` where a row has them, and their names."""
    base = alt.Chart(alt.InlineData(rows)).encode(y=_value_axis("v", axis))
    is_part = "t" in rows[0]
    rule = base.mark_rule(color=colour, strokeDash=dash, strokeWidth=1.5)
    at: dict[str, Any] = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2, "fontSize": 12}
    halo = base.mark_text(**at, color=look.surface, stroke=look.surface, strokeWidth=4, strokeJoin="round", opacity=0.8)
    x = time_axis() if is_part else x_at(0)
    labels = [one.encode(x=x, text=alt.Text("name:N")) for one in (halo, base.mark_text(**at, color=colour))]
    return [rule.encode(x=x, x2=alt.X2("b:T")) if is_part else rule], labels
