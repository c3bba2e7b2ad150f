"""Computes figures of scores for many sets of records at once: points, limits, and counts."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...base.values import frozen_arrays
from ..group_labels import AnyArray, BoolArray, FloatArray, IntArray
from ..intervals.intervals import (
    UNSEEN_RECORD,
    IntervalEnds,
    find_loss_limits,
    find_share_limits,
    find_whole_record_limits,
)
from ..tables.score_bins import MAX_BINS, ScoreBins
from ..tables.score_table import LARGEST_LOSS, QUANTITIES, ScoreTable, measure_losses
from .calibration import calibration_error, calibration_gap, find_error_limits, find_gap_limits

MAX_BINNING_ERROR = 0.01
"""Error of an area by the bins; with a larger one none is given."""

MAX_COLUMNS_AT_ONCE = 16
"""Columns whose curves are in memory at once."""

FAVOURABLE, UNFAVOURABLE = 1, 0
"""Positions of the labels in the arrays of a table of scores."""

SCORE, SQUARED_ERROR, LOG_LOSS = range(len(QUANTITIES))
"""Positions of the quantities in a table's sums."""

LABELS = ("an unfavourable label", "a favourable label")
SCORED = "has a probability of the favourable outcome"

TOO_CLOSE = (
    f"more than {MAX_BINS:,} different probabilities were tabulated, "
    "in bins in which those{of} lie too close together: the figure could be off by {binning_error:.2g}"
)

NO_SCORES = f"no labelled record{{of}} {SCORED}"


class CurveArea(NamedTuple):
    """Area under a curve for each column, and the largest error that bins may cause in it.

    `variances` are those of the placements of [..., 2 actual] records; of an average precision, per record.
    """

    area: FloatArray
    variances: FloatArray
    error: FloatArray


@frozen_arrays
class ScoreFigures:
    """One figure of each set [S]. `points` are NaN where `lacking`, a format with the set's name ({of}), says
    why.

    `smallest` counts the smallest denominator. No figure is given where the `binning_error` among the details
    is above `MAX_BINNING_ERROR`.
    """

    points: FloatArray
    limits: IntervalEnds
    method: str
    n: IntArray
    smallest: IntArray
    lacking: str
    details: Mapping[str, AnyArray]


ComputeFigures = Callable[[ScoreTable], ScoreFigures]
ComputeCounts = Callable[[ScoreTable, ScoreTable], ScoreFigures]


def measure_roc_area(bins: ScoreBins) -> CurveArea:
    """Area under the ROC curve of each column by trapezia, pairs in one bin as half; NaN if a label is
    missing.

    A placement is the share of records of the other label ranked below; the variance is DeLong et al.'s
    (1988). If all pairs of a wide bin were ordered one way, the area would be off by half their share, the
    `error`.
    """
    return CurveArea(*_measure_in_chunks(bins, _measure_roc_chunk))


def _measure_in_chunks(
    bins: ScoreBins, measure: Callable[[FloatArray, BoolArray], tuple[FloatArray, ...]]
) -> Iterator[FloatArray]:
    columns = bins.size // 2
    chunks = [
        measure(bins.get_dense(first, min(first + MAX_COLUMNS_AT_ONCE, columns)), bins.is_wide)
        for first in range(0, columns, MAX_COLUMNS_AT_ONCE)
    ]
    return (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))


def _measure_roc_chunk(histogram: FloatArray, is_wide: BoolArray) -> CurveArea:
    totals = histogram.sum(-1, keepdims=True)
    is_known = (totals > 0).all((-2, -1))
    before = np.cumsum(histogram, -1) - histogram / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = histogram / totals
        ranks = before / totals
        # Whole numbers up to here, so that a perfect order gives 1.
        area = (histogram[..., 1, :] * before[..., 0, :]).sum(-1) / totals.prod((-2, -1))
    area = np.where(is_known, np.clip(area, 0, 1), np.nan)
    (unfavourable, favourable), (above, below) = (
        np.moveaxis(by_label, -2, 0) for by_label in (shares, ranks)
    )
    squares = np.stack([(unfavourable * (1 - below) ** 2).sum(-1), (favourable * above**2).sum(-1)], -1)
    error = np.where(is_known, (favourable * unfavourable * is_wide).sum(-1) / 2, np.nan)
    return CurveArea(area, np.maximum(squares - area[..., None] ** 2, 0), error)


def measure_precision_area(bins: ScoreBins) -> CurveArea:
    """Average precision of each column: mean precision at the scores of favourable labels; NaN without one.

    Records of one score are taken together. In a wide bin the precision is at least that with all its
    unfavourable labels first, at most with none of them.
    """
    return CurveArea(*_measure_in_chunks(bins, _measure_precision_chunk))


def _measure_precision_chunk(histogram: FloatArray, is_wide: BoolArray) -> CurveArea:
    unfavourable, favourable = (
        np.moveaxis(histogram[..., ::-1], -2, 0) / np.maximum(histogram.sum((-2, -1)), 1e-300)[..., None]
    )
    false = np.cumsum(unfavourable, -1)
    true = np.cumsum(favourable, -1)
    total = favourable.sum(-1, keepdims=True)
    ranked = true + false
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(ranked > 0, true / ranked, 0)
        highest = np.where(favourable > 0, true / (ranked - unfavourable), 0)
        lowest = np.where(ranked > favourable, (true - favourable) / (ranked - favourable), 0)
        unsure = np.where(unfavourable > 0, highest - lowest, 0) * is_wide[::-1]
        area, error = ((favourable * quantity).sum(-1) / total[..., 0] for quantity in (precision, unsure))
        # Change of the area with a record of each bin: its own precision, and that of every favourable label
        # from there down.
        change = np.where(ranked > 0, favourable / ranked, 0)
        later_false, later_true = (
            np.cumsum((change * precisions)[..., ::-1], -1)[..., ::-1]
            for precisions in (precision, 1 - precision)
        )
        influence = (precision + later_true - area[..., None]) / total, -later_false / total
        variance = (favourable * influence[0] ** 2 + unfavourable * influence[1] ** 2).sum(-1)
    return CurveArea(np.minimum(area, 1), variance, error)


def _widen_limits(limits: IntervalEnds, error: FloatArray) -> IntervalEnds:
    return IntervalEnds(np.maximum(limits.lower - error, 0), np.minimum(limits.upper + error, 1))


def find_roc_limits(measured: CurveArea, sizes: FloatArray) -> IntervalEnds:
    """Limits of an area, widened by the error of the bins.

    `sizes` [..., 2] of each label are in records of equal weight.
    """
    freedom = np.maximum(sizes - 1, 1e-6)
    terms = measured.variances / freedom
    variance = terms.sum(-1)
    smaller_size = sizes.min(-1)
    # Welch's degrees of freedom, from the two labels' parts of the variance.
    least = (terms**2 / freedom).sum(-1)
    welch = np.divide(variance**2, least, out=np.maximum(smaller_size - 1, 1e-6), where=least > 0)
    return _widen_limits(
        find_whole_record_limits(measured.area, variance * smaller_size, smaller_size, welch), measured.error
    )


def build_rate(label: int, *, of_favourable: bool) -> ComputeFigures:
    """Figure of a mean probability of either outcome, over the records of one label."""

    def compute(sums: ScoreTable) -> ScoreFigures:
        weight, total, square = _get_moments(sums, label)
        limits = find_share_limits(total / weight, square / weight, sums.sizes[:, label])
        score_sum = total if of_favourable else weight - total
        n = sums.counts[:, label]
        lacking = f"no record{{of}} with {LABELS[label]} {SCORED}"
        return ScoreFigures(
            score_sum / weight,
            limits if of_favourable else IntervalEnds(1 - limits.upper, 1 - limits.lower),
            "wilson_effective",
            n,
            n,
            lacking,
            {"score_sum": score_sum, "n": n},
        )

    return compute


def build_count(label: int, *, of_favourable: bool) -> ComputeCounts:
    """Figure of a sum of probabilities: its mean over all records, times their number."""

    def compute(sums: ScoreTable, everybody: ScoreTable) -> ScoreFigures:
        weight, total, square = _get_moments(sums, label)
        if not of_favourable:
            total, square = weight - total, weight - 2 * total + square
        whole = everybody.weights.sum()
        counted = sums.counts[:, label]
        size = whole * whole / everybody.squares.sum()
        mean = np.maximum(total, 0) / whole
        freedom = np.where(counted > 0, np.fmin(sums.sizes[:, label] + 1, size), size)
        limits = find_whole_record_limits(
            mean, np.maximum(square / whole - mean * mean, 0), np.full_like(mean, size), freedom
        )
        n = np.full_like(counted, everybody.counts.sum())
        points = np.where(whole > 0, np.maximum(total, 0), np.nan)
        limits = IntervalEnds(limits.lower * whole, limits.upper * whole)
        return ScoreFigures(
            points, limits, "wilson_effective", n, n, NO_SCORES.format(of=""), {"records": counted, "n": n}
        )

    return compute


def _get_moments(sums: ScoreTable, label: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, and sums of scores and of their squares, of the records of a label."""
    return sums.weights[:, label], sums.sums[:, label, SCORE], sums.sums_of_squares[:, label, SCORE]


def compute_brier_score(sums: ScoreTable) -> ScoreFigures:
    scores = sums.bins.scores
    return _average_loss(
        sums, SQUARED_ERROR, ((1 - scores) ** 2, scores**2), find_share_limits, "wilson_effective"
    )


def compute_log_loss(sums: ScoreTable) -> ScoreFigures:
    """Mean log loss; no limit exceeds the loss of a probability of zero."""
    figures = _average_loss(sums, LOG_LOSS, measure_losses(sums.bins.scores), find_loss_limits, "log_student")
    return replace(
        figures, limits=IntervalEnds(figures.limits.lower, np.minimum(figures.limits.upper, LARGEST_LOSS))
    )


def _average_loss(
    sums: ScoreTable,
    quantity: int,
    costs: tuple[FloatArray, FloatArray],
    find_limits: Callable[[FloatArray, FloatArray, FloatArray], IntervalEnds],
    method: str,
) -> ScoreFigures:
    """Mean loss; `costs` are of a record of each bin with a favourable label, and with another."""
    weight = sums.weights.sum(-1)
    size = sums.size
    n = sums.counts.sum(-1)
    total, square = (array[..., quantity].sum(-1) for array in (sums.sums, sums.sums_of_squares))
    first, second = (
        sums.bins.sum_costs(costs[0] ** power + costs[1] ** power) / weight * UNSEEN_RECORD
        for power in (1, 2)
    )
    point = total / weight
    mean = (point * size + first) / (size + 2 * UNSEEN_RECORD)
    limits = find_limits(mean, (square / weight * size + second) / (size + 2 * UNSEEN_RECORD), size)
    return ScoreFigures(
        point, limits, method, n, n, NO_SCORES, {f"{QUANTITIES[quantity]}_sum": total, "n": n}
    )


def compute_roc_auc(sums: ScoreTable) -> ScoreFigures:
    measured = measure_roc_area(sums.bins)
    counts = sums.counts
    return ScoreFigures(
        measured.area,
        find_roc_limits(measured, sums.sizes),
        "delong_wilson",
        counts.sum(-1),
        counts.min(-1),
        f"no two labelled records{{of}}, one favourable and one not, {SCORED.replace('has', 'have')}",
        _list_details(sums, measured),
    )


def compute_average_precision(sums: ScoreTable) -> ScoreFigures:
    measured = measure_precision_area(sums.bins)
    counts = sums.counts
    # Limits of a share of the favourable labels, in records of equal weight (Boyd, Eng and Page 2013), or of
    # as many more as have the figure's variance.
    labels = np.maximum(sums.sizes[:, FAVOURABLE], 1e-6)
    limits = find_whole_record_limits(
        measured.area,
        measured.variances * labels / np.maximum(sums.size, 1e-6),
        labels,
        np.maximum(labels - 1, 1e-6),
    )
    return ScoreFigures(
        measured.area,
        _widen_limits(limits, measured.error),
        "wilson_delta",
        counts.sum(-1),
        counts[:, FAVOURABLE],
        f"no record{{of}} with {LABELS[FAVOURABLE]} {SCORED}",
        _list_details(sums, measured),
    )


def _list_details(sums: ScoreTable, measured: CurveArea) -> Mapping[str, AnyArray]:
    unfavourable, favourable = sums.counts.T
    return {
        "favourable_labels": favourable,
        "unfavourable_labels": unfavourable,
        "binning_error": measured.error,
    }


def compute_calibration_gap(sums: ScoreTable) -> ScoreFigures:
    n = sums.counts.sum(-1)
    expected, favourable = (sums.calibration[..., column].sum(-1) for column in (1, 2))
    details = {"score_sum": expected, "favourable_labels": favourable, "n": n}
    limits = find_gap_limits(sums.weights, sums.sums[..., SCORE], sums.sums_of_squares[..., SCORE], sums.size)
    points = calibration_gap(sums.calibration)
    return ScoreFigures(points, limits, "newcombe_correlated", n, n, NO_SCORES, details)


def compute_calibration_error(sums: ScoreTable) -> ScoreFigures:
    bins = sums.calibration
    n = sums.counts.sum(-1)
    details = {"bins": (bins[..., 0] > 0).sum(-1), "n": n}
    return ScoreFigures(
        calibration_error(bins), find_error_limits(bins, sums.size), "folded_normal", n, n, NO_SCORES, details
    )


COUNTS = {
    "generalized_true_positive_count": build_count(FAVOURABLE, of_favourable=True),
    "generalized_false_negative_count": build_count(FAVOURABLE, of_favourable=False),
    "generalized_false_positive_count": build_count(UNFAVOURABLE, of_favourable=True),
    "generalized_true_negative_count": build_count(UNFAVOURABLE, of_favourable=False),
}

FIGURES = {
    "generalized_true_positive_rate": build_rate(FAVOURABLE, of_favourable=True),
    "generalized_false_negative_rate": build_rate(FAVOURABLE, of_favourable=False),
    "generalized_false_positive_rate": build_rate(UNFAVOURABLE, of_favourable=True),
    "generalized_true_negative_rate": build_rate(UNFAVOURABLE, of_favourable=False),
    "log_loss": compute_log_loss,
    "brier_score": compute_brier_score,
    "roc_auc": compute_roc_auc,
    "average_precision": compute_average_precision,
    "calibration_gap": compute_calibration_gap,
    "calibration_error": compute_calibration_error,
}
