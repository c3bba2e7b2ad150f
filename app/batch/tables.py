"""A table of records or labels, wherever it lies: files, or a database. Its rows come in batches of Arrow."""

from collections.abc import Collection
from dataclasses import dataclass

from ..domain.tables_of_files import FeedbackTable, PayloadTable, TableFormat
from ..errors import InvalidInput
from .databases import OpenTable, open_database
from .locations import TableAccess
from .table_files import TableFiles


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
    if table.format is TableFormat.JDBC:
        return open_database(table, access, field)
    problems = access.problems(table, f"{field}.location")
    if problems:
        raise InvalidInput(problems)
    return TableFiles(table, access.roots, field, batch=part.batch, only=part.only)
