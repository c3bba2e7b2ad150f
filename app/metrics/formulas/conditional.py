"""Demographic disparity among like records: within each stratum, then averaged by stratum size."""

import numpy as np

from app.metrics.groups import FloatArray


def conditional_demographic_disparity(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Σ n_i DD_i / n over the strata, within [-1, 1]; above 0 the monitored group has more of the refusals than of the acceptances.

    Both arrays are [..., S strata, 2] with the unfavourable outcome first. DD_i is the monitored share of stratum i's
    unfavourable outcomes less its share of the favourable ones; a share of nothing is 0. Source: SageMaker Clarify CDD.
    """
    both = monitored + reference
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(both > 0, monitored / both, 0.0)
        size = both.sum(axis=-1)
        disparity: FloatArray = (size * (shares[..., 0] - shares[..., 1])).sum(axis=-1) / size.sum(axis=-1)
    return disparity
