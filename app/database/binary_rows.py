"""Rows as objects, in pages, and in the binary form of the wire, twice as fast as SQLAlchemy's."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
import psycopg
from psycopg.rows import namedtuple_row
from psycopg.types.json import set_json_loads
from sqlalchemy import ColumnElement, Select, case, func, literal, text, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from ..base.errors import LeaseLost
from ..base.values import frozen, frozen_by_name
from ..domain.paging import Paging
from .tables import AttributionRow, CheckRow
from .tables.base import QueuedRow

T = TypeVar("T")


def read_row(kind: type[T], row: object, /, **other_fields: object) -> T:
    """Reads columns that are called as the fields; `other_fields` are fields that are not.

    Texts become members of enumerations, and JSON becomes objects and tuples, as the fields are declared.
    """
    values = {}
    for name, form in _list_field_forms(kind).items():  # type: ignore[arg-type]  # a class can be hashed
        if name not in other_fields:
            value = getattr(row, name)
            values[name] = value if form is None else msgspec.convert(value, form)
    return kind(**values, **other_fields)


def list_column_values(fields: object) -> dict[str, Any]:
    return {name: getattr(fields, name) for name in _list_field_forms(type(fields))}  # type: ignore[arg-type]  # as above


@cache
def _list_field_forms(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a class, which can be hashed
    return {name: hint if _is_encoded(hint) else None for name, hint in get_type_hints(kind).items()}


def _is_encoded(hint: Any) -> bool:  # noqa: ANN401 - any type
    if get_args(hint):
        return get_origin(hint) is tuple or any(map(_is_encoded, get_args(hint)))
    return isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum | msgspec.Struct | tuple))


def write_json(value: object) -> str:
    return json.dumps(value, default=msgspec.to_builtins)


def plain_json(value: object) -> Any:  # noqa: ANN401 - JSON
    return json.loads(write_json(value))


def read_rows(session: Session, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Parameters are written `%(name)s`; a sum is a `numeric` unless it is cast."""
    with driver_connection(session).cursor(binary=True) as cursor:
        return cursor.execute(statement, values).fetchall()


def read_named_rows(session: Session, statement: str, values: Mapping[str, Any]) -> list[Any]:
    with driver_connection(session).cursor(binary=True, row_factory=namedtuple_row) as cursor:
        set_json_loads(msgspec.json.decode, cursor)
        return cast("list[Any]", cursor.execute(statement, values).fetchall())


def write_array_text(values: Iterable[int | str | datetime | None]) -> str:
    return "{" + ",".join(map(_write_member, values)) + "}"


def _write_member(value: int | str | datetime | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value) if isinstance(value, int) else value.isoformat()


def driver_connection(session: Session) -> psycopg.Connection:
    return cast("psycopg.Connection", session.connection().connection.driver_connection)


Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])


def page_oldest(statement: Statement, number: InstrumentedAttribute[int], paging: Paging) -> Statement:
    return statement.where(number > paging.after).order_by(number).limit(paging.limit)


def page_newest(statement: Statement, number: InstrumentedAttribute[int], paging: Paging) -> Statement:
    before = [number < paging.after] if paging.after else []
    return statement.where(*before).order_by(number.desc()).limit(paging.limit)


def equal(columns: Mapping[InstrumentedAttribute[Any], object]) -> list[ColumnElement[bool]]:
    return [column == value for column, value in columns.items() if value is not None]


def within(
    column: InstrumentedAttribute[datetime], since: datetime | None, until: datetime | None
) -> list[ColumnElement[bool]]:
    """A half-open span; None lets everything through."""
    return [*([] if since is None else [column >= since]), *([] if until is None else [column < until])]


MAX_PAGE_BYTES = 8 * 2**20

Item = TypeVar("Item")


@frozen
class Page(Generic[Item]):
    """Items of a page; `is_cut`: there are more, for which it has no space."""

    items: list[Item]
    is_cut: bool


def fill_page(items: Iterable[Item], size_of: Callable[[Item], int]) -> Page[Item]:
    page: list[Item] = []
    free_bytes = MAX_PAGE_BYTES
    for item in items:
        if page and free_bytes <= 0:
            return Page(page, is_cut=True)
        page.append(item)
        free_bytes -= size_of(item)
    return Page(page, is_cut=False)


Column = TypeVar("Column")


@frozen_by_name
class HeldRow:
    """Row of a queue that somebody holds by a token; `if_lost` is the message of its loss."""

    table: type[QueuedRow]
    no: int
    token: str | None
    if_lost: str


def lease_row(
    session: Session,
    table: type[QueuedRow],
    no: int,
    *,
    token: str,
    lease: timedelta,
    **values: Any,  # noqa: ANN401 - columns
) -> None:
    leased = {
        "attempts": table.attempts + 1,
        "lease_token": token,
        "claimable_at": func.now() + lease,
        **values,
    }
    session.execute(update(table).where(table.no == no).values(leased))


def write_held(
    session: Session, held: HeldRow, values: dict[str, Any], returning: InstrumentedAttribute[Column]
) -> Column:
    """Locks the row until the commit; the only function that writes for a holder.

    Raises LeaseLost if its token is no longer the stored one; nothing was written.
    """
    # The row of a holder that was too slow has another token.
    if held.token is not None:
        is_held = (held.table.no == held.no, held.table.lease_token == held.token)
        statement = update(held.table).where(*is_held).values(values).returning(returning)
        row = session.execute(statement).one_or_none()
        if row is not None:
            return row[0]
    raise LeaseLost(held.if_lost)


_IS_AHEAD = "claimable_at > now() + interval '1 hour'"


def shorten_waits(session: Session) -> None:
    """No wait lasts an hour, no session a day: longer ones began while the database's clock was ahead."""
    # The hours come again.
    session.execute(
        text(
            "DELETE FROM checks WHERE claimable_at > now() AND span_end > now() AND trigger = 'schedule' "
            "AND state = 'queued'"
        )
    )
    for table in QueuedRow.__subclasses__():
        session.execute(update(table).where(text(_IS_AHEAD)).values(claimable_at=func.now()))
    session.execute(
        text(
            "UPDATE sessions SET expires_at = now() + interval '12 hours' WHERE expires_at > now() + "
            "interval '1 day'"
        )
    )


def build_returned_values(table: type[CheckRow] | type[AttributionRow]) -> dict[str, Any]:
    """Of work that returns to the queue: the attempt does not count, and cancelled work ends."""
    # The row as it is now: a cancellation may have come since.
    cancelled = table.cancel_requested
    return {
        "state": case((cancelled, literal("cancelled")), else_=literal("queued")),
        "claimable_at": case((cancelled, None), else_=func.now()),
        "finished_at": case((cancelled, func.now()), else_=None),
        "attempts": table.attempts - 1,
        "lease_token": None,
        "progress": None,
        "started_at": None,
    }
