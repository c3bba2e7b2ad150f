"""Standardised mean differences, ratios of the shares above a quantile, and distances of generalised odds.

The first two are relative to everybody's scores, those of no group included: the standard deviation has their
number as divisor; the quantile is the lowest score that so large a share does not exceed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ...base.values import frozen_arrays
from ..group_labels import AnyArray, FloatArray, IntArray
from ..intervals.intervals import BEYOND, IntervalEnds, limits_from_last, log_ratio, share_limits
from ..tables.score_bins import MOST, decode_keys
from ..tables.score_table import ScoreTable
from .score_figures import LABELS, SCORE, SCORED

MOST_RELATIVE_ERROR = 0.02
"""Share of a ratio by which the bins may move it; beyond, none is given."""

ROUNDING = 1e-8
"""Variance that the sums' steps can make of equal scores in one bin."""

NO_SPREAD = "the scores of all records are equal, so there is no standard deviation to divide by"
NOBODY_ABOVE = "no record of {reference} has a score above {cut:.6g}, the quantile of everybody's scores"
TOO_CLOSE = (
    f"more than {MOST:,} different scores were tabulated, in bins in which those at the quantile lie too "
    "close together: the ratio could be off by {binning_error:.1%}"
)
_NARROWEST = 0.5


@frozen_arrays
class Gaps:
    """Figure of each set [S] against the reference. `points` are NaN where `lacking`, a format, says why.

    `of_sides`, `missing` and `smallest` [S + 1] have the reference last: `missing` says what a side lacks,
    `smallest` counts its smallest denominator.
    """

    points: FloatArray
    limits: IntervalEnds
    method: str
    lacking: str
    details: Mapping[str, float]
    of_sides: Mapping[str, AnyArray]
    missing: Sequence[str]
    smallest: IntArray


Gap = Callable[[ScoreTable, ScoreTable], Gaps]


def standardized_mean_difference(sets: ScoreTable, everybody: ScoreTable) -> Gaps:
    """Mean score less the last set's, divided by everybody's standard deviation.

    Limits of the difference of two means in [0, 1] (Newcombe, with Wilson's limits for as many whole records
    as have the variance), scaled for the estimated standard deviation (delta method, third and fourth
    moments).
    """
    weight = sets.weights.sum(-1)
    size = sets.size
    mean = sets.sums[..., SCORE].sum(-1) / weight
    centre, deviation = _spread(everybody)
    ends = share_limits(mean, sets.sums_of_squares[..., SCORE].sum(-1) / weight, size)
    difference = mean[:-1] - mean[-1]
    widened = _widening(sets, everybody, centre, deviation)
    points = difference / deviation if deviation > 0 else np.full_like(difference, np.nan)
    lower, upper = (points + (end - difference) / deviation * widened for end in limits_from_last(mean, ends))
    return Gaps(
        points,
        IntervalEnds(lower, upper),
        "newcombe_effective",
        NO_SPREAD,
        {"standard_deviation": deviation, "records": int(everybody.counts.sum())},
        *_trace_sides(sets, mean_score=mean),
    )


def ratio_above(quantile: float, sets: ScoreTable, everybody: ScoreTable) -> Gaps:
    """Share of each set with a score above everybody's quantile, over that of the last.

    A score equal to the quantile is not above it. If different scores share its bin, as many are above as
    leave everybody's share right, and the limits reach as far as the others could move the ratio. Limits:
    Katz's with the quantile as given, a little too wide, since the two shares cannot move freely.
    """
    bins = everybody.bins
    total = everybody.weights.sum(-1)
    steps = np.cumsum(bins.dense(0, 1).sum((0, 1)))
    # A sum of weights may fall short of its share by rounding.
    cut_bin = int(np.argmax(steps >= quantile * total[0] * (1 - 1e-12))) if steps.size else 0
    cut = float(decode_keys(bins.highs[[cut_bin]])[0]) if steps.size else np.nan
    at = np.arange(len(bins.lows))
    above, inside = (sets.bins.summed(chosen.astype(float)) for chosen in (at > cut_bin, at == cut_bin))
    is_wide = bool(steps.size) and bool(bins.is_wide[cut_bin])
    share_above = (
        (steps[cut_bin] - quantile * total[0]) / bins.summed((at == cut_bin).astype(float))[0]
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
        log_ratio(share * records, records, shares[-1] * size[-1], size[-1])[:2]
        if np.isfinite(point)
        else (np.nan, np.nan)
        for share, records, point in zip(shares[:-1], size[:-1], points, strict=True)
    ]
    lower, upper = np.array(ends).reshape(-1, 2).T
    furthest = np.maximum(greatest[:-1] / least[-1] - points, points - least[:-1] / greatest[-1])
    error = float(np.max(furthest / points, initial=0.0, where=points > 0))
    too_close = error > MOST_RELATIVE_ERROR
    return Gaps(
        np.full_like(points, np.nan) if too_close else points,
        IntervalEnds(lower * (1 - error), upper * (1 + error)),
        "log_ratio",
        TOO_CLOSE if too_close else NOBODY_ABOVE,
        {"cut": cut, "binning_error": error, "records": int(everybody.counts.sum())},
        *_trace_sides(sets, above=shares * weight),
    )


def equalized_odds(sets: ScoreTable, everybody: ScoreTable) -> Gaps:  # noqa: ARG001 - only the other gaps are relative to everybody's
    """Larger distance of the generalised odds (mean scores by label) from the last set's, with limits.

    Upper: the furthest end of the two differences' intervals. Lower: zero unless one difference is
    significant, at 95 % for both together.
    """
    odds = sets.sums[..., SCORE] / sets.weights
    squares = sets.sums_of_squares[..., SCORE] / sets.weights
    wide, sure = (
        limits_from_last(odds, share_limits(odds, squares, sets.sizes, beyond=beyond))
        for beyond in (BEYOND, BEYOND / 2)
    )
    upper = np.maximum(np.abs(wide.lower), np.abs(wide.upper)).max(-1)
    of_sides = {
        "unfavourable_labels": sets.counts[:, 0],
        "favourable_labels": sets.counts[:, 1],
        "generalized_false_positive_rate": odds[:, 0],
        "generalized_true_positive_rate": odds[:, 1],
    }
    return Gaps(
        np.abs(odds[:-1] - odds[-1:]).max(-1),
        IntervalEnds(np.maximum(0, np.maximum(sure.lower, -sure.upper)).max(-1), np.minimum(upper, 1)),
        "newcombe_effective",
        "",
        {},
        of_sides,
        [
            f"no record{{of}} with {LABELS[int(lacks.argmax())]} {SCORED}" if lacks.any() else ""
            for lacks in np.isnan(odds)
        ],
        sets.counts.min(-1),
    )


def _trace_sides(sets: ScoreTable, **figures: FloatArray) -> tuple[dict[str, AnyArray], list[str], IntArray]:
    n = sets.counts.sum(-1)
    return {**figures, "n": n}, ["" if records else f"no record{{of}} {SCORED}" for records in n], n


EQUALIZED_ODDS = "generalized_equalized_odds_difference"

QUANTILES = {
    "adverse_impact_ratio_above_q20": 0.2,
    "adverse_impact_ratio_above_q50": 0.5,
    "adverse_impact_ratio_above_q80": 0.8,
}
"""Share of everybody at or below the cut."""

GAPS: Mapping[str, Gap] = {
    "standardized_mean_difference": standardized_mean_difference,
    EQUALIZED_ODDS: equalized_odds,
    **{key: partial(ratio_above, quantile) for key, quantile in QUANTILES.items()},
}


def _spread(everybody: ScoreTable) -> tuple[float, float]:
    weight = float(everybody.weights.sum())
    bins = everybody.bins
    if bins.is_wide.any():
        # Middles of bins are not the scores; the sums have these, in steps.
        mean = float(everybody.sums[..., SCORE].sum()) / weight
        variance = float(everybody.sums_of_squares[..., SCORE].sum()) / weight - mean * mean
        return mean, float(np.sqrt(variance)) if variance > ROUNDING else 0.0
    filled = bins.dense(0, 1).sum((0, 1)) > 0
    # The deviation of equal numbers can be a rounding error above 0.
    if filled.sum() < 2:  # noqa: PLR2004 - one score
        return float(bins.scores[filled].sum()), 0.0
    mean = float(bins.summed(bins.scores)[0]) / weight
    return mean, float(np.sqrt(bins.summed((bins.scores - mean) ** 2)[0] / weight))


def _widening(sets: ScoreTable, everybody: ScoreTable, centre: float, deviation: float) -> FloatArray:
    """Factor [S - 1] for the estimated standard deviation."""
    if not deviation:
        return np.ones(len(sets.counts) - 1)
    standard = (sets.bins.scores - centre) / deviation
    weight = sets.weights.sum(-1)
    first, second, third = (sets.bins.summed(standard**power) / weight for power in (1, 2, 3))
    fourth = float((everybody.bins.summed(standard**4) / everybody.weights.sum())[0])
    size = sets.size
    records = float(everybody.size[0])
    variances = (second - first**2) / size
    together = third - first * second
    plain = variances[:-1] + variances[-1]
    per_square = (first[:-1] - first[-1]) / (2 * records)
    added = records * per_square**2 * (fourth - 1) - 2 * per_square * (together[:-1] - together[-1])
    factor = np.sqrt(np.maximum(plain + added, 0) / plain)
    return np.asarray(np.where(plain > 0, np.clip(factor, _NARROWEST, None), 1.0))
