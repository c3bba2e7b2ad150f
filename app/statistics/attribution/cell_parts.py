"""Difference of two rates, divided by the cells of one feature: who applies, and how they are treated.

Source: Kitagawa 1955. Records in cells that one side lacks have *no counterpart* and a part of their own
(Ñopo 2008). Descriptive only: the part after an alarm was selected by the alarm, so its size is exaggerated.
"""

from collections.abc import Sequence
from math import log1p
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ...base.values import frozen, frozen_arrays
from ..group_labels import BoolArray, FloatArray, IntArray, divide_or
from .hybrid_values import TAILS, MeanIntervals

MIN_BINS = 10
"""Bins of a feature of numbers: differences within one count as treatment, of a gap of .149 about .002."""


@frozen_arrays
class CellCounts:
    """Records of one population by cell: `favourable` [..., cells] of `records` [..., cells]."""

    favourable: FloatArray
    records: FloatArray

    def __post_init__(self) -> None:
        if self.favourable.shape != self.records.shape or not np.all(
            (self.favourable >= 0) & (self.favourable <= self.records)
        ):
            raise ValueError("favourable must be between 0 and records, in as many cells")

    @property
    def rate(self) -> FloatArray:
        """NaN without a record."""
        return divide_or(self.favourable.sum(-1), self.records.sum(-1), np.nan)


class DifferenceParts(NamedTuple):
    """Difference of two rates and its parts, which sum to it [...]; NaN where a side has no record.

    `of_shares` is due to other shares of the cells (who applies), `of_rates` to other rates within a cell
    (how they are treated).
    """

    difference: FloatArray
    of_shares: FloatArray
    of_rates: FloatArray
    no_counterpart: FloatArray

    def stack(self) -> FloatArray:
        """The three parts [..., 3]."""
        return np.stack(self[1:], -1)


def divide_difference(first: CellCounts, second: CellCounts) -> DifferenceParts:
    """Parts of the first rate - the second. Without a common cell all has no counterpart."""
    common = (first.records > 0) & (second.records > 0)
    difference = first.rate - second.rate
    shares = []
    rates = []
    for side in (first, second):
        # Shares of all records would leave a part where all rates are equal.
        common_records = np.where(common, side.records, 0.0)
        shares.append(divide_or(common_records, common_records.sum(-1, keepdims=True), 0.0))
        rates.append(np.where(common, divide_or(side.favourable, side.records, 0.0), 0.0))
    of_shares = ((shares[0] - shares[1]) * (rates[0] + rates[1]) / 2).sum(-1)
    of_rates = ((rates[0] - rates[1]) * (shares[0] + shares[1]) / 2).sum(-1)
    # Without a common cell both would be 0 even where a side has no record.
    of_shares, of_rates = np.where(np.isnan(difference), np.nan, [of_shares, of_rates])
    return DifferenceParts(difference, of_shares, of_rates, no_counterpart=difference - of_shares - of_rates)


def resample_parts(first: CellCounts, second: CellCounts, rng: Generator, draws: int = 2000) -> MeanIntervals:
    """95 % intervals of the parts in the order of `stack`, from resampled records of each side."""
    divisions = divide_difference(*(_resample(side, rng, draws) for side in (first, second))).stack()
    return MeanIntervals(*np.quantile(divisions, TAILS, axis=0))


def _resample(side: CellCounts, rng: Generator, draws: int) -> CellCounts:
    counts = np.concatenate([side.favourable, side.records - side.favourable])
    total = counts.sum()
    if total == 0:
        return CellCounts(*np.zeros((2, draws, side.records.size)))
    # Cell and outcome at once: who applies varies by chance as well.
    drawn = rng.multinomial(int(total), counts / total, draws).astype(float)
    favourable, unfavourable = np.split(drawn, 2, axis=1)
    return CellCounts(favourable, favourable + unfavourable)


@frozen
class ChangeParts:
    """Parts of the change of a gap: who asked, how they were answered, records without a counterpart."""

    change: float
    who_asked: float
    how_answered: float
    no_counterpart: float


@frozen
class GapChange:
    """Parts of the change of a gap, as a difference and as the logarithm of a ratio.

    None where a rate has no record; those of the logarithm also where one is 0.
    """

    of_difference: ChangeParts | None
    of_log_ratio: ChangeParts | None


def explain_change_of_gap(
    before: CellCounts, after: CellCounts, reference_before: CellCounts, reference_after: CellCounts
) -> GapChange:
    """Divides the change of a gap, as `divide_difference` divides that of each rate."""
    sides = ((before, after), (reference_before, reference_after))
    rates = [[float(counts.rate) for counts in side] for side in sides]
    if np.isnan(rates).any():
        return GapChange(None, None)
    monitored, reference = (np.array(divide_difference(late, early)) for early, late in sides)
    of_difference = ChangeParts(*(monitored - reference).tolist())
    if not np.all(rates):
        return GapChange(of_difference, None)
    mean, reference_mean = (_average_on_log_scale(late, early) for early, late in rates)
    return GapChange(of_difference, ChangeParts(*(monitored / mean - reference / reference_mean).tolist()))


def _average_on_log_scale(first: float, second: float) -> float:
    """Logarithmic mean: difference over the difference of logarithms; of equal rates the rate."""
    return first if first == second else (first - second) / log1p((first - second) / second)


def bin_numbers(numbers: FloatArray, bins: int = MIN_BINS) -> IntArray:
    """Bin of each number, ending at quantiles, or a bin for each if few differ; NaN has the first."""
    present = numbers[~np.isnan(numbers)]
    different = np.unique(present)
    ends = different if len(different) <= bins else np.unique(np.quantile(present, np.arange(1, bins) / bins))
    # `left`: a number that is an end belongs to the bin below.
    return np.where(np.isnan(numbers), 0, np.searchsorted(ends, numbers, side="left") + 1).astype(int)


def count_cells(
    content: IntArray | FloatArray,
    favourable: BoolArray,
    populations: Sequence[IntArray],
    bins: int = MIN_BINS,
) -> tuple[CellCounts, ...]:
    """Counts of each population, given by the positions of its records, in the same cells.

    `content` [records]: floats are quantities or NaN; whole numbers are categories from 0, or -1. The first
    cell has no value.
    """
    pooled = content[np.concatenate(populations)]
    cells = (
        pooled.astype(int) + 1
        if np.issubdtype(pooled.dtype, np.integer)
        else bin_numbers(pooled.astype(float), bins)
    )
    size = int(cells.max(initial=0)) + 1
    ends = np.cumsum([len(records) for records in populations])[:-1]
    return tuple(
        CellCounts(
            *(np.bincount(of_one, weights, size).astype(float) for weights in (favourable[records], None))
        )
        for of_one, records in zip(np.split(cells, ends), populations, strict=True)
    )
