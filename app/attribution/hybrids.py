"""Hybrids of two records, and the Shapley values of their outcomes.

A hybrid takes some players (one feature, or several that go together) from a pair's monitored record and all others from its reference
record. A *mask* has bit j set if player j is the monitored record's. A player's Shapley value is the average change of the outcome when it
joins, over all orders in which the players can join; over all players the values sum to the difference of the two records' outcomes.
"""

from dataclasses import dataclass
from math import factorial
from typing import Protocol

import numpy as np

from .pairs import FloatArray, IntArray

MAX_EXACT_PLAYERS = 6
"""Max players whose hybrids are all computed: of 6 there are 62 a pair."""

MAX_PLAYERS = 62
"""Max players: a mask is a number of 64 bits."""

PAIRS_OF_ALL_HYBRIDS = 500
"""Default number of pairs where all hybrids are computed; standard errors are .007 to .019 in `scripts/trial attribution`."""

PAIRS_OF_ORDERS = 4_000
"""Default number of pairs where two orders are computed for each pair; standard errors are .004 to .008 in `scripts/trial attribution`."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Outcomes from 0 to 1 of the pairs' own records, `reference` [pairs] and `monitored` [pairs], and of `hybrids` [pairs, hybrids].

    NaN is an outcome that is not known: its pair then has NaN among its contributions.
    """

    reference: FloatArray
    monitored: FloatArray
    hybrids: FloatArray


class HybridPlan(Protocol):
    """Hybrids to ask a model about, and the arithmetic on its answers."""

    @property
    def masks(self) -> IntArray:
        """Returns the masks of each pair's hybrids [pairs, hybrids]; neither of the two records themselves is among them."""

    def attribute(self, answered: Answered) -> FloatArray:
        """Returns each player's contribution in each pair [pairs, players]; they sum to monitored - reference."""


def count_hybrids(players: int) -> int:
    """Returns how many hybrids of one pair a model is asked about: all for up to MAX_EXACT_PLAYERS players, those of two orders for more.

    Raises:
        ValueError: there is no player, or more than MAX_PLAYERS.
    """
    if not 1 <= players <= MAX_PLAYERS:
        raise ValueError(f"expected 1 to {MAX_PLAYERS} players, found {players}")
    return 2**players - 2 if players <= MAX_EXACT_PLAYERS else 2 * (players - 1)


def usual_pairs(players: int) -> int:
    """Returns how many pairs are drawn unless another number is asked for."""
    return PAIRS_OF_ALL_HYBRIDS if players <= MAX_EXACT_PLAYERS else PAIRS_OF_ORDERS


def plan_hybrids(pairs: int, players: int, rng: np.random.Generator) -> HybridPlan:
    """Returns the hybrids of that many pairs: all of them, or those of two antithetic orders, drawn freshly for each pair.

    Raises:
        ValueError: there is no player, or more than MAX_PLAYERS.
    """
    count_hybrids(players)
    if players <= MAX_EXACT_PLAYERS:
        return AllHybrids(pairs, players)
    return OrderedHybrids(rng.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1))


@dataclass(frozen=True, slots=True)
class AllHybrids:
    """Every hybrid of each pair: exact Shapley values."""

    pairs: int
    players: int

    @property
    def masks(self) -> IntArray:
        """Returns all masks but those of the two records [pairs, 2^players - 2]."""
        return np.tile(np.arange(1, 2**self.players - 1), (self.pairs, 1))

    def attribute(self, answered: Answered) -> FloatArray:
        """Returns each player's contribution in each pair [pairs, players]; see `HybridPlan`."""
        # In the order of the masks: 0 is the reference record, the last is the monitored one.
        outcomes = np.column_stack([answered.reference, answered.hybrids, answered.monitored])
        size = self.players
        # Share of all orders in which exactly so many others come before a player.
        share = np.array([factorial(before) * factorial(size - 1 - before) for before in range(size)]) / factorial(size)
        every = np.arange(2**size)
        contributions = np.empty((self.pairs, size))
        for player in range(size):
            without = every[every >> player & 1 == 0]
            before = sum(without >> other & 1 for other in range(size))
            # Differences first: a player that changes no outcome has exactly 0, where a weighted sum of outcomes leaves dust.
            contributions[:, player] = (outcomes[:, without | 1 << player] - outcomes[:, without]) @ share[before]
        return contributions


@dataclass(frozen=True, slots=True, eq=False)
class OrderedHybrids:
    """Hybrids along one random order of the players for each pair, and along its reverse: unbiased, and their sum is exact in each pair."""

    orders: IntArray

    @property
    def masks(self) -> IntArray:
        """Returns the masks on the way from the reference record to the monitored one [pairs, 2 · (players - 1)]."""
        return np.concatenate([np.cumsum(np.int64(1) << order, axis=1)[:, :-1] for order in self._both()], axis=1)

    def attribute(self, answered: Answered) -> FloatArray:
        """Returns each player's contribution in each pair [pairs, players]; see `HybridPlan`."""
        contributions = np.zeros(self.orders.shape)
        for order, along in zip(self._both(), np.split(answered.hybrids, 2, axis=1), strict=True):
            steps = np.diff(np.column_stack([answered.reference, along, answered.monitored]), axis=1)
            # A step belongs to the player that joins in it, which is another one in each pair.
            mine = np.empty(steps.shape)
            np.put_along_axis(mine, order, steps, axis=1)
            contributions += mine / 2
        return contributions

    def _both(self) -> tuple[IntArray, IntArray]:
        return self.orders, self.orders[:, ::-1]
