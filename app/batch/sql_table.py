"""A table or view of a database that SQLAlchemy reads: rows stream from the driver's cursor to Arrow, and pieces are slices of time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
from sqlalchemy import Column, ColumnElement, MetaData, Select, Table, case, cast, func, inspect, literal, select, types
from sqlalchemy.exc import NoSuchTableError

from ..clock import HOUR, hour_of
from ..domain.checks import Span
from ..domain.tables_of_files import FeedbackTable, PayloadTable
from ..errors import InvalidInput
from .dialects import reading
from .named_columns import require_names, stored_name
from .pieces import FilePiece
from .slices import SpanOfRows, cut_slices, hours_between, within
from .sql_columns import TIMES, TimeColumn, arrow_type, as_arrow
from .wanted_rows import ALL_TIMES, RowsOf

ROWS_A_PIECE = 1_000_000
"""Rows of a slice of time, where they are spread evenly."""

ROWS_AT_ONCE = 16_384
"""Rows that are read from a cursor at a time: they are objects of Python until they are a batch of Arrow."""

IDS_AT_ONCE = 900
"""Max ids that one query looks for: databases bound the parameters of a query, some at 1,000."""


@dataclass(frozen=True, slots=True)
class SqlReader:
    """Reads rows of a table. `types` are those of its columns by stored name. The URL has the password, and goes to executors."""

    url: str = field(repr=False)
    location: str
    table: str
    types: Mapping[str, types.TypeEngine[Any]]
    field: str

    def read(self, piece: FilePiece, columns: Sequence[str], time: str, span: Span) -> Iterator[pa.Table]:
        """Yields the rows of a slice of time that lie in the span, a batch at a time.

        Raises:
            InvalidInput: the table changed and cannot be read as before.
            SetupError: the database does not answer.
        """
        yield from self.rows(columns, time, within(piece, span))

    def rows(self, columns: Sequence[str], time: str, span: Span, only: RowsOf | None = None) -> Iterator[pa.Table]:
        """Yields the rows whose time lies in the span; only those of some ids, if given. Raises as `read`."""
        wanted, table = list(dict.fromkeys(columns)), self.as_table()
        of_time = self.time(time, table)
        chosen = [of_time.key if name == time else table.c[self.stored(name)] for name in wanted]
        query = select(*(one.label(f"c{no}") for no, one in enumerate(chosen))).select_from(table).where(of_time.within(span))
        if only is None:
            yield from self._stream(query, wanted, of_time)
            return
        column, kind = table.c[self.stored(only.column)], arrow_type(self.types[self.stored(only.column)])
        for start in range(0, len(only.ids), IDS_AT_ONCE):
            some = only.ids.slice(start, IDS_AT_ONCE).to_pylist()
            # Numbers are compared as numbers, with their index; others by their text.
            is_number = pa.types.is_integer(kind)
            ids = [int(one) for one in some if one.lstrip("-").isdigit()] if is_number else some
            compared = column if is_number or isinstance(column.type, types.String) else cast(column, types.String(500))
            if ids:
                yield from self._stream(query.where(compared.in_(ids)), wanted, of_time)

    def summary(self, time: str, span: Span) -> SpanOfRows | None:
        """Returns how many rows the span has, and their oldest and newest time; None without one. Raises as `read`."""
        table = self.as_table()
        of_time = self.time(time, table)
        key = of_time.key
        query = select(func.count(), func.min(key), func.max(key)).select_from(table).where(of_time.within(span))
        with reading(self.url, self.location, self.field) as connection:
            rows, *bounds = connection.execute(query).one()
        if not rows:
            return None
        oldest, newest = of_time.read(bounds).to_pylist()
        return SpanOfRows(rows, oldest, newest)

    def bound(self, time: str, span: Span, of: Callable[[ColumnElement[Any]], ColumnElement[Any]]) -> datetime | None:
        """Returns the oldest or newest time of the span, of which `of` is the function; None without a row. Raises as `read`."""
        table = self.as_table()
        of_time = self.time(time, table)
        query = select(of(of_time.key)).select_from(table).where(of_time.within(span))
        with reading(self.url, self.location, self.field) as connection:
            (found,) = of_time.read([connection.execute(query).scalar_one()]).to_pylist()
        return found if isinstance(found, datetime) else None

    def hours(self, time: str, span: Span) -> list[SpanOfRows]:
        """Returns the hours with rows of a span of whole hours, in one pass. Raises as `read`."""
        table = self.as_table()
        of_time = self.time(time, table)
        later = hours_between(span.start + HOUR, span.end)
        # No function that cuts a time to its hour is the same in two databases.
        bounds = [(of_time.key < of_time.value(end), literal(no)) for no, end in enumerate(later)]
        hour = case(*bounds, else_=literal(len(later))) if bounds else literal(0)
        of_rows = select(of_time.key.label("t"), hour.label("h")).select_from(table).where(of_time.within(span)).subquery()
        query = select(func.count(), func.min(of_rows.c.t), func.max(of_rows.c.t)).group_by(of_rows.c.h)
        with reading(self.url, self.location, self.field) as connection:
            found = connection.execute(query).all()
        times = [of_time.read([row[place] for row in found]).to_pylist() for place in (1, 2)]
        return sorted(map(SpanOfRows, (row[0] for row in found), *times), key=lambda one: one.oldest)

    def stored(self, name: str) -> str:
        """Returns the column's name in the database.

        Raises:
            InvalidInput: there is no such column.
        """
        found = stored_name(self.types, name)
        if found is None:
            raise InvalidInput.of(f"{self.field}.columns", f"the table at {self.location} has no column {name!r}")
        return found

    def time(self, name: str, table: Table) -> TimeColumn:
        """Returns the column of times of `table`."""
        return TimeColumn(table.c[self.stored(name)], is_text=self.url.startswith("sqlite"))

    def as_table(self) -> Table:
        """Returns the table with its columns, which SQLAlchemy quotes as the database needs it."""
        schema = self.location.split("/")[1]
        columns = [Column(name, kind, quote=True) for name, kind in self.types.items()]
        return Table(self.table, MetaData(), *columns, schema=schema, quote=True, quote_schema=True)

    def _stream(self, query: Select[Any], names: Sequence[str], of_time: TimeColumn) -> Iterator[pa.Table]:
        time = of_time.column.name
        kinds = [TIMES if self.stored(name) == time else arrow_type(self.types[self.stored(name)]) for name in names]
        with reading(self.url, self.location, self.field) as connection:
            streamed = connection.execution_options(stream_results=True, max_row_buffer=ROWS_AT_ONCE)
            for rows in streamed.execute(query).partitions(ROWS_AT_ONCE):
                arrays = {}
                for name, kind, values in zip(names, kinds, zip(*rows, strict=True), strict=True):
                    arrays[name] = of_time.read(values) if self.stored(name) == time else self._array(name, values, kind)
                yield pa.table(arrays)

    def _array(self, name: str, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        try:
            return as_arrow(values, kind)
        except (TypeError, ValueError, OverflowError, pa.ArrowInvalid) as error:
            # SQLite stores any value in any column.
            message = f"column {name!r} of {self.location} has a value that is no {kind}"
            raise InvalidInput.of(f"{self.field}.columns", message) from error


class SqlTable:
    """A table of a database that the operator names, read by SQLAlchemy.

    Raises:
        InvalidInput: there is no such table that the database's role may read.
        SetupError: the database does not answer, or its driver is not installed.
    """

    def __init__(self, table: PayloadTable | FeedbackTable, url: str, field: str) -> None:
        self._field = field
        database, schema, wanted = table.location.split("/")
        found: dict[str, types.TypeEngine[Any]] = {}
        with reading(url, table.location, field) as connection:
            inspector = inspect(connection)
            name = stored_name([*inspector.get_table_names(schema), *inspector.get_view_names(schema)], wanted)
            if name is not None:
                with suppress(NoSuchTableError):
                    found = {one["name"]: one["type"] for one in inspector.get_columns(name, schema)}
        if name is None or not found:
            message = f"there is no table {schema}.{wanted} in the database {database} that its role may read"
            raise InvalidInput.of(f"{field}.location", message)
        self._reader = SqlReader(url, table.location, name, found, field)

    def require_columns(self, names: Mapping[str, str], *, time: str) -> None:
        """Returns if the table has the columns `names` by what they are for; `time` is one of these.

        Raises:
            InvalidInput: a column is missing, or the one of `time` holds no timestamps.
        """
        require_names(names, self._reader.types, self._field, self._reader.location)
        kind = self._reader.types[self._reader.stored(names[time])]
        if not isinstance(kind, types.DateTime):
            raise InvalidInput.of(f"{self._field}.columns.{time}", f"must hold timestamps, found {kind}")

    def read(self, columns: Sequence[str], time: str, span: Span, only: RowsOf | None = None) -> Iterator[pa.Table]:
        """Yields the rows whose time lies in the span; only those of some ids, if given."""
        return self._reader.rows(columns, time, span, only)

    def pieces(self, time: str, span: Span) -> list[FilePiece]:
        """Returns slices of the time between the oldest and the newest row of the span."""
        return cut_slices(self._reader.location, self._reader.summary(time, span), ROWS_A_PIECE)

    def reader(self) -> SqlReader:
        """Returns the reader of the slices."""
        return self._reader

    def count(self, time: str, span: Span) -> int:
        """Returns the number of rows whose time lies in the span."""
        found = self._reader.summary(time, span)
        return 0 if found is None else found.rows

    def newest(self, time: str) -> datetime | None:
        """Returns the time of the newest row; None without a row."""
        return self._reader.bound(time, ALL_TIMES, func.max)

    def hours(self, time: str, since: datetime) -> list[SpanOfRows]:
        """Returns the hours with rows since that moment, a whole hour, up to the newest row."""
        newest = self.newest(time)
        return [] if newest is None else self._reader.hours(time, Span(start=since, end=max(hour_of(newest), since) + HOUR))

    def earliest(self, time: str, span: Span) -> datetime | None:
        """Returns the earliest time within the span of all rows; None without a row."""
        return self._reader.bound(time, span, func.min)
