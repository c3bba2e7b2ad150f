"""Places of a forest as percentages of the width: no script and no style attribute is needed."""

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from ...base.values import frozen, frozen_by_name
from ...statistics.catalogue import CATALOGUE
from ...statistics.measures.worst_group import both_sides
from ..forest import STRIP_CHECKS, Forest, ForestFigure, ForestRow, StripPoint
from .axes import Axis, choose_axis
from .timeline_picture import write_value

ROW_HEIGHT = 32
ROOM_FOR_TEXT = 80
"""Per cent of the width beyond which no number fits after an interval."""

_BETWEEN_TICKS = 0.12

Clipped = Literal["", "left", "right"]


@frozen
class Tick:
    text: str
    at: float


@frozen_by_name
class Mark:
    """Place and interval in per cent of the width, `y` in pixels.

    `clipped` is the end it lies beyond, `text` its value there. `is_hollow`: counterfactual. `low_clipped`
    and `high_clipped`: the interval goes on beyond that end.
    """

    figure: ForestFigure
    is_hollow: bool
    y: float
    at: float
    low: float
    high: float
    clipped: Clipped
    text: str
    low_clipped: bool
    high_clipped: bool

    @property
    def text_at(self) -> float:
        match self.clipped:
            case "left":
                return self.high if self.high < ROOM_FOR_TEXT else self.at
            case "right":
                return self.low if self.low > 100 - ROOM_FOR_TEXT else self.at
            case _:
                return self.at


@frozen_by_name
class ForestLine:
    row: ForestRow
    marks: tuple[Mark, ...]
    band_low: float
    band_high: float


@frozen
class ForestPicture:
    """Worst first, with one axis; `equal` is the place of the ideal, None without."""

    lines: tuple[ForestLine, ...]
    ticks: tuple[Tick, ...]
    equal: float | None


@frozen
class StripRun:
    """Consecutive checks with one verdict: place and width in per cent."""

    at: float
    width: float
    verdict: str


def draw_forest(forest: Forest) -> ForestPicture:
    if not forest.rows:
        return ForestPicture((), (), None)
    figures = [figure for row in forest.rows for figure in row.figures]
    values = [
        value
        for figure in figures
        for value in (figure.value, *figure.interval)
        if figure.value is not None and value is not None
    ]
    limits = [limit for figure in figures for limit in figure.limits]
    chosen = choose_axis(forest.metric, values, limits, distance=_BETWEEN_TICKS)
    axis = chosen.axis
    metric = CATALOGUE[forest.metric]
    lines = []
    for row in forest.rows:
        low, high = both_sides(metric, row.leading.limits)
        marks = [
            _mark(axis, figure, row, y=ROW_HEIGHT * (position + 1) / (len(row.figures) + 1))
            for position, figure in enumerate(row.figures)
        ]
        lines.append(
            ForestLine(
                row=row,
                marks=tuple(mark for mark in marks if mark is not None),
                band_low=0.0 if low is None else _percent(axis.place(low)),
                band_high=100.0 if high is None else _percent(axis.place(high)),
            )
        )
    ticks = (
        Tick(text, _percent(axis.place(level)))
        for text, level in zip(chosen.texts, chosen.levels, strict=True)
    )
    ideal = metric.ideal
    equal = _percent(axis.place(ideal)) if ideal is not None and axis.holds(ideal) else None
    return ForestPicture(lines=tuple(lines), ticks=tuple(ticks), equal=equal)


def strip_runs(strip: Sequence[StripPoint], checks: int) -> tuple[StripRun, ...]:
    """The newest at the right end.

    There are as many places as `checks`, but at least a third of all that a strip can have.
    """
    slots = max(checks, STRIP_CHECKS // 3)
    runs = []
    position = slots - len(strip)
    for verdict, points in groupby(strip, key=lambda point: point.verdict or "none"):
        length = len(list(points))
        runs.append(StripRun(_percent(position / slots), _percent(length / slots), verdict))
        position += length
    return tuple(runs)


def _mark(axis: Axis, figure: ForestFigure, row: ForestRow, *, y: float) -> Mark | None:
    if figure.value is None:
        return None
    position = axis.place(figure.value)
    is_on_axis = axis.holds(figure.value)
    lower, upper = figure.interval
    return Mark(
        figure=figure,
        is_hollow=figure is not row.logged,
        y=round(y, 1),
        at=_percent(position),
        low=0.0 if lower is None else _percent(axis.place(lower)),
        high=100.0 if upper is None else _percent(axis.place(upper)),
        clipped="" if is_on_axis else "left" if position == 0 else "right",
        text="" if is_on_axis else write_value(figure.measurement.metric, figure.value, figure.limits),
        # An end that is not bounded goes on beyond the axis.
        low_clipped=lower is None or not (axis.holds(lower) or axis.place(lower) > 0),
        high_clipped=upper is None or not (axis.holds(upper) or axis.place(upper) < 1),
    )


def _percent(share: float) -> float:
    return round(100 * share, 2)
