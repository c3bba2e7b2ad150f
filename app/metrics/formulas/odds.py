"""Odds ratios of the outcomes of two groups, arrays [..., 2] with the favourable outcome last. Source: rules on adverse impact."""

import numpy as np

from ..groups import FloatArray


def odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns the odds of the favourable outcome in the monitored group over those in the reference, from 0 up."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = (monitored[..., 1] * reference[..., 0]) / (monitored[..., 0] * reference[..., 1])
    return ratio
