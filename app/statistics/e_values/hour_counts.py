"""Counts of the two groups of a comparison, hour by hour."""

from collections.abc import Sequence
from dataclasses import InitVar, field

import numpy as np
import numpy.typing as npt

from ...base.frozen import frozen

FloatArray = npt.NDArray[np.float64]


@frozen(eq=False)
class Side:
    """One group's `records` [H] and how many are `favourable` [H]; both may be sums of weights up to 1.

    Parts of checked sides `are_checked`: checking a single hour takes longer than using it.
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


@frozen(eq=False)
class Hours:
    """Successive hours without gaps; an hour without records has zeros.

    Each record is in one hour only; records that top up a window do not count again.
    """

    monitored: Side
    reference: Side

    def __post_init__(self) -> None:
        if self.monitored.records.shape != self.reference.records.shape:
            raise ValueError("both sides must have the same hours")

    def __len__(self) -> int:
        return len(self.monitored.records)

    def between(self, start: int, end: int) -> "Hours":
        """Hours from `start` to `end`, exclusive."""
        return Hours(
            *(Side(side.favourable[start:end], side.records[start:end], are_checked=True) for side in (self.monitored, self.reference))
        )


def join_hours(several: Sequence[Hours]) -> Hours:
    def join(sides: list[Side]) -> Side:
        return Side(np.concatenate([side.favourable for side in sides]), np.concatenate([side.records for side in sides]), are_checked=True)

    return Hours(join([hours.monitored for hours in several]), join([hours.reference for hours in several]))
