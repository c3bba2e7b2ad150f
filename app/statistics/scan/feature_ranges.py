"""Features divided into a few values or ranges. A division is stored and never changes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.frozen import frozen
from ...base.values import Scalar, canonical, is_number
from ...domain.group_rules import Condition, NumberInterval
from .counted_cells import FloatArray
from .search_subgroup import MIN_RECORDS

BINS = 4
"""Ranges of a column of numbers."""

MAX_VALUES = 10
"""Max values of a feature with the rest and the missing ones. A column with more different numbers is divided into ranges."""

Codes = npt.NDArray[np.int64]


@frozen
class Bins:
    """Division of one feature: ranges that end at these `edges`, or these `kept` values. Either is empty.

    Positions: the ranges or values, then the rest (of kept values only), then the missing ones.
    """

    feature: str
    edges: tuple[float, ...] = ()
    kept: tuple[str, ...] = ()

    @classmethod
    def choose(cls, feature: str, counts: Mapping[Scalar, int]) -> "Bins":
        """Division of a feature whose values have these counts. Values of fewer than `MIN_RECORDS` records are not kept."""
        numbers = [value for value in counts if is_number(value)]
        if len(numbers) == len(counts) and len(counts) > MAX_VALUES:
            values_of_records = np.repeat(np.array(numbers, np.float64), [counts[value] for value in numbers])
            edges = np.unique(np.quantile(values_of_records, np.arange(1, BINS) / BINS, method="inverted_cdf"))
            edges = edges[edges < values_of_records.max()]
            if not len(edges):  # most records have the largest number
                edges = values_of_records[values_of_records < values_of_records.max()].max(keepdims=True)
            return cls(feature, edges=tuple(edges.tolist()))
        texts: Counter[str] = Counter()
        for value, count in counts.items():
            texts[canonical(value)] += count
        # Of equally frequent values the first in the alphabet, whatever the order of the records.
        often = sorted(texts, key=lambda text: (-texts[text], text))[: MAX_VALUES - 2]
        return cls(feature, kept=tuple(sorted(text for text in often if texts[text] >= MIN_RECORDS)))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Bins":
        return cls(stored["feature"], tuple(stored["edges"]), tuple(stored["kept"]))

    def to_json(self) -> dict[str, Any]:
        return {"feature": self.feature, "edges": list(self.edges), "kept": list(self.kept)}

    @property
    def missing(self) -> int:
        """Position of records without a value."""
        return len(self.edges or self.kept) + 1

    def describe(self, positions: Sequence[int]) -> Condition:
        chosen, or_missing = sorted(set(positions) - {self.missing}), self.missing in positions
        if len(chosen) == self.missing:
            return Condition(feature=self.feature, excluded=(), or_missing=or_missing)
        if self.edges:
            intervals: list[NumberInterval] = []
            for position in chosen:
                above, up_to = (None, *self.edges)[position], (*self.edges, None)[position]
                if intervals and intervals[-1].up_to == above:
                    above = intervals.pop().above
                intervals.append(NumberInterval(above=above, up_to=up_to))
            return Condition(feature=self.feature, intervals=tuple(intervals), or_missing=or_missing)
        if len(self.kept) in chosen:
            excluded = tuple(value for position, value in enumerate(self.kept) if position not in chosen)
            return Condition(feature=self.feature, excluded=excluded, or_missing=or_missing)
        return Condition(feature=self.feature, values=tuple(self.kept[position] for position in chosen), or_missing=or_missing)

    def encode_numbers(self, numbers: FloatArray) -> Codes:
        """Position [N] of each number among the ranges; NaN is missing."""
        return np.where(np.isnan(numbers), self.missing, np.searchsorted(self.edges, numbers, side="left")).astype(np.int64)

    def encode_texts(self, texts: Sequence[str]) -> Codes:
        """Position [N] of each canonical text among the kept values."""
        positions = {text: position for position, text in enumerate(self.kept)}
        return np.array([positions.get(text, len(self.kept)) for text in texts], dtype=np.int64)
