"""Processes an uploaded file, and keeps no row of it as a whole."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...base.clock import monotonic_seconds
from ...base.encodings import UTF_8
from ...base.errors import InvalidInput
from ...base.values import frozen_by_name, normalised
from ...domain.deployment import Column, Deployment, RecordSchema
from ...domain.groups import EVERYBODY_ELSE, Group, NamedGroup, combine_groups, list_groups
from ...domain.monitor import Monitor
from ...sources.arrays.favourable_scores import CodedCells, classify_cells
from ...sources.arrays.read_records import mix_bits, place
from ...statistics.group_labels import MISSING, Codes, build_groups, cross_codes
from ...statistics.tables.count_table import GroupCounts
from ...statistics.tables.strata_counts import RecordStrata
from .associate_columns import Axis, Correlations, CountedBins, Tally, Values
from .from_distributions import require_outcomes
from .queries import (
    BINS,
    DONORS,
    MAX_DISTRIBUTION_CELLS,
    MAX_DONOR_GROUPS,
    MAX_DONOR_SOURCES,
    MAX_DONOR_VALUES,
    MAX_DONOR_VALUES_TOGETHER,
    MIN_ASSOCIATION,
    Correlated,
    CountedBy,
    Distribution,
    Donor,
    Donors,
    LabelTable,
    TrainingData,
    TrainingForm,
    TrainingSummary,
    counted_by,
    watched,
)
from .read_pieces import LABEL, Layout, Part, Piece, Seen, Survey, find_layout, read_pieces, survey_file
from .typed_column import CsvFile, ParquetFile, TrainingFile, is_quantity

Hashes = npt.NDArray[np.uint64]
RowNumbers = npt.NDArray[np.int32]

MAX_WAITING_ROWS = 65_536


@dataclass(slots=True)
class RowTable:
    counted_by: CountedBy
    features: list[str]
    named: list[NamedGroup]
    reason: str | None
    counts: GroupCounts | None = None


class RowTables:
    """Count tables of labels for the monitor's comparisons, counted from the rows."""

    def __init__(self, monitor: Monitor, schema: RecordSchema, seen_of: Mapping[str, Seen]) -> None:
        self._outcomes = monitor.outcomes
        self._groups: dict[str, tuple[Group, ...]] = {}
        self._columns: dict[str, Column] = {}
        for attribute in monitor.attributes:
            feature = attribute.feature
            column = schema.column(feature)
            values = seen_of.get(feature)
            if column is not None and values is not None:
                is_of_many = attribute.reference is None and values.too_many
                listed = replace(attribute, reference=(EVERYBODY_ELSE,)) if is_of_many else attribute
                self._groups[feature] = list_groups(listed, column, values.values.values())
                self._columns[feature] = column

        self._strata = monitor.strata
        self._axis: Values | None = None
        self._no_strata: str | None = None
        if self._strata is not None:
            values = seen_of.get(self._strata)
            if values is None:
                self._no_strata = (
                    f"the training data have no column {self._strata}, whose values are the strata"
                )
            elif values.too_many:
                self._no_strata = f"{self._strata}, whose values are the strata, {values.too_many}"
            else:
                self._axis = Values(list(values.values.values()))

        self._tables = []
        for attributes in watched(monitor):
            features = [attribute.feature for attribute in attributes]
            named = []
            reason = next(
                (f"the training data have no column {name}" for name in features if name not in self._groups),
                None,
            )
            if reason is None:
                groups = [[(group.label, group.role) for group in self._groups[name]] for name in features]
                try:
                    named = combine_groups(features, groups)
                except InvalidInput as error:
                    reason = str(error)
            self._tables.append(RowTable(counted_by(monitor, attributes), features, named, reason))

    def add(self, piece: Piece) -> None:
        outcomes = classify_cells(piece.label.cells, self._outcomes)
        positions_of = {
            name: place(groups, self._columns[name], piece.parts[name].cells)
            for name, groups in self._groups.items()
        }
        strata = None
        if self._strata is not None and self._axis is not None:
            strata = RecordStrata(self._axis.texts, self._axis.codes(piece.parts[self._strata]))
        for table in self._tables:
            if table.reason is None:
                codes = cross_codes(
                    [positions_of[name] for name in table.features],
                    [len(self._groups[name]) for name in table.features],
                )
                counts = GroupCounts.from_records(
                    build_groups(table.named), codes, outcome=outcomes, weights=piece.weights, strata=strata
                )
                table.counts = counts if table.counts is None else GroupCounts.merge([table.counts, counts])

    def tables(self) -> tuple[LabelTable, ...]:
        return tuple(
            LabelTable(
                table.counted_by,
                None if table.counts is None else table.counts.to_json(),
                table.reason or self._no_strata,
            )
            for table in self._tables
        )


class Distributions:
    """Counts of each column's values with the labels, piece by piece."""

    def __init__(self, layout: Layout, survey: Survey) -> None:
        is_weighted = layout.weight is not None
        labels, self._label_note = _choose_axis(
            survey.labels, LABEL, survey, other_values=1, is_quantity=layout.has_numeric_label
        )
        self._labels = labels or Values([])
        self._by_label = Tally(None, self._labels, is_weighted=is_weighted)
        self._tallies: dict[str, Tally] = {}
        self._notes: dict[str, str | None] = {}
        for column in layout.columns:
            name = column.name
            axis, self._notes[name] = _choose_axis(
                survey.seen[name],
                name,
                survey,
                other_values=self._labels.size + 1,
                is_quantity=is_quantity(column),
            )
            if axis is not None:
                self._tallies[name] = Tally(axis, self._labels, is_weighted=is_weighted)

    def add(self, piece: Piece) -> None:
        labels = self._labels.codes(piece.label)
        self._by_label.add(None, labels, piece.weights)
        for name, tally in self._tallies.items():
            tally.add(piece.parts[name], labels, piece.weights)

    def of_labels(self) -> Distribution:
        return Distribution((), self._by_label.cells(), self._label_note)

    def of_columns(self) -> tuple[Distribution, ...]:
        return tuple(
            Distribution((name,), self._tallies[name].cells() if name in self._tallies else (), note)
            for name, note in self._notes.items()
        )


def _choose_axis(
    seen_values: Seen, name: str, survey: Survey, *, other_values: int, is_quantity: bool
) -> tuple[Axis | None, str | None]:
    too_many = seen_values.too_many
    if too_many is None and len(seen_values.values) * other_values > MAX_DISTRIBUTION_CELLS:
        too_many = f"has more than {MAX_DISTRIBUTION_CELLS:,} combinations of a value and a label"
    if too_many is None:
        return Values(seen_values.sorted()), None
    if is_quantity:
        return CountedBins(
            survey.sample.bounds(name)
        ), f"{too_many}: counted in up to {BINS} intervals of about equally many records"
    return None, f"{too_many}: its values are not kept"


@frozen_by_name
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
    content: TrainingFile = (
        ParquetFile(file) if upload.form is TrainingForm.PARQUET else CsvFile(file, upload.encoding)
    )
    deployment = upload.deployment
    layout = find_layout(
        content,
        deployment.schema,
        deployment.problem_type,
        label=upload.label,
        weight=upload.weight,
        monitor=upload.monitor,
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


class DonorSample:
    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._counts = np.zeros(axis.size, dtype=np.int64)
        # The hash of each place that a record must not exceed.
        self._worst = np.full(axis.size, np.iinfo(np.uint64).max, dtype=np.uint64)
        self._places: RowNumbers = np.empty(0, dtype=np.int32)
        self._rows: RowNumbers = self._places
        self._most = max(min(DONORS, MAX_DONOR_VALUES // (2 * max(min(axis.size, MAX_DONOR_GROUPS), 1))), 1)
        self._waiting: list[tuple[RowNumbers, RowNumbers]] = []
        self._waiting_rows = 0

    def add(self, part: Part, before: int) -> None:
        positions = self._axis.codes(part)
        rows = np.flatnonzero(positions != MISSING)
        positions = positions[rows]
        self._counts += np.bincount(positions, minlength=len(self._counts))
        rows += before
        better = hash_rows(rows) <= self._worst[positions]
        self._waiting.append((positions[better].astype(np.int32), rows[better].astype(np.int32)))
        self._waiting_rows += int(better.sum())
        # Sorting takes longer the more records are kept, so as many must wait for it.
        if self._waiting_rows > max(MAX_WAITING_ROWS, len(self._rows)):
            self._settle()

    def _settle(self) -> None:
        positions = np.concatenate([self._places, *(positions for positions, _ in self._waiting)])
        rows = np.concatenate([self._rows, *(rows for _, rows in self._waiting)])
        hashes = hash_rows(rows)
        smallest = _smallest(positions, hashes, self._most)
        self._places = positions[smallest]
        self._rows = rows[smallest]
        is_full = np.bincount(self._places, minlength=len(self._counts)) == self._most
        worst = np.zeros_like(self._worst)
        np.maximum.at(worst, self._places, hashes[smallest])
        self._worst[is_full] = worst[is_full]
        self._waiting = []
        self._waiting_rows = 0

    def picked(self, most_values: int, columns: int) -> tuple[Codes, npt.NDArray[np.float64]]:
        """Numbers of the records in ascending order, and how many records each represents.

        They are of the most frequent places, equally many of each, and have at most so many values in that
        many columns.
        """
        self._settle()
        frequent = np.argsort(-self._counts, kind="stable")[:MAX_DONOR_GROUPS]
        groups = max(int((self._counts[frequent] > 0).sum()), 1)
        smallest = _smallest(
            self._places, hash_rows(self._rows), min(self._most, max(most_values // (groups * columns), 1))
        )
        smallest = smallest[np.isin(self._places[smallest], frequent)]
        positions = self._places[smallest]
        rows = self._rows[smallest]
        of_place = np.bincount(positions, minlength=len(self._counts))
        order = np.argsort(rows)
        return rows[order].astype(np.int64), (self._counts / np.maximum(of_place, 1))[positions[order]]


class DonorChoice:
    def __init__(self, correlations: Correlations, layout: Layout, survey: Survey) -> None:
        self._layout = layout
        columns = {column.name: column for column in layout.columns}
        self._chosen: dict[str, DonorSample] = {}
        room = MAX_DONOR_SOURCES
        for name in correlations.attributes:
            seen_values = survey.seen[name]
            axis: Axis | None = None
            if is_quantity(columns[name]):
                axis = CountedBins(survey.sample.bounds(name))
            elif not seen_values.too_many:
                axis = Values(seen_values.sorted())
            if axis is not None and axis.size <= room:
                self._chosen[name] = DonorSample(axis)
                room -= axis.size
        self._correlations = correlations
        self._before = 0

    def add(self, piece: Piece) -> None:
        for name, chosen in self._chosen.items():
            chosen.add(piece.parts[name], self._before)
        self._before += piece.rows

    def read(self, file: TrainingFile, schema: RecordSchema) -> tuple[Correlated, ...]:
        associations = {name: self._correlations.of(name) for name in self._correlations.attributes}
        features = {}
        for name, measured in associations.items():
            # Not corrected: a feature that is no stronger than chance may be picked, with a warning.
            strengths = {
                association.feature: association.uncorrected
                for association in measured
                if association.uncorrected is not None
            }
            strong = (
                column for column in schema.features if strengths.get(column.name, 0.0) >= MIN_ASSOCIATION
            )
            features[name] = tuple(strong) if name in self._chosen else ()
        names_of = {
            name: [name, *(column.name for column in strong)] for name, strong in features.items() if strong
        }
        limit = min(MAX_DONOR_VALUES, MAX_DONOR_VALUES_TOGETHER // max(len(names_of), 1))
        picked = {name: self._chosen[name].picked(limit, len(names)) for name, names in names_of.items()}
        cells = self._read_cells(file, {name: rows for name, (rows, _) in picked.items()}, names_of)

        correlated = []
        for name, measured in associations.items():
            donors: tuple[Donor, ...] = ()
            if name in picked:
                donated = zip(cells[name], picked[name][1].tolist(), strict=True)
                donors = tuple(Donor(value, records, tuple(values)) for (value, *values), records in donated)
            kinds = tuple((column.name, column.type) for column in features[name])
            spelled = json.dumps([kinds, [[donor.value, donor.records, *donor.features] for donor in donors]])
            digest = hashlib.blake2b(spelled.encode(), digest_size=16).hexdigest()
            correlated.append(Correlated(name, measured, Donors(kinds, donors, digest)))
        return tuple(correlated)

    def _read_cells(
        self, file: TrainingFile, rows_of: Mapping[str, Codes], names_of: Mapping[str, list[str]]
    ) -> dict[str, list[list[Any]]]:
        cells: dict[str, list[list[Any]]] = {name: [] for name in rows_of}
        if not rows_of:
            return cells
        needed = {name for names in names_of.values() for name in names}
        narrow = replace(
            self._layout,
            columns=tuple(column for column in self._layout.columns if column.name in needed),
            weight=None,
        )
        before = 0
        for piece in read_pieces(file, narrow):
            for name, rows in rows_of.items():
                inside = (
                    rows[np.searchsorted(rows, before) : np.searchsorted(rows, before + piece.rows)] - before
                )
                columns = []
                for read in (piece.parts[column].read for column in names_of[name]):
                    if isinstance(read, CodedCells):
                        # MISSING is -1, the last place.
                        values = [*read.values, None]
                        columns.append([values[code] for code in read.codes[inside].tolist()])
                    else:
                        columns.append(
                            [
                                None if cell is None else normalised(cell)
                                for cell in read.take(inside).to_pylist()
                            ]
                        )
                cells[name] += map(list, zip(*columns, strict=True))
            before += piece.rows
        return cells


def hash_rows(rows: Codes | RowNumbers) -> Hashes:
    return mix_bits(rows.astype(np.uint64) + np.uint64(1))


def _smallest(positions: Codes | RowNumbers, hashes: Hashes, limit: int) -> Codes:
    order = np.lexsort((hashes, positions))
    ordered = positions[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    return order[rank < limit]
