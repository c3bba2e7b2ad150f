"""The second pass over a file: values with each label, and associations of meta fields with features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...base.values import GroupValue, Range, Scalar, canonical
from ...domain.deployment import Column, FieldType, RecordSchema
from ...sources.arrays.association import AbsolutePearson, AssociationCounts, CorrelationRatio, CramersV
from ...statistics.group_labels import MISSING, Codes
from ...statistics.intervals.verdicts import Undefined
from ...statistics.tables.strata_counts import count_keys
from .queries import (
    MAX_COLUMN_PAIRS,
    MAX_DISTRIBUTION_CELLS,
    MAX_PAIR_CELLS,
    Association,
    AssociationMeasure,
    Cell,
)
from .read_pieces import Layout, Part, Piece, Survey
from .typed_column import Numbers, is_quantity

TOO_MANY_PAIRS = (
    f"only the first {MAX_COLUMN_PAIRS:,} pairs of a meta field and a feature, in the order of the "
    "schema, are compared"
)
TOO_MANY_CELLS = (
    f"the pairs of columns before it hold all the {MAX_PAIR_CELLS:,} combinations of values "
    "that are counted at once"
)

MEASURES = tuple(AssociationMeasure)

_HALF_BITS = 32
_HALF = 2**_HALF_BITS


class ValueAxis:
    """Axis of a count table with a position for each value."""

    def __init__(self, values: Sequence[Scalar]) -> None:
        self._values = values
        self._positions = {canonical(value): position for position, value in enumerate(values)}

    @property
    def size(self) -> int:
        return len(self._values)

    def value(self, position: int) -> GroupValue:
        return self._values[position]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._positions)

    def encode(self, part: Part) -> Codes:
        coded = part.coded()
        return coded.spread((self._positions[canonical(value)] for value in coded.values), missing=MISSING)


class BinAxis:
    """Axis of a count table with a position for each interval; it narrows them to the numbers that occur."""

    def __init__(self, bounds: Numbers) -> None:
        self._bounds = bounds
        self._lowest = np.full(len(bounds) + 1, np.inf)
        self._highest = np.full(len(bounds) + 1, -np.inf)

    @property
    def size(self) -> int:
        return len(self._lowest)

    def value(self, position: int) -> GroupValue:
        return Range(float(self._lowest[position]), float(self._highest[position]))

    def encode(self, part: Part) -> Codes:
        numbers = part.floats()
        # NaN is a missing number; a search would put it into the last bin.
        is_finite = np.isfinite(numbers)
        bins = np.searchsorted(self._bounds, numbers[is_finite], side="left")
        np.minimum.at(self._lowest, bins, numbers[is_finite])
        np.maximum.at(self._highest, bins, numbers[is_finite])
        codes = np.full(len(numbers), MISSING, dtype=np.int64)
        codes[is_finite] = bins
        return codes


Axis = ValueAxis | BinAxis


class Tally:
    """Records by value and label, and their weights; the last position of both is of missing ones."""

    def __init__(self, values: Axis | None, labels: Axis, *, is_weighted: bool) -> None:
        self._values = values
        self._labels = labels
        self._shape = ((values.size if values else 0) + 1, labels.size + 1)
        self._records = np.zeros(self._shape, dtype=np.int64)
        self._sums = np.zeros((2 if is_weighted else 0, *self._shape))

    def add(self, part: Part | None, labels: Codes, weights: Numbers | None) -> None:
        rows, columns = self._shape
        # MISSING is -1: the remainder is the last place.
        key = labels % columns
        if part is not None and self._values is not None:
            key += self._values.encode(part) % rows * columns
        records, weighting = count_keys(key, self._shape, weights)
        self._records += records
        if weighting is not None:
            self._sums += [weighting.weights, weighting.squares]

    def cells(self) -> tuple[Cell, ...]:
        cells = []
        for row, column in zip(*(indices.tolist() for indices in np.nonzero(self._records)), strict=True):
            values: tuple[GroupValue | None, ...] = ()
            if self._values is not None:
                values = (self._values.value(row) if row < self._values.size else None,)
            label = self._labels.value(column) if column < self._labels.size else None
            weight, squares = (
                (float(sums[row, column]) for sums in self._sums) if len(self._sums) else (None, None)
            )
            cells.append(Cell(values, label, int(self._records[row, column]), weight, squares))
        return tuple(cells)


@dataclass(slots=True)
class _PairedColumn:
    """Column of a pair: its categories or, where they are too many, the reason why it is not compared."""

    column: Column
    categories: ValueAxis | None = None
    reason: str | None = None
    first: int | None = None
    """First whole number, from which the others are measured."""

    def numbers(self, part: Part) -> Numbers:
        """Of whole ones the distance from the first, as double precision may not distinguish them."""
        floats = part.floats()
        finite_rows = np.flatnonzero(np.isfinite(floats))
        if self.column.type is not FieldType.INTEGER or not len(finite_rows):
            return floats
        # By halves, because a difference of two 64-bit numbers may not fit in a third.
        integers = part.integers()
        if self.first is None:
            self.first = int(integers[finite_rows[0]])
        high, low = divmod(self.first, _HALF)
        distances = ((integers >> _HALF_BITS) - high).astype(np.float64) * _HALF + (
            (integers & (_HALF - 1)) - low
        )
        return np.where(np.isfinite(floats), distances, np.nan)

    @property
    def is_quantity(self) -> bool:
        return is_quantity(self.column)

    @property
    def size(self) -> int:
        return 1 if self.categories is None else self.categories.size


@dataclass(slots=True)
class _Pair:
    meta: _PairedColumn
    feature: _PairedColumn
    counts: AssociationCounts | str

    def measure(self, records: int) -> Association:
        strength = Undefined(self.counts, 0) if isinstance(self.counts, str) else self.counts.strength()
        compared = 0 if isinstance(self.counts, str) else self.counts.records
        association = Association(
            feature=self.feature.column.name,
            measure=MEASURES[self.meta.is_quantity + self.feature.is_quantity],
            records=compared,
            left_out=records - compared,
        )
        if isinstance(strength, Undefined):
            return replace(association, reason=strength.reason)
        return replace(
            association,
            strength=strength.corrected,
            chance_level=strength.chance_level,
            uncorrected=strength.uncorrected,
        )


class Correlations:
    """Associations of each meta field with each feature, counted piece by piece."""

    def __init__(self, layout: Layout, schema: RecordSchema, survey: Survey) -> None:
        columns = {}
        for column in layout.columns:
            seen_values = survey.seen[column.name]
            if is_quantity(column):
                columns[column.name] = _PairedColumn(column)
            elif seen_values.too_many is not None:
                columns[column.name] = _PairedColumn(column, reason=f"{column.name} {seen_values.too_many}")
            else:
                columns[column.name] = _PairedColumn(column, ValueAxis(seen_values.sort_values()))
        self.attributes = tuple(column.name for column in schema.meta if column.name in columns)
        self._columns = columns if self.attributes else {}
        self._free_cells = MAX_PAIR_CELLS
        self._pairs: dict[str, list[_Pair]] = {name: [] for name in self.attributes}
        for name, pairs in self._pairs.items():
            for feature in schema.features:
                pairs.append(self._plan_pair(columns[name], columns[feature.name]))
        self._records = 0

    def add(self, piece: Piece) -> None:
        codes = {
            name: paired.categories.encode(piece.parts[name])
            for name, paired in self._columns.items()
            if paired.categories is not None
        }
        numbers = {
            name: paired.numbers(piece.parts[name])
            for name, paired in self._columns.items()
            if paired.is_quantity
        }
        for pairs in self._pairs.values():
            for pair in pairs:
                meta = pair.meta.column.name
                feature = pair.feature.column.name
                match pair.counts:
                    case CramersV() as counts:
                        counts.add(codes[meta], codes[feature])
                    case CorrelationRatio() as counts:
                        category, quantity = (meta, feature) if meta in codes else (feature, meta)
                        counts.add(codes[category], numbers[quantity])
                    case AbsolutePearson() as counts:
                        counts.add(numbers[meta], numbers[feature])
        self._records += piece.rows

    def measure_attribute(self, attribute: str) -> tuple[Association, ...]:
        return tuple(pair.measure(self._records) for pair in self._pairs[attribute])

    def _plan_pair(self, meta: _PairedColumn, feature: _PairedColumn) -> _Pair:
        cells = meta.size * feature.size
        reason = meta.reason or feature.reason
        if reason is None and cells > MAX_DISTRIBUTION_CELLS:
            reason = (
                f"{meta.column.name} and {feature.column.name} have more than {MAX_DISTRIBUTION_CELLS:,} "
                "combinations of values"
            )
        if reason is None and sum(map(len, self._pairs.values())) >= MAX_COLUMN_PAIRS:
            reason = TOO_MANY_PAIRS
        if reason is None and cells > self._free_cells:
            reason = TOO_MANY_CELLS
        if reason is not None:
            return _Pair(meta, feature, reason)
        self._free_cells -= cells
        counts: AssociationCounts
        if meta.is_quantity and feature.is_quantity:
            counts = AbsolutePearson()
        elif meta.is_quantity or feature.is_quantity:
            counts = CorrelationRatio(cells)
        else:
            counts = CramersV(meta.size, feature.size)
        return _Pair(meta, feature, counts)
