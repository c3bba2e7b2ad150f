"""Demographic disparity within each stratum, averaged by stratum size."""

from typing import NamedTuple

import numpy as np

from ..group_labels import FloatArray, IntArray, divide, divide_or
from ..intervals.intervals import Z

METHOD = "posterior_moments"

PRIOR = 0.5
"""Pseudo-records of a group with either outcome (Jeffreys), spread over the strata by size."""


class StrataOutcomes(NamedTuple):
    """Records of a group by stratum and outcome [..., S, 2]: counts, weights, and sums of squared weights."""

    counts: IntArray
    weights: FloatArray
    squares: FloatArray

    @property
    def density(self) -> FloatArray:
        """Records of equal weight per unit of weight [..., S, 1]; of all strata where one has no weight."""
        weights, squares = (summed.sum(-1, keepdims=True) for summed in (self.weights, self.squares))
        overall = divide_or(weights.sum(-2, keepdims=True), squares.sum(-2, keepdims=True), 1.0)
        return np.where(squares > 0, divide_or(weights, squares, 1.0), overall)


def conditional_demographic_disparity(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Σ n_i DD_i / n over the strata of outcomes [..., S, 2], within [-1, 1]; above 0 the monitored group has
    more refusals than acceptances.

    DD_i is the monitored share of the unfavourable outcomes minus that of the favourable ones; a share of
    nothing is 0. Source: SageMaker Clarify CDD.
    """
    total = monitored + reference
    shares = divide_or(monitored, total, 0.0)
    size = total.sum(-1)
    return divide((size * (shares[..., 0] - shares[..., 1])).sum(-1), size.sum(-1))


def find_limits(monitored: StrataOutcomes, reference: StrataOutcomes) -> tuple[FloatArray, FloatArray]:
    """95 % limits [...] of the disparity, from variance and skewness (delta method; Cornish and Fisher 1938).

    A share's variance is that of the pair's records of equal weight. For it, a stratum's share is moved to
    the overall one by the weight of one or two records, since so few show none; the centre is not moved,
    because strata differ.
    """
    totals = monitored.weights + reference.weights
    share = divide_or(monitored.weights, totals, 0.0)
    total = totals.sum((-2, -1))[..., None, None]
    size = totals.sum(-1, keepdims=True) / total

    overall = (monitored.weights.sum(-2, keepdims=True) + PRIOR) / (totals.sum(-2, keepdims=True) + 2 * PRIOR)
    effective = totals / ((1 - overall) / monitored.density + overall / reference.density)
    prior = PRIOR / np.maximum(effective.sum(-2, keepdims=True), 1.0)

    # Variance and third moment of each share are those of a beta variate.
    overall = ((share * effective).sum(-2, keepdims=True) + PRIOR) / (
        effective.sum(-2, keepdims=True) + 2 * PRIOR
    )
    counts = monitored.counts + reference.counts
    spread = prior * counts
    beyond_two = np.maximum(counts - 2, 0)
    likely_share = (beyond_two * share + overall + spread) / (beyond_two + 1 + 2 * spread)
    records = effective * (1 + 2 * prior)
    scatter = divide_or(likely_share * (1 - likely_share), records, 0.0)
    third_moment = 2 * (1 - 2 * likely_share) * scatter / (records + 1)

    disparity = share[..., :1] - share[..., 1:]
    point = (size * disparity).sum(-2, keepdims=True)
    size_variance = (monitored.squares + reference.squares) * ((disparity - point) / total) ** 2
    sign = np.array([1.0, -1.0])
    centre = (size * sign * np.where(totals > 0, (share + prior) / (1 + 2 * prior), 0.0)).sum((-2, -1))
    deviation = np.sqrt((size**2 * scatter + size_variance).sum((-2, -1)))
    skewness = np.clip(divide_or((size**3 * sign * third_moment).sum((-2, -1)), deviation**3, 0.0), -1, 1)
    lower, upper = (centre + deviation * (end + skewness * (Z * Z - 1) / 6) for end in (-Z, Z))
    return np.maximum(lower, -1.0), np.minimum(upper, 1.0)
