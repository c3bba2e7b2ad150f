"""Gap of the sampled pairs, divided among the players."""

import numpy as np

from ...base.frozen import frozen_arrays
from ..group_labels import FloatArray
from .hybrid_values import Answered, HybridPlan
from .pair_intervals import Ends, resample_means
from .sampled_pairs import RecordPairs

SUM_TOLERANCE = 1e-12
"""Max difference between the sum of all shares and the gap of the pairs."""


@frozen_arrays
class CarriedGap:
    """Gap of the favourable rates, monitored - reference, and each player's share in it.

    `shares` [players] sum to `gap_of_pairs`; `gap_of_window` adds `sampling`. Pairs with an unknown
    outcome are `left_out`.
    """

    gap_of_window: float
    gap_of_pairs: float
    shares: FloatArray
    ends: Ends
    pairs: int
    left_out: int

    @property
    def sampling(self) -> float:
        """Rest of the window's gap, due to the choice of pairs."""
        return self.gap_of_window - self.gap_of_pairs


def carry_gap(
    pairs: RecordPairs,
    plan: HybridPlan,
    answered: Answered,
    *,
    gap_of_window: float,
    rng: np.random.Generator,
    draws: int = 2000,
) -> CarriedGap | None:
    """Shares in the gap of the pairs; None if no pair has all its outcomes.

    Raises:
        ArithmeticError: the shares do not sum to the gap of the pairs, a fault of Evenhand.
    """
    contributions = plan.attribute(answered)
    is_complete = np.isfinite(contributions).all(1)
    if not is_complete.any():
        return None
    used = contributions[is_complete]
    shares = used.mean(0)
    # From the outcomes, not the contributions, which would compare a sum with itself.
    gap = float(answered.monitored[is_complete].mean() - answered.reference[is_complete].mean())
    if abs(shares.sum() - gap) > SUM_TOLERANCE:
        raise ArithmeticError(f"the shares sum to {shares.sum()!r}, and the gap of the pairs is {gap!r}")
    return CarriedGap(
        gap_of_window,
        gap,
        shares,
        resample_means(used, pairs.units[is_complete], rng, draws),
        pairs=len(used),
        left_out=len(contributions) - len(used),
    )
