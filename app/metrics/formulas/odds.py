"""Odds ratios of two groups' outcomes, arrays [..., 2], favourable last. Source: rules on adverse impact."""

from ..groups import FloatArray, divide


def odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Odds of the favourable outcome in the monitored group over the reference's, from 0 up."""
    return divide(monitored[..., 1] * reference[..., 0], monitored[..., 0] * reference[..., 1])
