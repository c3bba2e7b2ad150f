"""Simulated hours of a comparison whose truth is known."""

from collections.abc import Sequence

import numpy as np

from app.statistics.e_values.follow import Followed, follow
from app.statistics.e_values.nulls import FloatArray, Hours, Limit, Scale, Side, UnfairSide

BELOW = Limit(Scale.RATIO, UnfairSide.BELOW, 0.8, 1.25)
ABOVE = Limit(Scale.RATIO, UnfairSide.ABOVE, 1.25, 0.8)


def simulate(
    ratios: Sequence[float] | FloatArray, seed: int, *, base: float | FloatArray = 0.5, records: int = 300, share: float = 0.3
) -> Hours:
    """Returns hours in which the monitored group has these ratios of the reference group's rate."""
    rng = np.random.default_rng(seed)
    monitored = rng.binomial(records, share, len(ratios))
    reference = records - monitored
    favourable = rng.binomial(monitored, np.clip(base * np.asarray(ratios), 0, 1)), rng.binomial(reference, base, len(ratios))
    return Hours(*(Side(part.astype(float), total.astype(float)) for part, total in zip(favourable, (monitored, reference), strict=True)))


def follow_months(hours: Hours, limit: Limit = BELOW, comparisons: int = 1) -> Followed:
    """Follows hours whose months have 720 hours."""
    return follow(hours, limit, comparisons=comparisons, months=[hour // 720 for hour in range(len(hours))])
