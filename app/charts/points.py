"""A series as rows that a chart draws: lines that end where a gap is, points by what is to be said of them, runs of what is absent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from math import inf
from statistics import median_low
from typing import Any, Literal

from app.charts.theme import clipped
from app.checks.rollups import Period
from app.domain.checks import Scope
from app.metrics.sides import Disadvantaged
from app.metrics.verdicts import Verdict
from app.views.headlines import VERDICT_WORDS
from app.views.series import Gap, GroupSeries, Series, SeriesPoint, disadvantaged_at

Row = dict[str, Any]

DENSE = 800
"""With more points than this a chart draws lines only: points would lie on each other, and cost the browser its time."""

STRETCHES = 300
"""Into so many stretches of time a dense chart is divided, of each of which it keeps the ends and the extremes: what a line as wide as a
screen can show. A year of hours takes a browser seconds otherwise."""

HOUR = timedelta(hours=1)

_LONGEST_STEP = {Period.DAY: timedelta(days=1), Period.WEEK: timedelta(days=7), Period.MONTH: timedelta(days=31)}
_PATIENCE = 1.5
"""A step longer than this many usual ones is a gap, and no line goes over it."""

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
class Drawn:
    """The rows of a chart, by what is drawn of them; `shades` are the colours of the `names`. `is_dense`: points are not drawn singly."""

    names: tuple[str, ...]
    shades: tuple[str, ...]
    lines: list[Row]
    measured: list[Row]
    carried: list[Row]
    uncertain: list[Row]
    absent: list[Row]
    gaps: list[Row]
    is_dense: bool


def drawn(series: Series, *, shades: Sequence[str], low: float, high: float) -> Drawn:
    """The rows of a series on an axis from `low` to `high`, to which an unbounded interval reaches. The groups take `shades` in turn."""
    is_dense = sum(len(group.points) for group in series.groups) > DENSE
    names, longest, stretch = _names(series.groups), _longest_step(series), _stretch(series.groups)
    rows: dict[str, list[Row]] = {name: [] for name in ("lines", "measured", "carried", "uncertain", "absent")}
    colours = tuple(shades[place % len(shades)] for place in range(len(names)))
    for name, colour, group in zip(names, colours, series.groups, strict=True):
        for segment, part in enumerate(_segments(group.points, longest)):
            shown = _thinned(part, stretch) if is_dense else part
            rows["lines"] += [_row(point, low, high) | {"g": name, "c": colour, "k": segment} for point in shown]
            for point in () if is_dense and len(part) > 1 else part:
                rows[_kind(point)].append(_row(point, low, high) | {"g": name, "c": colour} | _told(series, point))
        rows["absent"] += _runs(_absences(group.points, name, is_dense=is_dense), longest)
    return Drawn(names=names, shades=colours, gaps=_runs(_gaps(series.gaps), longest), is_dense=is_dense, **rows)


@dataclass(frozen=True, slots=True)
class LimitRun:
    """A limit that held from a moment on, to the last point that was held against it. `always`: there was no other, and never none."""

    level: float
    start: datetime
    end: datetime
    always: bool


def limit_runs(series: Series, side: Literal["lower", "upper"]) -> list[LimitRun]:
    """The limits of that side that the points were held against, in their order; stretches without a limit are left out.

    A new limit begins where the last point under the one before stands, for a point speaks of the time before it.
    """
    points = sorted((point for group in series.groups for point in group.points), key=lambda point: point.at)
    held = [(point.at, point.lower_limit if side == "lower" else point.upper_limit) for point in points]
    always = len({level for _, level in held}) == 1
    runs: list[LimitRun] = []
    before: datetime | None = None
    for level, members in groupby(held, key=lambda one: one[1]):
        moments = [at for at, _ in members]
        start, before = before or moments[0] - HOUR, moments[-1]
        if level is not None:
            runs.append(LimitRun(level, start, moments[-1], always))
    return runs


def when(moment: datetime) -> str:
    """A moment as charts write it."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def milliseconds(moment: datetime) -> int:
    """The moment as Vega has it."""
    return round(moment.timestamp() * 1000)


def _names(groups: Sequence[GroupSeries]) -> tuple[str, ...]:
    """What each series is called; no two alike."""
    taken: list[str] = []
    for group in groups:
        name = clipped(_SCOPES[group.scope] if group.group is None else group.group) or "(blank)"
        number, free = 2, name
        while free in taken:
            number, free = number + 1, f"{name} ({number})"
        taken.append(free)
    return tuple(taken)


def _longest_step(series: Series) -> timedelta:
    """The longest step between two points that a line goes over."""
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
    """The points with a value, parted where one without a value, or none at all, lies between, and where the definition changes."""
    parts: list[list[SeriesPoint]] = []
    before: SeriesPoint | None = None
    for point in points:
        if point.value is not None:
            if before is None or before.value is None or point.at - before.at > longest or point.definition != before.definition:
                parts.append([])
            parts[-1].append(point)
        before = point
    return parts


def _stretch(groups: Iterable[GroupSeries]) -> timedelta:
    ends = [point.at for group in groups if group.points for point in (group.points[0], group.points[-1])]
    return (max(ends) - min(ends)) / STRETCHES if ends else timedelta()


def _thinned(part: Sequence[SeriesPoint], stretch: timedelta) -> list[SeriesPoint]:
    """The first, the last and the extremes of value and interval in each stretch, in their order."""
    kept: list[SeriesPoint] = []
    for _, found in groupby(enumerate(part), key=lambda one: (one[1].at - part[0].at) // stretch if stretch else 0):
        among = list(found)
        ends = (among[0], among[-1])
        values = (min(among, key=lambda one: one[1].value or 0.0), max(among, key=lambda one: one[1].value or 0.0))
        lowest = min(among, key=lambda one: -inf if one[1].lower is None else one[1].lower)
        highest = max(among, key=lambda one: inf if one[1].upper is None else one[1].upper)
        kept += [part[place] for place in sorted({place for place, _ in (*ends, *values, lowest, highest)})]
    return kept


def _kind(point: SeriesPoint) -> str:
    if point.verdict == Verdict.INSUFFICIENT_DATA:
        return "uncertain"
    return "carried" if point.carried_forward else "measured"


def _row(point: SeriesPoint, low: float, high: float) -> Row:
    ends = (low if point.lower is None else point.lower, high if point.upper is None else point.upper)
    return {"t": milliseconds(point.at), "v": _short(point.value), "l": _short(ends[0]), "u": _short(ends[1])}


def _told(series: Series, point: SeriesPoint) -> Row:
    """What the tooltip of a point says beside its value."""
    ends = ("open" if end is None else f"{end:.3g}" for end in (point.lower, point.upper))
    side = ", the reference at a disadvantage" if disadvantaged_at(series, point) is Disadvantaged.REFERENCE else ""
    carried = ", carried forward" if point.carried_forward else ""
    judged = f"{VERDICT_WORDS[point.verdict]}{side}{carried}"
    return {"when": when(point.at), "interval": " to ".join(ends), "n": point.n, "verdict": judged}


def _absences(points: Iterable[SeriesPoint], name: str, *, is_dense: bool) -> Iterable[tuple[datetime, str, str]]:
    """What is to be marked at the bottom: moment, whose, why."""
    for point in points:
        if point.value is None:
            yield point.at, name, point.reason or "no reason is known"
        elif is_dense and point.carried_forward:
            yield point.at, name, "carried forward"
        elif is_dense and point.verdict == Verdict.INSUFFICIENT_DATA:
            yield point.at, name, "too few records for a verdict"


def _gaps(gaps: Iterable[Gap]) -> Iterable[tuple[datetime, str, str]]:
    for gap in gaps:
        yield gap.at, gap.state.value.replace("_", " "), gap.reason or "no reason is known"


def _runs(found: Iterable[tuple[datetime, str, str]], longest: timedelta) -> list[Row]:
    """Neighbours with the same name and reason, as one row from the first to the last."""
    rows: list[Row] = []
    last: tuple[datetime, str, str] | None = None
    for at, name, why in found:
        if last is not None and (name, why) == last[1:] and at - last[0] <= longest:
            rows[-1] |= {"b": milliseconds(at), "until": when(at), "count": rows[-1]["count"] + 1}
        else:
            moment = milliseconds(at)
            rows.append({"t": moment, "b": moment, "g": name, "why": why, "when": when(at), "until": when(at), "count": 1})
        last = (at, name, why)
    return rows


def _short(number: float | None) -> float | None:
    """Six digits: more than a screen shows, fewer than a year of points should weigh."""
    return None if number is None else float(f"{number:.6g}")
