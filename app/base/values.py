"""Classes of values; scalar values, and the one form in which they are compared.

JSON, CSV and numpy disagree about `1` and `1.0`; a group or an outcome must not. The type of a column says
whether the text `"1"` is the number 1, and of outcomes `app/domain/monitor.py`.
"""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from typing import Any, NamedTuple, TypeGuard, dataclass_transform
from uuid import UUID


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type | None = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:  # noqa: ANN401 - the class, or what decorates it
    make = dataclass(frozen=True, slots=True, kw_only=kw_only, eq=eq)
    return make if cls is None else make(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen_by_name(cls: type) -> Any:  # noqa: ANN401 - the class
    return frozen(cls, kw_only=True)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def frozen_arrays(cls: type) -> Any:  # noqa: ANN401 - the class
    """As `frozen`, without equality: arrays cannot be compared as a whole."""
    return frozen(cls, eq=False)


MAX_NAME_CHARACTERS = 200

MAX_TEXT = 10_000
"""Characters of a text that is stored as a value."""

MAX_QUOTED_NAMES = 10

TOGETHER = " × "
"""Joins names of attributes, and labels of their groups."""

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")

_MAX_PRINTED_CHARACTERS = 400

_MAX_COMPARED_CHARACTERS = 100
"""Comparing long texts takes minutes."""

_CONTROL_OR_SURROGATE = {"Cc", "Cs"}


def name_problem(text: str) -> str | None:
    if not text.strip():
        return "must not be blank"
    if len(text) > MAX_NAME_CHARACTERS:
        return f"must have at most {MAX_NAME_CHARACTERS} characters, found {len(text)}"
    return character_problem(text)


def joining_problem(text: str, joined_names: Collection[str]) -> str | None:
    """Finds why labels would be ambiguous: `a × b × c` could be of `a` and `b × c`, or of `a × b` and `c`."""
    # With blanks, so that a × at either end is found: `a ×` and `b` would be joined like `a` and `× b`.
    if f" {text} ".startswith(TOGETHER) or f" {text} ".endswith(TOGETHER):
        return (
            "must neither begin nor end with × as a word of its own, which joins what is watched "
            "together; write x"
        )
    pieces = text.split(TOGETHER)
    first = next(
        (start for size in range(1, len(pieces)) if (start := TOGETHER.join(pieces[:size])) in joined_names),
        None,
    )
    if first is not None:
        return (
            f"must not be the name of the column {first!r}, × and more: × joins the names of what is "
            "watched together; write x"
        )
    return None


def join_first(texts: Iterable[str], limit: int = MAX_QUOTED_NAMES) -> str:
    listed = list(texts)
    remainder = f" and {len(listed) - limit:,} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + remainder


def quote_names(names: Sequence[str]) -> str:
    return join_first(f"{name!r:.100}" for name in names) or "none"


def find_nearest(text: str, offered: Iterable[str]) -> str | None:
    names_by_folded = {name.casefold()[:_MAX_COMPARED_CHARACTERS]: name for name in offered}
    similar_names = get_close_matches(text.casefold()[:_MAX_COMPARED_CHARACTERS], names_by_folded, n=1)
    return names_by_folded[similar_names[0]] if similar_names else None


def character_problem(text: str) -> str | None:
    """Finds characters that cannot be stored: Postgres takes no NUL, and UTF-8 no lone surrogates."""
    is_broken = any(unicodedata.category(character) in _CONTROL_OR_SURROGATE for character in text)
    return "must not hold control characters" if is_broken else None


def printable(text: str, limit: int = _MAX_PRINTED_CHARACTERS) -> str:
    """Writes lone surrogates and control characters as escapes; cuts a very long text."""
    if len(text) > limit:
        text = text[:limit] + "…"
    return CONTROL.sub(
        lambda match: f"\\x{ord(match[0]):02x}", text.encode("utf-8", "backslashreplace").decode()
    )


Scalar = str | int | float | bool
"""A missing cell is None."""

_EXPONENT_FROM = 1e16
"""Python and JSON encoders write larger floats with an exponent; smaller ones with every digit, and `.0`."""


EXACT = 2**53
"""Whole numbers below it are exact in double precision."""

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Range(NamedTuple):
    """Closed range of numbers; in JSON `[lo, hi]`."""

    # Whole numbers stay so: stored keys of copies spell them.
    lo: int | float
    hi: int | float

    def __contains__(self, value: float) -> bool:  # type: ignore[override]  # not the two ends
        return self.lo <= value <= self.hi

    def overlaps(self, compared: "Range") -> bool:
        return self.lo <= compared.hi and compared.lo <= self.hi

    @property
    def label(self) -> str:
        return f"{canonical(self.lo)}-{canonical(self.hi)}"


GroupValue = Scalar | Range

BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def parse_boolean(text: str) -> bool | None:
    return BOOLEANS.get(fold(text))


def fold(value: "GroupValue") -> str:
    return name_value(value).strip().casefold()


def canonical(value: Scalar) -> str:
    """Text under which a value is compared and shown, as Postgres prints the stored JSON.

    Booleans are `true`/`false`; integral floats lose `.0`; no number has an exponent (`0.00001`, not
    `1e-05`).
    """
    if isinstance(value, bool):
        # Before the numbers, because to Python true is an int.
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(normalised(value))
        # Python writes 1e-05 where Postgres prints 0.00001.
        return f"{Decimal(text):f}" if "e" in text else text
    return str(value)


def normalised(value: Scalar) -> Scalar:
    return (
        int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXPONENT_FROM
        else value
    )


def name_value(value: GroupValue) -> str:
    return value.label if isinstance(value, Range) else canonical(value)


def spelled(value: GroupValue) -> str:
    return repr(value) if isinstance(value, str) else name_value(value)


def tidy(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < EXACT else value


def shown_value(value: Any) -> Any:  # noqa: ANN401 - a value as it was stored: JSON
    match value:
        case str() if len(value) > MAX_TEXT:
            return f"{value[:MAX_TEXT]}… (cut: {len(value):,} characters)"
        case list() | tuple():
            return [shown_value(element) for element in value]
        case dict():
            return {name: shown_value(member) for name, member in value.items()}
        case _:
            return value


def plain_cell(value: Any) -> Any:  # noqa: ANN401 - any cell of Parquet, or of a program
    """NaN is missing, as pandas writes it."""
    if isinstance(value, Enum):
        return plain_cell(value.value)
    if isinstance(value, Decimal):
        value = int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - the test for NaN
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, UUID):
        return str(value)
    return value.isoformat() if isinstance(value, datetime | date | time) else value


def is_number(value: object) -> TypeGuard[int | float]:
    """False for true and false, which are numbers to Python."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_number(value: Scalar | None) -> float | None:
    """Also of text that spells a finite number; else None."""
    if (
        value is None or isinstance(value, bool) or (isinstance(value, str) and "_" in value)
    ):  # Python reads 1_000 as a number
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def exact_number(value: Scalar) -> int | float | None:
    """Integers stay, because beyond 2**53 a float would be another one."""
    number = read_number(value)
    if number is None:
        return None
    # From the value itself: its float may be another number.
    exact = Decimal(value)
    return int(exact) if exact == exact.to_integral_value() else number


FIRST, LAST = "\u2068", "\u2069"
"""Unicode's marks around an isolated part of a text (FSI, PDI)."""

_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RIGHT_TO_LEFT_RUN = re.compile(f"{_RIGHT_TO_LEFT}+(?:[ '’-]+{_RIGHT_TO_LEFT}+)*")
_DIRECTION_MARK = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def isolate(text: str) -> str:
    """Puts each run of right-to-left words between `FIRST` and `LAST`: otherwise the numbers after such a
    name would change places.

    Characters that change direction are shown as their number, so that a name cannot turn a sentence round.
    """
    visible = _DIRECTION_MARK.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)
    return _RIGHT_TO_LEFT_RUN.sub(lambda match: f"{FIRST}{match[0]}{LAST}", visible)
