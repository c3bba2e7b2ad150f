"""How well scores rank favourable labels above unfavourable ones, from a histogram [..., 2 actual, bins] of weights."""

from typing import NamedTuple

import numpy as np

from app.metrics.formulas.means import Limits, likened_limits
from app.metrics.groups import FloatArray


class Ranking(NamedTuple):
    """The area under the ROC curve, the variances of the placements of [..., 2 actual] records, and the worst error of the bins."""

    area: FloatArray
    variances: FloatArray
    error: FloatArray


def ranking(histogram: FloatArray) -> Ranking:
    """The area by trapezia: pairs in one bin count half. NaN where a label is missing.

    A record's placement is the share of records of the other label it is ranked above; DeLong et al. 1988 have the variance from
    them. Were all pairs of a bin ordered one way, the area would be off by half their share, which is the `error`.
    """
    totals = histogram.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = histogram / totals
    unfavourable, favourable = shares[..., 0, :], shares[..., 1, :]
    above = np.cumsum(unfavourable, axis=-1) - unfavourable / 2
    below = np.cumsum(favourable, axis=-1) - favourable / 2
    area = np.clip((favourable * above).sum(axis=-1), 0, 1)
    squares = np.stack([(unfavourable * (1 - below) ** 2).sum(axis=-1), (favourable * above**2).sum(axis=-1)], axis=-1)
    return Ranking(area, np.maximum(squares - area[..., None] ** 2, 0), (favourable * unfavourable).sum(axis=-1) / 2)


def ranking_limits(found: Ranking, sizes: FloatArray) -> Limits:
    """Limits of the area; `sizes` [..., 2] records of equal weight of each label."""
    freedom = np.maximum(sizes - 1, 1e-6)
    parts = found.variances / freedom
    variance = parts.sum(axis=-1)
    fewer = sizes.min(axis=-1)
    # Welch's degrees of freedom, from the two labels' parts of the variance.
    least = (parts**2 / freedom).sum(axis=-1)
    welch = np.divide(variance**2, least, out=np.maximum(fewer - 1, 1e-6), where=least > 0)
    return likened_limits(found.area, variance * fewer, fewer, welch)
