"""How one measurement reads on a page, and the key under which its counts and formula are opened."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from app.dashboard.wording import ABSENT, count
from app.domain.checks import Measurement
from app.metrics.catalogue import CATALOGUE
from app.metrics.catalogue.metric import CountOf, RateOf
from app.metrics.rounding import digits_apart
from app.views.check_views import AttributeView, CheckView, GroupShare, Outcomes, SubRange

KEY_LENGTH = 12
_HUNDREDTHS, _TENTHS = 2, 1
_LARGE = 1000
_PER_CENT = "\u00a0%"
"""With a space that no line ends at."""


@dataclass(frozen=True, slots=True)
class Number:
    """A value with its 95 % interval as texts; without a value `text` is a dash and `reason` says why."""

    text: str
    interval: str
    reason: str | None


def key_of(measurement: Measurement) -> str:
    """What a figure is opened by: the same figure has the same key in every check."""
    named = (measurement.metric, measurement.data, measurement.scope, measurement.attribute, measurement.group)
    return hashlib.sha256(msgspec.json.encode(named)).hexdigest()[:KEY_LENGTH]


def number_of(measurement: Measurement) -> Number:
    """A measurement's value and interval: a share in per cent, a count, or a number."""
    metric = CATALOGUE[measurement.metric]
    ends = (measurement.lower, measurement.upper)
    marks = (measurement.lower_limit, measurement.upper_limit, metric.ideal)
    if measurement.value is None:
        return Number(ABSENT, ABSENT, measurement.reason or "no reason is known")
    if isinstance(metric.measure, RateOf):
        return _share(measurement.value, ends, marks)
    if isinstance(metric.measure, CountOf):
        return Number(count(measurement.value), _ends(*(None if end is None else count(end) for end in ends)), None)
    shown = (measurement.value, *ends)
    digits = max(digits_apart(one, (0.0, *marks), _HUNDREDTHS) for one in shown if one is not None)
    return Number(_plain(measurement.value, digits), _ends(*(None if end is None else _plain(end, digits) for end in ends)), None)


def share_of(outcomes: Outcomes | SubRange) -> Number:
    """The favourable share of some records with its interval."""
    if outcomes.share is None:
        return Number(ABSENT, ABSENT, outcomes.reason or "no reason is known")
    return _share(outcomes.share, (outcomes.lower, outcomes.upper), ())


def figures_of(view: CheckView) -> Iterator[Measurement]:
    """Every figure that a view shows."""
    for one in (*view.attributes, *view.balanced):
        yield from _of_attribute(one)


def _of_attribute(one: AttributeView) -> Iterator[Measurement]:
    changes = (figure for change in one.accuracy for figure in (change.before, change.after, change.change))
    shown = (one.worst, one.worst_after, one.perfect_equality, *changes)
    yield from (figure for figure in shown if figure is not None)
    for group in (*one.groups, *one.pooled):
        yield from _of_group(group)


def _of_group(group: GroupShare) -> Iterator[Measurement]:
    after = None if group.after is None else group.after.figure
    shown = (group.outcomes.figure, after, group.comparison, group.comparison_after, group.openscale_fairness)
    yield from (figure for figure in shown if figure is not None)


def _share(value: float, ends: tuple[float | None, float | None], marks: tuple[float | None, ...]) -> Number:
    percents = tuple(None if mark is None else 100 * mark for mark in marks)
    shown = [100 * one for one in (value, *ends) if one is not None]
    digits = max(digits_apart(one, (0.0, *percents), _TENTHS) for one in shown)
    interval = _ends(*(None if end is None else _plain(100 * end, digits) for end in ends))
    return Number(f"{_plain(100 * value, digits)}{_PER_CENT}", interval if interval == ABSENT else f"{interval}{_PER_CENT}", None)


def _plain(value: float, digits: int) -> str:
    if abs(value) >= _LARGE:
        return f"{value:,.1f}"
    # What rounds to nothing is not nothing; and there is no negative zero for people.
    return f"{value:.2g}" if value and not round(value, digits) else f"{value + 0.0:.{digits}f}"


def _ends(lower: str | None, upper: str | None) -> str:
    if lower is None and upper is None:
        return ABSENT
    if upper is None:
        return f"{lower} and more"
    return f"up to {upper}" if lower is None else f"{lower} to {upper}"
