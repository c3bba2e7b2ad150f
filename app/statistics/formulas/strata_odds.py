"""Odds ratios of two groups, most of them within the S strata of a control.

Arrays are [..., S, 2], the favourable outcome last. Strata without both groups and both outcomes drop out by
themselves. Source: rules on adverse impact.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..group_labels import FloatArray, IntArray, divide, divide_or
from ..intervals.intervals import Z
from .conditional_disparity import StrataOutcomes

Pair = tuple[FloatArray, FloatArray]

METHOD_OF_COMMON, METHOD_OF_ADJUSTED = "robins_breslow_greenland", "wald_logit"

_MAX_LOG_RATIO = 60.0
"""The most likely odds ratio is searched between this logarithm and its negative."""

_MIN_EXPECTED = 1
_USUAL_EXPECTED = 5
_USUAL_SHARE = 0.8
"""Cochran's rule: no expected count is below 1, and 80 % of them are 5 or more."""

_MAX_STEPS = 200
_TOLERANCE = 1e-13
"""Newton's steps, and the last one that is taken."""


def odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Odds ratio [...] of outcomes [..., 2]; infinite or NaN where the denominator is 0."""
    return divide(monitored[..., 1] * reference[..., 0], monitored[..., 0] * reference[..., 1])


def common_odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Odds ratio of Mantel and Haenszel; infinite, or NaN, where the denominator, or both parts, are 0."""
    above, below = _multiply_diagonals(monitored, reference)
    return divide(above.sum(-1), below.sum(-1))


def common_odds_limits(monitored: StrataOutcomes, reference: StrataOutcomes) -> Pair:
    """95 % limits [...]; 0 and infinity where the ratio is 0. Source: Robins, Breslow and Greenland 1986.

    The variance of a stratum is that of its records of equal weight; its part of the ratio is that of its
    weights.
    """
    (first, second), scale = _equalise_weights(monitored, reference)
    above, below = _multiply_diagonals(first, second)
    # Of an empty stratum every product is 0.
    size = np.maximum((first + second).sum(-1), 1e-300)
    p = (first[..., 1] + second[..., 0]) / size
    q = (first[..., 0] + second[..., 1]) / size
    total = (scale * above).sum(-1)
    total_below = (scale * below).sum(-1)
    with np.errstate(all="ignore"):
        squared = scale**2
        variance = (
            (squared * p * above).sum(-1) / (2 * total**2)
            + (squared * (p * below + q * above)).sum(-1) / (2 * total * total_below)
            + (squared * q * below).sum(-1) / (2 * total_below**2)
        )
        return _find_limits(total / total_below, np.sqrt(variance))


def adjusted_odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Odds ratio by logistic regression with a term for each stratum; 0 or infinity where it diverges."""
    with np.errstate(all="ignore"):
        start = common_odds_ratio(monitored, reference)
        is_finite = np.isfinite(start) & (start > 0)
        return np.where(
            is_finite,
            np.exp(_fit_log_ratio(monitored, reference, np.log(np.where(is_finite, start, 1.0)))),
            start,
        )


def adjusted_odds_limits(monitored: StrataOutcomes, reference: StrataOutcomes) -> Pair:
    """Wald's 95 % limits [...]; unequal weights widen them as in a sandwich estimate."""
    ratio = adjusted_odds_ratio(monitored.weights, reference.weights)
    with np.errstate(all="ignore"):
        sides = _fit_variances(ratio, monitored.weights, reference.weights)
        share = divide_or(sides[0], sides[0] + sides[1], 0.0)
        weights = [1 / outcomes.density[..., 0] for outcomes in (monitored, reference)]
        score_variance = ((1 - share) ** 2 * sides[0] * weights[0] + share**2 * sides[1] * weights[1]).sum(-1)
        return _find_limits(ratio, np.sqrt(score_variance) / _sum_information(*sides))


class Homogeneity(NamedTuple):
    """Test whether all strata have one odds ratio (Breslow and Day 1980).

    `strata` are the positions of those used, `tarone_p_value` is corrected; `has_enough`: the expected counts
    suffice (Cochran 1954).
    """

    strata: IntArray
    statistic: float
    p_value: float
    tarone_p_value: float
    has_enough: bool


def measure_homogeneity(monitored: FloatArray, reference: FloatArray) -> Homogeneity | None:
    """Tests counts of equal weight [S, 2]; None with one informative stratum, or a ratio of 0 or infinity."""
    ratio = common_odds_ratio(monitored, reference)
    margins = _sum_margins(monitored, reference)
    row, column, size = margins
    strata = np.flatnonzero((row > 0) & (size > row) & (column > 0) & (size > column))
    if len(strata) < 2 or not np.isfinite(ratio) or ratio == 0:  # noqa: PLR2004 - one is alike
        return None
    row, column, size = (margin[strata] for margin in margins)
    first = expect_favourable(ratio, row, column, size)
    expected = np.stack([first, row - first, column - first, size - row - column + first])
    variance = 1 / (1 / expected).sum(0)
    shortfall = monitored[strata, 1] - first
    statistic = float((shortfall**2 / variance).sum())
    degrees = len(strata) - 1
    corrected = max(0.0, statistic - float(shortfall.sum() ** 2 / variance.sum()))
    has_enough = expected.min() >= _MIN_EXPECTED and np.mean(expected >= _USUAL_EXPECTED) >= _USUAL_SHARE
    p_value, tarone = (float(chdtrc(degrees, test)) for test in (statistic, corrected))
    return Homogeneity(strata, statistic, p_value, tarone, bool(has_enough))


def expect_favourable(ratio: FloatArray, row: FloatArray, column: FloatArray, size: FloatArray) -> FloatArray:
    """Expected favourable records of the first group at an odds ratio, in tables of these margins.

    `row` counts the first group, `column` the favourable records, `size` all. The root of (1 - r)e² + (n -
    row - column + r(row + column))e - r·row·column within the margins, in a form where nothing cancels.
    """
    linear = size - row - column + ratio * (row + column)
    root = np.sqrt(np.maximum(linear**2 + 4 * (1 - ratio) * ratio * row * column, 0.0))
    return divide_or(2 * ratio * row * column, linear + root, 0.0)


def _fit_log_ratio(monitored: FloatArray, reference: FloatArray, start: FloatArray) -> FloatArray:
    """Logarithm [...] of the most likely odds ratio: as many are favourable as expected."""
    favourable = monitored[..., 1].sum(-1)
    log_ratio = start
    low = np.full_like(start, -_MAX_LOG_RATIO)
    high = np.full_like(start, _MAX_LOG_RATIO)
    margins = _sum_margins(monitored, reference)
    for _ in range(_MAX_STEPS):
        ratio = np.exp(log_ratio)
        shortfall = favourable - expect_favourable(ratio[..., None], *margins).sum(-1)
        low = np.where(shortfall > 0, log_ratio, low)
        high = np.where(shortfall < 0, log_ratio, high)
        newton = log_ratio + shortfall / _sum_information(*_fit_variances(ratio, monitored, reference))
        # A step of Newton's that leaves the bracket would not return.
        next_log_ratio = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        has_converged = np.abs(next_log_ratio - log_ratio).max(initial=0.0) < _TOLERANCE
        log_ratio = next_log_ratio
        if has_converged:
            break
    return log_ratio


def _sum_margins(monitored: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return monitored.sum(-1), monitored[..., 1] + reference[..., 1], (monitored + reference).sum(-1)


def _fit_variances(ratio: FloatArray, monitored: FloatArray, reference: FloatArray) -> Pair:
    """Variances n p (1 - p) [..., S] of the favourable records of both groups at an odds ratio."""
    row, column, size = _sum_margins(monitored, reference)
    first = expect_favourable(ratio[..., None], row, column, size)
    second = column - first
    return divide_or(first * (row - first), row, 0.0), divide_or(
        second * (size - row - second), size - row, 0.0
    )


def _sum_information(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    information: FloatArray = divide_or(monitored * reference, monitored + reference, 0.0).sum(-1)
    return information


def _multiply_diagonals(monitored: FloatArray, reference: FloatArray) -> Pair:
    """Diagonals of each stratum [..., S], multiplied, over its records."""
    size = (monitored + reference).sum(-1)
    return divide_or(monitored[..., 1] * reference[..., 0], size, 0.0), divide_or(
        monitored[..., 0] * reference[..., 1], size, 0.0
    )


def _equalise_weights(monitored: StrataOutcomes, reference: StrataOutcomes) -> tuple[Pair, FloatArray]:
    """Records of equal weight of both [..., S, 2], and the factor [..., S] to the weighted products."""
    first, second = (outcomes.weights * outcomes.density for outcomes in (monitored, reference))
    total = (monitored.weights + reference.weights).sum(-1)
    scale = divide_or((first + second).sum(-1), total, 0.0) / (
        monitored.density[..., 0] * reference.density[..., 0]
    )
    return (first, second), scale


def _find_limits(ratio: FloatArray, error: FloatArray) -> Pair:
    factor = np.exp(Z * error)
    is_known = (ratio > 0) & np.isfinite(factor)
    return np.where(is_known, ratio / factor, 0.0), np.where(is_known, ratio * factor, np.inf)
