"""Outcomes in a few intervals of the ranges of a numeric attribute.

The intervals follow from the range alone, so their counts may be added up over checks.
"""

from collections.abc import Sequence
from decimal import Decimal
from math import ceil, floor
from typing import Self

import numpy as np
import pyarrow as pa

from ...base.strict_json import JsonObject
from ...base.values import Range, canonical, frozen_arrays
from ...domain.deployment import FieldType
from ...sources.arrays.read_records import Grouping
from ...statistics.group_labels import IntArray
from ...statistics.tables.count_table import OUTCOMES
from ...statistics.tables.strata_counts import count_keys
from ..window.window import RowSelection

SUB_RANGES = "sub_ranges"
"""Member of a stored table."""

TYPICAL_INTERVALS = 6
"""Intervals of a range, about: their width is a round number."""

_ROUND_STEPS = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))


@frozen_arrays
class SubRanges:
    """Outcomes in the I intervals of one range; only the last one holds the upper of its `edges` [I + 1].

    `counts` [I, 3]: unfavourable, favourable, unclassified. If `is_whole`, the last edge is the largest
    number in the range.
    """

    group: str
    is_whole: bool
    edges: tuple[float, ...]
    counts: IntArray

    @property
    def labels(self) -> list[str]:
        """`20-21` of whole numbers, else `0.5 to <1`."""
        *pairs, (low, high) = zip(self.edges[:-1], self.edges[1:], strict=True)
        if self.is_whole:
            return [
                *(_label_whole_numbers(start, end - 1) for start, end in pairs),
                _label_whole_numbers(low, high),
            ]
        return [
            *(f"{canonical(start)} to <{canonical(end)}" for start, end in pairs),
            f"{canonical(low)} to {canonical(high)}",
        ]

    def plus(self, added: "SubRanges") -> "SubRanges":
        return SubRanges(self.group, self.is_whole, self.edges, self.counts + added.counts)

    def to_json(self) -> JsonObject:
        return {
            "group": self.group,
            "whole": self.is_whole,
            "edges": list(self.edges),
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        return cls(
            stored["group"],
            stored["whole"],
            tuple(stored["edges"]),
            np.asarray(stored["counts"], dtype=np.int64),
        )


def count_sub_ranges(
    grouping: Grouping,
    values: pa.ChunkedArray,
    outcomes: IntArray,
    selected: RowSelection,
    repeats: IntArray | None = None,
) -> JsonObject:
    """Counts the selected records by interval, as a member of a table; a narrow range has no intervals."""
    ranges = [
        (code, group, group.value)
        for code, group in enumerate(grouping.groups)
        if isinstance(group.value, Range)
    ]
    if not ranges:
        return {}
    numbers = values.combine_chunks().to_numpy(zero_copy_only=False)[selected]
    codes = grouping.codes[selected]
    outcomes = outcomes[selected]
    is_whole = grouping.column.type is FieldType.INTEGER
    sub_ranges = []
    for code, group, bounds in ranges:
        edges = cut_range(bounds, is_whole=is_whole)
        intervals = len(edges) - 1
        if intervals < 2:  # noqa: PLR2004 - one interval is the range itself
            continue
        in_range = codes == code
        positions = np.searchsorted(
            np.asarray(edges[1:-1], dtype=np.float64), numbers[in_range], side="right"
        )
        repeats_in_range = None if repeats is None else repeats[selected][in_range]
        keys = positions * OUTCOMES + outcomes[in_range]
        counts, _ = count_keys(keys, (intervals, OUTCOMES), None, repeats_in_range)
        sub_ranges.append(SubRanges(group.label, is_whole, edges, counts).to_json())
    return {SUB_RANGES: sub_ranges}


def add_up_sub_ranges(tables: Sequence[JsonObject]) -> JsonObject:
    if not tables:
        return {}
    return {SUB_RANGES: [sub_ranges.to_json() for sub_ranges in merge_sub_ranges(tables).values()]}


def merge_sub_ranges(tables: Sequence[JsonObject]) -> dict[str, SubRanges]:
    sums: dict[str, SubRanges] = {}
    for table in tables:
        for stored in table.get(SUB_RANGES, ()):
            sub_ranges = SubRanges.from_json(stored)
            sums[sub_ranges.group] = (
                sums[sub_ranges.group].plus(sub_ranges) if sub_ranges.group in sums else sub_ranges
            )
    return sums


def cut_range(bounds: Range, *, is_whole: bool) -> tuple[float, ...]:
    """Cuts a range into intervals at round numbers; returns its own two ends where it is too narrow."""
    low, high = (ceil(bounds.lo), floor(bounds.hi)) if is_whole else bounds
    # In decimals: the difference of two floats may be infinite.
    width = Decimal(high) - Decimal(low) + (1 if is_whole else 0)
    if width <= 0:
        return (low, high)
    step = _choose_step(width / TYPICAL_INTERVALS)
    if is_whole:
        step = max(step, Decimal(1))
    first = (Decimal(low) / step).to_integral_value() * step
    multiples = (first + number * step for number in range(-1, TYPICAL_INTERVALS + 3))
    cuts = sorted({int(exact) if is_whole else float(exact) for exact in multiples})
    # With steps of one each whole number is an interval: the last one starts and ends at `high`.
    starts_at_high = is_whole and step == 1
    return (low, *(cut for cut in cuts if low < cut < high or (starts_at_high and low < cut == high)), high)


def _choose_step(minimum: Decimal) -> Decimal:
    """Smallest of 1, 2, 5, 10, 20, 50, … (and 0.5, 0.2, 0.1, …) that is not below `minimum`."""
    power = Decimal(10) ** minimum.adjusted()
    return next(factor * power for factor in _ROUND_STEPS if factor * power >= minimum)


def _label_whole_numbers(low: float, high: float) -> str:
    return canonical(low) if low >= high else f"{canonical(low)}-{canonical(high)}"
