"""Texts in files for spreadsheets, which run a cell that begins like a formula."""

from datetime import datetime

_BEGIN_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(text: str) -> str:
    """Returns the text, with an apostrophe before it where a spreadsheet would read it as a formula, as OWASP advises."""
    return f"'{text}" if text.startswith(_BEGIN_FORMULAS) else text


def write_cell(cell: object) -> str:
    """Returns the text of a cell: numbers unrounded, moments in ISO 8601, nothing for None, and texts harmless."""
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case datetime():
            return cell.isoformat()
        case str():
            return harmless(cell)
        case _:
            return repr(cell)
