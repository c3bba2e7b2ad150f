"""Rows under a line of column names, checked by column, else by cell."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...base.values import EXACT, MAX_TEXT, tidy
from ...domain.cells import INT64_MAX, INT64_MIN, CellRefused, Check, probability, scalar
from ...domain.deployment import Column, FieldType

_NONE = type(None)


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
    rows: list[list[Any]], columns: Sequence[Column], checks: Sequence[Check], refusals: Refusals, *, is_plain: bool, prefix: str = ""
) -> None:
    """Replaces values that are stored in another form (3.0 as 3). `is_plain` as in `Decoded`."""
    for position, (column, check) in enumerate(zip(columns, checks, strict=True)):
        cells = [row[position] for row in rows]
        checked = _check_at_one_look(cells, column.type) if is_plain and column.storage is None else None
        if checked is None:
            checked = list(cells)
            _check_cells(checked, check, f"{prefix}{column.name}", refusals)
        if checked is not cells:
            for row, cell in zip(rows, checked, strict=True):
                row[position] = cell


def check_values(values: list[Any], check: Check, where: str, refusals: Refusals, *, is_plain: bool) -> list[Any]:
    """One checked column of outputs, in which None means that there is none."""
    types = set(map(type, values))
    # Other checks change what they are given.
    if is_plain and check in {scalar, probability}:
        if types <= {str, _NONE} and _are_short([value for value in values if value is not None] if _NONE in types else values):
            return values
        if check is probability and _are_shares(values, types):
            return values
    checked = list(values)
    _check_cells(checked, check, where, refusals)
    return checked


def require_values(values: list[Any], where: str, refusals: Refusals) -> None:
    for index, value in enumerate(values):
        if value is None:
            refusals.add(index, where, "is missing")


def _check_at_one_look(cells: list[Any], column_type: FieldType) -> list[Any] | None:
    """None where the cells must be checked one by one."""
    types = set(map(type, cells))
    present = cells
    if _NONE in types:
        types.remove(_NONE)
        present = [cell for cell in cells if cell is not None]
    if not types:
        return cells
    if column_type is FieldType.STRING:
        return cells if types == {str} and _are_short(present) else None
    if column_type is FieldType.BOOLEAN:
        return cells if types == {bool} else None
    if column_type is FieldType.INTEGER:
        return cells if types == {int} and _lie_within(present, INT64_MIN, INT64_MAX) else None
    if types == {float}:
        has_whole = any(map(float.is_integer, present))
    elif types <= {int, float} and _lie_within(present, 1 - EXACT, EXACT - 1):
        has_whole = float in types
    else:
        return None
    return [tidy(cell) if type(cell) is float else cell for cell in cells] if has_whole else cells


def _are_short(texts: list[Any]) -> bool:
    return max(map(len, texts), default=0) <= MAX_TEXT


def _are_shares(values: list[Any], types: set[type]) -> bool:
    if types != {list}:
        return False
    shares = list(chain.from_iterable(values))
    return set(map(type, shares)) == {float} and _lie_within(shares, 0, 1) and not any(map(float.is_integer, shares))


def _lie_within(values: list[Any], least: int, greatest: int) -> bool:
    return bool(least <= min(values) and max(values) <= greatest)


def _check_cells(cells: list[Any], check: Check, where: str, refusals: Refusals) -> None:
    for index, cell in enumerate(cells):
        if cell is not None:
            try:
                cells[index] = check(cell)
            except CellRefused as error:
                refusals.add(index, where, str(error))
