"""Distances between two groups' outcomes [..., K], not normalised.

An outcome that one group lacks has probability zero (Clarify drops it). Source: SageMaker Clarify,
pre-training metrics, `reference` for facet a and `monitored` for d.
"""

import numpy as np

from ..group_labels import FloatArray, divide


def kl_divergence(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Σ r ln(r / m) in nats, from 0 up; infinite where the monitored group lacks an outcome."""
    return _compute_relative_entropy(_compute_shares(reference), _compute_shares(monitored))


def js_divergence(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """½ [KL(r, p) + KL(m, p)] in nats, p the mean of both, within [0, ln 2]."""
    monitored_shares = _compute_shares(monitored)
    reference_shares = _compute_shares(reference)
    middle = (monitored_shares + reference_shares) / 2
    return (
        _compute_relative_entropy(reference_shares, middle)
        + _compute_relative_entropy(monitored_shares, middle)
    ) / 2


def lp_norm(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Euclidean distance of the shares, within [0, √2]."""
    distance: FloatArray = np.sqrt(((_compute_shares(monitored) - _compute_shares(reference)) ** 2).sum(-1))
    return distance


def total_variation_distance(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """½ Σ |r - m|, within [0, 1]."""
    distance: FloatArray = np.abs(_compute_shares(monitored) - _compute_shares(reference)).sum(-1) / 2
    return distance


def kolmogorov_smirnov(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Largest |r - m| of one outcome's shares (as in Clarify, not of their sums), within [0, 1]."""
    distance: FloatArray = np.abs(_compute_shares(monitored) - _compute_shares(reference)).max(-1)
    return distance


def share_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Monitored - reference share of the favourable, last outcome, within [-1, 1]."""
    return _compute_shares(monitored)[..., -1] - _compute_shares(reference)[..., -1]


def class_imbalance(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """(n_r - n_m) / (n_r + n_m), within [-1, 1]. Source: Clarify CI."""
    monitored_records = monitored.sum(-1)
    reference_records = reference.sum(-1)
    return divide(reference_records - monitored_records, reference_records + monitored_records)


def _compute_shares(outcomes: FloatArray) -> FloatArray:
    return divide(outcomes, outcomes.sum(-1, keepdims=True))


def _compute_relative_entropy(shares: FloatArray, other_shares: FloatArray) -> FloatArray:
    """Σ p ln(p / q) over the outcomes, with 0 ln 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(shares > 0, shares * np.log(shares / other_shares), 0.0)
    divergence: FloatArray = terms.sum(-1)
    return divergence
