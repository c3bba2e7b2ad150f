"""Rows of a series for a chart: lines that end at a gap, points by kind, runs of absent values."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from math import inf
from operator import attrgetter
from statistics import median_low
from typing import Any, Literal, NamedTuple

from ..checks.rollups import Period
from ..domain.checks import Scope
from ..metrics.figure_text import format_figure
from ..metrics.sides import Disadvantaged
from ..metrics.verdicts import Verdict
from ..views.headlines import VERDICT_WORDS
from ..views.series import GroupSeries, Series, SeriesPoint, disadvantaged_at
from .theme import clip_name

Row = dict[str, Any]

DENSE = 800
"""Max points that a chart draws singly; with more it draws lines only: points would overlap and slow down the browser."""

STRETCHES = 300
"""Stretches of time into which a dense chart is divided; of each it keeps the first and last point and the extremes.

A line as wide as a screen cannot show more stretches. Without this, a browser needs seconds for a year of hours."""

HOUR = timedelta(hours=1)

_LONGEST_STEP = {Period.DAY: timedelta(days=1), Period.WEEK: timedelta(days=7), Period.MONTH: timedelta(days=31)}
_PATIENCE = 1.5
"""Max usual steps between two points that a line connects. A longer step is a gap."""

_SCOPES = {
    Scope.GROUP: "group",
    Scope.WORST: "group furthest out",
    Scope.POOLED: "all monitored",
    Scope.WORST_PAIR: "two groups furthest apart",
    Scope.REFERENCE: "reference",
    Scope.ATTRIBUTE: "all groups",
    Scope.OVERALL: "everybody",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRows:
    """Rows of a chart by kind of mark; `shades` are the colours of the `names`. `is_dense`: points are not drawn singly."""

    names: tuple[str, ...]
    shades: tuple[str, ...]
    lines: list[Row]
    measured: list[Row]
    carried: list[Row]
    uncertain: list[Row]
    absent: list[Row]
    gaps: list[Row]
    is_dense: bool


def collect_rows(series: Series, *, shades: Sequence[str], low: float, high: float) -> ChartRows:
    """Returns the rows of a series on an axis from `low` to `high`, the ends of an unbounded interval. The groups take `shades` in turn."""
    is_dense = sum(len(group.points) for group in series.groups) > DENSE
    names, longest = _name_groups(series.groups), _longest_step(series)
    colours = tuple(shades[place % len(shades)] for place in range(len(names)))
    ends = [point.at for group in series.groups if group.points for point in (group.points[0], group.points[-1])]
    stretch = (max(ends) - min(ends)) / STRETCHES if ends else timedelta()

    rows: dict[str, list[Row]] = {name: [] for name in ("lines", "measured", "carried", "uncertain", "absent")}
    for name, colour, group in zip(names, colours, series.groups, strict=True):
        for segment, part in enumerate(_segments(group.points, longest)):
            shown = _thin_out(part, stretch) if is_dense else part
            rows["lines"] += [_row(point, low, high) | {"g": name, "c": colour, "k": segment} for point in shown]
            # A segment of one point has no line, so even a dense chart draws the point.
            for point in () if is_dense and len(part) > 1 else part:
                kind = "carried" if point.carried_forward else "measured"
                kind = "uncertain" if point.verdict == Verdict.INSUFFICIENT_DATA else kind
                interval = "" if point.value is None else format_figure(point.value, point.lower, point.upper).interval
                side = ", the reference at a disadvantage" if disadvantaged_at(series, point) is Disadvantaged.REFERENCE else ""
                verdict = f"{VERDICT_WORDS[point.verdict]}{side}{', carried forward' if point.carried_forward else ''}"
                tooltip = {"when": format_moment(point.at), "interval": interval, "n": point.n, "verdict": verdict}
                rows[kind].append(_row(point, low, high) | {"g": name, "c": colour} | tooltip)

        absences: list[_Mark] = []
        for point in group.points:
            if point.value is None:
                absences.append(_Mark(point.at, name, point.reason or "no reason is known"))
            elif is_dense and point.carried_forward:
                absences.append(_Mark(point.at, name, "carried forward"))
            elif is_dense and point.verdict == Verdict.INSUFFICIENT_DATA:
                absences.append(_Mark(point.at, name, "too few records for a verdict"))
        rows["absent"] += _join_marks(absences, longest)

    gaps = [_Mark(gap.at, gap.state.value.replace("_", " "), gap.reason or "no reason is known") for gap in series.gaps]
    return ChartRows(names=names, shades=colours, gaps=_join_marks(gaps, longest), is_dense=is_dense, **rows)


@dataclass(frozen=True, slots=True)
class LimitRun:
    """A limit from the moment it took effect to the last point compared with it. `always`: all points were compared with this limit."""

    level: float
    start: datetime
    end: datetime
    always: bool


def limit_runs(points: Sequence[SeriesPoint], side: Literal["lower", "upper"]) -> list[LimitRun]:
    """Returns the limits of that side that points, oldest first, were compared with, in their order; stretches without one are left out.

    A new limit begins at the last point under the one before, for a point describes the time before it.
    """
    limit_of = attrgetter(f"{side}_limit")
    levels = set(map(limit_of, points))
    if len(levels) == 1:  # as a year mostly has, whose thousands of points need no joining
        (only,) = levels
        return [] if only is None else [LimitRun(only, points[0].at - HOUR, points[-1].at, always=True)]
    held = [(point.at, limit_of(point)) for point in points]
    runs: list[LimitRun] = []
    before: datetime | None = None
    # groupby joins neighbours only: a limit that comes back later is a run of its own.
    for level, members in groupby(held, key=lambda one: one[1]):
        moments = [at for at, _ in members]
        start, before = before or moments[0] - HOUR, moments[-1]
        if level is not None:
            runs.append(LimitRun(level, start, moments[-1], always=False))
    return runs


def format_moment(moment: datetime) -> str:
    """Returns a moment as charts write it."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def milliseconds(moment: datetime) -> int:
    """Returns the moment as Vega has it."""
    return round(moment.timestamp() * 1000)


def _name_groups(groups: Sequence[GroupSeries]) -> tuple[str, ...]:
    """Returns the name of each series; no two alike."""
    taken: list[str] = []
    for group in groups:
        name = clip_name(_SCOPES[group.scope] if group.group is None else group.group) or "(blank)"
        number, free = 2, name
        while free in taken:
            number, free = number + 1, f"{name} ({number})"
        taken.append(free)
    return tuple(taken)


def _longest_step(series: Series) -> timedelta:
    """Returns the longest step between two points that a line connects."""
    if series.rollup is not None:
        return _LONGEST_STEP[series.rollup]
    steps = [
        after.at - before.at
        for group in series.groups
        for before, after in zip(group.points, group.points[1:], strict=False)
        if after.at > before.at
    ]
    return _PATIENCE * median_low(steps) if steps else HOUR


def _segments(points: Iterable[SeriesPoint], longest: timedelta) -> list[list[SeriesPoint]]:
    """Returns the points with a value, split where one without a value, or none at all, lies between, and where the definition changes."""
    parts: list[list[SeriesPoint]] = []
    before: SeriesPoint | None = None
    for point in points:
        if point.value is not None:
            if before is None or before.value is None or point.at - before.at > longest or point.definition != before.definition:
                parts.append([])
            parts[-1].append(point)
        before = point
    return parts


def _thin_out(part: Sequence[SeriesPoint], stretch: timedelta) -> list[SeriesPoint]:
    """Returns the first, the last and the extremes of value and interval in each stretch, in their order."""
    kept: list[SeriesPoint] = []
    start, first = part[0].at, 0
    moments, values = [one.at for one in part], [one.value or 0.0 for one in part]
    # An open end is further out than any number.
    lowers = [-inf if one.lower is None else one.lower for one in part]
    uppers = [inf if one.upper is None else one.upper for one in part]
    while first < len(part):
        # The stretches have one length, so the end of this one is looked up; a year of points would be divided one by one.
        end = start + ((moments[first] - start) // stretch + 1) * stretch if stretch else None
        beyond = len(part) if end is None else bisect_left(moments, end, lo=first)
        of, low, high = values[first:beyond], lowers[first:beyond], uppers[first:beyond]
        extremes = {0, len(of) - 1, of.index(min(of)), of.index(max(of)), low.index(min(low)), high.index(max(high))}
        kept += [part[first + place] for place in sorted(extremes)]
        first = beyond
    return kept


def _row(point: SeriesPoint, low: float, high: float) -> Row:
    # An interval that is open at an end reaches to the end of the axis.
    ends = (low if point.lower is None else point.lower, high if point.upper is None else point.upper)
    return {"t": milliseconds(point.at), "v": _short(point.value), "l": _short(ends[0]), "u": _short(ends[1])}


class _Mark(NamedTuple):
    """One mark at the bottom of a chart: its time, its series, its reason."""

    at: datetime
    name: str
    why: str


def _join_marks(marks: Iterable[_Mark], longest: timedelta) -> list[Row]:
    """Returns neighbours with the same name and reason, as one row from the first to the last."""
    rows: list[Row] = []
    last: _Mark | None = None
    for mark in marks:
        if last is not None and (mark.name, mark.why) == (last.name, last.why) and mark.at - last.at <= longest:
            rows[-1] |= {"b": milliseconds(mark.at), "until": format_moment(mark.at), "count": rows[-1]["count"] + 1}
        else:
            moment, text = milliseconds(mark.at), format_moment(mark.at)
            rows.append({"t": moment, "b": moment, "g": mark.name, "why": mark.why, "when": text, "until": text, "count": 1})
        last = mark
    return rows


def _short(number: float | None) -> float | None:
    """Returns the number with six digits: more than a screen shows, few enough for a year of points."""
    return None if number is None else float(f"{number:.6g}")
