"""Odds ratios of two groups, most given a control; arrays [..., S, 2], favourable last. Source: rules on
adverse impact.

Strata without both groups and both outcomes drop out by themselves.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..group_labels import FloatArray, IntArray, divide, divide_or
from ..intervals.intervals import Z
from .conditional_disparity import StrataOutcomes

Pair = tuple[FloatArray, FloatArray]

METHOD_OF_COMMON, METHOD_OF_ADJUSTED = "robins_breslow_greenland", "wald_logit"

_FURTHEST = 60.0

_LEAST_EXPECTED, _MOSTLY_EXPECTED, _MOSTLY = 1, 5, 0.8

_ROUNDS = 200
_TOLERANCE = 1e-13


def odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return divide(monitored[..., 1] * reference[..., 0], monitored[..., 0] * reference[..., 1])


def common_odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Mantel and Haenszel's; infinite or NaN where nothing is against it."""
    above, below = _products(monitored, reference)
    return divide(above.sum(-1), below.sum(-1))


def common_odds_limits(monitored: StrataOutcomes, reference: StrataOutcomes) -> Pair:
    """95 % limits [...]; 0 and infinity where the ratio is 0. Source: Robins, Breslow and Greenland 1986.

    Each stratum has the variance of its records of equal weight, and its weights' part of the ratio.
    """
    (of_monitored, of_reference), scale = _level(monitored, reference)
    above, below = _products(of_monitored, of_reference)
    size = np.maximum((of_monitored + of_reference).sum(-1), 1e-300)
    p = (of_monitored[..., 1] + of_reference[..., 0]) / size
    q = (of_monitored[..., 0] + of_reference[..., 1]) / size
    total = (scale * above).sum(-1)
    total_below = (scale * below).sum(-1)
    with np.errstate(all="ignore"):
        squared = scale**2
        variance = (
            (squared * p * above).sum(-1) / (2 * total**2)
            + (squared * (p * below + q * above)).sum(-1) / (2 * total * total_below)
            + (squared * q * below).sum(-1) / (2 * total_below**2)
        )
        return _spread(total / total_below, np.sqrt(variance))


def adjusted_odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Odds ratio [...] of a logit with a term for the group and one for each stratum; 0 and infinity where
    it diverges.
    """
    with np.errstate(all="ignore"):
        start = common_odds_ratio(monitored, reference)
        is_finite = np.isfinite(start) & (start > 0)
        return np.where(
            is_finite, np.exp(_fit(monitored, reference, np.log(np.where(is_finite, start, 1.0)))), start
        )


def adjusted_odds_limits(monitored: StrataOutcomes, reference: StrataOutcomes) -> Pair:
    """Wald's 95 % limits [...]; unequal weights widen them as in a sandwich estimate."""
    value = adjusted_odds_ratio(monitored.weights, reference.weights)
    with np.errstate(all="ignore"):
        sides = _variances(value, monitored.weights, reference.weights)
        share = divide_or(sides[0], sides[0] + sides[1], 0.0)
        heavy = [1 / outcomes.density[..., 0] for outcomes in (monitored, reference)]
        of_scores = ((1 - share) ** 2 * sides[0] * heavy[0] + share**2 * sides[1] * heavy[1]).sum(-1)
        return _spread(value, np.sqrt(of_scores) / _information(*sides))


class Homogeneity(NamedTuple):
    """Test of one odds ratio in all strata [S] that can tell (Breslow and Day 1980).

    `tarone_p_value` has Tarone's correction. `has_enough`: the expected counts suffice for p-values (Cochran
    1954).
    """

    strata: IntArray
    statistic: float
    p_value: float
    tarone_p_value: float
    has_enough: bool


def measure_homogeneity(monitored: FloatArray, reference: FloatArray) -> Homogeneity | None:
    """Of records of equal weight [S, 2]; None with fewer than two informative strata, or without a finite
    ratio above 0.
    """
    value = common_odds_ratio(monitored, reference)
    margins = _margins(monitored, reference)
    row, column, size = margins
    strata = np.flatnonzero((row > 0) & (size > row) & (column > 0) & (size > column))
    if len(strata) < 2 or not np.isfinite(value) or value == 0:  # noqa: PLR2004 - one is alike
        return None
    row, column, size = (margin[strata] for margin in margins)
    first = expected_favourable(value, row, column, size)
    expected = np.stack([first, row - first, column - first, size - row - column + first])
    variance = 1 / (1 / expected).sum(0)
    short = monitored[strata, 1] - first
    statistic = float((short**2 / variance).sum())
    degrees = len(strata) - 1
    corrected = max(0.0, statistic - float(short.sum() ** 2 / variance.sum()))
    has_enough = expected.min() >= _LEAST_EXPECTED and np.mean(expected >= _MOSTLY_EXPECTED) >= _MOSTLY
    p_value, tarone = (float(chdtrc(degrees, test)) for test in (statistic, corrected))
    return Homogeneity(strata, statistic, p_value, tarone, bool(has_enough))


def expected_favourable(
    value: FloatArray, row: FloatArray, column: FloatArray, size: FloatArray
) -> FloatArray:
    """Expected favourable records of the first group at an odds ratio, in tables of these margins.

    The root of (1 - r)e² + (n - row - column + r(row + column))e - r·row·column within the margins, in a form
    where nothing cancels and r = 1 is no special case.
    """
    linear = size - row - column + value * (row + column)
    root = np.sqrt(np.maximum(linear**2 + 4 * (1 - value) * value * row * column, 0.0))
    return divide_or(2 * value * row * column, linear + root, 0.0)


def _fit(monitored: FloatArray, reference: FloatArray, start: FloatArray) -> FloatArray:
    """Logarithm [...] of the most likely odds ratio: as many are favourable as expected.

    The strata's terms are solved for, which leaves one number to search for.
    """
    favourable = monitored[..., 1].sum(-1)
    weight = start
    low = np.full_like(start, -_FURTHEST)
    high = np.full_like(start, _FURTHEST)
    margins = _margins(monitored, reference)
    for _ in range(_ROUNDS):
        value = np.exp(weight)
        short = favourable - expected_favourable(value[..., None], *margins).sum(-1)
        low = np.where(short > 0, weight, low)
        high = np.where(short < 0, weight, high)
        tried = weight + short / _information(*_variances(value, monitored, reference))
        # A step of Newton's that leaves the bracket would not return.
        following = np.where((tried >= low) & (tried <= high), tried, (low + high) / 2)
        is_there = np.abs(following - weight).max(initial=0.0) < _TOLERANCE
        weight = following
        if is_there:
            break
    return weight


def _margins(monitored: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return monitored.sum(-1), monitored[..., 1] + reference[..., 1], (monitored + reference).sum(-1)


def _variances(value: FloatArray, monitored: FloatArray, reference: FloatArray) -> Pair:
    """Fitted n p (1 - p) [..., S]."""
    row, column, size = _margins(monitored, reference)
    first = expected_favourable(value[..., None], row, column, size)
    second = column - first
    return divide_or(first * (row - first), row, 0.0), divide_or(
        second * (size - row - second), size - row, 0.0
    )


def _information(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    information: FloatArray = divide_or(monitored * reference, monitored + reference, 0.0).sum(-1)
    return information


def _products(monitored: FloatArray, reference: FloatArray) -> Pair:
    """Diagonals of each stratum [..., S], multiplied, over its records."""
    size = (monitored + reference).sum(-1)
    return divide_or(monitored[..., 1] * reference[..., 0], size, 0.0), divide_or(
        monitored[..., 0] * reference[..., 1], size, 0.0
    )


def _level(monitored: StrataOutcomes, reference: StrataOutcomes) -> tuple[Pair, FloatArray]:
    """Records of equal weight of both [..., S, 2], and the factor [..., S] to the weighted products."""
    of_monitored, of_reference = (outcomes.weights * outcomes.density for outcomes in (monitored, reference))
    total = (monitored.weights + reference.weights).sum(-1)
    scale = divide_or((of_monitored + of_reference).sum(-1), total, 0.0) / (
        monitored.density[..., 0] * reference.density[..., 0]
    )
    return (of_monitored, of_reference), scale


def _spread(value: FloatArray, error: FloatArray) -> Pair:
    factor = np.exp(Z * error)
    is_known = (value > 0) & np.isfinite(factor)
    return np.where(is_known, value / factor, 0.0), np.where(is_known, value * factor, np.inf)
