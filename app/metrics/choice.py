"""Intervals and p-values of several figures together, valid for one that was chosen among them."""

import math
from dataclasses import replace

from scipy.special import ndtri

from ..details import SIDES, Counts, Details
from .catalogue.metric import ComparedRate, Metric
from .comparisons import Pairs
from .intervals import Z
from .sides import is_ratio
from .values import Measured, Value

_LARGEST_LOGARITHM = 700.0
"""Max logarithm of an end; beyond it the end is unbounded."""


def allow_for_choice(result: Measured, metric: Metric, chosen_from: int) -> Measured:
    """Result with an interval and a p-value that hold for so many figures at once (Bonferroni), and so for a chosen one."""
    number, p_value = result.number, result.details.p_value
    if chosen_from <= 1 or not isinstance(number, Value):
        return result
    together = None if p_value is None else min(1.0, chosen_from * p_value)
    allowing = interval_for_choice(metric, number, result.details, chosen_from)
    return replace(result, for_choice=allowing, details=result.details.changed(chosen_p_value=together))


def interval_for_choice(metric: Metric, own: Value, details: Details, chosen_from: int) -> Value:
    """Figure with the interval of one chosen from so many, from the counts in its details; where these do not do, its own is stretched."""
    reach, how, pairs = float(ndtri(1 - 0.025 / chosen_from)), metric.measure, Pairs.from_counts(details.counts)
    sides = [_read_size(details.counts_of(side)) for side in SIDES]
    if isinstance(how, ComparedRate) and pairs is not None:
        found = how.by.paired(pairs, reach)
    elif isinstance(how, ComparedRate) and sides[0] is not None and sides[1] is not None:
        found = how.by.interval(*sides[0], *sides[1], reach)
    else:
        lower, upper = (_stretch(metric, own.value, end, reach / Z) for end in (own.lower, own.upper))
        return replace(own, lower=lower, upper=upper)
    upper = None if found.upper is None else max(found.upper, own.value)
    return Value(own.value, min(found.lower, own.value), upper, found.method, own.n)


def _stretch(metric: Metric, value: float, end: float | None, factor: float) -> float | None:
    """End of an interval so many times as far from the value, for ratios on the scale of logarithms."""
    if end is None:
        return None
    if is_ratio(metric) and value > 0 and end > 0:
        logarithm = math.log(value) + factor * math.log(end / value)
        return None if logarithm > _LARGEST_LOGARITHM else math.exp(logarithm)
    far = value + factor * (end - value)
    lowest, highest = (edge if edge is not None else far for edge in (metric.lowest, metric.highest))
    return max(lowest, min(highest, far))


def _read_size(counts: Counts) -> tuple[float, float] | None:
    # Independent records of equal weight have two counts: their number, and that of the counted, by its name.
    names = set(counts) - {"n"}
    total = counts.get("n")
    if total is None or len(names) != 1:
        return None
    count = counts[names.pop()]
    return None if count is None else (count, total)
