"""Axes of numbers, and of time on the clock of a zone."""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import MAXYEAR, UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from ...base.clock import HOUR
from ...base.values import frozen
from ...checks.days.day_queries import DAY
from ...domain.check import Span
from ...statistics.catalogue import CATALOGUE
from ...statistics.catalogue.metric import CountFigure, RateFigure
from ...statistics.measures.worst_group import is_ratio
from ...statistics.sentences.figure_sentences import write_minus

_ROOM_FACTOR = 1.12
"""Room of an axis beyond its values, as a factor."""

_MIN_RATIO, _MAX_RATIO = 0.05, 20.0
"""Ends of the widest axis of ratios; a figure beyond them is an arrow at the edge."""

_ROUND_RATIOS = (0.5, 2.0, 0.2, 5.0, 0.1, 10.0, 0.3, 3.0, 0.7, 1.5, 0.6, 0.9, 1.1)
"""Ticks where limits leave room, those that matter most first."""

MAX_TICKS = 8
_MAX_NARROW_TICKS = 4
"""Ticks that have a text on a narrow axis."""

_STEPS_IN_HOURS = (1, 2, 3, 6, 12)
_STEPS_IN_DAYS = (1, 2, 7, 14)
_STEPS_IN_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 600, 1200, 12_000)
_MONTH = timedelta(days=30)
_SUNDAY_BEFORE = datetime(1969, 12, 28, tzinfo=UTC)
"""Ticks of weeks are a day after it and after whole weeks from it, on Mondays."""


@frozen
class LogAxis:
    """Logarithmic scale of ratios; `place` gives 0 to 1, and the nearer end for what it does not hold."""

    low: float = 0.25
    high: float = 4.0

    def place(self, ratio: float) -> float:
        if ratio <= self.low:
            return 0.0
        if ratio >= self.high:
            return 1.0
        return math.log(ratio / self.low) / math.log(self.high / self.low)

    def holds(self, ratio: float) -> bool:
        return self.low <= ratio <= self.high


@frozen
class LinearAxis:
    low: float
    high: float

    def place(self, number: float, /) -> float:
        return min(1.0, max(0.0, (number - self.low) / (self.high - self.low)))

    def holds(self, number: float, /) -> bool:
        return self.low <= number <= self.high


Axis = LogAxis | LinearAxis


def build_number_axis(metric: str, values: Iterable[float], limits: Iterable[float | None]) -> LinearAxis:
    """Builds a linear axis with the limits and the ideal; intervals may be cut.

    Shares have 0 to 1; the axis of other metrics that are never below 0 begins at 0.
    """
    measured = CATALOGUE[metric]
    levels = [*values, *(level for level in (*limits, measured.ideal) if level is not None)]
    lowest = min(levels, default=0.0)
    highest = max(levels, default=1.0)
    if measured.lowest == 0 and measured.highest == 1:
        low, high = 0.0, 1.0
    elif measured.lowest == 0:
        low = 0.0
        high = (highest or 1.0) * _ROOM_FACTOR
    else:
        # If all values are alike, the value itself gives the distance.
        room = (highest - lowest) * (_ROOM_FACTOR - 1) or abs(highest) * (_ROOM_FACTOR - 1) or 1.0
        low = lowest - room
        high = highest + room
    return LinearAxis(low, high if high > low else low + 1)


@frozen
class LevelAxis:
    """Axis of a metric, with the values that have ticks."""

    metric: str
    axis: Axis
    levels: tuple[float, ...]

    @property
    def ticks(self) -> list[tuple[str, float]]:
        """Texts of the ticks, and their places from 0 to 1."""
        return [(self._write(level), self.axis.place(level)) for level in self.levels]

    def _write(self, level: float) -> str:
        match CATALOGUE[self.metric].measure:
            case RateFigure():
                return f"{100 * level:.0f} %"
            case CountFigure():
                return f"{level:,.0f}"
        return write_minus(f"{level:g}")


def choose_axis(
    metric: str, values: Iterable[float], limits: Iterable[float | None], *, distance: float
) -> LevelAxis:
    """Chooses an axis with ticks at the ideal, the limits, and round numbers.

    Each tick is at least a share `distance` of the axis away from every other.
    """
    marks = [level for level in (CATALOGUE[metric].ideal, *limits) if level is not None]
    axis: Axis
    if is_ratio(CATALOGUE[metric]):
        ratios = [level for level in (*values, *marks) if level > 0]
        axis = LogAxis(
            max(min(ratios, default=1 / 2) / _ROOM_FACTOR, _MIN_RATIO),
            min(max(ratios, default=2.0) * _ROOM_FACTOR, _MAX_RATIO),
        )
        round_numbers: Sequence[float] = _ROUND_RATIOS
    else:
        axis = build_number_axis(metric, values, limits)
        step = _choose_step((axis.high - axis.low) / 4)
        first = math.ceil(axis.low / step)
        round_numbers = [round(step * no, 9) for no in range(first, math.floor(axis.high / step) + 1)]
    ticks: list[float] = []
    for level in (*dict.fromkeys(marks), *round_numbers):
        position = axis.place(level)
        if axis.holds(level) and all(abs(position - axis.place(tick)) >= distance for tick in ticks):
            ticks.append(level)
    return LevelAxis(metric, axis, tuple(sorted(ticks)))


def _choose_step(minimum: float) -> float:
    """Chooses the smallest of 1, 2 and 5 times a power of ten that is not below `minimum`."""
    power = 10.0 ** math.floor(math.log10(minimum))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= minimum * (1 - 1e-9))


@frozen
class TimeTick:
    """Tick `at` per cent of the width. `is_spare`: on a narrow axis it has no text."""

    moment: datetime
    text: str
    at: float
    is_spare: bool


def list_time_ticks(span: Span, zone: ZoneInfo) -> tuple[TimeTick, ...]:
    """Lists ticks at even steps of the zone's clock; of less than two hours at start and end."""
    length = span.end - span.start
    hours = next((step for step in _STEPS_IN_HOURS if length <= step * HOUR * (MAX_TICKS - 1)), None)
    days = next((step for step in _STEPS_IN_DAYS if length <= step * DAY * (MAX_TICKS - 1)), None)
    moments = iter((span.start, span.end))
    form = "%H:%M"
    if length >= 2 * HOUR:
        if hours is not None:
            moments = _list_hours(span, zone, hours)
        elif days is not None:
            moments = _list_days(span, zone, days)
            form = "%d %b"
        else:
            months = next(
                step
                for step in _STEPS_IN_MONTHS
                if length <= step * _MONTH * (MAX_TICKS - 1) or step == _STEPS_IN_MONTHS[-1]
            )
            moments = _list_months(span, zone, months)
            form = "%b %Y"
    ticks = list(islice(moments, MAX_TICKS))
    texts = [f"{moment.astimezone(zone):{form}}" for moment in ticks]
    # Among hours the dates stay: without them nobody sees of which day an hour is.
    first = texts.index("00:00") if "00:00" in texts else 0
    ticks_per_text = -(-len(ticks) // _MAX_NARROW_TICKS)
    return tuple(
        TimeTick(
            moment=moment.astimezone(UTC),
            text=f"{moment.astimezone(zone):%d %b}" if text == "00:00" else text,
            at=round(100 * (moment - span.start) / length, 2),
            is_spare=(position - first) % ticks_per_text != 0,
        )
        for position, (moment, text) in enumerate(zip(ticks, texts, strict=True))
    )


def _list_hours(span: Span, zone: ZoneInfo, every: int) -> Iterator[datetime]:
    # In UTC: on a day on which the clocks change an hour of the zone comes twice, or not at all.
    moment = span.start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    offset = moment.astimezone(zone).utcoffset() or timedelta()
    # Some zones are half an hour off.
    moment -= offset % HOUR
    while moment <= span.end:
        if moment >= span.start and moment.astimezone(zone).hour % every == 0:
            yield moment
        moment += HOUR


def _list_days(span: Span, zone: ZoneInfo, every: int) -> Iterator[datetime]:
    day = span.start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    moment = day.replace(tzinfo=zone).astimezone(UTC)
    while moment <= span.end:
        if moment >= span.start and (day - _SUNDAY_BEFORE.replace(tzinfo=None)).days % every == 1 % every:
            yield moment
        day += DAY
        moment = day.replace(tzinfo=zone).astimezone(UTC)


def _list_months(span: Span, zone: ZoneInfo, every: int) -> Iterator[datetime]:
    first = span.start.astimezone(zone)
    number = first.year * 12 + first.month - 1
    number -= number % every
    while number < (MAXYEAR + 1) * 12:
        year, month = divmod(number, 12)
        number += every
        if year < 1:
            continue
        moment = datetime(year, month + 1, 1, tzinfo=zone)
        if moment > span.end:
            return
        if moment >= span.start:
            yield moment
