"""Limits of weighted means from sums; leading axes are other means. `size` is in records of equal weight.

A mean of numbers in [0, 1] is a share of some number of whole records, more the less they vary; so
Wilson's interval applies (as to design effects; Korn and Graubard 1998), with Student's quantile for the
estimated variance.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..group_labels import FloatArray, divide_or

BEYOND = 0.025
"""Probability outside each limit."""

UNSEEN = 0.25
"""Unseen part of a record, added with each label for the limits of a loss: the next record could cost much
more.
"""


class IntervalEnds(NamedTuple):
    lower: FloatArray
    upper: FloatArray


def share_limits(
    mean: FloatArray, square: FloatArray, size: FloatArray, *, beyond: float = BEYOND
) -> IntervalEnds:
    """Limits of a mean of numbers in [0, 1] whose mean square is `square`."""
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum(square - mean * mean, 0) * size / freedom
    return likened_limits(mean, variance, size, freedom, beyond=beyond)


def loss_limits(mean: FloatArray, square: FloatArray, size: FloatArray) -> IntervalEnds:
    """Limits of a mean of unbounded numbers from 0 up, on the log scale; `upper` may be inf.

    The variance is at least one `size`-th of the mean squared.
    """
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum((square - mean * mean) / freedom, mean * mean / np.maximum(size, 1) ** 2)
    reach = np.exp(student(freedom) * (np.sqrt(variance) / mean))
    return IntervalEnds(mean / reach, mean * reach)


def likened_limits(
    mean: FloatArray, variance: FloatArray, size: FloatArray, freedom: FloatArray, *, beyond: float = BEYOND
) -> IntervalEnds:
    """Wilson's limits of a figure in [0, 1] for as many whole records as have its `variance` of one record in
    `size`.

    The variance is at most that of whole records and at least one `size`-th of it: equal numbers prove no
    certainty.
    """
    of_whole = mean * (1 - mean)
    scatter = divide_or(variance, of_whole, 1.0)
    least = 1 / np.maximum(size, 1)
    spread = student(freedom, beyond) ** 2 * np.clip(scatter, least, 1) / np.maximum(size, 1e-6)
    centre = (mean + spread / 2) / (1 + spread)
    half = np.sqrt(spread * (of_whole + spread / 4)) / (1 + spread)
    return IntervalEnds(
        np.minimum(mean, np.maximum(0, centre - half)), np.maximum(mean, np.minimum(1, centre + half))
    )


def student(freedom: FloatArray, beyond: float = BEYOND) -> FloatArray:
    """Quantile of Student's t exceeded with that probability."""
    quantile: FloatArray = np.minimum(stdtrit(np.maximum(freedom, 1e-6), 1 - beyond), 1e6)
    return quantile


class Bounded(NamedTuple):
    point: FloatArray
    limits: IntervalEnds


def difference_limits(of: Bounded, against: Bounded, correlation: FloatArray | float = 0.0) -> IntervalEnds:
    """Limits of a difference of two estimates from the limits of each (Zou and Donner 2008; uncorrelated:
    Newcombe's method 10).
    """
    (mean, ends), (other_mean, other_ends) = of, against
    difference = mean - other_mean
    below = combine(mean - ends.lower, other_ends.upper - other_mean, correlation)
    above = combine(ends.upper - mean, other_mean - other_ends.lower, correlation)
    return IntervalEnds(difference - below, difference + above)


def limits_from_last(points: FloatArray, ends: IntervalEnds) -> IntervalEnds:
    """Limits of the difference of each estimate but the last, and the last."""
    of, against = (
        Bounded(points[part], IntervalEnds(*(end[part] for end in ends)))
        for part in (slice(-1), slice(-1, None))
    )
    return difference_limits(of, against)


def combine(
    half: FloatArray | float, other_half: FloatArray | float, correlation: FloatArray | float
) -> FloatArray:
    """Distance of a difference's limit from the distances of both estimates' limits."""
    return np.sqrt(np.maximum(half * half - 2 * correlation * half * other_half + other_half * other_half, 0))
