"""Areas under the ROC and precision-recall curves, from the weights by score."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..groups import FloatArray
from ..tables.score_bins import ScoreBins
from .means import IntervalEnds, likened_limits

MOST_ERROR = 0.01
"""Max error of an area through the bins; beyond, none is given."""

TOGETHER = 16
"""Sets ranked at a time, for memory."""


class Ranking(NamedTuple):
    """Area under the ROC curve, variances of the placements of [..., 2 actual] records, and worst error of the bins."""

    area: FloatArray
    variances: FloatArray
    error: FloatArray


def ranking(bins: ScoreBins) -> Ranking:
    """Area of each column by trapezia: pairs in one bin count half. NaN where a label is missing.

    A placement is the share of records of the other label ranked below; DeLong et al. 1988 derive the variance from them. If all pairs of a
    wide bin were ordered one way, the area would be off by half their share, the `error`; equal scores are true ties.
    """
    return Ranking(*_measure_parts(bins, _rank))


def _measure_parts(bins: ScoreBins, measure: Callable[[FloatArray, npt.NDArray[np.bool_]], tuple[FloatArray, ...]]) -> Iterator[FloatArray]:
    columns = bins.size // 2
    found = [measure(bins.dense(first, min(first + TOGETHER, columns)), bins.is_wide) for first in range(0, columns, TOGETHER)]
    return (np.concatenate(parts) for parts in zip(*found, strict=True))


def _rank(histogram: FloatArray, is_wide: npt.NDArray[np.bool_]) -> Ranking:
    totals = histogram.sum(axis=-1, keepdims=True)
    is_known = (totals > 0).all(axis=(-2, -1))
    before = np.cumsum(histogram, axis=-1) - histogram / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        shares, ranks = histogram / totals, before / totals
        # Whole numbers up to here, so that a perfect order gives 1.
        area = (histogram[..., 1, :] * before[..., 0, :]).sum(axis=-1) / totals.prod(axis=(-2, -1))
    area = np.where(is_known, np.clip(area, 0, 1), np.nan)
    (unfavourable, favourable), (above, below) = (np.moveaxis(part, -2, 0) for part in (shares, ranks))
    squares = np.stack([(unfavourable * (1 - below) ** 2).sum(axis=-1), (favourable * above**2).sum(axis=-1)], axis=-1)
    error = np.where(is_known, (favourable * unfavourable * is_wide).sum(axis=-1) / 2, np.nan)
    return Ranking(area, np.maximum(squares - area[..., None] ** 2, 0), error)


class Retrieval(NamedTuple):
    """Average precision of each column, its variance per record, and worst error of the bins."""

    precision: FloatArray
    variance: FloatArray
    error: FloatArray


def retrieval(bins: ScoreBins) -> Retrieval:
    """Average precision of each column: the mean, over the favourable labels, of the precision at their score.

    NaN where no label is favourable. Records of one score are taken together. In a wide bin the precision is at least that with all its
    unfavourable labels first, at most with none of them.
    """
    return Retrieval(*_measure_parts(bins, _retrieve))


def _retrieve(histogram: FloatArray, is_wide: npt.NDArray[np.bool_]) -> Retrieval:
    unfavourable, favourable = np.moveaxis(histogram[..., ::-1], -2, 0) / np.maximum(histogram.sum(axis=(-2, -1)), 1e-300)[..., None]
    false, true = np.cumsum(unfavourable, axis=-1), np.cumsum(favourable, axis=-1)
    total = favourable.sum(axis=-1, keepdims=True)
    ranked = true + false
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(ranked > 0, true / ranked, 0)
        highest = np.where(favourable > 0, true / (ranked - unfavourable), 0)
        lowest = np.where(ranked > favourable, (true - favourable) / (ranked - favourable), 0)
        doubt = np.where(unfavourable > 0, highest - lowest, 0) * is_wide[::-1]
        area, error = ((favourable * part).sum(axis=-1) / total[..., 0] for part in (precision, doubt))
        # Change of the area with a record of each bin: its own precision, and that of every favourable label from there down.
        change = np.where(ranked > 0, favourable / ranked, 0)
        of_false, of_true = (np.cumsum((change * part)[..., ::-1], axis=-1)[..., ::-1] for part in (precision, 1 - precision))
        influence = (precision + of_true - area[..., None]) / total, -of_false / total
        variance = (favourable * influence[0] ** 2 + unfavourable * influence[1] ** 2).sum(axis=-1)
    return Retrieval(np.minimum(area, 1), variance, error)


def retrieval_limits(found: Retrieval, size: FloatArray, favourable: FloatArray) -> IntervalEnds:
    """Limits of the average precision, widened by the error of the bins; `size` and `favourable` in records of equal weight.

    Those of a share of the favourable labels (Boyd, Eng and Page 2013), or of as many more as have the figure's variance.
    """
    labels = np.maximum(favourable, 1e-6)
    limits = likened_limits(found.precision, found.variance * labels / np.maximum(size, 1e-6), labels, np.maximum(labels - 1, 1e-6))
    return IntervalEnds(np.maximum(limits.lower - found.error, 0), np.minimum(limits.upper + found.error, 1))


def ranking_limits(found: Ranking, sizes: FloatArray) -> IntervalEnds:
    """Limits of the area, widened by the error of the bins; `sizes` [..., 2] of each label in records of equal weight."""
    freedom = np.maximum(sizes - 1, 1e-6)
    parts = found.variances / freedom
    variance = parts.sum(axis=-1)
    fewer = sizes.min(axis=-1)
    # Welch's degrees of freedom, from the two labels' parts of the variance.
    least = (parts**2 / freedom).sum(axis=-1)
    welch = np.divide(variance**2, least, out=np.maximum(fewer - 1, 1e-6), where=least > 0)
    limits = likened_limits(found.area, variance * fewer, fewer, welch)
    return IntervalEnds(np.maximum(limits.lower - found.error, 0), np.minimum(limits.upper + found.error, 1))
