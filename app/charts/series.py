"""A metric over time: one line for each group with its interval, the limits, and what is absent and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from textwrap import wrap
from typing import Any

import altair as alt

from app.charts.nothing import nothing
from app.charts.numbers import NumberAxis, number_axis
from app.charts.points import Drawn, LimitRun, Row, drawn, limit_runs, milliseconds, when
from app.charts.rendering import Spec
from app.charts.theme import DASHES, LOOKS, Look, Theme, clipped, config
from app.domain.checks import DataSet, Span
from app.metrics.catalogue import CATALOGUE
from app.views.series import Series

HEIGHT = 280
TITLE_WIDTH = 50
"""Characters of a line of the title, so that it fits on a telephone."""

MOST_ALERTS = 200
"""Alerts that are marked: the newest."""

REDEFINED = "From here every record counts once on each side; before, every copy counted as a record (release 0.1)."

_BAND = 0.16
_FAINT_BAND = 0.06
_FEW_GROUPS = 3
"""With more groups than this the bands are faint, or they would hide each other."""

DATA_TITLES = {
    DataSet.PAYLOAD: "logged records",
    DataSet.PAYLOAD_PERTURBED: "logged records and their copies, each copy counted as a record",
    DataSet.BALANCED: "logged records, each once on either side, with copies",
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
    """The chart of a series. `span` is the time that the axis shows; left out, that of the points."""
    look = LOOKS[theme]
    points = [point for group in series.groups for point in group.points if point.value is not None]
    limits = _limits(series)
    axis = number_axis(
        series.metric, [point.value for point in points if point.value is not None], [one.level for runs in limits.values() for one in runs]
    )
    rows = drawn(series, shades=look.groups, low=axis.low, high=axis.high)
    marks = sorted(alerts, key=lambda mark: mark.at)[-MOST_ALERTS:]
    x = time_axis()
    rules, labels = _levels(limits, axis, look)
    layers = [
        *([] if span is None else [whole_span(span)]),
        *rules,
        *_lines(rows, axis, x),
        *_points(rows, axis, look, x),
        *_absent(rows, look, x),
        *_alerts(marks, look, x),
        *_redefinition(series.redefined_at, look, x),
        *labels,
        *([] if points or rows.absent or rows.gaps else [nothing("No measurements in this time.", height=HEIGHT, look=look)]),
    ]
    chart = alt.layer(*layers).properties(width="container", height=HEIGHT, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    spec: Spec = chart.to_dict(validate=False)
    named = {"lines": rows.lines, "absent": rows.absent, "gaps": rows.gaps, "alerts": [_alert(mark) for mark in marks]}
    named |= {"measured": rows.measured, "carried": rows.carried, "uncertain": rows.uncertain}
    described = {"title": _title(series, rows, marks), "description": description(series), "config": config(look)}
    return spec | described | {"datasets": spec.get("datasets", {}) | {name: found for name, found in named.items() if found}}


def description(series: Series) -> str:
    """The chart in a sentence, for those who do not see it."""
    count = sum(len(group.points) for group in series.groups)
    lacking = sum(point.value is None for group in series.groups for point in group.points)
    limits = [f"{name} {', then '.join(f'{one.level:g}' for one in runs)}" for name, runs in _limits(series).items() if runs]
    parts = [
        f"Line chart of {heading(series)} on {DATA_TITLES[series.data]}",
        f"{count} points of {len(series.groups)} series",
        *limits,
        *([f"{lacking} points without a value"] if lacking else []),
        *([f"{len(series.gaps)} checks without measurements"] if series.gaps else []),
        *([] if series.redefined_at is None else [f"from {when(series.redefined_at)} on another definition than before"]),
    ]
    return "; ".join(parts) + ". The table beside it has the same figures."


def heading(series: Series) -> str:
    """What the series is of."""
    title = CATALOGUE[series.metric].title
    return title if series.attribute is None else f"{title} by {clipped(series.attribute)}"


def _title(series: Series, rows: Drawn, marks: Sequence[AlertMark]) -> dict[str, Any]:
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
        notes.append(f"Grey line, {when(series.redefined_at)}: {REDEFINED[0].lower()}{REDEFINED[1:]}")
    return {"text": wrap(heading(series), TITLE_WIDTH), "subtitle": wrap(" ".join(notes), TITLE_WIDTH)}


def time_axis() -> alt.X:
    """The axis of time, in UTC."""
    axis = alt.Axis(title="Time (UTC)", format=_TIME_FORMATS, grid=False, labelOverlap="greedy", labelFlush=True, tickCount=6)
    return alt.X("t:T", scale=alt.Scale(type="utc"), axis=axis)


def whole_span(span: Span) -> alt.Chart:
    """A layer that shows nothing and makes the axis reach over all of the range."""
    ends = alt.InlineData([{"t": milliseconds(end)} for end in (span.start, span.end)])
    mark: alt.Chart = alt.Chart(ends).mark_rule(opacity=0, aria=False)
    return mark.encode(x=time_axis())


_TIME_FORMATS = {
    "year": "%d %b %Y",
    **dict.fromkeys(("quarter", "month", "week", "date", "day"), "%d %b"),
    **dict.fromkeys(("hours", "minutes"), "%H:%M"),
    "seconds": "%H:%M:%S",
}
"""Of a tick, by the unit that it is the start of."""


def _value_axis(field: str, axis: NumberAxis) -> alt.Y:
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
    return alt.Y(f"{field}:Q", scale=scale, axis=alt.Axis(title=None, format=axis.format, tickCount=6))


def _colour(rows: Drawn) -> alt.Color:
    return alt.Color("g:N", scale=alt.Scale(domain=list(rows.names), range=list(rows.shades)), legend=_legend(rows))


def _dash(rows: Drawn) -> alt.StrokeDash:
    # Eight colours and five dashes have no common divisor, so a pair comes again only after all others.
    dashes = [list(DASHES[place % len(DASHES)]) for place in range(len(rows.names))]
    return alt.StrokeDash("g:N", scale=alt.Scale(domain=list(rows.names), range=dashes), legend=_legend(rows))


def _legend(rows: Drawn) -> alt.Legend | None:
    """The same in every layer, which makes it one; none where the subtitle names the only group."""
    if len(rows.names) == 1:
        return None
    columns = 2 if max((len(name) for name in rows.names), default=0) * 2 <= TITLE_WIDTH else 1
    return alt.Legend(title=None, orient="bottom", columns=columns, symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)


def _lines(rows: Drawn, axis: NumberAxis, x: alt.X) -> list[alt.Chart]:
    if not rows.lines:
        return []
    base = alt.Chart(alt.NamedData("lines")).encode(x=x, detail=["g:N", "k:O"])
    opacity = _BAND if len(rows.names) <= _FEW_GROUPS else _FAINT_BAND
    band = base.mark_area(opacity=opacity, clip=True).encode(y=_value_axis("l", axis), y2="u:Q", fill=_SHADE)
    line = base.mark_line(strokeWidth=2, clip=True).encode(y=_value_axis("v", axis), color=_colour(rows), strokeDash=_dash(rows))
    return [band, line]


_SHADE = alt.Fill("c:N", scale=None, legend=None)
"""The colour that a row carries. A scale would be shared with the lines, and their legend would show bands instead of dashes."""

_SHADE_OF_STROKE = alt.Stroke("c:N", scale=None, legend=None)


def _points(rows: Drawn, axis: NumberAxis, look: Look, x: alt.X) -> list[alt.Chart]:
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
        whisker = base.mark_rule(strokeWidth=1, opacity=0.5, clip=True).encode(y=_value_axis("l", axis), y2="u:Q", stroke=_SHADE_OF_STROKE)
        shade = {"fill": _SHADE} if mark["filled"] else {"stroke": _SHADE_OF_STROKE}
        point = base.mark_point(**mark, opacity=1, clip=True).encode(y=_value_axis("v", axis), tooltip=_tooltip(axis), **shade)
        layers += [whisker, point] if len(found) <= len(rows.names) * _FEW_GROUPS else [point]
    return layers


def _tooltip(axis: NumberAxis) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("g:N", title="Group"),
        alt.Tooltip("when:N", title="Time"),
        alt.Tooltip("v:Q", title="Value", format=".1%" if axis.format.endswith("%") else ".3~g"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("n:Q", title="Records", format=","),
        alt.Tooltip("verdict:N", title="Verdict"),
    ]


def _absent(rows: Drawn, look: Look, x: alt.X) -> list[alt.Chart]:
    told = [alt.Tooltip(f"{field}:N", title=title) for field, title in _ABSENT_TITLES.items()]
    layers: list[alt.Chart] = []
    if rows.absent:
        runs = alt.Chart(alt.NamedData("absent")).mark_rule(strokeWidth=6, strokeCap="square", color=look.muted)
        layers.append(runs.encode(x=x, x2="b:T", y=alt.value(HEIGHT - 4), tooltip=told))
    if rows.gaps:
        base = alt.Chart(alt.NamedData("gaps")).encode(x=x, y=alt.value(HEIGHT - 14), tooltip=told)
        layers += [
            base.mark_rule(strokeWidth=3, color=look.limit).encode(x2="b:T"),
            base.mark_point(shape="M-1,-1L1,1M-1,1L1,-1", size=60, strokeWidth=2, color=look.limit, filled=False, opacity=1),
        ]
    return layers


_ABSENT_TITLES = {"g": "What", "why": "Why", "when": "From", "until": "To", "count": "How many"}


def _alerts(marks: Sequence[AlertMark], look: Look, x: alt.X) -> list[alt.Chart]:
    if not marks:
        return []
    told = [alt.Tooltip("text:N", title="Alert"), alt.Tooltip("when:N", title="Opened")]
    base = alt.Chart(alt.NamedData("alerts")).encode(x=x, tooltip=told)
    return [
        base.mark_rule(color=look.alert, strokeDash=[1, 3], strokeWidth=1.5),
        base.mark_point(shape="triangle-down", filled=True, size=90, color=look.alert, opacity=1).encode(y=alt.value(6)),
    ]


def _alert(mark: AlertMark) -> Row:
    return {"t": milliseconds(mark.at), "text": mark.text, "when": when(mark.at)}


def _redefinition(at: datetime | None, look: Look, x: alt.X) -> list[alt.Chart]:
    """A line from which on the points follow another definition."""
    if at is None:
        return []
    told = [alt.Tooltip("text:N", title="Definition"), alt.Tooltip("when:N", title="From")]
    row = {"t": milliseconds(at), "text": REDEFINED, "when": when(at)}
    base = alt.Chart(alt.InlineData([row])).encode(x=x, tooltip=told)
    label = base.mark_text(align="right", baseline="top", dx=-4, fontSize=11, color=look.muted)
    return [
        base.mark_rule(color=look.muted, strokeWidth=2),
        label.encode(y=alt.value(HEIGHT - 32), text=alt.value("earlier definition")),
    ]


def _limits(series: Series) -> dict[str, list[LimitRun]]:
    """The limits by their names: as they held over time."""
    return {"lower limit": limit_runs(series, "lower"), "upper limit": limit_runs(series, "upper")}


def _levels(limits: Mapping[str, list[LimitRun]], axis: NumberAxis, look: Look) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """The ideal and the limits as lines, to lie under the points, and their names, to lie over them.

    A limit that was changed is a line for each time that it held; one that was not goes all the way.
    """
    rules: list[alt.Chart] = []
    labels: list[alt.Chart] = []
    if axis.ideal is not None and axis.low < axis.ideal < axis.high:
        rules, labels = _level([{"v": axis.ideal, "name": f"{axis.equal} {axis.ideal:g}"}], look.muted, [1, 0], axis, look)
    for name, runs in limits.items():
        rows: list[Row] = [{"v": one.level, "name": f"{name} {one.level:g}", **_ends(one)} for one in runs]
        ruled, named = _level(rows, look.limit, [7, 4], axis, look) if rows else ([], [])
        rules += ruled
        labels += named
    return rules, labels


def _ends(run: LimitRun) -> Row:
    return {} if run.always else {"t": milliseconds(run.start), "b": milliseconds(run.end)}


def _level(rows: list[Row], colour: str, dash: list[int], axis: NumberAxis, look: Look) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """Lines at some heights, from `t` to `b` where a row has them, and their names."""
    base = alt.Chart(alt.InlineData(rows)).encode(y=_value_axis("v", axis))
    is_part = "t" in rows[0]
    rule = base.mark_rule(color=colour, strokeDash=dash, strokeWidth=1.5)
    at: dict[str, Any] = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2, "fontSize": 11}
    halo = base.mark_text(**at, color=look.surface, stroke=look.surface, strokeWidth=4, opacity=0.8)
    x = time_axis() if is_part else alt.value(0)
    labels = [one.encode(x=x, text="name:N") for one in (halo, base.mark_text(**at, color=colour))]
    return [rule.encode(x=x, x2="b:T") if is_part else rule], labels
