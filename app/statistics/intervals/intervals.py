"""95 % intervals in closed form; each contains its point. Only those of ratios and losses may be unbounded.

Counts of weighted records are in records of equal weight, so need not be whole. Leading axes are other means.
A mean of numbers in [0, 1] is a share of some number of whole records, more the less they vary; so Wilson's
interval applies (design effects; Korn and Graubard 1998), with Student's quantile for the estimated variance.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv, stdtrit

from ..group_labels import FloatArray, divide_or

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""

TAIL = 0.025
"""Chance beyond either end of a 95 % interval."""

UNSEEN_RECORD = 0.25
"""Unseen part of a record, added with each label to a loss: the next one could cost much more."""

MIN_SIDE_RECORDS = 5
"""Records on each side of a rate for Wilson's limit on that side."""

MIN_CELL_RECORDS_OF_RATIO = 10
"""Records in each of the four cells for Katz's interval."""

POISSON_LEVEL = 0.05
"""Chance of as many records, or more, at the Poisson limit."""

MAX_LOGARITHM = 700.0
"""The exponential of a larger one is infinite."""


class Interval(NamedTuple):
    """Limits, and the method's name. An unbounded `upper` is infinite."""

    lower: float
    upper: float
    method: str


Ends = tuple[float | None, float | None]
"""Ends of one interval; None is unbounded."""


class IntervalEnds(NamedTuple):
    """Ends of many intervals, of one shape."""

    lower: FloatArray
    upper: FloatArray


class BoundedEstimate(NamedTuple):
    """Estimates and the limits of each, of one shape."""

    point: FloatArray
    limits: IntervalEnds


def build_wilson_interval(count: float, total: float) -> Interval:
    """Score interval of a proportion, within [0, 1]; `total` > 0. Source: Wilson 1927."""
    return Interval(*find_wilson_limits(count, total), "wilson")


def find_wilson_limits(count: float, total: float, z: float = Z) -> tuple[float, float]:
    """Limits of `build_wilson_interval` at `z` standard errors."""
    rate = count / total
    spread = z * z / total
    centre = (rate + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (rate * (1 - rate) + spread / 4)) / (1 + spread)
    # At the ends the limit is exactly the rate; rounding must not push it past.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def build_rate_interval(count: float, total: float) -> Interval:
    """Wilson's interval, with a Poisson limit on a side of fewer than `MIN_SIDE_RECORDS` records; `total` >
    0.

    Near 0 and 1 Wilson's limit is too close. It is moved at least to the rate at which a share of
    `POISSON_LEVEL` of windows has as many records there (Brown, Cai and DasGupta 2001).
    """
    lower, upper = find_wilson_limits(count, total)
    uncounted = total - count
    if not (0 < count < MIN_SIDE_RECORDS or 0 < uncounted < MIN_SIDE_RECORDS):
        return Interval(lower, upper, "wilson")
    if 0 < count < MIN_SIDE_RECORDS:
        lower = min(lower, float(gammaincinv(count, POISSON_LEVEL)) / total)
    if 0 < uncounted < MIN_SIDE_RECORDS:
        upper = max(upper, 1 - float(gammaincinv(uncounted, POISSON_LEVEL)) / total)
    return Interval(lower, upper, "wilson_poisson")


def build_newcombe_interval(
    count: float, total: float, other_count: float, other_total: float, z: float = Z
) -> Interval:
    """Hybrid score interval of `count/total - other_count/other_total` (Newcombe 1998, method 10)."""
    rate = count / total
    other_rate = other_count / other_total
    low, high = find_wilson_limits(count, total, z)
    other_low, other_high = find_wilson_limits(other_count, other_total, z)
    difference = rate - other_rate
    lower = difference - math.hypot(rate - low, other_high - other_rate)
    upper = difference + math.hypot(high - rate, other_rate - other_low)
    return Interval(max(-1.0, lower), min(1.0, upper), "newcombe")


def build_ratio_interval(
    count: float, total: float, other_count: float, other_total: float, z: float = Z
) -> Interval:
    """Log interval of `(count/total) / (other_count/other_total)`; `other_count` > 0.

    Source: Katz et al. 1978. With fewer than `MIN_CELL_RECORDS_OF_RATIO` records in a cell that misses up to
    18 times in 100; there Wilson's limits of both rates are combined on the log scale (MOVER, Zou and Donner
    2008). For a count of zero the upper limit is the one rate's upper over the other's lower.
    """
    if min(count, total - count, other_count, other_total - other_count) < MIN_CELL_RECORDS_OF_RATIO:
        return _build_ratio_interval_of_few(count, total, other_count, other_total, z)
    ratio = (count / total) / (other_count / other_total)
    half = z * math.sqrt(1 / count - 1 / total + 1 / other_count - 1 / other_total)
    return Interval(
        min(ratio, math.exp(math.log(ratio) - half)),
        max(ratio, _exponential(math.log(ratio) + half)),
        "log_ratio",
    )


def _build_ratio_interval_of_few(
    count: float, total: float, other_count: float, other_total: float, z: float
) -> Interval:
    method = "log_ratio_wilson"
    rate = count / total
    other_rate = other_count / other_total
    (low, high), (other_low, other_high) = (
        find_wilson_limits(count, total, z),
        find_wilson_limits(other_count, other_total, z),
    )
    if other_low <= 0 or rate / other_rate <= 0:
        upper = _exponential(math.log(high) - math.log(other_low)) if other_low > 0 else math.inf
        return Interval(0.0, upper, method)
    centre = math.log(rate / other_rate)
    down = math.log(other_rate / other_low)
    up = math.log(other_high / other_rate)
    lower = rate / other_rate * math.exp(-math.hypot(math.log(rate / low), up)) if low > 0 else 0.0
    high_limit = _exponential(centre + math.hypot(math.log(high / rate), down))
    return Interval(min(rate / other_rate, lower), max(rate / other_rate, high_limit), method)


def _exponential(logarithm: float) -> float:
    return math.inf if logarithm > MAX_LOGARITHM else math.exp(logarithm)


def build_paired_ratio_interval(both: float, first: float, second: float, _neither: float = 0) -> Interval:
    """Ratio of two proportions of the same records; the second must not be zero.

    `both` records have both outcomes, `first` and `second` only that one. Wilson limits of each at a quantile
    that allows for their correlation. Source: Bonett and Price 2006, Biometrics 62:301.
    """
    count = both + first
    other_count = both + second
    either = both + first + second
    ratio = count / other_count
    spread = math.sqrt((first + second + 2) / ((count + 1) * (other_count + 1)))
    spreads = (
        math.sqrt((1 - (outcome_count + 1) / (either + 2)) / (outcome_count + 1))
        for outcome_count in (count, other_count)
    )
    quantile = Z * spread / sum(spreads)
    low, high = find_wilson_limits(count, either, quantile)
    other_low, other_high = find_wilson_limits(other_count, either, quantile)
    return Interval(min(ratio, low / other_high), max(ratio, high / other_low), "paired_ratio")


def build_paired_difference_interval(both: float, first: float, second: float, neither: float) -> Interval:
    """Difference of two proportions of the same records, cells as in `build_paired_ratio_interval`.

    Source: Newcombe 1998, Statistics in Medicine 17:2635, method 10.
    """
    count = both + first
    other_count = both + second
    total = both + first + second + neither
    rate = count / total
    other_rate = other_count / total
    low, high = find_wilson_limits(count, total)
    other_low, other_high = find_wilson_limits(other_count, total)
    # Newcombe's phi of the pairs: a positive covariance is moved half the records towards 0.
    covariance = both * neither - first * second
    if covariance > 0:
        covariance = max(0.0, covariance - total / 2)
    product = count * (second + neither) * other_count * (first + neither)
    correlation = max(-1.0, min(1.0, covariance / math.sqrt(product))) if product > 0 else 0.0

    difference = rate - other_rate
    below = float(combine_distances(rate - low, other_high - other_rate, correlation))
    above = float(combine_distances(high - rate, other_rate - other_low, correlation))
    return Interval(max(-1.0, difference - below), min(1.0, difference + above), "paired_difference")


def find_share_limits(
    mean: FloatArray, square: FloatArray, size: FloatArray, *, tail: float = TAIL
) -> IntervalEnds:
    """Limits of a mean of `size` numbers in [0, 1] whose mean square is `square`."""
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum(square - mean * mean, 0) * size / freedom
    return find_whole_record_limits(mean, variance, size, freedom, tail=tail)


def find_loss_limits(mean: FloatArray, square: FloatArray, size: FloatArray) -> IntervalEnds:
    """Limits of a mean of `size` numbers from 0 up, on the log scale; `upper` may be infinite.

    The variance is at least one `size`-th of the mean squared.
    """
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum((square - mean * mean) / freedom, mean * mean / np.maximum(size, 1) ** 2)
    reach = np.exp(find_student_quantile(freedom) * (np.sqrt(variance) / mean))
    return IntervalEnds(mean / reach, mean * reach)


def find_whole_record_limits(
    mean: FloatArray, variance: FloatArray, size: FloatArray, freedom: FloatArray, *, tail: float = TAIL
) -> IntervalEnds:
    """Wilson's limits in [0, 1] for as many whole records as have the `variance` of one record in `size`.

    The variance counts as at most that of whole records and at least one `size`-th of it: equal numbers prove
    no certainty.
    """
    whole = mean * (1 - mean)
    scatter = divide_or(variance, whole, 1.0)
    min_scatter = 1 / np.maximum(size, 1)
    spread = (
        find_student_quantile(freedom, tail) ** 2 * np.clip(scatter, min_scatter, 1) / np.maximum(size, 1e-6)
    )
    centre = (mean + spread / 2) / (1 + spread)
    half = np.sqrt(spread * (whole + spread / 4)) / (1 + spread)
    return IntervalEnds(
        np.minimum(mean, np.maximum(0, centre - half)), np.maximum(mean, np.minimum(1, centre + half))
    )


def find_student_quantile(freedom: FloatArray, tail: float = TAIL) -> FloatArray:
    """Student's quantile, finite for few degrees of freedom, too."""
    quantile: FloatArray = np.minimum(stdtrit(np.maximum(freedom, 1e-6), 1 - tail), 1e6)
    return quantile


def find_difference_limits(
    estimate: BoundedEstimate, other: BoundedEstimate, correlation: FloatArray | float = 0.0
) -> IntervalEnds:
    """Limits of a difference from those of two estimates (Zou and Donner 2008; Newcombe, method 10)."""
    (mean, ends), (other_mean, other_ends) = estimate, other
    difference = mean - other_mean
    below = combine_distances(mean - ends.lower, other_ends.upper - other_mean, correlation)
    above = combine_distances(ends.upper - mean, other_mean - other_ends.lower, correlation)
    return IntervalEnds(difference - below, difference + above)


def find_limits_from_last(points: FloatArray, ends: IntervalEnds) -> IntervalEnds:
    """Limits of the differences between all estimates and the last one."""
    estimates, last_estimate = (
        BoundedEstimate(points[part], IntervalEnds(*(end[part] for end in ends)))
        for part in (slice(-1), slice(-1, None))
    )
    return find_difference_limits(estimates, last_estimate)


def combine_distances(
    half: FloatArray | float, other_half: FloatArray | float, correlation: FloatArray | float
) -> FloatArray:
    """Distance of an end of a difference from its point, from those of both estimates (MOVER)."""
    return np.sqrt(np.maximum(half * half - 2 * correlation * half * other_half + other_half * other_half, 0))
