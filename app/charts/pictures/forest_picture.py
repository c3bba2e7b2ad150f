"""Places of a forest as percentages of the width: no script and no style attribute is needed."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from ...base.values import TOGETHER, frozen, frozen_by_name
from ...statistics.catalogue import CATALOGUE
from ...statistics.intervals.verdicts import Verdict
from ...statistics.measures.worst_group import both_sides
from ...statistics.sentences.rounding import write_minus
from ..forest import STRIP_CHECKS, Forest, ForestFigure, ForestRow, StripPoint, is_on_ratios
from ..timeline_words import write_value
from .axes import Axis, LinearAxis, LogAxis, number_axis

ROW_HEIGHT = 32
ROOM_FOR_TEXT = 80
"""Per cent of the width beyond which no number fits after an interval."""

SHAPES = ("circle", "square", "diamond", "triangle")
"""With more groups of a second feature each has a row of its own."""
FEWEST_TO_JOIN = 6
"""Groups of two features together from which on one makes rows and the other marks."""

Clipped = Literal["", "left", "right"]
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0)


@frozen
class Tick:
    """Number on the axis, and its place in per cent of the width."""

    text: str
    at: float


@frozen_by_name
class Mark:
    """One figure: place and interval in per cent of the width, `y` in pixels.

    `clipped` is the end it lies beyond, `text` its value there. `is_hollow`: counterfactual. `low_clipped`
    and `high_clipped`: the interval goes on beyond that end.
    """

    figure: ForestFigure
    row: ForestRow
    shape: str
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
        """Per cent at which `text` begins or ends: after the interval, unless there is no room."""
        match self.clipped:
            case "left":
                return self.high if self.high < ROOM_FOR_TEXT else self.at
            case "right":
                return self.low if self.low > 100 - ROOM_FOR_TEXT else self.at
            case _:
                return self.at


@frozen
class LineVerdict:
    """`names` are empty where the verdict is that of all groups of the line."""

    verdict: Verdict | None
    names: tuple[str, ...]
    row: ForestRow


@frozen_by_name
class ForestLine:
    """Row of the forest, or several that differ in one feature only, the gravest first.

    `name` is what the rows have in common. The fair band is in per cent of the width.
    """

    name: str
    attribute: str
    rows: tuple[ForestRow, ...]
    marks: tuple[Mark, ...]
    band_low: float
    band_high: float

    @property
    def is_joined(self) -> bool:
        return len(self.rows) > 1 or self.name != self.rows[0].name

    def name_of(self, row: ForestRow) -> str:
        return " ".join(name for name in row.parts if name != self.name) or row.name

    @property
    def name_of_evidence(self) -> str:
        """Group of the line's evidence; empty where its groups agree, or without evidence."""
        first = self.rows[0]
        return self.name_of(first) if first.evidence is not None and len(self.verdicts) > 1 else ""

    @property
    def sizes(self) -> tuple[tuple[int | None, int | None], ...]:
        return tuple(dict.fromkeys((row.n, row.n_reference) for row in self.rows))

    @property
    def verdicts(self) -> tuple[LineVerdict, ...]:
        """Verdicts of the groups, the gravest first; one where all agree. `row` is the first group of
        each.
        """
        by_verdict: dict[Verdict | None, list[ForestRow]] = {}
        for row in self.rows:
            by_verdict.setdefault(row.verdict, []).append(row)
        return tuple(
            LineVerdict(verdict, tuple(map(self.name_of, rows)) if len(by_verdict) > 1 else (), rows[0])
            for verdict, rows in by_verdict.items()
        )


@frozen
class ForestPicture:
    """Lines, worst first. `legend` names the groups of joined lines by shape."""

    lines: tuple[ForestLine, ...]
    ticks: tuple[Tick, ...]
    legend: tuple[tuple[str, str], ...]


@frozen
class StripRun:
    """Consecutive checks with one verdict: place and width in per cent."""

    at: float
    width: float
    verdict: str


def draw_forest(forest: Forest) -> ForestPicture:
    axis, ticks = _choose_axis(forest)
    shapes = _join(forest.rows)
    lines: dict[tuple[str, str], list[ForestRow]] = {}
    for row in forest.rows:
        joined = shapes.get(row.attribute)
        key = row.group if joined is None else row.parts[joined.along]
        lines.setdefault((row.attribute, key), []).append(row)

    drawn = []
    for (attribute, key), rows in lines.items():
        joined = shapes.get(attribute)
        if joined is None:
            pairs = [
                (figure, rows[0], "circle" if figure is rows[0].logged else "ring")
                for figure in rows[0].figures
            ]
        else:
            pairs = [(row.leading, row, joined.shape_of[row.parts[1 - joined.along]]) for row in rows]
        marks = [
            _mark(axis, figure, row, shape, y=ROW_HEIGHT * (position + 1) / (len(pairs) + 1))
            for position, (figure, row, shape) in enumerate(pairs)
        ]
        leading = rows[0].leading.measurement
        low = leading.lower_limit
        high = leading.upper_limit
        if (
            leading.metric in CATALOGUE
        ):  # beyond the mirror image of the only limit the verdict is not fair either
            low, high = both_sides(CATALOGUE[leading.metric], (low, high))
        drawn.append(
            ForestLine(
                name=rows[0].name if joined is None else key,
                attribute=attribute,
                rows=tuple(rows),
                marks=tuple(mark for mark in marks if mark is not None),
                band_low=0.0 if low is None else _percent(axis.place(low)),
                band_high=100.0 if high is None else _percent(axis.place(high)),
            )
        )
    legend = dict.fromkeys(
        (shape, name) for joined in shapes.values() for name, shape in joined.shape_of.items()
    )
    return ForestPicture(lines=tuple(drawn), ticks=ticks, legend=tuple(legend))


def strip_runs(strip: Sequence[StripPoint], checks: int) -> tuple[StripRun, ...]:
    """Last verdicts as runs, the newest at the right end.

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


@frozen
class _Joined:
    along: int
    shape_of: dict[str, str]


def _join(rows: Iterable[ForestRow]) -> dict[str, _Joined]:
    """Attributes of two features whose groups share lines: the feature with more groups makes lines, the
    other shapes.
    """
    by_attribute: dict[str, list[ForestRow]] = {}
    for row in rows:
        if len(row.parts) == len(row.attribute.split(TOGETHER)) == 2:  # noqa: PLR2004 - rows and marks
            by_attribute.setdefault(row.attribute, []).append(row)
    joined = {}
    for attribute, of_attribute in by_attribute.items():
        names = [list(dict.fromkeys(row.parts[position] for row in of_attribute)) for position in (0, 1)]
        along = 0 if len(names[0]) >= len(names[1]) else 1
        shape_names = names[1 - along]
        has_both = any(row.counterfactual for row in of_attribute)
        if len(of_attribute) >= FEWEST_TO_JOIN and len(shape_names) <= len(SHAPES) and not has_both:
            joined[attribute] = _Joined(along, dict(zip(sorted(shape_names), SHAPES, strict=False)))
    return joined


def _mark(axis: Axis, figure: ForestFigure, row: ForestRow, shape: str, *, y: float) -> Mark | None:
    measurement = figure.measurement
    if measurement.value is None:
        return None
    position = axis.place(measurement.value)
    is_on_axis = axis.holds(measurement.value)
    limits = measurement.lower_limit, measurement.upper_limit
    return Mark(
        figure=figure,
        row=row,
        shape=shape,
        is_hollow=shape == "ring",
        y=round(y, 1),
        at=_percent(position),
        low=0.0 if measurement.lower is None else _percent(axis.place(measurement.lower)),
        high=100.0 if measurement.upper is None else _percent(axis.place(measurement.upper)),
        clipped="" if is_on_axis else "left" if position == 0 else "right",
        text="" if is_on_axis else write_value(measurement.metric, measurement.value, limits),
        # An end that is not bounded goes on beyond the axis.
        low_clipped=measurement.lower is None
        or not (axis.holds(measurement.lower) or axis.place(measurement.lower) > 0),
        high_clipped=measurement.upper is None
        or not (axis.holds(measurement.upper) or axis.place(measurement.upper) < 1),
    )


def _choose_axis(forest: Forest) -> tuple[Axis, tuple[Tick, ...]]:
    if forest.metric not in CATALOGUE or is_on_ratios(forest.metric):
        ratios = LogAxis()
        return ratios, tuple(Tick(f"{tick:g}", _percent(ratios.place(tick))) for tick in TICKS)
    shown = [figure.measurement for row in forest.rows for figure in row.figures]
    values = [
        number
        for measurement in shown
        for number in (measurement.value, measurement.lower, measurement.upper)
        if number is not None
    ]
    levels = [
        limit
        for measurement in shown
        for limit in (measurement.lower_limit, measurement.upper_limit)
        if limit is not None
    ]
    ends = number_axis(forest.metric, values, levels)
    axis = LinearAxis(min([ends.low, *values, *levels]), max([ends.high, *values, *levels]))
    middle = (axis.low + axis.high) / 2
    return axis, tuple(
        Tick(write_minus(f"{tick:.2g}"), _percent(axis.place(tick))) for tick in (axis.low, middle, axis.high)
    )


def _percent(share: float) -> float:
    return round(100 * share, 2)
