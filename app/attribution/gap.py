"""The gap of the sampled pairs, divided among the players, next to the gap of the window that they were drawn from."""

from dataclasses import dataclass

import numpy as np

from .hybrids import Answered, HybridPlan
from .intervals import Ends, resample_means
from .pairs import FloatArray, RecordPairs

SUM_TOLERANCE = 1e-12
"""Max difference between the sum of all players' shares and the gap of the pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class CarriedGap:
    """The gap of the favourable rates, monitored - reference, and each player's share in it.

    `shares` [players] sum to `gap_of_pairs`; `gap_of_window` is that plus `sampling`, which no player carries. `pairs` are those that
    were used, `left_out` those with an outcome that is not known.
    """

    gap_of_window: float
    gap_of_pairs: float
    shares: FloatArray
    ends: Ends
    pairs: int
    left_out: int

    @property
    def sampling(self) -> float:
        """Returns the rest of the window's gap, which comes from the choice of pairs alone."""
        return self.gap_of_window - self.gap_of_pairs


def carry_gap(
    pairs: RecordPairs, plan: HybridPlan, answered: Answered, *, gap_of_window: float, rng: np.random.Generator, draws: int = 2000
) -> CarriedGap | None:
    """Returns what carries the gap of the pairs, or None if no pair has all its outcomes.

    Raises:
        ArithmeticError: the shares do not sum to the gap of the pairs; this would be a fault of Evenhand.
    """
    contributions = plan.attribute(answered)
    known = np.isfinite(contributions).all(axis=1)
    if not known.any():
        return None
    used = contributions[known]
    shares = used.mean(axis=0)
    # From the outcomes themselves, not from the contributions: otherwise the check would compare a sum with itself.
    gap = float(answered.monitored[known].mean() - answered.reference[known].mean())
    if abs(shares.sum() - gap) > SUM_TOLERANCE:
        raise ArithmeticError(f"the shares sum to {shares.sum()!r}, and the gap of the pairs is {gap!r}")
    ends = resample_means(used, pairs.units[known], rng, draws)
    return CarriedGap(gap_of_window, gap, shares, ends, pairs=int(known.sum()), left_out=int((~known).sum()))
