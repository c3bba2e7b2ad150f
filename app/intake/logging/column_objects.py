"""Objects checked column by column where they are alike, else one by one."""

from collections.abc import Sequence

from ...domain.cells import Json
from .checked_records import Cells, RecordRefused
from .ingest_plan import Columns
from .named_rows import Refusals, check_rows


def check_objects(objects: Sequence[Json], columns: Columns, refusals: Refusals) -> list[Cells]:
    """Cells in schema order; those of a refused object must not be used."""
    names = [column.name for column in columns.columns]
    if all(
        isinstance(row, dict) and len(row) == len(names) and columns.names.issuperset(row) for row in objects
    ):
        rows = [[row[name] for name in names] for row in objects]
        check_rows(rows, columns.columns, columns.checks, refusals, prefix=f"{columns.kind}.")
        return list(rows)
    checked: list[Cells] = []
    for position, row in enumerate(objects):
        try:
            checked.append(columns.cells(row))
        except RecordRefused as refused:
            refusals.add(position, refused.field, refused.reason)
            checked.append([])
    return checked
