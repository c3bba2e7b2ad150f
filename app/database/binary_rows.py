"""Rows as objects, and rows of a statement in the binary form of the wire: less than half the time of
SQLAlchemy's.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
import psycopg
from psycopg.rows import namedtuple_row
from sqlalchemy.orm import Session

T = TypeVar("T")


def read_row(kind: type[T], row: object, /, **further: object) -> T:
    """An object of the row's columns that are called as its fields; `further` are fields that are
    not.

    Texts become members of enumerations, and JSON becomes objects and tuples, as the fields are declared.
    """
    values = {}
    for name, form in _list_field_forms(kind).items():  # type: ignore[arg-type]  # a class can be hashed
        if name not in further:
            value = getattr(row, name)
            values[name] = value if form is None else msgspec.convert(value, form)
    return kind(**values, **further)


def list_column_values(fields: object) -> dict[str, Any]:
    """Values of the object's fields by name, as `read_row` reads them."""
    return {name: getattr(fields, name) for name in _list_field_forms(type(fields))}  # type: ignore[arg-type]  # as above


@cache
def _list_field_forms(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a class, which can be hashed
    """Fields, each with the type that its stored value becomes; None: it is stored as it is."""
    return {name: hint if _is_encoded(hint) else None for name, hint in get_type_hints(kind).items()}


def _is_encoded(hint: Any) -> bool:  # noqa: ANN401 - any type
    """Whether values of the type are stored in another form: as a text or as JSON."""
    if get_args(hint):
        return get_origin(hint) is tuple or any(map(_is_encoded, get_args(hint)))
    return isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum | msgspec.Struct | tuple))


def write_json(value: object) -> str:
    """JSON of dictionaries, lists and objects of our own."""
    return json.dumps(value, default=msgspec.to_builtins)


def plain_json(value: object) -> Any:  # noqa: ANN401 - JSON
    """Value as it is read back once it is stored."""
    return json.loads(write_json(value))


def read_rows(session: Session, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Rows. Parameters are written `%(name)s`; a sum is a `numeric` unless it is cast."""
    with driver_connection(session).cursor(binary=True) as cursor:
        return cursor.execute(statement, values).fetchall()


def read_named_rows(session: Session, statement: str, values: Mapping[str, Any]) -> list[Any]:
    with driver_connection(session).cursor(binary=True, row_factory=namedtuple_row) as cursor:
        return cast("list[Any]", cursor.execute(statement, values).fetchall())


def array_text(values: Iterable[int | str | datetime | None]) -> str:
    """Values as Postgres writes an array, for `%(nos)s::int[]`: much faster than a list."""
    return "{" + ",".join(map(_member, values)) + "}"


def _member(value: int | str | datetime | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value) if isinstance(value, int) else value.isoformat()


def driver_connection(session: Session) -> psycopg.Connection:
    return cast("psycopg.Connection", session.connection().connection.driver_connection)
