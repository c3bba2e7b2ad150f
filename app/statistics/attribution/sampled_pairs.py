"""Pairs of one monitored and one reference record each, intervals of their averages, and the gap that they
carry.
"""

import numpy as np
from numpy.random import Generator

from ...base.values import frozen_arrays
from ..group_labels import FloatArray, IntArray
from .hybrid_values import Answered, HybridPlan


@frozen_arrays
class RecordPairs:
    """Pairs by the positions of their records, `monitored` [pairs] and `reference` [pairs].

    `units` [pairs] is resampled for an interval: the pair, or the scarcer group's record if it is used
    more than once.
    """

    monitored: IntArray
    reference: IntArray
    units: IntArray

    def __len__(self) -> int:
        return len(self.units)

    @property
    def are_reused(self) -> bool:
        return len(np.unique(self.units)) < len(self)


def count_pairs(monitored: int, reference: int, limit: int) -> int:
    """Number of pairs: at most as many as the larger group has records, 0 if one group is empty."""
    return min(limit, max(monitored, reference)) if min(monitored, reference) > 0 else 0


def draw_pairs(monitored: int, reference: int, limit: int, rng: Generator) -> RecordPairs:
    """At most `limit` random pairs.

    The larger group's records are used once at most, the scarcer one's about equally often.
    """
    # More pairs would reuse records of both groups, and no resampling of one would be right.
    size = count_pairs(monitored, reference, limit)
    of_monitored, of_reference = (_draw(group, size, rng) for group in (monitored, reference))
    scarcer = of_monitored if monitored < reference else of_reference
    return RecordPairs(
        of_monitored, of_reference, units=np.arange(size) if size <= min(monitored, reference) else scarcer
    )


def _draw(group: int, size: int, rng: Generator) -> IntArray:
    # Whole shuffles, so that no record is used twice more often than another.
    shuffles = [rng.permutation(group) for _ in range(-(-size // group))] if size else []
    return np.concatenate([np.empty(0, int), *shuffles])[:size].astype(int)


MIN_UNITS = 20
"""Min resampled units; with fewer the interval would be too narrow."""

LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)

_AT_ONCE = 200
"""Resamples drawn at a time, for memory."""


@frozen_arrays
class Ends:
    """Ends of 95 % intervals [players]; NaN where there are too few units."""

    low: FloatArray
    high: FloatArray


def resample_means(values: FloatArray, units: IntArray, rng: Generator, draws: int = 2000) -> Ends:
    """Intervals of the mean of `values` [pairs, players] by resampling whole `units` [pairs] with
    replacement.

    Pairs with a record in common vary together and are one unit. Percentiles of the resampled means,
    stretched by the root of n / (n - 1) for n units, because resamples vary less than samples.
    """
    distinct, positions = np.unique(units, return_inverse=True)
    count = len(distinct)
    players = values.shape[1]
    if count < MIN_UNITS:
        return Ends(*np.full((2, players), np.nan))
    sizes = np.bincount(positions, minlength=count).astype(float)
    sums = np.column_stack([np.bincount(positions, column, minlength=count) for column in values.T])
    means = np.empty((draws, players))
    for start in range(0, draws, _AT_ONCE):
        size = min(_AT_ONCE, draws - start)
        drawn = rng.multinomial(count, np.full(count, 1 / count), size).astype(float)
        means[start : start + size] = (drawn @ sums) / (drawn @ sizes)[:, None]
    centre = values.mean(0)
    return Ends(*(centre + (np.quantile(means, TAILS, axis=0) - centre) * np.sqrt(count / (count - 1))))


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
    rng: Generator,
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
