"""A table or view of a Postgres: its rows stream to Arrow, and pieces of it are slices of time.

Each reading sees the table as it is at that moment; no transaction stays open between two of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
import pyarrow as pa
from adbc_driver_manager import Error as AdbcError
from adbc_driver_postgresql import dbapi
from psycopg import sql

from ..domain.checks import Span
from ..domain.tables_of_files import FeedbackTable, PayloadTable
from ..errors import InvalidInput, SetupError
from .pieces import BATCH_ROWS, FilePiece
from .slices import SpanOfRows, cut_slices, within
from .wanted_rows import ALL_TIMES, RowsOf

ROWS_A_PIECE = 1_000_000
"""Rows of a slice of time, where they are spread evenly: few enough to divide the work, each slice is a query."""

IDS_AT_ONCE = 10_000
"""Max ids that one query looks for."""

_PLAIN = frozenset(
    {"bigint", "integer", "smallint", "double precision", "real", "boolean", "timestamp with time zone", "double precision[]", "real[]"}
)
"""Types that Arrow has, too."""

_READ_AS = {"numeric": "float8", "numeric[]": "float8[]"}
"""Types by the one in which their values are read; all others are read as text."""

_BEGINNING = ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET LOCAL TimeZone = 'UTC'")

_COLUMNS = """
SELECT a.attname::text AS name, format_type(a.atttypid, NULL) AS type
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = {schema} AND c.relname = {table} AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
"""


@dataclass(frozen=True, slots=True)
class DatabaseReader:
    """Reads rows of a table. `types` are those of its columns by name. The URL has the password, and goes to executors."""

    url: str = field(repr=False)
    location: str
    types: Mapping[str, str]
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
        chosen = sql.SQL(", ").join(self._spell(name) for name in dict.fromkeys(columns))
        if only is None:
            yield from self._stream(chosen, self._within(time, span))
            return
        for start in range(0, len(only.ids), IDS_AT_ONCE):
            some = only.ids.slice(start, IDS_AT_ONCE).to_pylist()
            of_ids = sql.SQL("{}::text = ANY({})").format(sql.Identifier(only.column), sql.Literal(some))
            yield from self._stream(chosen, sql.SQL("{} AND {}").format(self._within(time, span), of_ids))

    def one(self, chosen: str, time: str, span: Span) -> dict[str, object]:
        """Returns the one row of these expressions over the rows in the span, in which {time} is the column. Raises as `read`."""
        expressions = sql.SQL(chosen).format(time=sql.Identifier(time))
        (row,) = [row for rows in self._stream(expressions, self._within(time, span)) for row in rows.to_pylist()]
        return dict(row)

    def grouped(self, chosen: str, time: str, span: Span, by: str) -> list[dict[str, object]]:
        """Returns the rows of these expressions over the rows in the span, grouped by another. Raises as `read`."""
        column = sql.Identifier(time)
        condition = sql.SQL("{} GROUP BY {}").format(self._within(time, span), sql.SQL(by).format(time=column))
        return [row for rows in self._stream(sql.SQL(chosen).format(time=column), condition) for row in rows.to_pylist()]

    def _spell(self, name: str) -> sql.Composed:
        kind, column = self.types[name], sql.Identifier(name)
        if kind in _PLAIN:
            return sql.SQL("{}").format(column)
        return sql.SQL("{}::{} AS {}").format(column, sql.SQL(_READ_AS.get(kind, "text")), column)

    @staticmethod
    def _within(time: str, span: Span) -> sql.Composed:
        column = sql.Identifier(time)
        start, end = (sql.SQL("{}::timestamptz").format(sql.Literal(moment.isoformat())) for moment in (span.start, span.end))
        return sql.SQL("{} >= {} AND {} < {}").format(column, start, column, end)

    def _stream(self, chosen: sql.Composable, condition: sql.Composable) -> Iterator[pa.Table]:
        _, schema, name = self.location.split("/")
        query = sql.SQL("SELECT {} FROM {} WHERE {}").format(chosen, sql.Identifier(schema, name), condition)
        # Values are written into the query, because ADBC streams only queries without parameters.
        for batch in stream(self.url, query.as_string(), self.location, self.field):
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield pa.Table.from_batches([batch.slice(start, BATCH_ROWS)])


class DatabaseTable:
    """A table of a Postgres that the operator names.

    Raises:
        InvalidInput: there is no such table that the database's role may read.
        SetupError: the database does not answer.
    """

    def __init__(self, table: PayloadTable | FeedbackTable, url: str, field: str) -> None:
        self._field = field
        database, schema, name = table.location.split("/")
        query = sql.SQL(_COLUMNS).format(schema=sql.Literal(schema), table=sql.Literal(name)).as_string()
        found = [row for batch in stream(url, query, table.location, field) for row in batch.to_pylist()]
        if not found:
            message = f"there is no table {schema}.{name} in the database {database} that its role may read"
            raise InvalidInput.of(f"{field}.location", message)
        self._reader = DatabaseReader(url, table.location, {row["name"]: row["type"] for row in found}, field)

    def require_columns(self, names: Mapping[str, str], *, time: str) -> None:
        """Returns if the table has the columns `names` by what they are for; `time` is one of these.

        Raises:
            InvalidInput: a column is missing, or the one of `time` holds no timestamps with a time zone.
        """
        types = self._reader.types
        for part, name in names.items():
            if name not in types:
                raise InvalidInput.of(f"{self._field}.columns.{part}", f"the table at {self._reader.location} has no column {name!r}")
        if types[names[time]] != "timestamp with time zone":
            message = f"must hold timestamps with a time zone, found {types[names[time]]}"
            raise InvalidInput.of(f"{self._field}.columns.{time}", message)

    def read(self, columns: Sequence[str], time: str, span: Span, only: RowsOf | None = None) -> Iterator[pa.Table]:
        """Yields the rows whose time lies in the span; only those of some ids, if given."""
        return self._reader.rows(columns, time, span, only)

    def pieces(self, time: str, span: Span) -> list[FilePiece]:
        """Returns slices of the time between the oldest and the newest row of the span."""
        found = self._reader.one("count(*) AS rows, min({time}) AS oldest, max({time}) AS newest", time, span)
        rows, oldest, newest = found["rows"], found["oldest"], found["newest"]
        if not isinstance(rows, int) or not isinstance(oldest, datetime) or not isinstance(newest, datetime):
            return []
        return cut_slices(self._reader.location, SpanOfRows(rows, oldest, newest), ROWS_A_PIECE)

    def reader(self) -> DatabaseReader:
        """Returns the reader of the slices."""
        return self._reader

    def count(self, time: str, span: Span) -> int:
        """Returns the number of rows whose time lies in the span."""
        found = self._reader.one("count(*) AS rows", time, span)["rows"]
        return found if isinstance(found, int) else 0

    def newest(self, time: str) -> datetime | None:
        """Returns the time of the newest row; None without a row."""
        found = self._reader.one("max({time}) AS newest", time, ALL_TIMES)["newest"]
        return found if isinstance(found, datetime) else None

    def hours(self, time: str, since: datetime) -> list[SpanOfRows]:
        """Returns the hours with rows since that moment."""
        span = Span(start=since, end=ALL_TIMES.end)
        chosen = "count(*) AS rows, min({time}) AS oldest, max({time}) AS newest"
        found = [msgspec.convert(row, SpanOfRows) for row in self._reader.grouped(chosen, time, span, by="date_trunc('hour', {time})")]
        return sorted(found, key=lambda one: one.oldest)

    def earliest(self, time: str, span: Span) -> datetime | None:
        """Returns the earliest time within the span of all rows; None without a row."""
        found = self._reader.one("min({time}) AS oldest", time, span)["oldest"]
        return found if isinstance(found, datetime) else None


def stream(url: str, query: str, location: str, field: str) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a query in a transaction of its own that only reads.

    Raises:
        InvalidInput: the database refuses the query.
        SetupError: the database does not answer.
    """
    name = location.partition("/")[0]
    with _connect(url, name) as connection, connection.cursor() as cursor:
        try:
            for statement in _BEGINNING:
                cursor.execute(statement)
            cursor.execute(query)
            yield from cursor.fetch_record_batch()
        except AdbcError as error:
            if not error.sqlstate or error.sqlstate.startswith(("08", "57")):
                raise SetupError(f"The database {name} of EVENHAND_TABLE_DATABASES went away: {_first_line(error)}.") from error
            raise InvalidInput.of(f"{field}.location", f"{location} cannot be read: {_first_line(error)}") from error


@contextmanager
def _connect(url: str, name: str) -> Iterator[dbapi.Connection]:
    try:
        connection = dbapi.connect(url)
    except AdbcError as error:
        message = f"The database {name} of EVENHAND_TABLE_DATABASES does not answer: {_first_line(error)}. Look at its URL and its server."
        raise SetupError(message) from error
    with connection:
        yield connection


def _first_line(error: AdbcError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
