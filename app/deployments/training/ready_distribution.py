"""Training data as a ready distribution, counted by the sender."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from ...base.errors import FieldProblem, refuse
from ...base.values import GroupValue, Range, character_problem, name_value
from ...domain.deployment import Column, Deployment, ProblemType
from ...domain.monitor import Monitor
from ...domain.monitor_rules import fits_type
from ...domain.repeated_rules import number_problem
from ...domain.deployment import stored_form_problem
from .from_distributions import require_outcomes
from .queries import Cell, Distribution, TrainingData, TrainingForm, TrainingSummary
from .training_limits import LONGEST_VALUE, MOST_COLUMNS, MOST_COUNTED, MOST_PROBLEMS
from .typed_column import is_quantity


def process_distributions(
    distributions: Sequence[Distribution],
    *,
    deployment: Deployment,
    label: str,
    received_at: datetime,
    monitor: Monitor | None = None,
) -> TrainingData:
    faults = (
        problem
        for number, distribution in enumerate(distributions)
        for problem in _find_problems(f"distributions[{number}]", distribution, deployment)
    )
    refuse(list(islice(faults, MOST_PROBLEMS)))
    refuse(list(islice(_find_contradictions(distributions), MOST_PROBLEMS)))
    counts = _count_labels(distributions[0])
    label_of_text = {_name_label(cell): cell.label for cell in distributions[0].cells}
    labels = Distribution((), tuple(Cell((), label, counts[text]) for text, label in label_of_text.items()))
    require_outcomes(labels, monitor)
    schema = deployment.schema
    named = {name for distribution in distributions for name in distribution.columns}
    summary = TrainingSummary(
        form=TrainingForm.DISTRIBUTION,
        label=label,
        weight=None,
        records=counts.total(),
        schema_version=schema.version,
        labels=labels,
        absent=tuple(column.name for column in schema.columns if column.name not in named),
        processed_at=received_at,
        processing_seconds=0.0,
    )
    return TrainingData(summary, tuple(distributions), ())


def _find_problems(path: str, distribution: Distribution, deployment: Deployment) -> Iterator[FieldProblem]:
    columns = [deployment.schema.column(name) for name in distribution.columns]
    known_columns = [column for column in columns if column is not None]
    for position, (name, column) in enumerate(zip(distribution.columns, columns, strict=True)):
        if column is None:
            yield FieldProblem(
                f"{path}.columns[{position}]",
                f"{name!r:.210} is neither a feature nor a meta field of the deployment",
            )
    if len(set(distribution.columns)) < len(distribution.columns):
        yield FieldProblem(f"{path}.columns", "names a column twice")
    if not 1 <= len(distribution.columns) <= MOST_COLUMNS:
        yield FieldProblem(
            f"{path}.columns", f"must name 1 to {MOST_COLUMNS} columns, found {len(distribution.columns)}"
        )
    if len(known_columns) < len(columns):
        return
    first_of: dict[tuple[object, ...], int] = {}
    for number, cell in enumerate(distribution.cells):
        here = f"{path}.counts[{number}]"
        yield from _find_cell_problems(here, cell, known_columns, deployment.problem_type)
        first = first_of.setdefault(
            tuple(None if value is None else name_value(value) for value in (*cell.values, cell.label)),
            number,
        )
        if first != number:
            yield FieldProblem(here, f"is of the same values and label as counts[{first}]")


def _find_cell_problems(
    path: str, cell: Cell, columns: Sequence[Column], problem_type: ProblemType
) -> Iterator[FieldProblem]:
    if len(cell.values) != len(columns):
        yield FieldProblem(
            f"{path}.values",
            f"must hold one value for each of the {len(columns)} columns, found {len(cell.values)}",
        )
        return
    for position, (value, column) in enumerate(zip(cell.values, columns, strict=True)):
        problem = None if value is None else _value_problem(value, column)
        if problem:
            yield FieldProblem(f"{path}.values[{position}]", problem)

    problem = None if cell.label is None else _bounds_problem(cell.label)
    if isinstance(cell.label, Range) and problem_type is not ProblemType.REGRESSION:
        problem = "must be a class label, not a range"
    elif isinstance(cell.label, str | bool) and problem_type is ProblemType.REGRESSION:
        problem = "must be a number or a range [lo, hi]"
    if problem:
        yield FieldProblem(f"{path}.label", problem)


def _value_problem(value: GroupValue, column: Column) -> str | None:
    if isinstance(value, Range):
        return (
            _bounds_problem(value)
            if is_quantity(column)
            else f"{column.name!r} is categorical; ranges are for numeric columns only"
        )
    if not fits_type(value, column):
        return (
            f"must be of the type {column.type.value} like the column {column.name!r}, found {value!r:.100}"
        )
    return stored_form_problem(value, column) or _bounds_problem(value)


def _bounds_problem(value: GroupValue) -> str | None:
    if isinstance(value, Range):
        if not (math.isfinite(value.lo) and math.isfinite(value.hi)):
            return "the ends of a range must be finite numbers"
        return "lo is above hi" if value.lo > value.hi else None
    if isinstance(value, str):
        return character_problem(value) or (
            f"must have at most {LONGEST_VALUE} characters" if len(value) > LONGEST_VALUE else None
        )
    return number_problem(value)


def _find_contradictions(distributions: Sequence[Distribution]) -> Iterator[FieldProblem]:
    expected = _count_labels(distributions[0])
    if not 1 <= expected.total() <= MOST_COUNTED:
        message = f"must count 1 to {MOST_COUNTED:,} records together, found {expected.total():,}"
        yield FieldProblem("distributions[0].counts", message)
    for number, distribution in enumerate(distributions[1:], 1):
        counts = _count_labels(distribution)
        for label in dict.fromkeys([*expected, *counts]):
            if counts[label] != expected[label]:
                named = "without a label" if label is None else f"of the label {label!r}"
                yield FieldProblem(
                    f"distributions[{number}].counts",
                    f"has {counts[label]:,} records {named}, but distributions[0] has {expected[label]:,}: "
                    "both must count all records",
                )


def _name_label(cell: Cell) -> str | None:
    return None if cell.label is None else name_value(cell.label)


def _count_labels(distribution: Distribution) -> "Counter[str | None]":
    counts = Counter[str | None]()
    for cell in distribution.cells:
        counts[_name_label(cell)] += cell.records
    return counts
