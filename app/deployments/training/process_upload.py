"""Processes an uploaded file in two passes: its distributions, count tables and associations, then its
donors.

No row is kept as a whole.
"""

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
from ...sources.arrays.read_records import mix_bits, place_in_groups
from ...statistics.group_labels import MISSING, Codes, build_groups, cross_codes
from ...statistics.tables.count_table import GroupCounts
from ...statistics.tables.strata_counts import RecordStrata
from .associate_columns import Axis, BinAxis, Correlations, Tally, ValueAxis
from .from_distributions import require_outcomes
from .queries import (
    MAX_BINS,
    MAX_DISTRIBUTION_CELLS,
    MAX_DONOR_GROUPS,
    MAX_DONOR_SOURCES,
    MAX_DONOR_VALUES,
    MAX_DONOR_VALUES_OF_DEPLOYMENT,
    MAX_DONORS_OF_VALUE,
    MIN_ASSOCIATION,
    AttributeAssociations,
    CountingBasis,
    Distribution,
    Donor,
    Donors,
    LabelTable,
    TrainingData,
    TrainingForm,
    TrainingSummary,
    build_counting_basis,
    list_compared_attributes,
)
from .read_pieces import LABEL, Layout, Part, Piece, SeenValues, Survey, find_layout, read_pieces, survey_file
from .typed_column import CsvFile, ParquetFile, TrainingFile, is_quantity

Hashes = npt.NDArray[np.uint64]
RowNumbers = npt.NDArray[np.int32]

MAX_CANDIDATE_ROWS = 65_536


@dataclass(slots=True)
class RowTable:
    """Count table of one comparison; `reason` says why there is none."""

    counted_by: CountingBasis
    features: list[str]
    named_groups: list[NamedGroup]
    reason: str | None
    counts: GroupCounts | None = None


class RowTables:
    """Count tables of labels for the monitor's comparisons, counted from the rows."""

    def __init__(
        self, monitor: Monitor, schema: RecordSchema, seen_by_column: Mapping[str, SeenValues]
    ) -> None:
        self._outcomes = monitor.outcomes
        self._groups: dict[str, tuple[Group, ...]] = {}
        self._columns: dict[str, Column] = {}
        for attribute in monitor.attributes:
            feature = attribute.feature
            column = schema.column(feature)
            values = seen_by_column.get(feature)
            if column is not None and values is not None:
                has_too_many_values = attribute.reference is None and values.too_many
                attribute_of_groups = (
                    replace(attribute, reference=(EVERYBODY_ELSE,)) if has_too_many_values else attribute
                )
                self._groups[feature] = list_groups(attribute_of_groups, column, values.values.values())
                self._columns[feature] = column

        self._strata = monitor.strata
        self._axis: ValueAxis | None = None
        self._no_strata: str | None = None
        if self._strata is not None:
            values = seen_by_column.get(self._strata)
            if values is None:
                self._no_strata = (
                    f"the training data have no column {self._strata}, whose values are the strata"
                )
            elif values.too_many:
                self._no_strata = f"{self._strata}, whose values are the strata, {values.too_many}"
            else:
                self._axis = ValueAxis(list(values.values.values()))

        self._tables = []
        for attributes in list_compared_attributes(monitor):
            features = [attribute.feature for attribute in attributes]
            named_groups = []
            reason = next(
                (f"the training data have no column {name}" for name in features if name not in self._groups),
                None,
            )
            if reason is None:
                groups = [[(group.label, group.role) for group in self._groups[name]] for name in features]
                try:
                    named_groups = combine_groups(features, groups)
                except InvalidInput as error:
                    reason = str(error)
            self._tables.append(
                RowTable(build_counting_basis(monitor, attributes), features, named_groups, reason)
            )

    def add(self, piece: Piece) -> None:
        outcomes = classify_cells(piece.label.cells, self._outcomes)
        positions_by_feature = {
            name: place_in_groups(groups, self._columns[name], piece.parts[name].cells)
            for name, groups in self._groups.items()
        }
        strata = None
        if self._strata is not None and self._axis is not None:
            strata = RecordStrata(self._axis.texts, self._axis.encode(piece.parts[self._strata]))
        for table in self._tables:
            if table.reason is None:
                codes = cross_codes(
                    [positions_by_feature[name] for name in table.features],
                    [len(self._groups[name]) for name in table.features],
                )
                counts = GroupCounts.from_records(
                    build_groups(table.named_groups),
                    codes,
                    outcome=outcomes,
                    weights=piece.weights,
                    strata=strata,
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
        self._labels = labels or ValueAxis([])
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
        labels = self._labels.encode(piece.label)
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
    seen_values: SeenValues, name: str, survey: Survey, *, other_values: int, is_quantity: bool
) -> tuple[Axis | None, str | None]:
    too_many = seen_values.too_many
    if too_many is None and len(seen_values.values) * other_values > MAX_DISTRIBUTION_CELLS:
        too_many = f"has more than {MAX_DISTRIBUTION_CELLS:,} combinations of a value and a label"
    if too_many is None:
        return ValueAxis(seen_values.sort_values()), None
    if is_quantity:
        return BinAxis(
            survey.sample.find_bin_bounds(name)
        ), f"{too_many}: counted in up to {MAX_BINS} intervals of about equally many records"
    return None, f"{too_many}: its values are not kept"


@frozen_by_name
class Upload:
    """A sent file, and what is to be read in it: `label` and `weight` name columns."""

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
    distributions = Distributions(layout, survey)
    tables = None if upload.monitor is None else RowTables(upload.monitor, deployment.schema, survey.seen)
    correlations = Correlations(layout, deployment.schema, survey)
    donors = DonorChoice(correlations, layout, survey)
    for piece in read_pieces(content, layout):
        distributions.add(piece)
        correlations.add(piece)
        donors.add(piece)
        if tables is not None:
            tables.add(piece)
    require_outcomes(distributions.of_labels(), upload.monitor)
    correlated = donors.read(content, deployment.schema)
    summary = TrainingSummary(
        form=upload.form,
        label=upload.label,
        weight=upload.weight,
        records=survey.records,
        schema_version=deployment.schema.version,
        labels=distributions.of_labels(),
        absent=layout.absent,
        processed_at=upload.received_at,
        processing_seconds=monotonic_seconds() - began,
    )
    return TrainingData(
        summary, distributions.of_columns(), () if tables is None else tables.tables(), correlated
    )


class DonorSample:
    """Random sample of row numbers for each value of an attribute: the rows of the smallest hashes."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._counts = np.zeros(axis.size, dtype=np.int64)
        # A row with a larger hash is not among those of its position.
        self._largest_hashes = np.full(axis.size, np.iinfo(np.uint64).max, dtype=np.uint64)
        self._positions: RowNumbers = np.empty(0, dtype=np.int32)
        self._rows: RowNumbers = self._positions
        self._max_records = max(
            min(MAX_DONORS_OF_VALUE, MAX_DONOR_VALUES // (2 * max(min(axis.size, MAX_DONOR_GROUPS), 1))), 1
        )
        self._candidates: list[tuple[RowNumbers, RowNumbers]] = []
        self._candidate_rows = 0

    def add(self, part: Part, rows_before: int) -> None:
        positions = self._axis.encode(part)
        rows = np.flatnonzero(positions != MISSING)
        positions = positions[rows]
        self._counts += np.bincount(positions, minlength=len(self._counts))
        rows += rows_before
        is_candidate = hash_rows(rows) <= self._largest_hashes[positions]
        self._candidates.append(
            (positions[is_candidate].astype(np.int32), rows[is_candidate].astype(np.int32))
        )
        self._candidate_rows += int(is_candidate.sum())
        # Sorting takes longer the more records are kept, so as many must wait for it.
        if self._candidate_rows > max(MAX_CANDIDATE_ROWS, len(self._rows)):
            self._settle()

    def _settle(self) -> None:
        positions = np.concatenate([self._positions, *(positions for positions, _ in self._candidates)])
        rows = np.concatenate([self._rows, *(rows for _, rows in self._candidates)])
        hashes = hash_rows(rows)
        smallest = _find_smallest_hashes(positions, hashes, self._max_records)
        self._positions = positions[smallest]
        self._rows = rows[smallest]
        is_full = np.bincount(self._positions, minlength=len(self._counts)) == self._max_records
        largest_hashes = np.zeros_like(self._largest_hashes)
        np.maximum.at(largest_hashes, self._positions, hashes[smallest])
        self._largest_hashes[is_full] = largest_hashes[is_full]
        self._candidates = []
        self._candidate_rows = 0

    def choose_records(self, max_values: int, columns: int) -> tuple[Codes, npt.NDArray[np.float64]]:
        """Chooses row numbers, ascending, equally many of each frequent value; returns with each the number
        of records that it represents.

        Together they have at most `max_values` values in `columns` columns.
        """
        self._settle()
        frequent = np.argsort(-self._counts, kind="stable")[:MAX_DONOR_GROUPS]
        groups = max(int((self._counts[frequent] > 0).sum()), 1)
        smallest = _find_smallest_hashes(
            self._positions,
            hash_rows(self._rows),
            min(self._max_records, max(max_values // (groups * columns), 1)),
        )
        smallest = smallest[np.isin(self._positions[smallest], frequent)]
        positions = self._positions[smallest]
        rows = self._rows[smallest]
        records_by_position = np.bincount(positions, minlength=len(self._counts))
        order = np.argsort(rows)
        return rows[order].astype(np.int64), (self._counts / np.maximum(records_by_position, 1))[
            positions[order]
        ]


class DonorChoice:
    """Choice of the rows whose features a copy of a meta field may take, and the reading of these."""

    def __init__(self, correlations: Correlations, layout: Layout, survey: Survey) -> None:
        self._layout = layout
        columns = {column.name: column for column in layout.columns}
        self._samples: dict[str, DonorSample] = {}
        free_positions = MAX_DONOR_SOURCES
        for name in correlations.attributes:
            seen_values = survey.seen[name]
            axis: Axis | None = None
            if is_quantity(columns[name]):
                axis = BinAxis(survey.sample.find_bin_bounds(name))
            elif not seen_values.too_many:
                axis = ValueAxis(seen_values.sort_values())
            if axis is not None and axis.size <= free_positions:
                self._samples[name] = DonorSample(axis)
                free_positions -= axis.size
        self._correlations = correlations
        self._rows_before = 0

    def add(self, piece: Piece) -> None:
        for name, sample in self._samples.items():
            sample.add(piece.parts[name], self._rows_before)
        self._rows_before += piece.rows

    def read(self, file: TrainingFile, schema: RecordSchema) -> tuple[AttributeAssociations, ...]:
        associations = {
            name: self._correlations.measure_attribute(name) for name in self._correlations.attributes
        }
        features = {}
        for name, measured in associations.items():
            # Not corrected: a feature that is no stronger than chance may be picked, with a warning.
            strengths = {
                association.feature: association.uncorrected
                for association in measured
                if association.uncorrected is not None
            }
            strong_features = (
                column for column in schema.features if strengths.get(column.name, 0.0) >= MIN_ASSOCIATION
            )
            features[name] = tuple(strong_features) if name in self._samples else ()
        columns_by_attribute = {
            name: [name, *(column.name for column in strong_features)]
            for name, strong_features in features.items()
            if strong_features
        }
        limit = min(MAX_DONOR_VALUES, MAX_DONOR_VALUES_OF_DEPLOYMENT // max(len(columns_by_attribute), 1))
        chosen = {
            name: self._samples[name].choose_records(limit, len(names))
            for name, names in columns_by_attribute.items()
        }
        cells = self._read_cells(
            file, {name: rows for name, (rows, _) in chosen.items()}, columns_by_attribute
        )

        correlated = []
        for name, measured in associations.items():
            donors: tuple[Donor, ...] = ()
            if name in chosen:
                donated = zip(cells[name], chosen[name][1].tolist(), strict=True)
                donors = tuple(Donor(value, records, tuple(values)) for (value, *values), records in donated)
            features_with_types = tuple((column.name, column.type) for column in features[name])
            spelled = json.dumps(
                [features_with_types, [[donor.value, donor.records, *donor.features] for donor in donors]]
            )
            digest = hashlib.blake2b(spelled.encode(), digest_size=16).hexdigest()
            correlated.append(
                AttributeAssociations(name, measured, Donors(features_with_types, donors, digest))
            )
        return tuple(correlated)

    def _read_cells(
        self,
        file: TrainingFile,
        rows_by_attribute: Mapping[str, Codes],
        columns_by_attribute: Mapping[str, list[str]],
    ) -> dict[str, list[list[Any]]]:
        cells: dict[str, list[list[Any]]] = {name: [] for name in rows_by_attribute}
        if not rows_by_attribute:
            return cells
        needed = {name for names in columns_by_attribute.values() for name in names}
        narrow_layout = replace(
            self._layout,
            columns=tuple(column for column in self._layout.columns if column.name in needed),
            weight=None,
        )
        rows_before = 0
        for piece in read_pieces(file, narrow_layout):
            for name, rows in rows_by_attribute.items():
                inside = (
                    rows[np.searchsorted(rows, rows_before) : np.searchsorted(rows, rows_before + piece.rows)]
                    - rows_before
                )
                columns = []
                for cell_values in (piece.parts[column].values for column in columns_by_attribute[name]):
                    if isinstance(cell_values, CodedCells):
                        # MISSING is -1, the last place.
                        values = [*cell_values.values, None]
                        columns.append([values[code] for code in cell_values.codes[inside].tolist()])
                    else:
                        columns.append(
                            [
                                None if cell is None else normalised(cell)
                                for cell in cell_values.take(inside).to_pylist()
                            ]
                        )
                cells[name] += map(list, zip(*columns, strict=True))
            rows_before += piece.rows
        return cells


def hash_rows(rows: Codes | RowNumbers) -> Hashes:
    # A row has the same hash in every upload of the file.
    return mix_bits(rows.astype(np.uint64) + np.uint64(1))


def _find_smallest_hashes(positions: Codes | RowNumbers, hashes: Hashes, limit: int) -> Codes:
    order = np.lexsort((hashes, positions))
    ordered = positions[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    return order[rank < limit]
