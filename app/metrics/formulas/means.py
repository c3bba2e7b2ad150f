"""Limits of weighted means from sums; leading axes are other means. `size` is in records of equal weight.

A mean of numbers in [0, 1] is a share of some number of whole records, more the less they vary; so Wilson's interval applies (as to design
effects; Korn and Graubard 1998), with Student's quantile for the estimated variance.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..groups import FloatArray, divide_or

BEYOND = 0.025
"""Probability outside each limit."""

UNSEEN = 0.25
"""Unseen part of a record, added with each label for the limits of a loss: the next record could cost much more."""


class IntervalEnds(NamedTuple):
    lower: FloatArray
    upper: FloatArray


def share_limits(mean: FloatArray, square: FloatArray, size: FloatArray, *, beyond: float = BEYOND) -> IntervalEnds:
    """Limits of a mean of numbers in [0, 1] whose mean square is `square`."""
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum(square - mean * mean, 0) * size / freedom
    return likened_limits(mean, variance, size, freedom, beyond=beyond)


def loss_limits(mean: FloatArray, square: FloatArray, size: FloatArray, skewness: FloatArray | None = None) -> IntervalEnds:
    """Limits of a mean of unbounded numbers from 0 up, on the log scale; `upper` may be inf.

    The variance is at least one `size`-th of the mean squared. With `skewness` the upper limit allows for rare large numbers that the
    sample lacks.
    """
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum((square - mean * mean) / freedom, mean * mean / np.maximum(size, 1) ** 2)
    deviation = np.sqrt(variance) / mean
    above = student(freedom) if skewness is None else skewed_student(freedom, skewness, size)
    return IntervalEnds(mean / np.exp(student(freedom) * deviation), mean * np.exp(above * deviation))


def likened_limits(
    mean: FloatArray, variance: FloatArray, size: FloatArray, freedom: FloatArray, *, beyond: float = BEYOND
) -> IntervalEnds:
    """Wilson's limits of a figure in [0, 1] for as many whole records as have its `variance` of one record in `size`.

    The variance is at most that of whole records and at least one `size`-th of it: equal numbers prove no certainty.
    """
    whole = mean * (1 - mean)
    scatter = divide_or(variance, whole, 1.0)
    least = 1 / np.maximum(size, 1)
    spread = student(freedom, beyond) ** 2 * np.clip(scatter, least, 1) / np.maximum(size, 1e-6)
    centre = (mean + spread / 2) / (1 + spread)
    half = np.sqrt(spread * (whole + spread / 4)) / (1 + spread)
    return IntervalEnds(np.minimum(mean, np.maximum(0, centre - half)), np.maximum(mean, np.minimum(1, centre + half)))


def student(freedom: FloatArray, beyond: float = BEYOND) -> FloatArray:
    """Quantile of Student's t exceeded with that probability."""
    quantile: FloatArray = np.minimum(stdtrit(np.maximum(freedom, 1e-6), 1 - beyond), 1e6)
    return quantile


def skewed_student(freedom: FloatArray, skewness: FloatArray, size: FloatArray) -> FloatArray:
    """Standard errors that the mean may be above that of a sample with this skewness: Student's quantile or more.

    Through the transformation that makes the studentised mean symmetric (Hall 1992). Its inverse falls again among the most skewed samples,
    which have the limit of the skewness at which it is still rising.
    """
    quantile = student(freedom)
    # Where the cube root below is -1/2; it rises up to there, and falls a little later.
    rising = 3 * (np.sqrt(quantile * quantile + 0.75) - quantile)
    slant = np.minimum(np.maximum(skewness, 0) / np.sqrt(np.maximum(size, 1)), rising)
    divisor = np.where(slant > _SYMMETRIC, slant, 1.0)
    slanted = 3 / divisor * (1 - np.cbrt(1 - divisor * (quantile + divisor / 6)))
    return np.where(slant > _SYMMETRIC, np.maximum(quantile, slanted), quantile)


_SYMMETRIC = 1e-6
"""Skewness by the root of the size up to which the transformation is numerically the identity."""


class Bounded(NamedTuple):
    point: FloatArray
    limits: IntervalEnds


def difference_limits(of: Bounded, against: Bounded, correlation: FloatArray | float = 0.0) -> IntervalEnds:
    """Limits of a difference of two estimates from the limits of each (Zou and Donner 2008; uncorrelated: Newcombe's method 10)."""
    (mean, ends), (other, other_ends) = of, against
    difference = mean - other
    below = _combine(mean - ends.lower, other_ends.upper - other, correlation)
    above = _combine(ends.upper - mean, other - other_ends.lower, correlation)
    return IntervalEnds(difference - below, difference + above)


def _combine(part: FloatArray, other: FloatArray, correlation: FloatArray | float) -> FloatArray:
    return np.sqrt(np.maximum(part * part - 2 * correlation * part * other + other * other, 0))
