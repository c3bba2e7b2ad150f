"""Counts of the two groups of a comparison, hour by hour."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One group, hour by hour: its `records` [H], and how many of them are `favourable` [H]. Both may be sums of weights up to 1.

    Parts of sides that were checked `are_checked`, too: to check the arrays of a single hour takes longer than to use them.
    """

    favourable: FloatArray
    records: FloatArray
    are_checked: InitVar[bool] = field(default=False, kw_only=True)

    def __post_init__(self, are_checked: bool) -> None:
        if are_checked:
            return
        if self.favourable.shape != self.records.shape or self.records.ndim != 1:
            raise ValueError(f"favourable {self.favourable.shape} and records {self.records.shape} must be two rows of equal length")
        if not (np.all(self.favourable >= 0) and np.all(self.favourable <= self.records) and np.all(np.isfinite(self.records))):
            raise ValueError("favourable must be between 0 and records, and both finite")


@dataclass(frozen=True, slots=True, eq=False)
class Hours:
    """Successive hours of one comparison, without gaps: an hour without records has zeros.

    Each hour holds its own records only, and each record is in one hour only. Records that top up a window do not count again.
    """

    monitored: Side
    reference: Side

    def __post_init__(self) -> None:
        if self.monitored.records.shape != self.reference.records.shape:
            raise ValueError("both sides must have the same hours")

    def __len__(self) -> int:
        return len(self.monitored.records)

    def between(self, start: int, end: int) -> "Hours":
        """Returns the hours from `start` up to, not including, `end`."""
        return Hours(
            *(Side(side.favourable[start:end], side.records[start:end], are_checked=True) for side in (self.monitored, self.reference))
        )


def join_hours(several: Sequence[Hours]) -> Hours:
    """Returns the hours of all series, one after the other."""

    def join(sides: list[Side]) -> Side:
        return Side(np.concatenate([side.favourable for side in sides]), np.concatenate([side.records for side in sides]), are_checked=True)

    return Hours(join([hours.monitored for hours in several]), join([hours.reference for hours in several]))


def sum_before(values: FloatArray, hours: int) -> FloatArray:
    """Returns for each hour the sum over the `hours` before it, or over fewer at the start; the hour itself is left out."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(len(values))
    return np.asarray(sums[ends] - sums[np.maximum(ends - hours, 0)])
