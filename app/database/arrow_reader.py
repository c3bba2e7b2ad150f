"""Reads for analysis: a query in, an Arrow table out."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from adbc_driver_manager import Error as AdbcError

from ..base.errors import Unavailable
from .engine import Database

if TYPE_CHECKING:
    from adbc_driver_postgresql import dbapi

Parameter: TypeAlias = str | int | datetime


class ArrowReader:
    """One read-only connection, for one thread. All its queries see the same moment."""

    def __init__(self, connection: "dbapi.Connection") -> None:
        self._connection = connection

    def table(self, query: str, parameters: Sequence[Parameter] = ()) -> pa.Table:
        """Returns the rows; parameters are spelled `$1`, `$2`. Raises Unavailable."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(query, parameters=list(parameters) or None)
                return cursor.fetch_arrow_table()
        except AdbcError as error:
            raise Unavailable(f"The database did not answer a read ({type(error).__name__}); try again in a moment.") from error

    @contextmanager
    def batches(self, query: str) -> Iterator[pa.RecordBatchReader]:
        """Yields the rows a batch at a time, for more than memory holds.

        Raises:
            Unavailable: the database does not answer.
            OSError: it went away between two batches.
        """
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(query)
                yield cursor.fetch_record_batch()
        except AdbcError as error:
            raise Unavailable(f"The database did not answer a read ({type(error).__name__}); try again in a moment.") from error


@contextmanager
def arrow_reader(database: Database) -> Iterator[ArrowReader]:
    """Yields a reader on a connection of its own. Raises Unavailable."""
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(database.arrow.transaction())
        except AdbcError as error:
            raise Unavailable("The database does not answer; try again in a moment.") from error
        yield ArrowReader(connection)
