"""Outcomes inside the ranges of a numeric attribute, in a few intervals of each: where in `26-75` the favourable outcomes are.

The intervals follow from the range alone, so they are the same in every check and their counts may be added up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.grouping import Grouping
from app.domain.deployments import Column, FieldType
from app.domain.values import Range, canonical
from app.metrics.groups import IntArray
from app.metrics.tables.group_counts import OUTCOMES

SUB_RANGES = "sub_ranges"
"""The member of a stored payload table that holds the counts by interval."""

FULL_STEPS = 6
"""How many whole steps a range holds at most; cut at round numbers, one more interval may stand at its end."""

_ROUND_STEPS = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))


@dataclass(frozen=True, slots=True, eq=False)
class SubRanges:
    """One range of an attribute. `edges` [I + 1] are the ends of its intervals, of which only the last holds its upper one.

    `counts` [I, 3] are unfavourable, favourable and unclassified records. Of whole numbers, `is_whole`, the last edge is the
    largest number in the range.
    """

    group: str
    is_whole: bool
    edges: tuple[float, ...]
    counts: IntArray

    @property
    def labels(self) -> list[str]:
        """What each interval is called: `20-21` of whole numbers, else `0.5 to <1`."""
        pairs = list(zip(self.edges[:-1], self.edges[1:], strict=True))
        inner = [_label(low, high, is_whole=self.is_whole) for low, high in pairs[:-1]]
        low, high = pairs[-1]
        last = f"{canonical(low)} to {canonical(high)}"
        return [*inner, _whole_label(low, high) if self.is_whole else last]

    def plus(self, other: "SubRanges") -> "SubRanges":
        """The sum of two parts of a window, which have the same intervals."""
        return SubRanges(self.group, self.is_whole, self.edges, self.counts + other.counts)

    def to_json(self) -> dict[str, Any]:
        """The counts as plain JSON values."""
        return {"group": self.group, "whole": self.is_whole, "edges": list(self.edges), "counts": self.counts.tolist()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The counts `to_json` wrote."""
        return cls(stored["group"], stored["whole"], tuple(stored["edges"]), np.asarray(stored["counts"], dtype=np.int64))


def count_inside(grouping: Grouping, values: pa.ChunkedArray, outcomes: IntArray, part: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """The counts of that part of the window in the form they are stored in; empty where no group of the attribute is a range."""
    ranges = [(place, group, group.value) for place, group in enumerate(grouping.groups) if isinstance(group.value, Range)]
    if not ranges:
        return {}
    numbers = values.combine_chunks().to_numpy(zero_copy_only=False)
    found = [
        _counted(group.label, bounds, grouping.column, (numbers, outcomes, part & (grouping.codes == place)))
        for place, group, bounds in ranges
    ]
    return {SUB_RANGES: [one.to_json() for one in found if one is not None]}


def inside(tables: Sequence[Mapping[str, Any]]) -> dict[str, SubRanges]:
    """The counts by interval of each range, by its label, of the stored parts of a payload table together.

    A check from before they were counted has none.
    """
    found: dict[str, SubRanges] = {}
    for table in tables:
        for stored in table.get(SUB_RANGES, ()):
            one = SubRanges.from_json(stored)
            found[one.group] = found[one.group].plus(one) if one.group in found else one
    return found


def edges_of(bounds: Range, *, is_whole: bool) -> tuple[float, ...]:
    """The ends of the intervals that a range is cut into, at round numbers: the range's own two where it is too narrow to cut."""
    low, high = (ceil(bounds.lo), floor(bounds.hi)) if is_whole else (bounds.lo, bounds.hi)
    # In decimals: the difference of two floats need not be a finite one.
    width = Decimal(high) - Decimal(low) + (1 if is_whole else 0)
    if width <= 0:
        return (low, high)
    step = max(_step(width / FULL_STEPS), Decimal(1)) if is_whole else _step(width / FULL_STEPS)
    first = (Decimal(low) / step).to_integral_value() * step
    multiples = (first + no * step for no in range(-1, FULL_STEPS + 3))
    cuts = sorted({int(exact) if is_whole else float(exact) for exact in multiples})
    # Where each whole number is an interval by itself, the last one ends where it begins.
    by_one = is_whole and step == 1
    return (low, *(cut for cut in cuts if low < cut < high or (by_one and low < cut == high)), high)


def _counted(
    label: str, bounds: Range, column: Column, records: tuple[npt.NDArray[np.float64], IntArray, npt.NDArray[np.bool_]]
) -> SubRanges | None:
    is_whole = column.type is FieldType.INTEGER
    edges, (numbers, outcomes, chosen) = edges_of(bounds, is_whole=is_whole), records
    intervals = len(edges) - 1
    if intervals < 2:  # noqa: PLR2004 - one interval is the range itself
        return None
    places = np.searchsorted(np.asarray(edges[1:-1], dtype=np.float64), numbers[chosen], side="right")
    counts = np.bincount(places * OUTCOMES + outcomes[chosen], minlength=intervals * OUTCOMES).astype(np.int64)
    return SubRanges(label, is_whole, edges, counts.reshape(intervals, OUTCOMES))


def _step(least: Decimal) -> Decimal:
    """The smallest of 1, 2, 5, 10, 20, 50, … (and 0.5, 0.2, 0.1, …) that is not below `least`."""
    power = Decimal(10) ** least.adjusted()
    return next(factor * power for factor in _ROUND_STEPS if factor * power >= least)


def _label(low: float, high: float, *, is_whole: bool) -> str:
    return _whole_label(low, high - 1) if is_whole else f"{canonical(low)} to <{canonical(high)}"


def _whole_label(low: float, high: float) -> str:
    return canonical(low) if low >= high else f"{canonical(low)}-{canonical(high)}"
