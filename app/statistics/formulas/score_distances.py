"""Standardised mean differences, ratios of the shares above a quantile, and distances of generalised odds.

The first two are relative to everybody's scores, those of no group included: the standard deviation has their
number as divisor; the quantile is the lowest score that so large a share does not exceed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ...base.values import frozen_arrays
from ..group_labels import AnyArray, FloatArray, IntArray
from ..intervals.intervals import (
    TAIL,
    IntervalEnds,
    build_ratio_interval,
    find_limits_from_last,
    find_share_limits,
)
from ..tables.score_bins import MAX_BINS, decode_keys
from ..tables.score_table import ScoreTable
from .score_figures import LABELS, SCORE, SCORED

EQUALIZED_ODDS = "generalized_equalized_odds_difference"

QUANTILES = {
    "adverse_impact_ratio_above_q20": 0.2,
    "adverse_impact_ratio_above_q50": 0.5,
    "adverse_impact_ratio_above_q80": 0.8,
}
"""Share of everybody at or below the cut, by metric key."""

MAX_RELATIVE_ERROR = 0.02
"""Share of a ratio by which the bins may move it; beyond, none is given."""

MAX_ROUNDING_VARIANCE = 1e-8
"""Variance by rounding of equal scores in one bin."""

NO_SPREAD = "the scores of all records are equal, so there is no standard deviation to divide by"
NOBODY_ABOVE = "no record of {reference} has a score above {cut:.6g}, the quantile of everybody's scores"

SCORES_TOO_CLOSE = (
    f"more than {MAX_BINS:,} different scores were tabulated, in bins in which those at the quantile lie too "
    "close together: the ratio could be off by {binning_error:.1%}"
)

_MIN_WIDENING = 0.5
"""Smallest factor of the width of an interval for the estimated standard deviation."""


@frozen_arrays
class ScoreGaps:
    """Figure of each set [S] against the reference. `points` are NaN where `lacking`, a format, says why.

    `side_details`, `missing` (why a side has no figure) and `smallest` (its smallest denominator) [S + 1]
    have the reference last.
    """

    points: FloatArray
    limits: IntervalEnds
    method: str
    lacking: str
    details: Mapping[str, float]
    side_details: Mapping[str, AnyArray]
    missing: Sequence[str]
    smallest: IntArray


ComputeGaps = Callable[[ScoreTable, ScoreTable], ScoreGaps]


def compute_mean_difference(sets: ScoreTable, everybody: ScoreTable) -> ScoreGaps:
    """Computes the mean score less the last set's, divided by everybody's standard deviation.

    Limits: Newcombe's of two means in [0, 1], with Wilson's for as many whole records as have the variance,
    scaled for the estimated standard deviation (delta method, third and fourth moments).
    """
    weight = sets.weights.sum(-1)
    size = sets.size
    mean = sets.sums[..., SCORE].sum(-1) / weight
    centre, deviation = _find_mean_and_deviation(everybody)
    ends = find_share_limits(mean, sets.sums_of_squares[..., SCORE].sum(-1) / weight, size)
    difference = mean[:-1] - mean[-1]
    widened = _compute_widening(sets, everybody, centre, deviation)
    points = difference / deviation if deviation > 0 else np.full_like(difference, np.nan)
    lower, upper = (
        points + (end - difference) / deviation * widened for end in find_limits_from_last(mean, ends)
    )
    return ScoreGaps(
        points,
        IntervalEnds(lower, upper),
        "newcombe_effective",
        NO_SPREAD,
        {"standard_deviation": deviation, "records": int(everybody.counts.sum())},
        *_list_sides(sets, mean_score=mean),
    )


def _find_mean_and_deviation(everybody: ScoreTable) -> tuple[float, float]:
    weight = float(everybody.weights.sum())
    bins = everybody.bins
    if bins.is_wide.any():
        # Middles of bins are not the scores; the sums have these, in steps.
        mean = float(everybody.sums[..., SCORE].sum()) / weight
        variance = float(everybody.sums_of_squares[..., SCORE].sum()) / weight - mean * mean
        return mean, float(np.sqrt(variance)) if variance > MAX_ROUNDING_VARIANCE else 0.0
    filled = bins.get_dense(0, 1).sum((0, 1)) > 0
    # The deviation of equal numbers can be a rounding error above 0.
    if filled.sum() < 2:  # noqa: PLR2004 - one score
        return float(bins.scores[filled].sum()), 0.0
    mean = float(bins.sum_costs(bins.scores)[0]) / weight
    return mean, float(np.sqrt(bins.sum_costs((bins.scores - mean) ** 2)[0] / weight))


def _compute_widening(sets: ScoreTable, everybody: ScoreTable, centre: float, deviation: float) -> FloatArray:
    """Factor [S - 1] by which the estimated standard deviation widens the interval of each difference."""
    if not deviation:
        return np.ones(len(sets.counts) - 1)
    standard = (sets.bins.scores - centre) / deviation
    weight = sets.weights.sum(-1)
    first, second, third = (sets.bins.sum_costs(standard**power) / weight for power in (1, 2, 3))
    fourth = float((everybody.bins.sum_costs(standard**4) / everybody.weights.sum())[0])
    size = sets.size
    records = float(everybody.size[0])
    variances = (second - first**2) / size
    covariances = third - first * second
    plain_variance = variances[:-1] + variances[-1]
    per_square = (first[:-1] - first[-1]) / (2 * records)
    added_variance = records * per_square**2 * (fourth - 1) - 2 * per_square * (
        covariances[:-1] - covariances[-1]
    )
    factor = np.sqrt(np.maximum(plain_variance + added_variance, 0) / plain_variance)
    return np.where(plain_variance > 0, np.clip(factor, _MIN_WIDENING, None), 1.0)


def compute_ratio_above(quantile: float, sets: ScoreTable, everybody: ScoreTable) -> ScoreGaps:
    """Computes the share of each set with a score above everybody's quantile, over that of the last.

    A score equal to the quantile is not above it. If different scores share its bin, as many are above as
    leave everybody's share right, and the limits reach as far as the others could move the ratio. Limits:
    Katz's with the quantile as given, a little too wide, since the two shares cannot move freely.
    """
    bins = everybody.bins
    total = everybody.weights.sum(-1)
    cumulated = np.cumsum(bins.get_dense(0, 1).sum((0, 1)))
    # A sum of weights may fall short of its share by rounding.
    cut_bin = int(np.argmax(cumulated >= quantile * total[0] * (1 - 1e-12))) if cumulated.size else 0
    cut = float(decode_keys(bins.highs[[cut_bin]])[0]) if cumulated.size else np.nan
    positions = np.arange(len(bins.lows))
    above, inside = (
        sets.bins.sum_costs(chosen.astype(float)) for chosen in (positions > cut_bin, positions == cut_bin)
    )
    is_wide = bool(cumulated.size) and bool(bins.is_wide[cut_bin])
    share_above = (
        (cumulated[cut_bin] - quantile * total[0]) / bins.sum_costs((positions == cut_bin).astype(float))[0]
        if is_wide
        else 0.0
    )
    inside = inside if is_wide else np.zeros_like(inside)
    weight = sets.weights.sum(-1)
    size = sets.size
    least = above / weight
    greatest = (above + inside) / weight
    shares = least + share_above * (greatest - least)
    points = np.where(shares[-1] > 0, shares[:-1] / shares[-1], np.nan)
    ends = [
        build_ratio_interval(share * records, records, shares[-1] * size[-1], size[-1])[:2]
        if np.isfinite(point)
        else (np.nan, np.nan)
        for share, records, point in zip(shares[:-1], size[:-1], points, strict=True)
    ]
    lower, upper = np.array(ends).reshape(-1, 2).T
    furthest = np.maximum(greatest[:-1] / least[-1] - points, points - least[:-1] / greatest[-1])
    error = float(np.max(furthest / points, initial=0.0, where=points > 0))
    is_too_close = error > MAX_RELATIVE_ERROR
    return ScoreGaps(
        np.full_like(points, np.nan) if is_too_close else points,
        IntervalEnds(lower * (1 - error), upper * (1 + error)),
        "log_ratio",
        SCORES_TOO_CLOSE if is_too_close else NOBODY_ABOVE,
        {"cut": cut, "binning_error": error, "records": int(everybody.counts.sum())},
        *_list_sides(sets, above=shares * weight),
    )


def compute_equalized_odds(sets: ScoreTable, everybody: ScoreTable) -> ScoreGaps:  # noqa: ARG001 - other gaps need it
    """Computes the larger distance of the generalised odds (mean scores by label) from the last set's.

    Upper: the furthest end of the two differences' intervals. Lower: zero unless one difference is
    significant, at 95 % for both covariances.
    """
    odds = sets.sums[..., SCORE] / sets.weights
    squares = sets.sums_of_squares[..., SCORE] / sets.weights
    single_limits, joint = (
        find_limits_from_last(odds, find_share_limits(odds, squares, sets.sizes, tail=tail))
        for tail in (TAIL, TAIL / 2)
    )
    upper = np.maximum(np.abs(single_limits.lower), np.abs(single_limits.upper)).max(-1)
    side_details = {
        "unfavourable_labels": sets.counts[:, 0],
        "favourable_labels": sets.counts[:, 1],
        "generalized_false_positive_rate": odds[:, 0],
        "generalized_true_positive_rate": odds[:, 1],
    }
    return ScoreGaps(
        np.abs(odds[:-1] - odds[-1:]).max(-1),
        IntervalEnds(np.maximum(0, np.maximum(joint.lower, -joint.upper)).max(-1), np.minimum(upper, 1)),
        "newcombe_effective",
        "",
        {},
        side_details,
        [
            f"no record{{of}} with {LABELS[int(lacks.argmax())]} {SCORED}" if lacks.any() else ""
            for lacks in np.isnan(odds)
        ],
        sets.counts.min(-1),
    )


def _list_sides(sets: ScoreTable, **figures: FloatArray) -> tuple[dict[str, AnyArray], list[str], IntArray]:
    n = sets.counts.sum(-1)
    return {**figures, "n": n}, ["" if records else f"no record{{of}} {SCORED}" for records in n], n


GAPS: Mapping[str, ComputeGaps] = {
    "standardized_mean_difference": compute_mean_difference,
    EQUALIZED_ODDS: compute_equalized_odds,
    **{key: partial(compute_ratio_above, quantile) for key, quantile in QUANTILES.items()},
}
