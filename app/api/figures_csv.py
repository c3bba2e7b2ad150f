"""Figures as CSV for people, who open it in a spreadsheet: a text that one would take for a formula gets an apostrophe before it.

Records that are to come back as they went are written by `flagged_csv`, without one.
"""

from collections.abc import Iterable
from datetime import datetime

from fastapi import Response

from app.api.flagged_csv import csv_lines
from app.charts.twins import Cell, Twin

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class CsvFile(Response):
    """A whole CSV."""

    media_type = "text/csv"


def csv_file(twin: Twin, name: str) -> CsvFile:
    """The table as an answer that browsers store under `name`, which is made of ids and fixed words only."""
    content = csv_lines([list(twin.columns), *text_rows(twin.rows)])
    return CsvFile(content, headers={"Content-Disposition": f'attachment; filename="{name}.csv"'})


def text_rows(rows: Iterable[tuple[Cell, ...]]) -> Iterable[list[str]]:
    """The rows as texts, none of which a spreadsheet takes for a formula; an absent cell is empty."""
    return ([_text(cell) for cell in row] for row in rows)


def _text(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case datetime():
            return cell.isoformat()
        case str():
            return f"'{cell}" if cell.startswith(_FORMULA) else cell
        case _:
            return repr(cell)
