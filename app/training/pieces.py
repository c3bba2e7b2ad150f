"""A file, piece by piece, with every column read as what it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from app.domain.deployments import Column, FieldKind, FieldType, ProblemType, RecordSchema
from app.domain.monitors import Monitor
from app.errors import FieldProblem, InvalidInput, TooLarge
from app.training.columns import (
    Coded,
    Codes,
    Numbers,
    as_floats,
    as_whole,
    coded_numbers,
    is_numeric,
    is_quantity,
    read_categories,
    read_classes,
    read_numbers,
    type_problem,
)
from app.training.files import TrainingFile
from app.training.limits import MAX_RECORDS, MAX_WEIGHT, MIN_WEIGHT


@dataclass(slots=True)
class Part:
    """One column of a piece: categories as they were read, or numbers."""

    read: Coded | pa.Array
    _coded: Coded | None = field(default=None, init=False)

    def coded(self) -> Coded:
        """Its distinct values, and which of them each row has."""
        if isinstance(self.read, Coded):
            return self.read
        if self._coded is None:
            self._coded = coded_numbers(self.read)
        return self._coded

    def floats(self) -> Numbers:
        """Its numbers; NaN where one is missing."""
        return as_floats(self.read)

    def whole(self) -> Codes:
        """The numbers of a column of whole ones, exactly; 0 where one is missing."""
        return as_whole(self.read)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file."""

    rows: int
    parts: Mapping[str, Part]
    label: Part
    weights: Numbers | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which columns of a file are read, and as what. `absent` are the meta fields that are not in it.

    `has_typed_label`: the file says the label's type, so that its text is text.
    """

    columns: tuple[Column, ...]
    absent: tuple[str, ...]
    label: str
    weight: str | None
    problem_type: ProblemType
    has_typed_label: bool = False

    @property
    def quantities(self) -> tuple[str, ...]:
        """The columns that may be divided into bins."""
        return tuple(column.name for column in self.columns if is_quantity(column))

    @property
    def has_numeric_label(self) -> bool:
        """Whether the label is a quantity, and not a class."""
        return self.problem_type is ProblemType.REGRESSION


def layout_of(
    file: TrainingFile, schema: RecordSchema, problem_type: ProblemType, *, label: str, weight: str | None, monitor: Monitor | None = None
) -> Layout:
    """Where in the file what is needed is.

    Raises:
        InvalidInput: the label, the weight or a feature is not in it, or is of another type, or the weight is a column that is
            measured; names each.
    """
    there = frozenset(file.names)
    problems = [
        FieldProblem(place, f"the file has no column {name!r:.210}; it has {_listed(file.names)}")
        for place, name in (("label", label), ("weight", weight))
        if name is not None and name not in there
    ]
    problems += _weight_problems(weight, label, monitor)
    problems += [
        FieldProblem(f"columns.{column.name}", "is a feature of the deployment, but the file has no such column")
        for column in schema.features
        if column.name not in there
    ]
    columns = tuple(column for column in (*schema.features, *schema.meta) if column.name in there)
    label_type = FieldType.NUMBER if problem_type is ProblemType.REGRESSION else None
    kinds = [*((column.name, column.type) for column in columns), (label, label_type), *([(weight, FieldType.NUMBER)] if weight else [])]
    found = (type_problem(name, kind, file.types[name]) for name, kind in kinds if name in file.types)
    problems += [problem for problem in found if problem is not None]
    if problems:
        raise InvalidInput(problems)
    absent = tuple(column.name for column in schema.meta if column.name not in there)
    is_typed = label in file.types
    return Layout(columns=columns, absent=absent, label=label, weight=weight, problem_type=problem_type, has_typed_label=is_typed)


def pieces(file: TrainingFile, layout: Layout) -> Iterator[Piece]:
    """The rows of the file, in order.

    Raises:
        InvalidInput: a value is not of its column's type; names the column and the row.
        TooLarge: there are more rows than are read.
    """
    names = dict.fromkeys([*(column.name for column in layout.columns), layout.label, *([layout.weight] if layout.weight else [])])
    before = 0
    for batch in file.batches(list(names)):
        if before + batch.num_rows > MAX_RECORDS:
            raise TooLarge(f"The file holds more than {MAX_RECORDS:,} records. Send a sample of them.")
        yield Piece(
            batch.num_rows,
            {column.name: _part(column, batch.column(column.name), before) for column in layout.columns},
            _label(layout, batch.column(layout.label), before),
            None if layout.weight is None else _weights(layout.weight, batch.column(layout.weight), before),
        )
        before += batch.num_rows


def _weight_problems(weight: str | None, label: str, monitor: Monitor | None) -> list[FieldProblem]:
    """Whoever weighs records by what is compared is measuring something else."""
    if weight is not None and weight == label:
        return [FieldProblem("weight", f"{weight!r:.210} is the column of the label")]
    if weight in [attribute.feature for attribute in (monitor.attributes if monitor else ())]:
        return [FieldProblem("weight", f"{weight!r:.210} is an attribute of the monitor, by which groups are compared")]
    return []


def _part(column: Column, array: pa.Array, before: int) -> Part:
    read = read_numbers if is_numeric(column) else read_categories
    return Part(read(column.name, column.type, array, before))


def _label(layout: Layout, array: pa.Array, before: int) -> Part:
    if layout.has_numeric_label:
        column = Column(name=layout.label, type=FieldType.NUMBER, kind=FieldKind.NUMERIC)
        return _part(column, array, before)
    return Part(read_classes(layout.label, array, before, is_typed=layout.has_typed_label))


def _weights(name: str, array: pa.Array, before: int) -> Numbers:
    weights = as_floats(read_numbers(name, FieldType.NUMBER, array, before))
    bad = np.flatnonzero(~((weights == 0) | ((weights >= MIN_WEIGHT) & (weights <= MAX_WEIGHT))))
    if len(bad):
        found = "none" if np.isnan(weights[bad[0]]) else weights[bad[0]]
        reason = f"must be 0 or a weight between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}, found {found}"
        raise InvalidInput.of(f"columns.{name}", f"row {before + int(bad[0]) + 1}: {reason}")
    return weights


def _listed(names: list[str], most: int = 10) -> str:
    shown = ", ".join(f"{name:.50}" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
