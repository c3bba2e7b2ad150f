"""Files of spreadsheets, which separate values in several ways, and run a cell that begins like a formula."""

import csv
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import datetime

_FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")


def find_separator(open_lines: Callable[[], Iterable[str]], columns: Collection[str]) -> str:
    """A semicolon or a tab, if only that one gives the header these columns, else a comma."""
    headers = {separator: _read_header(open_lines(), separator) for separator in (",", ";", "\t")}
    if len(headers[","]) > 1:
        return ","
    return next((separator for separator, names in headers.items() if set(columns) <= set(names)), ",")


def _read_header(lines: Iterable[str], separator: str) -> list[str]:
    with suppress(csv.Error):
        return next((names for names in csv.reader(lines, delimiter=separator, strict=True) if names), [])
    return []


def escape_formula(text: str) -> str:
    """Adds an apostrophe where a spreadsheet would read a formula, as OWASP advises."""
    return f"'{text}" if text.startswith(_FORMULA_BEGINNINGS) else text


def write_cell(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case datetime():
            return cell.isoformat()
        case str():
            return escape_formula(cell)
        case _:
            return repr(cell)
