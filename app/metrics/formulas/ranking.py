"""The area under the ROC curve: the ranking of favourable labels above unfavourable ones, from the weights by score."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..groups import FloatArray
from ..tables.score_bins import ScoreBins
from .means import IntervalEnds, likened_limits

MOST_ERROR = 0.01
"""Max error of an area through the bins; an area with more is not given at all."""

TOGETHER = 16
"""Sets ranked at a time, to bound memory: each has a row of bins."""


class Ranking(NamedTuple):
    """The area under the ROC curve, the variances of the placements of [..., 2 actual] records, and the worst error of the bins."""

    area: FloatArray
    variances: FloatArray
    error: FloatArray


def ranking(bins: ScoreBins) -> Ranking:
    """Returns the area of each column by trapezia: pairs in one bin count half. NaN where a label is missing.

    A record's placement is the share of records of the other label it is ranked above; DeLong et al. 1988 derive the variance from
    them. If all pairs of a wide bin were ordered one way, the area would be off by half their share, which is the `error`; equal
    scores are true ties, so it is zero while every score has its own bin.
    """
    columns, is_wide = bins.size // 2, bins.is_wide
    found = [_rank(bins.dense(first, min(first + TOGETHER, columns)), is_wide) for first in range(0, columns, TOGETHER)]
    return Ranking(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


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


def ranking_limits(found: Ranking, sizes: FloatArray) -> IntervalEnds:
    """Returns limits of the area, widened by the error of the bins; `sizes` [..., 2] records of equal weight of each label."""
    freedom = np.maximum(sizes - 1, 1e-6)
    parts = found.variances / freedom
    variance = parts.sum(axis=-1)
    fewer = sizes.min(axis=-1)
    # Welch's degrees of freedom, from the two labels' parts of the variance.
    least = (parts**2 / freedom).sum(axis=-1)
    welch = np.divide(variance**2, least, out=np.maximum(fewer - 1, 1e-6), where=least > 0)
    limits = likened_limits(found.area, variance * fewer, fewer, welch)
    return IntervalEnds(np.maximum(limits.lower - found.error, 0), np.minimum(limits.upper + found.error, 1))
