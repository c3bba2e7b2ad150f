"""Odds ratios of the outcomes of two groups, arrays [..., 2] with the favourable outcome last. Source: rules on adverse impact."""

from ..groups import FloatArray, divide


def odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns the odds of the favourable outcome in the monitored group over those in the reference, from 0 up."""
    return divide(monitored[..., 1] * reference[..., 0], monitored[..., 0] * reference[..., 1])
