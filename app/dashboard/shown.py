"""Texts of one measurement on a page."""

from dataclasses import replace

from ..domain.checks import Measurement
from ..frozen import frozen
from ..metrics.catalogue import CATALOGUE
from ..metrics.catalogue.metric import CountOf, RateOf
from ..metrics.rounding import MOST_OF_GAP, digits_apart, round_gap, write_minus
from ..views.check_views import Change, Outcomes, SubRange
from ..views.payload_view import QUALITY
from .wording import ABSENT, count, join_ends

_HUNDREDTHS, _TENTHS = 2, 1
_LARGE = 1000
_PER_CENT = "\u00a0%"
"""No line ends at this space."""

_POINTS = "\u00a0points"
_CHANGES_OF_SHARES = frozenset(change for *_, change in QUALITY)
"""Metrics in percentage points."""
_CHANGED_SHARES = frozenset(share for *shares, _ in QUALITY for share in shares)


@frozen
class Number:
    """Value with its 95 % interval; without one `text` is a dash and `reason` says why."""

    text: str
    interval: str
    reason: str | None


def number_of(measurement: Measurement, least: int = _TENTHS) -> Number:
    """Share in per cent, its change in percentage points, count, or number.

    `least` is the least number of digits of shares and their changes.
    """
    metric = CATALOGUE[measurement.metric]
    ends = (measurement.lower, measurement.upper)
    marks = (measurement.lower_limit, measurement.upper_limit, metric.ideal)
    if measurement.value is None:
        return Number(ABSENT, ABSENT, measurement.reason or "no reason is known")
    if isinstance(metric.measure, RateOf) or measurement.metric in _CHANGED_SHARES:
        return _share(measurement.value, ends, marks, least)
    if measurement.metric in _CHANGES_OF_SHARES:
        return _points(measurement.value, ends, least)
    if isinstance(metric.measure, CountOf):
        return Number(count(measurement.value), join_ends(*(None if end is None else count(end) for end in ends)), None)
    shown = (measurement.value, *ends)
    digits = max(digits_apart(one, (0.0, *marks), _HUNDREDTHS) for one in shown if one is not None)
    return Number(_plain(measurement.value, digits), join_ends(*(None if end is None else _plain(end, digits) for end in ends)), None)


@frozen
class ShownChange:
    """Share before and after, and its change, which agree with so many `digits`."""

    before: Measurement
    after: Measurement | None
    change: Measurement | None
    digits: int


def round_change(found: Change) -> ShownChange:
    """Shows the digits at which the three agree, or the gap of the rounded shares."""
    before, after, change = found.before, found.after, found.change
    if before.value is None or after is None or after.value is None or change is None or change.value is None:
        return ShownChange(before, after, change, _TENTHS)
    gap = round_gap(100 * after.value, 100 * before.value)
    return ShownChange(before, after, replace(change, value=gap.gap / 100) if gap.digits == MOST_OF_GAP else change, gap.digits)


def share_of(outcomes: Outcomes | SubRange) -> Number:
    if outcomes.share is None:
        return Number(ABSENT, ABSENT, outcomes.reason or "no reason is known")
    return _share(outcomes.share, (outcomes.lower, outcomes.upper), (), _TENTHS)


def _share(value: float, ends: tuple[float | None, float | None], marks: tuple[float | None, ...], least: int) -> Number:
    percents = tuple(None if mark is None else 100 * mark for mark in marks)
    shown = [100 * one for one in (value, *ends) if one is not None]
    digits = max(digits_apart(one, (0.0, *percents), least) for one in shown)
    interval = join_ends(*(None if end is None else _plain(100 * end, digits) for end in ends))
    return Number(f"{_plain(100 * value, digits)}{_PER_CENT}", interval if interval == ABSENT else f"{interval}{_PER_CENT}", None)


def _points(value: float, ends: tuple[float | None, float | None], least: int) -> Number:
    shown = [100 * one for one in (value, *ends) if one is not None]
    digits = max(digits_apart(one, (0.0,), least) for one in shown)
    text, *sides = (None if one is None else f"{'+' if one > 0 else ''}{_plain(100 * one, digits)}" for one in (value, *ends))
    interval = join_ends(*sides)
    return Number(f"{text}{_POINTS}", interval if interval == ABSENT else f"{interval}{_POINTS}", None)


def _plain(value: float, digits: int) -> str:
    if abs(value) >= _LARGE:
        return write_minus(f"{value:,.1f}")
    # A value that rounds to zero is not zero; and there is no negative zero for people.
    return write_minus(f"{value:.2g}" if value and not round(value, digits) else f"{value + 0.0:.{digits}f}")
