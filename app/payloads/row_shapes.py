"""Rows under column names in decoded JSON; cells are not read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import FieldProblem, InvalidInput
from ..base.frozen import frozen
from ..base.texts import printable

_MOST_PROBLEMS = 100


@frozen
class Table:
    fields_path: str
    values_path: str
    fields: list[str]
    values: list[list[Any]]


def read_table(document: object, path: str, *, fields: str = "fields", values: str = "values") -> Table:
    table = read_repeating_table(document, path, fields=fields, values=values)
    if len(set(table.fields)) < len(table.fields):
        index = next(index for index, name in enumerate(table.fields) if name in table.fields[:index])
        raise InvalidInput.of(f"{table.fields_path}[{index}]", f"names the column '{table.fields[index]}' a second time")
    return table


def read_repeating_table(document: object, path: str, *, fields: str = "fields", values: str = "values") -> Table:
    """Reads the same, but columns may be named twice."""
    members = require_object(document, path)
    names, rows = members.get(fields), members.get(values)
    fields_path, values_path = place(path, fields), place(path, values)
    # Types are compared in bulk for speed.
    if not isinstance(names, list) or not set(map(type, names)) <= {str}:
        raise InvalidInput.of(fields_path, f"must be an array of column names, found {name_kind(names)}")
    if not isinstance(rows, list):
        raise InvalidInput.of(values_path, f"must be an array of rows, found {name_kind(rows)}")
    if not set(map(type, rows)) <= {list}:
        raise InvalidInput(
            _list_problems(rows, values_path, lambda row: None if type(row) is list else f"must be an array, found {name_kind(row)}")
        )
    width = len(names)
    if not set(map(len, rows)) <= {width}:
        raise InvalidInput(
            _list_problems(rows, values_path, lambda row: None if len(row) == width else f"has {len(row)} values for {width} fields")
        )
    return Table(fields_path, values_path, names, rows)


def read_matrix(rows: object, path: str, columns: Sequence[str]) -> Table:
    return read_repeating_table({"columns": list(columns), path: rows}, "", fields="columns", values=path)


def is_by_column(document: object) -> bool:
    return isinstance(document, dict) and bool(document) and all(isinstance(cells, list) for cells in document.values())


def read_by_column(document: object, path: str) -> Table:
    members = require_object(document, path)
    count: int | None = None
    for name, cells in members.items():
        where = place(path, printable(name))
        if not isinstance(cells, list):
            raise InvalidInput.of(where, f"must be an array of values, found {name_kind(cells)}")
        count = len(cells) if count is None else count
        if len(cells) != count:
            raise InvalidInput.of(where, f"has {len(cells)} values where the first column has {count}")
    return Table(path, path, list(members), list(map(list, zip(*members.values(), strict=True))))


def require_length(table: Table, request: Table) -> None:
    if len(table.values) != len(request.values):
        raise InvalidInput.of(table.values_path, f"has {len(table.values)} rows where {request.values_path} has {len(request.values)}")


def require_members(document: Mapping[str, Any], path: str, allowed: frozenset[str], *, next_to: str) -> None:
    """Raises InvalidInput for an unknown member, as a misspelt `meta`; `next_to` is for the message."""
    unknown = sorted(document.keys() - allowed)
    if unknown:
        raise InvalidInput.of(place(path, printable(unknown[0])), f"is not a member that is known next to {next_to}")


def require_object(document: object, path: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise InvalidInput.of(path, f"must be an object, found {name_kind(document)}")
    return document


def place(path: str, member: str) -> str:
    return f"{path}.{member}" if path else member


def name_kind(value: object) -> str:
    if value is None:
        return "nothing"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "an array", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def _list_problems(values: list[Any], path: str, fault: Callable[[Any], str | None]) -> list[FieldProblem]:
    faults = ((index, fault(row)) for index, row in enumerate(values))
    return [FieldProblem(f"{path}[{index}]", message) for index, message in faults if message is not None][:_MOST_PROBLEMS]
