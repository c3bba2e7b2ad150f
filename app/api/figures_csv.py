"""Figures as CSV for spreadsheets."""

from collections.abc import Iterable

from fastapi import Response

from ..charts.twins import Cell, Twin
from ..domain.spreadsheets import harmless, write_cell
from .flagged_csv import csv_lines


class CsvDownload(Response):
    media_type = "text/csv"


def csv_file(twin: Twin, name: str) -> CsvDownload:
    """Table stored by browsers under `name`, which is made of ids and fixed words only."""
    content = csv_lines([list(map(harmless, twin.columns)), *text_rows(twin.rows)])
    return CsvDownload(content, headers={"Content-Disposition": f'attachment; filename="{name}.csv"'})


def text_rows(rows: Iterable[tuple[Cell, ...]]) -> Iterable[list[str]]:
    """Rows as texts, none of which a spreadsheet takes for a formula."""
    return ([write_cell(cell) for cell in row] for row in rows)
