"""Hybrids of two records, and the Shapley values of their outcomes.

A hybrid takes some players (features that go together) from a pair's monitored record and the others from
its reference record. Bit j of its *mask* is set if player j is the monitored record's. A Shapley value is
the average change of the outcome when a player joins, over all orders; the values sum to the difference of
the two records' outcomes.
"""

from math import factorial
from typing import TypeAlias

import numpy as np

from ...base.values import frozen, frozen_arrays
from ..group_labels import FloatArray, IntArray

MAX_EXACT_PLAYERS = 6
"""Max players whose hybrids are all computed: 62 a pair."""

MAX_PLAYERS = 62
"""Max players: a mask has 64 bits."""

PAIRS_OF_ALL_HYBRIDS = 500
"""Default pairs with all hybrids; standard errors are .007 to .019 in `scripts/trial attribution`."""

PAIRS_OF_ORDERS = 4_000
"""Default pairs with two orders each; standard errors are .004 to .008 in `scripts/trial attribution`."""


@frozen_arrays
class Answered:
    """Outcomes from 0 to 1: `reference` [pairs], `monitored` [pairs] and `hybrids` [pairs, hybrids]; NaN
    where not known.

    A pair with NaN has NaN among its contributions.
    """

    reference: FloatArray
    monitored: FloatArray
    hybrids: FloatArray


HybridPlan: TypeAlias = "AllHybrids | OrderedHybrids"
"""Hybrids to ask a model about, without the two records themselves, and the arithmetic on its answers."""


def count_hybrids(players: int) -> int:
    """Hybrids of one pair that a model is asked about.

    Raises:
        ValueError: there is no player, or more than MAX_PLAYERS.
    """
    if not 1 <= players <= MAX_PLAYERS:
        raise ValueError(f"expected 1 to {MAX_PLAYERS} players, found {players}")
    return 2**players - 2 if players <= MAX_EXACT_PLAYERS else 2 * (players - 1)


def usual_pairs(players: int) -> int:
    return PAIRS_OF_ALL_HYBRIDS if players <= MAX_EXACT_PLAYERS else PAIRS_OF_ORDERS


def plan_hybrids(pairs: int, players: int, rng: np.random.Generator) -> HybridPlan:
    """All hybrids of each pair, or those of two antithetic orders, drawn for each pair.

    Raises:
        ValueError: there is no player, or more than MAX_PLAYERS.
    """
    count_hybrids(players)
    if players <= MAX_EXACT_PLAYERS:
        return AllHybrids(pairs, players)
    return OrderedHybrids(rng.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1))


@frozen
class AllHybrids:
    """Every hybrid of each pair: exact Shapley values."""

    pairs: int
    players: int

    @property
    def masks(self) -> IntArray:
        """All masks but those of the two records [pairs, 2^players - 2]."""
        return np.tile(np.arange(1, 2**self.players - 1), (self.pairs, 1))

    def attribute(self, answered: Answered) -> FloatArray:
        """Contributions [pairs, players]; they sum to monitored - reference."""
        # In the order of the masks: 0 is the reference record, the last the monitored one.
        outcomes = np.column_stack([answered.reference, answered.hybrids, answered.monitored])
        size = self.players
        # Share of all orders in which exactly so many others come before a player.
        share = np.array(
            [factorial(before) * factorial(size - 1 - before) for before in range(size)]
        ) / factorial(size)
        every = np.arange(2**size)
        contributions = np.empty((self.pairs, size))
        for player in range(size):
            without = every[every >> player & 1 == 0]
            before = sum(without >> member & 1 for member in range(size))
            # Differences first: weighted sums would leave dust where a player changes nothing.
            contributions[:, player] = (outcomes[:, without | 1 << player] - outcomes[:, without]) @ share[
                before
            ]
        return contributions


@frozen_arrays
class OrderedHybrids:
    """Hybrids along one random order of the players and its reverse: unbiased, with an exact sum in each
    pair.
    """

    orders: IntArray

    @property
    def masks(self) -> IntArray:
        """Masks from the reference record to the monitored one [pairs, 2 · (players - 1)]."""
        return np.concatenate([np.cumsum(np.int64(1) << order, 1)[:, :-1] for order in self._both()], 1)

    def attribute(self, answered: Answered) -> FloatArray:
        """Contributions [pairs, players]; they sum to monitored - reference."""
        contributions = np.zeros(self.orders.shape)
        for order, along in zip(self._both(), np.split(answered.hybrids, 2, axis=1), strict=True):
            steps = np.diff(np.column_stack([answered.reference, along, answered.monitored]), axis=1)
            # A step belongs to the player that joins in it, another in each pair.
            mine = np.empty(steps.shape)
            np.put_along_axis(mine, order, steps, axis=1)
            contributions += mine / 2
        return contributions

    def _both(self) -> tuple[IntArray, IntArray]:
        return self.orders, self.orders[:, ::-1]
