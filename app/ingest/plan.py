"""A deployment's schema made ready for checking: compiled once per state of the deployment, used for every request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.deployments import Column, ProblemType
from app.ingest.cells import CHECKS, Check, Json, number, printable, scalar
from app.ingest.checked import Cells, RecordRefused, checked_cell
from app.ingest.fast import FastReader
from app.store.writing import Target

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Columns:
    """The features or the meta fields of a schema, each with its check."""

    kind: str
    columns: tuple[Column, ...]
    checks: tuple[Check, ...]
    names: frozenset[str]
    required: bool

    @classmethod
    def of(cls, kind: str, columns: tuple[Column, ...], *, required: bool) -> "Columns":
        """`kind` is what messages call them: `features` or `meta`."""
        checks = tuple(CHECKS[column.type] for column in columns)
        return cls(kind, columns, checks, frozenset(column.name for column in columns), required)

    def cells(self, values: Json) -> Cells:
        """The cells of a decoded JSON object, in schema order; null means missing.

        Raises:
            RecordRefused: it is no object, lacks a required column, has an unknown one, or a value is of the wrong type.
        """
        if not isinstance(values, Mapping):
            raise RecordRefused(self.kind, "must be an object of column names and values")
        unknown = [name for name in values if name not in self.names]
        if unknown:
            raise RecordRefused(f"{self.kind}.{printable(unknown[0])}", f"is not a column of the schema; the schema has {self._listed()}")
        return [self._cell(column, check, values) for column, check in zip(self.columns, self.checks, strict=True)]

    def _cell(self, column: Column, check: Check, values: Mapping[str, Any]) -> Json:
        where = f"{self.kind}.{column.name}"
        if self.required and column.name not in values:
            raise RecordRefused(where, "is missing; a feature without a value must be sent as null")
        value = values.get(column.name)
        return None if value is None else checked_cell(where, check, value)

    def _listed(self) -> str:
        names = ", ".join(column.name for column in self.columns[:_MOST_NAMES])
        more = len(self.columns) - _MOST_NAMES
        return (names + (f" and {more} more" if more > 0 else "")) if names else "none"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything needed to check a request's records. `fast` is None where the schema's names forbid the fast way."""

    target: Target
    features: Columns
    meta: Columns
    prediction: Check
    fast: FastReader | None


def plan_for(target: Target) -> Plan:
    """The plan for one state of a deployment."""
    schema = target.schema
    is_regression = target.problem_type is ProblemType.REGRESSION
    return Plan(
        target=target,
        features=Columns.of("features", schema.features, required=True),
        meta=Columns.of("meta", schema.meta, required=False),
        prediction=number if is_regression else scalar,
        fast=FastReader.of(target),
    )
