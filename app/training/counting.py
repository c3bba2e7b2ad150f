"""The second pass over a file: counts how often each value of a column occurs with each label."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..domain.training_data import Cell
from ..domain.values import GroupValue, Range, Scalar, canonical
from ..records.cells import MISSING, Codes
from .columns import Numbers
from .pieces import Part


class Axis(Protocol):
    @property
    def size(self) -> int:
        """The number of places; a missing value has none."""

    def value(self, place: int) -> GroupValue: ...

    def codes(self, part: Part) -> Codes:
        """Returns for each row of a piece its place, or MISSING."""


@dataclass(slots=True)
class Values:
    values: Sequence[Scalar]
    _places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {canonical(value): place for place, value in enumerate(self.values)}

    @property
    def size(self) -> int:
        return len(self.values)

    def value(self, place: int) -> GroupValue:
        return self.values[place]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._places)

    def codes(self, part: Part) -> Codes:
        piece = part.coded()
        places = [self._places[canonical(value)] for value in piece.values]
        return np.array([*places, MISSING], dtype=np.int64)[piece.codes]


class CountedBins:
    """Intervals, each given by the lowest and the highest number in it."""

    def __init__(self, bounds: Numbers) -> None:
        self._bounds = bounds
        self._lowest = np.full(len(bounds) + 1, np.inf)
        self._highest = np.full(len(bounds) + 1, -np.inf)

    @property
    def size(self) -> int:
        return len(self._lowest)

    def value(self, place: int) -> GroupValue:
        return Range(float(self._lowest[place]), float(self._highest[place]))

    def codes(self, part: Part) -> Codes:
        numbers = part.floats()
        # NaN is a missing number; a search would put it into the last bin.
        is_known = np.isfinite(numbers)
        places = np.searchsorted(self._bounds, numbers[is_known], side="left")
        np.minimum.at(self._lowest, places, numbers[is_known])
        np.maximum.at(self._highest, places, numbers[is_known])
        codes = np.full(len(numbers), MISSING, dtype=np.int64)
        codes[is_known] = places
        return codes


class Tally:
    """Records, and their weights if any, by the places of two axes. The last place of each is for missing values."""

    def __init__(self, values: Axis | None, labels: Axis, *, is_weighted: bool) -> None:
        self._values = values
        self._labels = labels
        self._shape = ((values.size if values else 0) + 1, labels.size + 1)
        self._records = np.zeros(self._shape, dtype=np.int64)
        self._sums = np.zeros((2 if is_weighted else 0, *self._shape))

    def add(self, values: Codes | None, labels: Codes, weights: Numbers | None) -> None:
        """Counts one piece; without values, by label alone."""
        rows, columns = self._shape
        # MISSING is -1: the remainder is the last place.
        key = (np.zeros(len(labels), dtype=np.int64) if values is None else values % rows) * columns + labels % columns
        size = rows * columns
        self._records += np.bincount(key, minlength=size).reshape(self._shape)
        if weights is not None:
            self._sums += [np.bincount(key, part, minlength=size).reshape(self._shape) for part in (weights, weights * weights)]

    def cells(self) -> tuple[Cell, ...]:
        found = []
        for row, column in zip(*(places.tolist() for places in np.nonzero(self._records)), strict=True):
            values: tuple[GroupValue | None, ...] = ()
            if self._values is not None:
                values = (self._values.value(row) if row < self._values.size else None,)
            label = self._labels.value(column) if column < self._labels.size else None
            weight, squares = (float(part[row, column]) for part in self._sums) if len(self._sums) else (None, None)
            found.append(Cell(values, label, int(self._records[row, column]), weight, squares))
        return tuple(found)
