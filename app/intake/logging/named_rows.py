"""Rows under a line of column names, and objects of columns, checked cell by cell."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...domain.cells import CellRefused, Check, Json
from ...domain.deployment import Column
from .checked_records import Cells, RecordRefused
from .ingest_plan import Columns


@dataclass(slots=True)
class Refusals:
    """The first fault of each row that has one: (field, reason) by position."""

    found: dict[int, tuple[str, str]] = field(default_factory=dict)

    def add(self, position: int, where: str, reason: str) -> None:
        self.found.setdefault(position, (where, reason))

    def add_all(self, rows: int, where: str, reason: str) -> None:
        for position in range(rows):
            self.add(position, where, reason)


def pick_columns(rows: list[list[Any]], names: Sequence[str], columns: Sequence[Column]) -> list[list[Any]]:
    """Rows in schema order; None for a column that is not there."""
    if list(names) == [column.name for column in columns]:
        return rows
    at = {name: position for position, name in enumerate(names)}
    positions = [at.get(column.name) for column in columns]
    return [[None if position is None else row[position] for position in positions] for row in rows]


def check_rows(
    rows: list[list[Any]],
    columns: Sequence[Column],
    checks: Sequence[Check],
    refusals: Refusals,
    *,
    prefix: str = "",
) -> None:
    """Replaces values that are stored in another form (3.0 as 3)."""
    for position, (column, check) in enumerate(zip(columns, checks, strict=True)):
        cells = check_values([row[position] for row in rows], check, f"{prefix}{column.name}", refusals)
        for row, cell in zip(rows, cells, strict=True):
            row[position] = cell


def check_values(values: list[Any], check: Check, where: str, refusals: Refusals) -> list[Any]:
    """One checked column, in which None means that there is none."""
    checked = list(values)
    for index, value in enumerate(values):
        if value is not None:
            try:
                checked[index] = check(value)
            except CellRefused as error:
                refusals.add(index, where, str(error))
    return checked


def check_objects(objects: Sequence[Json], columns: Columns, refusals: Refusals) -> list[Cells]:
    """Cells in schema order; those of a refused object must not be used."""
    names = [column.name for column in columns.columns]
    if all(
        isinstance(row, dict) and len(row) == len(names) and columns.names.issuperset(row) for row in objects
    ):
        rows = [[row[name] for name in names] for row in objects]
        check_rows(rows, columns.columns, columns.checks, refusals, prefix=f"{columns.kind}.")
        return list(rows)
    checked = []
    for position, row in enumerate(objects):
        try:
            checked.append(columns.cells(row))
        except RecordRefused as refused:
            refusals.add(position, refused.field, refused.reason)
            checked.append([])
    return checked
