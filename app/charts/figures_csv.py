"""Figures as CSV for spreadsheets."""

from fastapi import Response

from ..base.spreadsheets import harmless, write_cell
from ..records.second_look.flagged_csv import csv_lines
from .pictures.twin_tables import Twin


class CsvDownload(Response):
    media_type = "text/csv"


def csv_file(twin: Twin, name: str) -> CsvDownload:
    content = csv_lines([map(harmless, twin.columns), *(map(write_cell, row) for row in twin.rows)])
    return CsvDownload(content, headers={"Content-Disposition": f'attachment; filename="{name}.csv"'})
