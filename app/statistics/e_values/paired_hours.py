"""Evidence from records that are asked with both values of an attribute."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.values import frozen_arrays
from ..group_labels import FloatArray
from ..intervals.intervals import Ends
from .confidence import add_rows, find_ends, stack_counts
from .nulls import Hours, Limit, SideHours, UnfairSide

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.7])
"""Shares of the capital that one record can lose; each is an alternative."""

PAIRED_RATIOS = np.geomspace(0.2, 5.0, 201)
"""Values of a counterfactual ratio for which evidence is collected."""

Kind = tuple[float, float, int]
"""Outcome with the monitored value, with the reference values, number of records."""


@frozen_arrays
class PairedHours:
    """Outcomes [K], 0 to 1, of kinds of records with either value, and the `records` [H, K] of an hour."""

    monitored: FloatArray
    reference: FloatArray
    records: FloatArray

    def __len__(self) -> int:
        return len(self.records)

    def sum_sides(self) -> Hours:
        """Sums of both sides as if of different records, which vary more: an onset's range is too wide."""
        records = self.records.sum(axis=1)
        return Hours(
            *(
                SideHours(np.minimum(_sum_kinds(self.records, outcomes[:, None])[:, 0], records), records)
                for outcomes in (self.monitored, self.reference)
            )
        )


def build_paired_hours(kinds: Sequence[Sequence[Kind]]) -> PairedHours:
    """Builds successive hours from the kinds of each."""
    pairs = sorted({(monitored, reference) for hour in kinds for monitored, reference, _ in hour})
    columns = {pair: column for column, pair in enumerate(pairs)}
    records = np.zeros((len(kinds), len(columns)))
    for row, hour in zip(records, kinds, strict=True):
        for monitored, reference, count in hour:
            row[columns[monitored, reference]] += count
    outcomes = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return PairedHours(outcomes[:, 0], outcomes[:, 1], records)


def weigh_pairs(
    hours: PairedHours, limit: Limit, divisor: FloatArray | float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Ln E [H, A] against being inside the limit, and against being beyond it, as of `weigh_claims`."""
    divisors = np.broadcast_to(divisor, len(hours))[:, None]
    below = _weigh_stakes(hours.records, limit.value * hours.reference - hours.monitored) / divisors
    above = _weigh_stakes(hours.records, hours.monitored / limit.value - hours.reference) / divisors
    return (below, above) if limit.direction is UnfairSide.BELOW else (above, below)


@dataclass(slots=True, eq=False)
class RunningPairedInterval:
    """State of the interval of a counterfactual ratio in a chapter.

    `counts` [4] are sums of outcomes and records, as of `RunningInterval`. `below` and `above` [G, A] are ln
    of the evidence that it is below, and above, each value of the grid, for each stake.
    """

    counts: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def empty(cls) -> "RunningPairedInterval":
        return cls(np.zeros(4), *(np.zeros((len(PAIRED_RATIOS), len(STAKES))) for _ in range(2)))

    def add(self, hours: PairedHours, divisor: FloatArray | float = 1.0) -> None:
        records = hours.records / np.broadcast_to(divisor, len(hours))[:, None]
        ratios = PAIRED_RATIOS[:, None]
        self.below = _add_bets(self.below, records, ratios * hours.reference - hours.monitored)
        self.above = _add_bets(self.above, records, hours.monitored / ratios - hours.reference)
        self.counts = add_rows(self.counts, stack_counts(hours.sum_sides()))

    def find_ends(self) -> Ends:
        below, above = (
            np.logaddexp.reduce(sums, axis=1) - math.log(len(STAKES)) for sums in (self.below, self.above)
        )
        return find_ends(below, above, PAIRED_RATIOS)


def _add_bets(total: FloatArray, records: FloatArray, gains: FloatArray) -> FloatArray:
    """Adds logs of products [G, A] of 1 + stake · gain; records are [H, K], gains [G, K]."""
    logs = np.log1p(gains.T[:, :, None] * STAKES)
    return add_rows(total, (np.add.reduce(hour[:, None, None] * logs) for hour in records if hour.any()))


def _weigh_stakes(records: FloatArray, gains: FloatArray) -> FloatArray:
    logs = _sum_kinds(records, np.log1p(gains[:, None] * STAKES))
    return np.where(records.sum(axis=1, keepdims=True) > 0, logs, np.nan)


def _sum_kinds(records: FloatArray, values: FloatArray) -> FloatArray:
    """Sums values [K, A] over records [H, K], kind by kind: the same digits among whichever hours."""
    return np.asarray(np.add.reduce(records.T[:, :, None] * values[:, None]))
