"""Ticks of an axis of time, on the clock of a zone."""

from collections.abc import Iterator
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from ..domain.checks import Span
from ..frozen import frozen

MOST_TICKS: Final = 8
_MOST_NARROW: Final = 4
"""Max texts on the axis of a telephone."""

_HOURS = (1, 2, 3, 6, 12)
_DAYS = (1, 2, 7, 14)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 600, 1200, 12_000)
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_MONTH = timedelta(days=30)
_SUNDAY_BEFORE = datetime(1969, 12, 28, tzinfo=UTC)


@frozen(kw_only=True)
class TimeTick:
    """Place in per cent of the width. `is_spare`: on a narrow axis it has no text."""

    moment: datetime
    text: str
    at: float
    is_spare: bool


def time_ticks(span: Span, zone: ZoneInfo, *, most: int = MOST_TICKS) -> tuple[TimeTick, ...]:
    """Even steps of the zone's clock; a time of less than two hours has start and end."""
    length = span.end - span.start
    every_hours = next((one for one in _HOURS if length <= one * _HOUR * (most - 1)), None)
    every_days = next((one for one in _DAYS if length <= one * _DAY * (most - 1)), None)
    if length < 2 * _HOUR:
        moments, form = [span.start, span.end], "%H:%M"
    elif every_hours is not None:
        moments, form = list(_hours(span, zone, every_hours)), "%H:%M"
    elif every_days is not None:
        moments, form = list(_days(span, zone, every_days)), "%d %b"
    else:
        every = next(one for one in _MONTHS if length <= one * _MONTH * (most - 1) or one == _MONTHS[-1])
        moments, form = list(_months(span, zone, every)), "%b %Y"
    shown = moments[:most]
    # Among hours the dates stay: without them nobody sees of which day an hour is.
    first = next((place for place, one in enumerate(shown) if _is_midnight(one.astimezone(zone))), 0) if form == "%H:%M" else 0
    every = -(-len(shown) // _MOST_NARROW)
    return tuple(_tick(one, span, zone, form, is_spare=(place - first) % every != 0) for place, one in enumerate(shown))


def _is_midnight(there: datetime) -> bool:
    return (there.hour, there.minute) == (0, 0)


def _tick(moment: datetime, span: Span, zone: ZoneInfo, form: str, *, is_spare: bool) -> TimeTick:
    there = moment.astimezone(zone)
    text = f"{there:%d %b}" if form == "%H:%M" and _is_midnight(there) else f"{there:{form}}"
    at = 100 * (moment - span.start) / (span.end - span.start)
    return TimeTick(moment=moment.astimezone(UTC), text=text, at=round(at, 2), is_spare=is_spare)


def _hours(span: Span, zone: ZoneInfo, every: int) -> Iterator[datetime]:
    # In UTC: on a day on which the clocks change an hour of the zone comes twice, or not at all.
    moment = span.start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    offset = moment.astimezone(zone).utcoffset() or timedelta()
    # Some zones are half an hour off.
    moment -= offset % _HOUR
    while moment <= span.end:
        if moment >= span.start and moment.astimezone(zone).hour % every == 0:
            yield moment
        moment += _HOUR


def _days(span: Span, zone: ZoneInfo, every: int) -> Iterator[datetime]:
    day = span.start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    while (moment := day.replace(tzinfo=zone).astimezone(UTC)) <= span.end:
        if moment >= span.start and (day - _SUNDAY_BEFORE.replace(tzinfo=None)).days % every == 1 % every:
            yield moment
        day += _DAY


def _months(span: Span, zone: ZoneInfo, every: int) -> Iterator[datetime]:
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
