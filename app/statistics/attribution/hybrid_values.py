"""Hybrids of two records, and the Shapley values of their outcomes.

A hybrid takes some players (features that move together) from a pair's monitored record and the others from
its reference record. Bit j of its *mask* is set if player j is the monitored record's. A Shapley value is the
average change of the outcome when a player joins, over all orders; the values sum to the difference of the
two outcomes.
"""

from collections.abc import Sequence
from math import factorial
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from ...base.values import frozen, frozen_arrays
from ..group_labels import FloatArray, IntArray

MIN_JOINING_STRENGTH = 0.5
"""Association from which two features are one player: a hybrid would hardly exist (Cohen 1988: large)."""

MAX_EXACT_PLAYERS = 6
"""Above it, hybrids are drawn: 6 players have 62 a pair."""

MAX_PLAYERS = 62
"""A mask has 64 bits, one of them the sign."""

PAIRS_OF_ALL_HYBRIDS = 500
"""Pairs of a gap whose hybrids are all asked: standard errors .007 to .019 in `scripts/trial attribution`."""

PAIRS_OF_ORDERS = 4_000
"""Pairs of a gap whose hybrids are drawn: standard errors .004 to .008 in `scripts/trial attribution`."""

MIN_UNITS = 20
"""Units of an interval: with fewer it would be too narrow."""

CONFIDENCE = 0.95
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
_MAX_DRAWS_AT_ONCE = 200
SUM_TOLERANCE = 1e-12
"""Rounding of the sum of the shares."""
HybridPlan: TypeAlias = "AllHybrids | OrderedHybrids"


def join_players(strengths: FloatArray) -> tuple[tuple[int, ...], ...]:
    """Features of each player, in order: those associated directly or through others.

    `strengths` [features, features] is symmetric, from 0 to 1; NaN joins nothing.
    """
    player_of = np.arange(len(strengths))
    for first, second in np.argwhere(np.triu(strengths >= MIN_JOINING_STRENGTH, k=1)).tolist():
        player_of[player_of == player_of[second]] = player_of[first]
    return group_features(player_of.tolist())


def group_features(player_of: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    players = dict[int, list[int]]()
    for feature, player in enumerate(player_of):
        players.setdefault(player, []).append(feature)
    return tuple(map(tuple, players.values()))


@frozen_arrays
class HybridOutcomes:
    """Outcomes, 0 to 1: `reference` and `monitored` [pairs], `hybrids` [pairs, hybrids]; NaN: unknown."""

    reference: FloatArray
    monitored: FloatArray
    hybrids: FloatArray


def count_hybrids(players: int) -> int:
    """Hybrids of one pair that a model is asked about.

    Raises:
        ValueError: there is no player, or more than MAX_PLAYERS.
    """
    if not 1 <= players <= MAX_PLAYERS:
        raise ValueError(f"expected 1 to {MAX_PLAYERS} players, found {players}")
    return 2**players - 2 if players <= MAX_EXACT_PLAYERS else 2 * (players - 1)


def choose_pair_count(players: int) -> int:
    return PAIRS_OF_ALL_HYBRIDS if players <= MAX_EXACT_PLAYERS else PAIRS_OF_ORDERS


def plan_hybrids(pairs: int, players: int, rng: np.random.Generator) -> HybridPlan:
    """All hybrids of each pair, or those of two antithetic orders, drawn for each pair."""
    count_hybrids(players)  # raises for a number of players that no mask can hold
    if players <= MAX_EXACT_PLAYERS:
        return AllHybrids(pairs, players)
    return OrderedHybrids(rng.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1))


@frozen
class AllHybrids:
    pairs: int
    players: int

    @property
    def masks(self) -> IntArray:
        """All masks but those of the two records [pairs, 2^players - 2]."""
        return np.tile(np.arange(1, 2**self.players - 1), (self.pairs, 1))

    def compute_contributions(self, outcomes: HybridOutcomes) -> FloatArray:
        """Shapley value [pairs, players] of each player in each pair."""
        # In the order of the masks: 0 is the reference record, the last the monitored one.
        by_mask = np.column_stack([outcomes.reference, outcomes.hybrids, outcomes.monitored])
        size = self.players
        # Share of all orders in which exactly so many others come before a player.
        share = np.array(
            [factorial(before) * factorial(size - 1 - before) for before in range(size)]
        ) / factorial(size)
        masks = np.arange(2**size)
        contributions = np.empty((self.pairs, size))
        for player in range(size):
            without = masks[masks >> player & 1 == 0]
            joined_before = sum(without >> member & 1 for member in range(size))
            # Differences first: weighted sums would leave dust where a player changes nothing.
            changes = by_mask[:, without | 1 << player] - by_mask[:, without]
            contributions[:, player] = changes @ share[joined_before]
        return contributions


@frozen_arrays
class OrderedHybrids:
    """Hybrids along a random order of the players and its reverse: unbiased, the sum of each pair exact."""

    orders: IntArray

    @property
    def masks(self) -> IntArray:
        """Masks from the reference record to the monitored one [pairs, 2 · (players - 1)]."""
        return np.concatenate(
            [np.cumsum(np.int64(1) << order, 1)[:, :-1] for order in self._list_orders()], 1
        )

    def compute_contributions(self, outcomes: HybridOutcomes) -> FloatArray:
        contributions = np.zeros(self.orders.shape)
        for order, hybrids in zip(self._list_orders(), np.split(outcomes.hybrids, 2, axis=1), strict=True):
            steps = np.diff(np.column_stack([outcomes.reference, hybrids, outcomes.monitored]), axis=1)
            # A step belongs to the player that joins in it, another in each pair.
            steps_by_player = np.empty(steps.shape)
            np.put_along_axis(steps_by_player, order, steps, axis=1)
            contributions += steps_by_player / 2
        return contributions

    def _list_orders(self) -> tuple[IntArray, IntArray]:
        return self.orders, self.orders[:, ::-1]


@frozen_arrays
class RecordPairs:
    """Positions of the records of each pair.

    `units` [pairs] is resampled: the pair, or the scarcer group's record if it is used more than once.
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
    """Pairs that so many records make, at most `limit`."""
    return min(limit, max(monitored, reference)) if min(monitored, reference) > 0 else 0


def draw_pairs(monitored: int, reference: int, limit: int, rng: Generator) -> RecordPairs:
    """Draws pairs: the larger group's records once at most, the scarcer one's about equally often."""
    size = count_pairs(monitored, reference, limit)
    monitored_positions, reference_positions = (
        _draw_positions(group, size, rng) for group in (monitored, reference)
    )
    scarcer = monitored_positions if monitored < reference else reference_positions
    return RecordPairs(
        monitored_positions,
        reference_positions,
        units=np.arange(size) if size <= min(monitored, reference) else scarcer,
    )


def _draw_positions(group: int, size: int, rng: Generator) -> IntArray:
    # Whole shuffles, so that no record is used twice more often than another.
    shuffles = [rng.permutation(group) for _ in range(-(-size // group))] if size else []
    return np.concatenate([np.empty(0, int), *shuffles])[:size].astype(int)


@frozen_arrays
class MeanIntervals:
    """Ends of 95 % intervals [players]; NaN where there are too few units."""

    low: FloatArray
    high: FloatArray


def resample_means(values: FloatArray, units: IntArray, rng: Generator, draws: int = 2000) -> MeanIntervals:
    """Intervals of the mean of `values` [pairs, players] by resampling whole `units` [pairs].

    Percentiles, stretched by the root of n / (n - 1) for n units.
    """
    distinct, positions = np.unique(units, return_inverse=True)
    count = len(distinct)
    players = values.shape[1]
    if count < MIN_UNITS:
        return MeanIntervals(*np.full((2, players), np.nan))
    sizes = np.bincount(positions, minlength=count).astype(float)
    sums = np.column_stack([np.bincount(positions, column, minlength=count) for column in values.T])
    means = np.empty((draws, players))
    for start in range(0, draws, _MAX_DRAWS_AT_ONCE):
        size = min(_MAX_DRAWS_AT_ONCE, draws - start)
        drawn = rng.multinomial(count, np.full(count, 1 / count), size).astype(float)
        means[start : start + size] = (drawn @ sums) / (drawn @ sizes)[:, None]
    centre = values.mean(0)
    return MeanIntervals(
        *(centre + (np.quantile(means, TAILS, axis=0) - centre) * np.sqrt(count / (count - 1)))
    )


@frozen_arrays
class CarriedGap:
    """Gap of the favourable rates, monitored - reference, and each player's share in it.

    `shares` [players] sum to `gap_of_pairs`; `gap_of_window` adds `sampling`. Pairs with an unknown outcome
    are `left_out`.
    """

    gap_of_window: float
    gap_of_pairs: float
    shares: FloatArray
    ends: MeanIntervals
    pairs: int
    left_out: int

    @property
    def sampling(self) -> float:
        return self.gap_of_window - self.gap_of_pairs


def carry_gap(
    pairs: RecordPairs,
    plan: HybridPlan,
    outcomes: HybridOutcomes,
    *,
    gap_of_window: float,
    rng: Generator,
    draws: int = 2000,
) -> CarriedGap | None:
    """Averages the contributions of the players over the pairs; None if no pair has all its outcomes."""
    contributions = plan.compute_contributions(outcomes)
    is_complete = np.isfinite(contributions).all(1)
    if not is_complete.any():
        return None
    complete = contributions[is_complete]
    shares = complete.mean(0)
    # From the outcomes, not the contributions, which would compare a sum with itself.
    gap = float(outcomes.monitored[is_complete].mean() - outcomes.reference[is_complete].mean())
    if abs(shares.sum() - gap) > SUM_TOLERANCE:
        raise ArithmeticError(f"the shares sum to {shares.sum()!r}, and the gap of the pairs is {gap!r}")
    return CarriedGap(
        gap_of_window,
        gap,
        shares,
        resample_means(complete, pairs.units[is_complete], rng, draws),
        pairs=len(complete),
        left_out=len(contributions) - len(complete),
    )
