"""Tables of databases, each by the way in which its database is read."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from ..domain.checks import Span
from ..domain.tables_of_files import FeedbackTable, PayloadTable
from ..errors import InvalidInput
from .database_table import DatabaseTable
from .dialects import POSTGRES
from .locations import TableAccess
from .pieces import FilePiece
from .slices import SpanOfRows
from .sql_table import SqlTable
from .wanted_rows import RowsOf


class Reader(Protocol):
    """Reads pieces of a table wherever an engine works on them. Pickled for Spark."""

    def read(self, piece: FilePiece, columns: Sequence[str], time: str, span: Span) -> Iterator[pa.Table]:
        """Yields the piece's rows in the span, a batch at a time."""


class OpenTable(Protocol):
    """A table; `time` is its column by which spans are cut.

    Raises:
        InvalidInput: the table cannot be read.
    """

    def require_columns(self, names: Mapping[str, str], *, time: str) -> None:
        """Returns if the table has the columns `names` by what they are for; `time` is one of these and holds times with a zone."""

    def read(self, columns: Sequence[str], time: str, span: Span, only: RowsOf | None = None) -> Iterator[pa.Table]:
        """Yields the rows whose time lies in the span, a batch at a time; only those of some ids, if given."""

    def pieces(self, time: str, span: Span) -> list[FilePiece]:
        """Returns the pieces that may have rows whose time lies in the span."""

    def reader(self) -> Reader:
        """Returns the reader of the pieces."""

    def count(self, time: str, span: Span) -> int:
        """Returns the number of rows whose time lies in the span."""

    def earliest(self, time: str, span: Span) -> datetime | None:
        """Returns the earliest time within the span of all rows; None without a row."""


class TableWithHours(OpenTable, Protocol):
    """A table of a database, whose hours are listed as if they were files."""

    def newest(self, time: str) -> datetime | None:
        """Returns the time of the newest row; None without a row."""

    def hours(self, time: str, since: datetime) -> list[SpanOfRows]:
        """Returns the hours with rows since that moment, a whole hour."""


def open_database(table: PayloadTable | FeedbackTable, access: TableAccess, field: str) -> TableWithHours:
    """Returns the table as it is now.

    Raises:
        InvalidInput: the location is not allowed, or there is no table.
        SetupError: the database does not answer.
    """
    problems = access.problems(table, f"{field}.location")
    if problems:
        raise InvalidInput(problems)
    url = access.databases[table.location.partition("/")[0]]
    return DatabaseTable(table, url, field) if url.startswith(POSTGRES) else SqlTable(table, url, field)
