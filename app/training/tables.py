"""Count tables of labels by group, made from rows: exact for attributes, intersections and strata alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.domain.deployments import RecordSchema
from app.domain.groups import Group, NamedGroup, groups_of, positions, together
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.training_data import CountedBy, LabelTable, counted_by, watched
from app.domain.values import Range
from app.errors import InvalidInput
from app.metrics.groups import NEITHER
from app.metrics.tables import GroupCounts
from app.training.columns import Coded, Codes, Numbers
from app.training.counting import Values
from app.training.labels import outcome_of
from app.training.pieces import Part, Piece
from app.training.survey import Seen

SEEN_IN = "the training data"


@dataclass(frozen=True, slots=True)
class StrataOfColumn:
    """The values of the column within which the conditional metrics compare; without an axis, why there are none."""

    column: str
    axis: Values | None
    reason: str | None = None


@dataclass(slots=True)
class RowTable:
    """One table being counted. `groups` are those of each of its attributes; without, `reason` says why it cannot be counted."""

    counted_by: CountedBy
    groups: dict[str, tuple[Group, ...]]
    named: list[NamedGroup]
    strata: StrataOfColumn | None
    reason: str | None = None
    _counts: GroupCounts | None = field(default=None, init=False)

    def add(self, piece: Piece, positions_of: Mapping[str, Codes], outcomes: Codes) -> None:
        """Counts one piece. `positions_of` each attribute are the positions of its records' groups."""
        if self.reason is not None:
            return
        codes = np.zeros(piece.rows, dtype=np.int64)
        neither = np.zeros(piece.rows, dtype=np.bool_)
        for feature, groups in self.groups.items():
            neither |= positions_of[feature] == NEITHER
            codes = codes * len(groups) + positions_of[feature]
        axis = self.strata.axis if self.strata else None
        divided = None if axis is None or self.strata is None else (axis.texts, axis.codes(piece.parts[self.strata.column]))
        counts = GroupCounts.from_records(self.named, np.where(neither, NEITHER, codes), outcomes, weights=piece.weights, strata=divided)
        self._counts = counts if self._counts is None else GroupCounts.merged([self._counts, counts])

    def table(self) -> LabelTable:
        """The table, once everything is counted."""
        reason = self.reason or (self.strata.reason if self.strata else None)
        return LabelTable(self.counted_by, None if self._counts is None else self._counts.to_json(), reason)


class RowTables:
    """All tables of a monitor. `seen` are the values of each column that is there."""

    def __init__(self, monitor: Monitor, schema: RecordSchema, seen: Mapping[str, Seen]) -> None:
        self._outcomes = monitor.outcomes
        self._schema = schema
        self._groups: dict[str, tuple[Group, ...] | str] = {
            attribute.feature: _groups_or_reason(attribute, schema, seen) for attribute in monitor.attributes
        }
        strata = None if monitor.strata is None else _strata(monitor.strata, seen)
        self._tables = [self._planned(counted_by(monitor, attributes), attributes, strata) for attributes in watched(monitor)]

    def add(self, piece: Piece) -> None:
        """Counts one piece into each of them."""
        outcomes = outcome_codes(piece.label, self._outcomes)
        positions_of = {
            feature: self._positions(feature, groups, piece.parts[feature])
            for feature, groups in self._groups.items()
            if not isinstance(groups, str)
        }
        for table in self._tables:
            table.add(piece, positions_of, outcomes)

    def tables(self) -> tuple[LabelTable, ...]:
        """The tables, once everything is counted."""
        return tuple(table.table() for table in self._tables)

    def _planned(self, by: CountedBy, attributes: Sequence[MonitoredAttribute], strata: StrataOfColumn | None) -> RowTable:
        groups: dict[str, tuple[Group, ...]] = {}
        for attribute in attributes:
            found = self._groups[attribute.feature]
            if isinstance(found, str):
                return RowTable(by, {}, [], None, found)
            groups[attribute.feature] = found
        try:
            named = together(list(groups), [[(group.label, group.role) for group in of_one] for of_one in groups.values()])
        except InvalidInput as error:
            return RowTable(by, {}, [], None, str(error))
        return RowTable(by, groups, named, strata)

    def _positions(self, feature: str, groups: Sequence[Group], part: Part) -> Codes:
        """Per row the position of its group, or NEITHER."""
        ranges = [group.value for group in groups if isinstance(group.value, Range)]
        if len(ranges) == len(groups) and not isinstance(part.read, Coded):
            # What `positions` says one by one, for columns in which nearly every number is another.
            numbers = part.floats()
            return np.select([_inside(numbers, bounds) for bounds in ranges], list(range(len(ranges))), NEITHER).astype(np.int64)
        column, piece = self._schema.column(feature), part.coded()
        found = positions(groups, column, piece.values) if column else ()
        return np.array([*found, NEITHER], dtype=np.int64)[piece.codes]


def outcome_codes(label: Part, rule: OutcomeRule) -> Codes:
    """The outcome of each row's label; a missing one is unclassified."""
    if any(isinstance(member, Range) for member in (*rule.favourable, *rule.unfavourable)) and not isinstance(label.read, Coded):
        numbers = label.floats()
        inside = [_in_any(numbers, members) for members in (rule.favourable, rule.unfavourable)]
        return np.select(inside, [int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE)], int(Outcome.UNCLASSIFIED)).astype(np.int64)
    piece = label.coded()
    codes = [int(outcome_of(value, rule)) for value in piece.values]
    return np.array([*codes, int(Outcome.UNCLASSIFIED)], dtype=np.int64)[piece.codes]


def _in_any(numbers: Numbers, members: Sequence[object]) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(numbers), dtype=np.bool_)
    for member in members:
        if isinstance(member, Range):
            inside |= _inside(numbers, member)
    return inside


def _inside(numbers: Numbers, bounds: Range) -> npt.NDArray[np.bool_]:
    return (numbers >= bounds.lo) & (numbers <= bounds.hi)


def _groups_or_reason(attribute: MonitoredAttribute, schema: RecordSchema, seen: Mapping[str, Seen]) -> tuple[Group, ...] | str:
    column, values = schema.column(attribute.feature), seen.get(attribute.feature)
    if column is None or values is None:
        return f"the training data have no column {attribute.feature}"
    if attribute.reference is None and values.too_many:
        return f"the reference values of {attribute.feature} were left out, and it {values.too_many} in {SEEN_IN}"
    try:
        return groups_of(attribute, column, values.values.values(), seen_in=SEEN_IN)
    except InvalidInput as error:
        return str(error)


def _strata(column: str, seen: Mapping[str, Seen]) -> StrataOfColumn:
    values = seen.get(column)
    if values is None:
        return StrataOfColumn(column, None, f"the training data have no column {column}, whose values are the strata")
    if values.too_many:
        return StrataOfColumn(column, None, f"{column}, whose values are the strata, {values.too_many}")
    return StrataOfColumn(column, Values(list(values.values.values())))
