"""A deployment's schema compiled for checking."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.deployments import Column, ProblemType, has_protected
from ..domain.texts import printable
from ..payloads.classes import Classes
from ..store.writing import Target
from .cells import Check, Json, number, scalar
from .checked import Cells, RecordRefused, checked_cell
from .fast import FastReader
from .stored_forms import check_for

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Columns:
    kind: str
    columns: tuple[Column, ...]
    checks: tuple[Check, ...]
    names: frozenset[str]
    required: bool

    @classmethod
    def of(cls, kind: str, columns: tuple[Column, ...], *, required: bool, key: bytes | None = None) -> "Columns":
        """`kind` is their name in messages: `features` or `meta`. Pseudonyms are made with `key`."""
        checks = tuple(check_for(column, key) for column in columns)
        return cls(kind, columns, checks, frozenset(column.name for column in columns), required)

    def cells(self, values: Json) -> Cells:
        """Cells of a JSON object, in schema order; null means missing.

        Raises:
            RecordRefused: it is no object, lacks a required column, has an unknown one, or a wrong type.
        """
        if not isinstance(values, Mapping):
            raise RecordRefused(self.kind, "must be an object of column names and values")
        unknown = [name for name in values if name not in self.names]
        if unknown:
            listed = ", ".join(column.name for column in self.columns[:_MOST_NAMES]) or "none"
            more = f" and {len(self.columns) - _MOST_NAMES} more" if len(self.columns) > _MOST_NAMES else ""
            raise RecordRefused(f"{self.kind}.{printable(unknown[0])}", f"is not a column of the schema; the schema has {listed}{more}")

        found: list[Any] = []
        for column, check in zip(self.columns, self.checks, strict=True):
            where = f"{self.kind}.{column.name}"
            # A feature left out is a mistake of the sender; null is a missing value.
            if self.required and column.name not in values:
                raise RecordRefused(where, "is missing; a feature without a value must be sent as null")
            value = values.get(column.name)
            found.append(None if value is None else checked_cell(where, check, value))
        return found


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """`fast` is None where the schema's names forbid it."""

    target: Target
    features: Columns
    meta: Columns
    prediction: Check
    fast: FastReader | None


def plan_for(target: Target) -> IngestPlan:
    schema = target.schema
    classes = target.outputs.classes
    prediction = number if target.problem_type is ProblemType.REGRESSION else scalar
    return IngestPlan(
        target=target,
        features=Columns.of("features", schema.features, required=True, key=target.column_key),
        meta=Columns.of("meta", schema.meta, required=False, key=target.column_key),
        prediction=prediction if classes is None else _as_listed(Classes(classes)),
        fast=FastReader.of(target) if classes is None and not has_protected(schema.features, schema.meta) else None,
    )


def _as_listed(classes: Classes) -> Check:
    """Stores a class as the deployment lists it: `"1"` and `1.0` as 1."""
    return lambda value: classes.canonical([scalar(value)])[0]
