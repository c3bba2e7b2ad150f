"""The association of every meta field of a file with every feature of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from app.domain.deployments import Column, FieldType, RecordSchema
from app.domain.groups import in_order
from app.domain.training_data import Association, AssociationMeasure
from app.metrics.values import Undefined
from app.training import association
from app.training.association import AbsolutePearson, CorrelationRatio, CramersV
from app.training.columns import Codes, Numbers, is_quantity
from app.training.counting import Values
from app.training.limits import MOST_CELLS, MOST_PAIR_CELLS, MOST_PAIRS
from app.training.pieces import Layout, Part, Piece
from app.training.survey import Survey

TOO_MANY_PAIRS = f"only the first {MOST_PAIRS:,} pairs of a meta field and a feature, in the order of the schema, are compared"
TOO_MANY_CELLS = f"the pairs of columns before it hold all the {MOST_PAIR_CELLS:,} combinations of values that are counted at once"

HALF_BITS = 32
HALF = 2**HALF_BITS
"""Half of a 64-bit number."""


@dataclass(slots=True)
class _Side:
    """A column as it is compared: a quantity, or categories with their places; `reason` says why it cannot be."""

    column: Column
    categories: Values | None
    reason: str | None
    _first: int | None = field(init=False, default=None)

    def numbers(self, part: Part) -> Numbers:
        """The quantity, of whole numbers how far each is above the first one of the file: none of the measures sees the difference.

        Whole numbers may be larger than double precision tells apart.
        """
        floats = part.floats()
        known = np.flatnonzero(np.isfinite(floats))
        if self.column.type is not FieldType.INTEGER or not len(known):
            return floats
        # By halves, lest a difference of two 64-bit numbers has no room in a third.
        whole = part.whole()
        if self._first is None:
            self._first = int(whole[known[0]])
        high, low = divmod(self._first, HALF)
        apart = ((whole >> HALF_BITS) - high).astype(np.float64) * HALF + ((whole & (HALF - 1)) - low)
        return np.where(np.isfinite(floats), apart, np.nan)

    @property
    def is_quantity(self) -> bool:
        return is_quantity(self.column)

    @property
    def size(self) -> int:
        return 1 if self.categories is None else self.categories.size


@dataclass(slots=True)
class _Pair:
    """A meta field and a feature, being counted."""

    meta: _Side
    feature: _Side
    counted: association.Association | None
    reason: str | None

    def found(self, records: int) -> Association:
        found = Undefined(self.reason or "", 0) if self.counted is None else self.counted.strength()
        compared = 0 if self.counted is None else self.counted.records
        measured = None if isinstance(found, Undefined) else found
        return Association(
            feature=self.feature.column.name,
            measure=measure_of(self.meta.column, self.feature.column),
            strength=None if measured is None else measured.corrected,
            chance_level=None if measured is None else measured.chance_level,
            uncorrected=None if measured is None else measured.uncorrected,
            records=compared,
            left_out=records - compared,
            reason=found.reason if isinstance(found, Undefined) else None,
        )


class Correlations:
    """What is being counted: each pair of a meta field that is in the file and a feature."""

    def __init__(self, layout: Layout, schema: RecordSchema, survey: Survey) -> None:
        sides = {column.name: _side(column, survey) for column in layout.columns}
        self.attributes = tuple(column.name for column in schema.meta if column.name in sides)
        self._sides = sides if self.attributes else {}
        self._room = MOST_PAIR_CELLS
        self._pairs: dict[str, list[_Pair]] = {name: [] for name in self.attributes}
        for name, pairs in self._pairs.items():
            for feature in schema.features:
                pairs.append(self._pair(sides[name], sides[feature.name]))
        self._records = 0

    def add(self, piece: Piece) -> None:
        """Counts one piece."""
        codes = {name: side.categories.codes(piece.parts[name]) for name, side in self._sides.items() if side.categories is not None}
        numbers = {name: side.numbers(piece.parts[name]) for name, side in self._sides.items() if side.is_quantity}
        for pairs in self._pairs.values():
            for pair in pairs:
                _count(pair, codes, numbers)
        self._records += piece.rows

    def of(self, attribute: str) -> tuple[Association, ...]:
        """The meta field's association with each feature, in the order of the schema."""
        return tuple(pair.found(self._records) for pair in self._pairs[attribute])

    def _pair(self, meta: _Side, feature: _Side) -> _Pair:
        cells = meta.size * feature.size
        reason = meta.reason or feature.reason
        if reason is None and cells > MOST_CELLS:
            reason = f"{meta.column.name} and {feature.column.name} have more than {MOST_CELLS:,} combinations of values"
        if reason is None and sum(map(len, self._pairs.values())) >= MOST_PAIRS:
            reason = TOO_MANY_PAIRS
        if reason is None and cells > self._room:
            reason = TOO_MANY_CELLS
        if reason is not None:
            return _Pair(meta, feature, None, reason)
        self._room -= cells
        return _Pair(meta, feature, _counted(meta, feature), None)


def measure_of(meta: Column, feature: Column) -> AssociationMeasure:
    """By which measure the two are compared."""
    quantities = is_quantity(meta) + is_quantity(feature)
    return (AssociationMeasure.CRAMERS_V, AssociationMeasure.CORRELATION_RATIO, AssociationMeasure.ABSOLUTE_PEARSON)[quantities]


def _side(column: Column, survey: Survey) -> _Side:
    if is_quantity(column):
        return _Side(column, None, None)
    seen = survey.seen[column.name]
    if seen.too_many is not None:
        return _Side(column, None, f"{column.name} {seen.too_many}")
    return _Side(column, Values(sorted(seen.values.values(), key=in_order)), None)


def _counted(meta: _Side, feature: _Side) -> association.Association:
    quantities: Sequence[_Side] = [side for side in (meta, feature) if side.is_quantity]
    if not quantities:
        return CramersV(meta.size, feature.size)
    return AbsolutePearson() if len(quantities) > 1 else CorrelationRatio(meta.size * feature.size)


def _count(pair: _Pair, codes: dict[str, Codes], numbers: dict[str, Numbers]) -> None:
    meta, feature = pair.meta.column.name, pair.feature.column.name
    match pair.counted:
        case CramersV() as counted:
            counted.add(codes[meta], codes[feature])
        case CorrelationRatio() as counted:
            category, quantity = (meta, feature) if meta in codes else (feature, meta)
            counted.add(codes[category], numbers[quantity])
        case AbsolutePearson() as counted:
            counted.add(numbers[meta], numbers[feature])
