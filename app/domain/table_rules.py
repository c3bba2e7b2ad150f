"""Rules about tables of files."""

from collections.abc import Iterator, Mapping

from ..errors import FieldProblem
from .definitions import Definition
from .tables_of_files import FeedbackTable, PayloadTable
from .texts import name_problem


def table_problems(definition: Definition) -> Iterator[FieldProblem]:
    """Yields every problem of a definition's tables, except whether their locations may be read."""
    payload, feedback = definition.payload, definition.feedback
    if payload is None:
        if feedback is not None:
            yield FieldProblem("feedback", "needs `payload` as a table, too: labels are joined to its records")
        return
    columns = payload.columns
    names = {"id": columns.id, "scored_at": columns.scored_at, "prediction": columns.prediction}
    names |= {part: name for part in ("probability", "label", "model_revision") if (name := getattr(columns, part)) is not None}
    yield from _check_names("payload.columns", names)
    for part, mapped, of_schema in (("features", columns.features, definition.features), ("meta", columns.meta, definition.meta)):
        known = {column.name for column in of_schema}
        for name, stored in mapped.items():
            if name not in known:
                yield FieldProblem(f"payload.columns.{part}", f"{name!r} is not one of the deployment's {part}")
            yield from _check_names(f"payload.columns.{part}", {name: stored})
    yield from _check_partition("payload", payload)
    if feedback is not None:
        of_label = feedback.columns
        yield from _check_names("feedback.columns", {"id": of_label.id, "observed_at": of_label.observed_at, "label": of_label.label})
        yield from _check_partition("feedback", feedback)


def _check_partition(where: str, table: PayloadTable | FeedbackTable) -> Iterator[FieldProblem]:
    if table.partition_by is not None:
        yield from _check_names(where, {"partition_by": table.partition_by})


def _check_names(where: str, names: Mapping[str, str]) -> Iterator[FieldProblem]:
    for part, name in names.items():
        problem = name_problem(name)
        if problem:
            yield FieldProblem(f"{where}.{part}", problem)
