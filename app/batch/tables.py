"""A table of records or labels, wherever it lies: files, or a database. Its rows come in batches of Arrow."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from ..domain.checks import Span
from ..domain.tables_of_files import FeedbackTable, PayloadTable, TableFormat
from ..errors import InvalidInput
from .database_table import DatabaseTable
from .locations import TableAccess
from .pieces import FilePiece
from .table_files import TableFiles
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


@dataclass(frozen=True, slots=True)
class TablePart:
    """A part of a table's files: those of the partition `batch`, and of the paths `only`, if given."""

    batch: str | None = None
    only: Collection[str] | None = None


WHOLE = TablePart()


def open_table(table: PayloadTable | FeedbackTable, access: TableAccess, field: str, part: TablePart = WHOLE) -> OpenTable:
    """Returns the table as it is now. Of a table of a database there are no parts.

    Raises:
        InvalidInput: the location is not allowed, or there is no table.
        SetupError: the database does not answer.
    """
    problems = access.problems(table, f"{field}.location")
    if problems:
        raise InvalidInput(problems)
    if table.format is TableFormat.JDBC:
        return DatabaseTable(table, access, field)
    return TableFiles(table, access.roots, field, batch=part.batch, only=part.only)
