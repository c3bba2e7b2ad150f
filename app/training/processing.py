"""Processes an uploaded file, and keeps no row of it as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import BinaryIO

from ..clock import monotonic_seconds
from ..domain.deployments import Deployment, RecordSchema
from ..domain.encodings import UTF_8
from ..domain.groups import EVERYBODY_ELSE, Group, NamedGroup, combine_groups, groups_of, in_order
from ..domain.monitors import Monitor
from ..domain.training_data import CountedBy, Distribution, LabelTable, TrainingData, TrainingForm, TrainingSummary, counted_by, watched
from ..errors import InvalidInput
from ..frozen import frozen
from ..metrics.groups import as_groups
from ..metrics.tables import GroupCounts, RecordStrata
from ..records.cells import Codes
from ..records.grouping import cross, place
from ..records.outcomes import classify_cells
from .correlations import Correlations
from .counting import Axis, CountedBins, Tally, Values
from .donors import DonorChoice
from .files import CsvFile, ParquetFile, TrainingFile
from .limits import BINS, MOST_CELLS
from .pieces import Layout, Piece, find_layout, read_pieces
from .survey import LABEL, Seen, Survey, survey_file
from .unclassified import require_outcomes


@frozen
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
            else:
                is_of_many = attribute.reference is None and values.too_many
                listed = replace(attribute, reference=(EVERYBODY_ELSE,)) if is_of_many else attribute
                self._groups[feature] = groups_of(listed, column, values.values.values())

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
        outcomes = classify_cells(piece.label.cells, self._outcomes)
        columns = {column.name: column for column in (*self._schema.features, *self._schema.meta)}
        positions_of = {feature: place(groups, columns[feature], piece.parts[feature].cells) for feature, groups in self._groups.items()}
        for table in self._tables:
            table.add(piece, positions_of, outcomes)

    def tables(self) -> tuple[LabelTable, ...]:
        return tuple(table.table() for table in self._tables)


def _find_strata(column: str, seen: Mapping[str, Seen]) -> StrataOfColumn:
    values = seen.get(column)
    if values is None:
        return StrataOfColumn(column, None, f"the training data have no column {column}, whose values are the strata")
    if values.too_many:
        return StrataOfColumn(column, None, f"{column}, whose values are the strata, {values.too_many}")
    return StrataOfColumn(column, Values(list(values.values.values())))


BINNED = f"counted in up to {BINS} intervals of about equally many records"
LEFT_OUT = "its values are not kept"


class Distributions:
    def __init__(self, layout: Layout, survey: Survey) -> None:
        is_weighted = layout.weight is not None
        labels, self._label_note = _axis(survey.labels, LABEL, survey, others=1, is_quantity=layout.has_numeric_label)
        self._labels = labels or Values([])
        self._by_label = Tally(None, self._labels, is_weighted=is_weighted)
        self._axes: dict[str, Axis] = {}
        self._notes: dict[str, str | None] = {}
        for column in layout.columns:
            is_quantity = column.name in layout.quantities
            axis, self._notes[column.name] = _axis(
                survey.seen[column.name], column.name, survey, others=self._labels.size + 1, is_quantity=is_quantity
            )
            if axis is not None:
                self._axes[column.name] = axis
        self._tallies = {name: Tally(axis, self._labels, is_weighted=is_weighted) for name, axis in self._axes.items()}

    def add(self, piece: Piece) -> None:
        labels = self._labels.codes(piece.label)
        self._by_label.add(None, labels, piece.weights)
        for name, tally in self._tallies.items():
            tally.add(self._axes[name].codes(piece.parts[name]), labels, piece.weights)

    def of_labels(self) -> Distribution:
        return Distribution((), self._by_label.cells(), self._label_note)

    def of_columns(self) -> tuple[Distribution, ...]:
        return tuple(
            Distribution((name,), self._tallies[name].cells() if name in self._tallies else (), note) for name, note in self._notes.items()
        )


def _axis(seen: Seen, name: str, survey: Survey, *, others: int, is_quantity: bool) -> tuple[Axis | None, str | None]:
    """Returns the places a column's values are counted at, and a note of their coarseness. `others` are those of the other direction."""
    too_many = seen.too_many
    if too_many is None and len(seen.values) * others > MOST_CELLS:
        too_many = f"has more than {MOST_CELLS:,} combinations of a value and a label"
    if too_many is None:
        return Values(sorted(seen.values.values(), key=in_order)), None
    if is_quantity:
        return CountedBins(survey.sample.bounds(name)), f"{too_many}: {BINNED}"
    return None, f"{too_many}: {LEFT_OUT}"


@frozen(kw_only=True)
class Upload:
    form: TrainingForm
    deployment: Deployment
    monitor: Monitor | None
    label: str
    weight: str | None
    received_at: datetime
    encoding: str = UTF_8


def process_file(file: BinaryIO, upload: Upload) -> TrainingData:
    began = monotonic_seconds()
    content: TrainingFile = ParquetFile(file) if upload.form is TrainingForm.PARQUET else CsvFile(file, upload.encoding)
    deployment = upload.deployment
    layout = find_layout(
        content, deployment.schema, deployment.problem_type, label=upload.label, weight=upload.weight, monitor=upload.monitor
    )
    survey = survey_file(content, layout)
    counted = Distributions(layout, survey)
    tables = None if upload.monitor is None else RowTables(upload.monitor, deployment.schema, survey.seen)
    correlations = Correlations(layout, deployment.schema, survey)
    donors = DonorChoice(correlations, layout, survey)
    for piece in read_pieces(content, layout):
        counted.add(piece)
        correlations.add(piece)
        donors.add(piece)
        if tables is not None:
            tables.add(piece)
    require_outcomes(counted.of_labels(), upload.monitor)
    correlated = donors.read(content, deployment.schema)
    summary = TrainingSummary(
        form=upload.form,
        label=upload.label,
        weight=upload.weight,
        records=survey.records,
        schema_version=deployment.schema.version,
        labels=counted.of_labels(),
        absent=layout.absent,
        processed_at=upload.received_at,
        processing_seconds=monotonic_seconds() - began,
    )
    return TrainingData(summary, counted.of_columns(), () if tables is None else tables.tables(), correlated)
