"""The shorthand of the cases read into counted values, and which cases are held out."""

import zlib

from app.base.values import GroupValue
from tests.unit.recommendations.found_in_the_wild import Case

RECORDS = 400
"""Of a column of numbers."""


def counted_of(case: Case) -> dict[GroupValue, int]:
    """The records of each value."""
    counted: dict[GroupValue, int] = {}
    for part in case.values:
        text, _, records = part.partition("*")
        if ".." in text:
            lo, hi = map(int, text.split(".."))
            for no in range(RECORDS):
                value = lo + (hi - lo) * no // (RECORDS - 1)
                counted[value] = counted.get(value, 0) + 1
        elif "~" in text:
            start, end = map(float, text.split("~"))
            counted |= {round(start + (end - start) * no / RECORDS, 4): 1 for no in range(RECORDS)}
        else:
            counted[_typed(text)] = int(records or 10)
    return counted


def is_held_out(case: Case) -> bool:
    """Whether the case was not looked at while the detector was made: every third, by a checksum."""
    return zlib.crc32(f"{case.name}|{case.expected}".encode()) % 3 == 0


def _typed(text: str) -> GroupValue:
    if text in ("true", "false"):
        return text == "true"
    if text in ("0.0", "1.0"):
        return float(text)
    is_whole = text.isdigit() and (text == "0" or not text.startswith("0"))
    return int(text) if is_whole else text
