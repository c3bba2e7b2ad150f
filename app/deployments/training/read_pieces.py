"""Reads a file piece by piece, and looks through it for the values of each column."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...base.errors import FieldProblem, InvalidInput, TooLarge, refuse
from ...base.values import Scalar, canonical, frozen, frozen_by_name, quote_names
from ...domain.deployment import Column, FieldType, ProblemType, RecordSchema, StorageKind, build_sent_column
from ...domain.groups import make_sort_key
from ...domain.monitor import Monitor
from ...domain.storage_rules import build_label_finder
from ...sources.arrays.favourable_scores import Cells, CodedCells, NumberCells
from ...statistics.group_labels import MISSING, Codes
from .queries import (
    MAX_BINS,
    MAX_COUNTED_VALUES,
    MAX_RECORDS,
    MAX_SAMPLED_RECORDS,
    MAX_VALUE_CHARACTERS,
    MAX_WEIGHT,
    MIN_WEIGHT,
)
from .typed_column import (
    Numbers,
    TrainingFile,
    find_type_problem,
    is_numeric,
    is_quantity,
    read_categories,
    read_classes,
    read_numbers,
)

LABEL = ""
"""In place of a column's name: the label."""


class Part:
    """Values of a column in a piece: coded, or numbers as they are."""

    def __init__(self, values: CodedCells | pa.Array) -> None:
        self.values = values
        self.cells: Cells = values if isinstance(values, CodedCells) else NumberCells(values)

    def coded(self) -> CodedCells:
        return self.cells.coded()

    def floats(self) -> Numbers:
        return NumberCells(self.values).floats()

    def integers(self) -> Codes:
        numbers: pa.Array = self.values
        return np.asarray(numbers.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


@frozen
class Piece:
    """Rows of a file that are read at once, by column."""

    rows: int
    parts: Mapping[str, Part]
    label: Part
    weights: Numbers | None


@frozen_by_name
class Layout:
    """Columns of a file that are read, and their types. `absent` are the meta fields that are not in it.

    `has_typed_label`: the file says the label's type, or the monitor lists texts, so that its text is text.
    """

    columns: tuple[Column, ...]
    absent: tuple[str, ...]
    label: str
    weight: str | None
    has_numeric_label: bool
    has_typed_label: bool


def find_layout(
    file: TrainingFile,
    schema: RecordSchema,
    problem_type: ProblemType,
    *,
    label: str,
    weight: str | None,
    monitor: Monitor | None = None,
) -> Layout:
    file_columns = frozenset(file.names)
    problems = [
        FieldProblem(argument, f"the file has no column {name!r:.210}; it has {quote_names(file.names)}")
        for argument, name in (("label", label), ("weight", weight))
        if name is not None and name not in file_columns
    ]
    # Weighing records by a compared column would measure something else.
    if weight is not None and weight == label:
        problems.append(FieldProblem("weight", f"{weight!r:.210} is the column of the label"))
    elif weight in [attribute.feature for attribute in (monitor.attributes if monitor else ())]:
        problems.append(
            FieldProblem(
                "weight", f"{weight!r:.210} is an attribute of the monitor, by which groups are compared"
            )
        )
    problems += [
        FieldProblem(
            f"columns.{column.name}", "is a feature of the deployment, but the file has no such column"
        )
        for column in schema.features
        if column.name not in file_columns and not _has_pseudonyms(column)
    ]
    # The counts of a column of pseudonyms, which identify people, would be a list of them.
    all_columns = schema.columns
    columns = tuple(
        column for column in all_columns if column.name in file_columns and not _has_pseudonyms(column)
    )
    label_type = FieldType.NUMBER if problem_type is ProblemType.REGRESSION else None
    expected_types = [
        *((column.name, column.sent) for column in columns),
        (label, label_type),
        *([(weight, FieldType.NUMBER)] if weight else []),
    ]
    type_problems = (
        find_type_problem(name, kind, file.types[name]) for name, kind in expected_types if name in file.types
    )
    problems += [problem for problem in type_problems if problem is not None]
    refuse(problems)
    has_typed_label = label in file.types or (
        monitor is not None and isinstance(monitor.outcomes.favourable[0], str)
    )
    return Layout(
        columns=columns,
        absent=tuple(column.name for column in all_columns if column not in columns),
        label=label,
        weight=weight,
        has_numeric_label=label_type is not None,
        has_typed_label=has_typed_label,
    )


def read_pieces(file: TrainingFile, layout: Layout) -> Iterator[Piece]:
    names = dict.fromkeys(
        [
            *(column.name for column in layout.columns),
            layout.label,
            *([layout.weight] if layout.weight else []),
        ]
    )
    rows_before = 0
    for batch in file.batches(list(names)):
        if rows_before + batch.num_rows > MAX_RECORDS:
            raise TooLarge(f"The file holds more than {MAX_RECORDS:,} records. Send a sample of them.")
        parts = {
            column.name: _read_part(column, batch.column(column.name), rows_before)
            for column in layout.columns
        }
        labels = batch.column(layout.label)
        label = Part(
            read_numbers(layout.label, FieldType.NUMBER, labels, rows_before)
            if layout.has_numeric_label
            else read_classes(layout.label, labels, rows_before, is_typed=layout.has_typed_label)
        )
        weights = None
        if layout.weight is not None:
            weights = NumberCells(
                read_numbers(layout.weight, FieldType.NUMBER, batch.column(layout.weight), rows_before)
            ).floats()
            invalid_rows = np.flatnonzero(
                ~((weights == 0) | ((weights >= MIN_WEIGHT) & (weights <= MAX_WEIGHT)))
            )
            if len(invalid_rows):
                shown = "none" if np.isnan(weights[invalid_rows[0]]) else weights[invalid_rows[0]]
                reason = f"must be 0 or a weight between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}, found {shown}"
                raise InvalidInput(
                    f"columns.{layout.weight}", f"row {rows_before + int(invalid_rows[0]) + 1}: {reason}"
                )
        yield Piece(batch.num_rows, parts, label, weights)
        rows_before += batch.num_rows


def _has_pseudonyms(column: Column) -> bool:
    return column.storage is not None and column.storage.kind is StorageKind.PSEUDONYM


def _read_part(column: Column, array: pa.Array, rows_before: int) -> Part:
    if column.storage is None:
        read = read_numbers if is_numeric(column) else read_categories
        return Part(read(column.name, column.type, array, rows_before))
    # The groups of a protected column's values: a value in no group is missing, as in payload.
    coded = _read_part(build_sent_column(column), array, rows_before).coded()
    find = build_label_finder(column)
    positions = dict[str, int]()
    labels = [find(value) for value in coded.values]
    positions_by_value = [
        MISSING if label is None else positions.setdefault(label, len(positions)) for label in labels
    ]
    return Part(CodedCells(list(positions), coded.spread(positions_by_value, missing=MISSING)))


@dataclass(slots=True)
class SeenValues:
    """Distinct values of a column by their text; none if there are too many, with the reason."""

    values: dict[str, Scalar] = field(default_factory=dict)
    too_many: str | None = None

    def add(self, part: Part) -> None:
        for value in part.coded().values if self.too_many is None else ():
            text = canonical(value)
            if len(text) > MAX_VALUE_CHARACTERS:
                self.stop_counting(f"holds texts of more than {MAX_VALUE_CHARACTERS} characters")
            if self.too_many is None and text not in self.values:
                self.values[text] = value
                if len(self.values) > MAX_COUNTED_VALUES:
                    self.stop_counting(f"holds more than {MAX_COUNTED_VALUES:,} different values")

    def sort_values(self) -> list[Scalar]:
        return sorted(self.values.values(), key=make_sort_key)

    def stop_counting(self, reason: str) -> None:
        self.too_many = self.too_many or reason
        self.values = {}


class Sample:
    """Numbers of some records, drawn evenly with a fixed seed: the same file has the same bins."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._generator = np.random.default_rng(0)
        self._keys: Numbers = np.empty(0)
        self._rows: npt.NDArray[np.float64] = np.empty((0, len(self._columns)))

    def add(self, numbers: Sequence[Numbers]) -> None:
        """NaN where a number is missing."""
        if not self._columns:
            return
        keys = self._generator.random(len(numbers[0]))
        keys = np.concatenate([self._keys, keys])
        rows = np.concatenate([self._rows, np.column_stack(numbers)])
        # The smallest of all keys drawn are the sample.
        smallest = np.argsort(keys, kind="stable")[:MAX_SAMPLED_RECORDS]
        self._keys = keys[smallest]
        self._rows = rows[smallest]

    def find_bin_bounds(self, column: str) -> Numbers:
        """Bins hold numbers above one bound up to the next, about 1/MAX_BINS of the records each."""
        numbers = self._rows[:, self._columns.index(column)]
        finite = numbers[np.isfinite(numbers)]
        return (
            np.unique(np.quantile(finite, np.linspace(0, 1, MAX_BINS + 1)[1:-1]))
            if len(finite)
            else np.empty(0)
        )


@dataclass(slots=True)
class Survey:
    """Result of the first pass over a file."""

    records: int
    seen: dict[str, SeenValues]
    labels: SeenValues
    sample: Sample


def survey_file(file: TrainingFile, layout: Layout) -> Survey:
    quantities = [column.name for column in layout.columns if is_quantity(column)]
    quantities += [LABEL] if layout.has_numeric_label else []
    survey = Survey(
        0, {column.name: SeenValues() for column in layout.columns}, SeenValues(), Sample(quantities)
    )
    for piece in read_pieces(file, layout):
        survey.records += piece.rows
        survey.labels.add(piece.label)
        for name, seen_values in survey.seen.items():
            seen_values.add(piece.parts[name])
        survey.sample.add(
            [(piece.label if name == LABEL else piece.parts[name]).floats() for name in quantities]
        )
    if not survey.records:
        raise InvalidInput("body", "holds no records")
    if not survey.labels.values and survey.labels.too_many is None:
        raise InvalidInput(f"columns.{layout.label}", "holds no label in any row")
    if survey.labels.too_many and not layout.has_numeric_label:
        raise InvalidInput(
            "label", f"the column {layout.label!r:.210} {survey.labels.too_many}: it is no class label"
        )
    return survey
