"""The header of a CSV of records that says which months it is without: a table has no place for a sentence."""

from typing import Final

from ..domain.archives import MonthsInFiles
from .answers import Answers

NAME: Final = "Evenhand-Months-In-Files"

MONTHS_HEADER: Final[Answers] = {
    200: {
        "headers": {
            NAME: {
                "description": "Months in UTC whose records would be in the CSV and lie in files, with commas between; absent where it is"
                " whole. `evenhand archives bring-back` brings one back.",
                "schema": {"type": "string"},
                "example": "2026-02, 2026-03",
            }
        }
    }
}


def months_header(found: MonthsInFiles | None) -> dict[str, str]:
    """Returns the header, by name; nothing where the CSV is whole."""
    return {} if found is None else {NAME: ", ".join(found.months)}
