"""Small pictures of groups over one time, as words and as paths for page and report.

Paths hold numbers only, so nothing needs escaping. A picture is 1,000 units wide, stretched to its place.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import NamedTuple

from ...base.clock import HOUR
from ...base.values import frozen, frozen_by_name
from ...checks.days.day_queries import CheckStep
from ...checks.views.headlines import VERDICT_WORDS
from ...domain.check import Span
from ...statistics.catalogue import CATALOGUE
from ...statistics.catalogue.metric import CountFigure, RateFigure
from ...statistics.intervals.verdicts import GRAVEST, Limits, Verdict
from ...statistics.measures.worst_group import add_mirror_limits
from ...statistics.sentences.figure_sentences import count_digits, write_minus
from ..timeline import TimePanel, TimeStep
from .axes import Axis, choose_axis

WIDTH = 1000
HEIGHT = 88
"""Units and pixels of a panel."""

VOLUME_HEIGHT = 48
_TEXT_HEIGHT = 12
_MIN_BAR_HEIGHT = 6.0
_ARROW_HEIGHT, _ARROW_WIDTH = 7.0, 5.0
_MAX_BAR_WIDTH = 10.0
_BAR_SHARE = 0.85
"""Share of its step's width that a bar has."""

_MAX_GAP_DISTANCES = 1.5
"""Max distance between two steps that a line connects, in usual distances; beyond it is a gap."""

_MIN_DIGITS = 2


def say_steps(metric: str, steps: Iterable[TimeStep], unit: str = "check") -> str:
    """Says `164 checks: unfair 12, fair 152; 0.21 to 0.91; 4 carried forward`; verdicts are of `unit`."""
    listed = list(steps)
    verdicts: Counter[Verdict | None] = Counter()
    for step in listed:
        for verdict, count in step.verdicts.items():  # `update()` takes four times as long
            verdicts[verdict] += count
    figures = sum(step.figures for step in listed)
    carried = sum(step.carried for step in listed)
    lowest = min((step.lowest for step in listed if step.lowest is not None), default=None)
    highest = max((step.highest for step in listed if step.highest is not None), default=None)
    limits = listed[-1].limits if listed else (None, None)
    phrases = []
    if figures:
        counts = ", ".join(
            f"{VERDICT_WORDS[verdict]} {verdicts[verdict]:,}" for verdict in GRAVEST if verdicts[verdict]
        )
        count_phrase = f"1 {unit}" if figures == 1 else f"{figures:,} {unit}s"
        phrases.append(f"{count_phrase}: {counts}" if counts else count_phrase)
    if lowest is not None and highest is not None:
        phrases.append(
            " to ".join(dict.fromkeys(write_value(metric, end, limits) for end in (lowest, highest)))
        )
    if carried:
        phrases.append(f"{carried:,} carried forward")
    return "; ".join(phrases) or "no figure"


def write_value(metric: str, value: float, limits: Limits = (None, None)) -> str:
    """Writes a value with digits that show it on its side of the limits; a share is in per cent."""
    match CATALOGUE[metric].measure:
        case RateFigure():
            levels = [None if level is None else 100 * level for level in (*limits, CATALOGUE[metric].ideal)]
            return f"{100 * value:.{count_digits(100 * value, levels, 1)}f} %"
        case CountFigure():
            return f"{value:,.0f}"
        case _:
            return write_minus(
                f"{value + 0.0:.{count_digits(value, (0.0, *limits, CATALOGUE[metric].ideal), _MIN_DIGITS)}f}"
            )


def name_step(step: timedelta) -> str:
    """Names the length of a step: `hour`, `6 hours`, `day`."""
    for unit, name in (
        (timedelta(days=7), "week"),
        (timedelta(days=1), "day"),
        (timedelta(hours=1), "hour"),
        (timedelta(minutes=1), "minute"),
    ):
        if step >= unit and not step % unit:
            return name if step == unit else f"{step // unit} {name}s"
    return str(step)


def count_step(step: timedelta) -> str:
    """Counts the units of a step: `one hour`, `6 hours`."""
    name = name_step(step)
    return name if name[0].isdigit() else f"one {name}"


@frozen
class LevelTick:
    text: str
    y: float


class Bar(NamedTuple):
    """Box of a step; `x` is its middle, `y` its top."""

    x: float
    width: float
    y: float
    height: float
    step: TimeStep


@frozen_by_name
class PanelPicture:
    """Paths of a panel: `bars` by verdict, the least serious first, and `carried` where nothing was measured.

    `band` is the fair range, `limits` its ends that are set, `hull` the 95 % intervals, `earlier` the time
    compared with. `equal` is the height of the ideal, None off the axis. `places` are the bars, oldest first;
    `beyond` of them reach over an end of the axis.
    """

    height: float
    band: str
    limits: str
    hull: str
    line: str
    bars: tuple[tuple[str, str], ...]
    carried: str
    earlier: str
    equal: float | None
    ticks: tuple[LevelTick, ...]
    places: tuple[Bar, ...]
    beyond: int

    @property
    def beyond_note(self) -> str:
        if not self.beyond:
            return ""
        bars = f"{self.beyond:,} of {len(self.places):,} bars" if len(self.places) > 1 else "the bar"
        return (
            f"{bars} {'reaches' if self.beyond == 1 else 'reach'} beyond the axis, shown as "
            f"{'an arrow' if self.beyond == 1 else 'arrows'}"
        )


def say_panel(metric: str, panel: TimePanel, picture: PanelPicture, unit: str = "check") -> str:
    return "; ".join(filter(None, (say_steps(metric, panel.steps, unit), picture.beyond_note)))


@frozen
class TimeAxis:
    """Places moments from 0 to `WIDTH`; those outside the span beyond these ends."""

    span: Span
    _positions: dict[datetime, float] = field(default_factory=dict, compare=False, repr=False)
    """Cache: the steps of all panels begin at the same moments."""

    def place(self, at: datetime) -> float:
        position = self._positions.get(at)
        if position is None:
            position = self._positions[at] = (
                WIDTH * (at - self.span.start) / (self.span.end - self.span.start)
            )
        return position

    def percent(self, at: datetime) -> float:
        return round(min(max(self.place(at) / WIDTH * 100, 0.0), 100.0), 2)


@frozen
class UprightAxis:
    values: Axis
    height: float
    ticks: tuple[LevelTick, ...]

    def place_from_top(self, value: float) -> float:
        return (1 - self.values.place(value)) * self.height


def build_level_axis(metric: str, panels: Sequence[TimePanel], *, height: float = HEIGHT) -> UprightAxis:
    limits = [limit for panel in panels for step in panel.steps[-1:] for limit in step.limits]
    steps = (step for panel in panels for step in (*panel.steps, *panel.earlier))
    values = [value for step in steps for value in (step.lowest, step.highest) if value is not None]
    level_axis = choose_axis(metric, values, limits, distance=_TEXT_HEIGHT / height)
    ticks = (LevelTick(text, round((1 - place) * height, 1)) for text, place in level_axis.ticks)
    return UprightAxis(level_axis.axis, height, tuple(ticks))


def draw_panel(
    panel: TimePanel, metric: str, time: TimeAxis, levels: UprightAxis, *, shift: timedelta = timedelta()
) -> PanelPicture:
    """Draws the steps of a panel; `shift` is added to the times of its earlier steps."""
    bars = _place_bars(panel.steps, time, levels)
    paths: dict[Verdict | None, list[str]] = {}
    carried = []
    beyond = 0
    for bar in bars:
        is_over = _reaches_beyond(bar.step.highest, 1, levels.values)
        is_under = _reaches_beyond(bar.step.lowest, 0, levels.values)
        beyond += is_over or is_under
        path = _draw_bar(bar, levels, is_over=is_over, is_under=is_under)
        if bar.step.figures:
            paths.setdefault(bar.step.gravest, []).append(path)
        else:
            carried.append(path)
    earlier_time = TimeAxis(Span(time.span.start - shift, time.span.end - shift))
    earlier_bars = _place_bars(panel.earlier, earlier_time, levels)
    segments = _divide_bars(bars)
    line = ""
    if all(bar.step.is_single for bar in bars):
        line = "".join(
            _draw_line([(bar.x, bar.y + bar.height / 2) for bar in segment]) for segment in segments
        )
    ideal = CATALOGUE[metric].ideal
    if ideal is not None and not levels.values.holds(ideal):
        ideal = None
    return PanelPicture(
        height=levels.height,
        band=_draw_band(panel.steps, metric, time, levels),
        limits=_draw_limits(panel.steps, time, levels),
        hull="".join(_draw_hull(segment, levels) for segment in segments),
        line=line,
        bars=tuple(
            (verdict or "none", "".join(paths[verdict])) for verdict in reversed(GRAVEST) if verdict in paths
        ),
        carried="".join(carried),
        earlier="".join(
            _draw_line([(bar.x, bar.y) for bar in segment])
            + _draw_line([(bar.x, bar.y + bar.height) for bar in segment])
            for segment in _divide_bars(earlier_bars)
        ),
        equal=None if ideal is None else round(levels.place_from_top(ideal), 1),
        ticks=levels.ticks,
        places=tuple(bars),
        beyond=beyond,
    )


def draw_volume(checks: Sequence[CheckStep], step: timedelta, time: TimeAxis) -> str:
    highest = max((check.logged or 0 for check in checks), default=0) or 1
    boxes = []
    for check in checks:
        if not check.logged:
            continue
        # The counts are of hours, also where a step is a part of one.
        right = min(time.place(check.start + step), WIDTH)
        left = max(time.place(check.start + step - max(step, HOUR)), 0.0)
        height = check.logged / highest * VOLUME_HEIGHT
        boxes.append(draw_box(left, VOLUME_HEIGHT - height, max((right - left) * _BAR_SHARE, 1.0), height))
    return "".join(boxes)


def draw_stretches(
    starts: Iterable[datetime], step: timedelta, time: TimeAxis, *, height: float = HEIGHT
) -> str:
    """Draws boxes, oldest first; steps that touch are one box."""
    runs: list[tuple[datetime, datetime]] = []
    for start in starts:
        if runs and runs[-1][1] >= start:
            runs[-1] = (runs[-1][0], start + step)
        else:
            runs.append((start, start + step))
    boxes = []
    for first, last in runs:
        left = max(time.place(first), 0.0)
        boxes.append(draw_box(left, 0, max(min(time.place(last), WIDTH) - left, 2.0), height))
    return "".join(boxes)


def draw_moments(moments: Iterable[datetime], time: TimeAxis, *, bottom: float = HEIGHT) -> str:
    """Draws upright lines; moments of one place are one line."""
    positions = dict.fromkeys(f"{time.place(moment):.1f}" for moment in moments)
    return "".join(f"M{x} 0V{bottom:g}" for x in positions)


def _place_bars(steps: Sequence[TimeStep], time: TimeAxis, levels: UprightAxis) -> list[Bar]:
    bars = []
    for step in steps:
        if step.lowest is None or step.highest is None:
            continue
        left = time.place(step.start)
        right = time.place(step.end)
        middle = time.place(step.at) if step.is_single else (left + right) / 2
        top = levels.place_from_top(step.highest)
        bottom = top if step.lowest == step.highest else levels.place_from_top(step.lowest)
        height = max(bottom - top, _MIN_BAR_HEIGHT)
        y = min(max((top + bottom - height) / 2, 0.0), levels.height - height)
        width = min(right - left, _MAX_BAR_WIDTH) if step.is_single else (right - left) * _BAR_SHARE
        bars.append(Bar(round(middle, 1), round(max(width, 1.0), 1), round(y, 1), round(height, 1), step))
    return _widen_thin(bars)


def _widen_thin(bars: list[Bar]) -> list[Bar]:
    """Far apart, bars of single checks would be as thin as their hour."""
    distance = min(
        (after.x - before.x for before, after in pairwise(bars) if after.x > before.x), default=float(WIDTH)
    )
    min_width = round(min(_MAX_BAR_WIDTH, distance * 0.6), 1)
    return [
        bar._replace(width=min_width) if bar.width < min_width and bar.step.is_single else bar for bar in bars
    ]


def _reaches_beyond(value: float | None, end: int, axis: Axis) -> bool:
    # What an axis does not hold is placed at the end that it lies beyond.
    return value is not None and not axis.holds(value) and axis.place(value) == end


def _draw_bar(bar: Bar, levels: UprightAxis, *, is_over: bool, is_under: bool) -> str:
    """Draws a box with arrows at the ends it reaches beyond; only the arrow if none of it is on the axis."""
    left = bar.x - _ARROW_WIDTH
    right = bar.x + _ARROW_WIDTH
    foot = levels.height
    is_on_axis = any(
        end is not None and levels.values.holds(end) for end in (bar.step.lowest, bar.step.highest)
    )
    path = (
        draw_box(bar.x - bar.width / 2, bar.y, bar.width, bar.height)
        if is_on_axis or is_over == is_under
        else ""
    )
    if is_over:
        path += f"M{left:.1f} {_ARROW_HEIGHT:g}L{bar.x:.1f} 0L{right:.1f} {_ARROW_HEIGHT:g}z"
    if is_under:
        path += (
            f"M{left:.1f} {foot - _ARROW_HEIGHT:g}L{bar.x:.1f} {foot:g}L{right:.1f} {foot - _ARROW_HEIGHT:g}z"
        )
    return path


def _divide_bars(bars: Sequence[Bar]) -> list[list[Bar]]:
    distances = sorted(after.x - before.x for before, after in pairwise(bars))
    max_distance = _MAX_GAP_DISTANCES * distances[len(distances) // 2] if distances else 0.0
    segments: list[list[Bar]] = []
    for bar in bars:
        last = segments[-1][-1] if segments else None
        if last is None or bar.x - last.x > max_distance or bar.step.definition != last.step.definition:
            segments.append([])
        segments[-1].append(bar)
    return segments


def _draw_hull(bars: Sequence[Bar], levels: UprightAxis) -> str:
    """Draws the area of the intervals; an unbounded end reaches to the edge, one bar has its own width."""
    uppers = [0.0 if bar.step.upper is None else levels.place_from_top(bar.step.upper) for bar in bars]
    lower_ends = [
        levels.height if bar.step.lower is None else levels.place_from_top(bar.step.lower) for bar in bars
    ]
    if len(bars) == 1:
        return draw_box(bars[0].x - bars[0].width / 2, uppers[0], bars[0].width, lower_ends[0] - uppers[0])
    upper_points = [f"{bar.x:g} {y:.1f}" for bar, y in zip(bars, uppers, strict=True)]
    lower_points = [f"{bar.x:g} {y:.1f}" for bar, y in zip(bars, lower_ends, strict=True)]
    return f"M{'L'.join([*upper_points, *reversed(lower_points)])}z"


def _draw_band(steps: Sequence[TimeStep], metric: str, time: TimeAxis, levels: UprightAxis) -> str:
    """Draws a box for each run of equal limits, the first from the start, the last to the end."""
    boxes = []
    left = 0.0
    runs = [(limits, list(members)) for limits, members in groupby(steps, key=lambda step: step.limits)]
    for position, (limits, members) in enumerate(runs):
        right = float(WIDTH) if position == len(runs) - 1 else time.place(members[-1].end)
        low, high = add_mirror_limits(CATALOGUE[metric], limits)
        if (low, high) != (None, None):
            top = 0.0 if high is None else levels.place_from_top(high)
            bottom = levels.height if low is None else levels.place_from_top(low)
            boxes.append(draw_box(left, top, right - left, bottom - top))
        left = right
    return "".join(boxes)


def _draw_limits(steps: Sequence[TimeStep], time: TimeAxis, levels: UprightAxis) -> str:
    lines = []
    left = 0.0
    for limits, members in groupby(steps, key=lambda step: step.limits):
        last = list(members)[-1]
        right = float(WIDTH) if last is steps[-1] else time.place(last.end)
        lines += [
            f"M{left:.1f} {levels.place_from_top(limit):.1f}H{right:.1f}"
            for limit in limits
            if limit is not None
        ]
        left = right
    return "".join(lines)


def _draw_line(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:.1f}" for x, y in points) if len(points) > 1 else ""


def draw_box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z"
