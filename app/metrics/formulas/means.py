"""Limits of weighted means, from sums alone: each leading axis is another mean. `size` is the number of records of equal weight.

A mean of numbers in [0, 1] is a share of some number of whole records, the more the less the numbers scatter; so Wilson's interval
serves it (as it serves design effects in surveys; Korn and Graubard 1998), with Student's quantile for the estimated scatter.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from app.metrics.groups import FloatArray

BEYOND = 0.025
"""The chance left beyond each limit."""

UNSEEN = 0.25
"""Of a record, added for the limits of a loss, with each label: were the one not seen yet to come, it could cost much more."""


class Limits(NamedTuple):
    """The ends of intervals; each holds its point."""

    lower: FloatArray
    upper: FloatArray


def share_limits(mean: FloatArray, square: FloatArray, size: FloatArray, *, beyond: float = BEYOND) -> Limits:
    """Limits of a mean of numbers in [0, 1] whose mean square is `square`. One record alone says next to nothing."""
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum(square - mean * mean, 0) * size / freedom
    return likened_limits(mean, variance, size, freedom, beyond=beyond)


def loss_limits(mean: FloatArray, square: FloatArray, size: FloatArray) -> Limits:
    """Limits of a mean of numbers from 0 without end, on the scale of logarithms, for such numbers lean to the right; `upper` may be inf.

    The scatter counts as no less than the size-th part of the mean squared: numbers all alike prove no certainty.
    """
    freedom = np.maximum(size - 1, 1e-6)
    variance = np.maximum((square - mean * mean) / freedom, mean * mean / np.maximum(size, 1) ** 2)
    factor = np.exp(student(freedom) * np.sqrt(variance) / mean)
    return Limits(mean / factor, mean * factor)


def likened_limits(mean: FloatArray, variance: FloatArray, size: FloatArray, freedom: FloatArray, *, beyond: float = BEYOND) -> Limits:
    """Wilson's limits of a figure in [0, 1] for as many whole records as have its `variance` of one record in `size`.

    The variance counts as no more than that of whole records, and as no less than the size-th part of it: numbers that happen
    to be all alike prove no certainty.
    """
    whole = mean * (1 - mean)
    scatter = np.divide(variance, whole, out=np.ones_like(whole), where=whole > 0)
    least = 1 / np.maximum(size, 1)
    spread = student(freedom, beyond) ** 2 * np.clip(scatter, least, 1) / np.maximum(size, 1e-6)
    centre = (mean + spread / 2) / (1 + spread)
    half = np.sqrt(spread * (whole + spread / 4)) / (1 + spread)
    return Limits(np.minimum(mean, np.maximum(0, centre - half)), np.maximum(mean, np.minimum(1, centre + half)))


def student(freedom: FloatArray, beyond: float = BEYOND) -> FloatArray:
    """The quantile of Student's t beyond which that chance lies."""
    quantile: FloatArray = np.minimum(stdtrit(np.maximum(freedom, 1e-6), 1 - beyond), 1e6)
    return quantile


def difference_limits(of: tuple[FloatArray, Limits], against: tuple[FloatArray, Limits], correlation: FloatArray | float = 0.0) -> Limits:
    """Limits of a difference of two estimates, from the limits of each (Zou and Donner 2008; Newcombe's method 10 where uncorrelated)."""
    (mean, ends), (other, other_ends) = of, against
    difference = mean - other
    below = _together(mean - ends.lower, other_ends.upper - other, correlation)
    above = _together(ends.upper - mean, other - other_ends.lower, correlation)
    return Limits(difference - below, difference + above)


def _together(part: FloatArray, other: FloatArray, correlation: FloatArray | float) -> FloatArray:
    return np.sqrt(np.maximum(part * part - 2 * correlation * part * other + other * other, 0))
