"""Count tables of labels by group, made from rows: exact."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..domain.deployments import RecordSchema
from ..domain.groups import Group, NamedGroup, combine_groups, groups_of
from ..domain.monitors import Monitor
from ..domain.outcomes import OutcomeRule
from ..domain.training_data import CountedBy, LabelTable, counted_by, watched
from ..errors import InvalidInput
from ..metrics.groups import as_groups
from ..metrics.tables import GroupCounts, RecordStrata
from ..records.cells import Coded, Codes
from ..records.grouping import cross, place
from ..records.outcomes import classify_cells
from .counting import Values
from .labels import convert_label
from .pieces import Part, Piece
from .survey import Seen

SEEN_IN = "the training data"


@dataclass(frozen=True, slots=True)
class StrataOfColumn:
    """The values of the column within which the conditional metrics compare; without an axis, why there are none."""

    column: str
    axis: Values | None
    reason: str | None = None


@dataclass(slots=True)
class RowTable:
    """One table being counted. `groups` are those of each attribute; without, `reason` says why it cannot be counted."""

    counted_by: CountedBy
    groups: dict[str, tuple[Group, ...]]
    named: list[NamedGroup]
    strata: StrataOfColumn | None
    reason: str | None = None
    _counts: GroupCounts | None = field(default=None, init=False)

    def add(self, piece: Piece, positions_of: Mapping[str, Codes], outcomes: Codes) -> None:
        if self.reason is not None:
            return
        codes = cross([positions_of[feature] for feature in self.groups], [len(groups) for groups in self.groups.values()])
        axis = self.strata.axis if self.strata else None
        divided = None if axis is None or self.strata is None else RecordStrata(axis.texts, axis.codes(piece.parts[self.strata.column]))
        counts = GroupCounts.from_records(as_groups(self.named), codes, outcomes, weights=piece.weights, strata=divided)
        self._counts = counts if self._counts is None else GroupCounts.merged([self._counts, counts])

    def table(self) -> LabelTable:
        reason = self.reason or (self.strata.reason if self.strata else None)
        return LabelTable(self.counted_by, None if self._counts is None else self._counts.to_json(), reason)


class RowTables:
    def __init__(self, monitor: Monitor, schema: RecordSchema, seen: Mapping[str, Seen]) -> None:
        self._outcomes = monitor.outcomes
        self._schema = schema
        self._groups: dict[str, tuple[Group, ...]] = {}
        reasons: dict[str, str] = {}
        for attribute in monitor.attributes:
            feature = attribute.feature
            column, values = schema.column(feature), seen.get(feature)
            if column is None or values is None:
                reasons[feature] = f"the training data have no column {feature}"
            elif attribute.reference is None and values.too_many:
                reasons[feature] = f"the reference values of {feature} were left out, and it {values.too_many} in {SEEN_IN}"
            else:
                try:
                    self._groups[feature] = groups_of(attribute, column, values.values.values(), seen_in=SEEN_IN)
                except InvalidInput as error:
                    reasons[feature] = str(error)

        strata = None if monitor.strata is None else _find_strata(monitor.strata, seen)
        self._tables = []
        for attributes in watched(monitor):
            by, features = counted_by(monitor, attributes), [attribute.feature for attribute in attributes]
            reason = next((reasons[feature] for feature in features if feature in reasons), None)
            groups: dict[str, tuple[Group, ...]] = {}
            named: list[NamedGroup] = []
            if reason is None:
                groups = {feature: self._groups[feature] for feature in features}
                try:
                    named = combine_groups(features, [[(group.label, group.role) for group in of_one] for of_one in groups.values()])
                except InvalidInput as error:
                    groups, reason = {}, str(error)
            self._tables.append(RowTable(by, groups, named, strata if reason is None else None, reason))

    def add(self, piece: Piece) -> None:
        outcomes = classify_labels(piece.label, self._outcomes)
        columns = {column.name: column for column in (*self._schema.features, *self._schema.meta)}
        positions_of = {feature: place(groups, columns[feature], piece.parts[feature].cells) for feature, groups in self._groups.items()}
        for table in self._tables:
            table.add(piece, positions_of, outcomes)

    def tables(self) -> tuple[LabelTable, ...]:
        return tuple(table.table() for table in self._tables)


def classify_labels(label: Part, rule: OutcomeRule) -> Codes:
    """Returns the outcome of each row's label; a missing one is unclassified."""
    if isinstance(label.cells, Coded):
        return classify_cells(Coded([convert_label(value, rule) for value in label.cells.values], label.cells.codes), rule)
    return classify_cells(label.cells, rule)


def _find_strata(column: str, seen: Mapping[str, Seen]) -> StrataOfColumn:
    values = seen.get(column)
    if values is None:
        return StrataOfColumn(column, None, f"the training data have no column {column}, whose values are the strata")
    if values.too_many:
        return StrataOfColumn(column, None, f"{column}, whose values are the strata, {values.too_many}")
    return StrataOfColumn(column, Values(list(values.values.values())))
