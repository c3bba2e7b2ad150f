"""One value of a record, checked against what its column holds. The slow and exact way: it knows the reason."""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from app.domain.deployments import FieldType
from app.ingest.limits import EARLIEST, MAX_ID_CHARACTERS, Moments

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

EXACT = 2**53
"""From here on double precision no longer holds every whole number."""
_SHOWN_CHARACTERS = 60
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class CellRefused(ValueError):
    """A value that cannot be stored; the message says what was expected and found."""


Json: TypeAlias = Any
"""A decoded JSON value of which nothing is known yet."""

Check: TypeAlias = Callable[[Json], Any]
"""From a decoded JSON value to the value to store. Raises CellRefused."""


def number(value: Json) -> int | float:
    """A finite number of double precision; one without a fraction as an int, so that 1 and 1.0 are stored alike."""
    if type(value) not in (int, float):
        raise CellRefused(f"must be a number, found {shown(value)}")
    try:
        found = float(value)
    except OverflowError as error:
        raise CellRefused("must be a number that double precision can hold") from error
    if not math.isfinite(found):
        raise CellRefused(f"must be a finite number, found {found}")
    return tidy(found)


def integer(value: Json) -> int:
    """A whole number of 64 bits; `3.0` is one."""
    if type(value) is float and value.is_integer() and abs(value) < EXACT:
        return int(value)
    if type(value) is not int:
        raise CellRefused(f"must be a whole number, found {shown(value)}")
    if not INT64_MIN <= value <= INT64_MAX:
        raise CellRefused("must be a whole number of at most 64 bits")
    return value


def string(value: Json) -> str:
    """Text that Postgres can hold."""
    if type(value) is not str:
        raise CellRefused(f"must be text, found {shown(value)}")
    if "\0" in value:
        raise CellRefused("must not contain the NUL character")
    if not _is_unicode(value):
        raise CellRefused("must not contain half of a surrogate pair")
    return value


def boolean(value: Json) -> bool:
    """True or false; 0, 1 and text are not."""
    if type(value) is not bool:
        raise CellRefused(f"must be true or false, found {shown(value)}")
    return value


CHECKS: dict[FieldType, Check] = {
    FieldType.STRING: string,
    FieldType.INTEGER: integer,
    FieldType.NUMBER: number,
    FieldType.BOOLEAN: boolean,
}


def scalar(value: Json) -> str | int | float | bool:
    """A class label: text, a number or a boolean."""
    if type(value) is str:
        return string(value)
    if type(value) is bool:
        return value
    if type(value) is int:
        return integer(value)
    if type(value) is float:
        return number(value)
    raise CellRefused(f"must be text, a number or a boolean, found {shown(value)}")


def probability(value: Json) -> int | float | list[int | float]:
    """A number in [0, 1], or an array of them."""
    if type(value) is list:
        return [_probability(part) for part in value]
    return _probability(value)


def record_id(value: Json) -> str:
    """An id of the client's."""
    text = string(value)
    if not 1 <= len(text) <= MAX_ID_CHARACTERS:
        raise CellRefused(f"must have 1 to {MAX_ID_CHARACTERS} characters, found {len(text)}")
    if not text.isprintable() and _CONTROL.search(text):
        raise CellRefused("must not contain control characters")
    return text


def moment(value: Json, moments: Moments) -> datetime:
    """A time with its offset, within what is believable."""
    if type(value) is not str:
        raise CellRefused(f"must be a time as ISO 8601 text, found {shown(value)}")
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError as error:
        raise CellRefused(f"must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found {shown(value)}") from error
    if parsed.tzinfo is None:
        raise CellRefused(f"must state its offset from UTC, such as 2030-01-31T12:00:00Z, found {shown(value)}")
    if not EARLIEST <= parsed <= moments.latest:
        raise CellRefused(f"must lie between {EARLIEST:%Y-%m-%d} and {moments.latest:%Y-%m-%d %H:%M} UTC, found {shown(value)}")
    return parsed.astimezone(UTC)


def tidy(value: float) -> int | float:
    """The number as it is stored: without a fraction if it has none."""
    return int(value) if value.is_integer() and abs(value) < EXACT else value


def parse_text(text: str, column_type: FieldType) -> Json:
    """What a cell of a text file says, for `CHECKS` to check: an empty one is missing, one that cannot be read stays text."""
    if text == "":
        return None
    if column_type is FieldType.BOOLEAN:
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if column_type in (FieldType.INTEGER, FieldType.NUMBER):
        return _parse_number(text.strip())
    return text


def parse_label(text: str) -> Json:
    """What a label in a text file says: a number where it spells one as JSON would, else text; an empty one is missing."""
    return (_parse_number(text) if _JSON_NUMBER.fullmatch(text) else text) if text else None


def shown(value: Json) -> str:
    """A value for a message: short, and printable whatever it is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        return "a number of more than 64 bits"
    text = f"'{printable(value)}'" if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def printable(text: str) -> str:
    """Text with lone surrogates and control characters written as escapes."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text.encode("utf-8", "backslashreplace").decode())


def _probability(value: Json) -> int | float:
    found = number(value)
    if not 0 <= found <= 1:
        raise CellRefused(f"must lie within [0, 1], found {shown(value)}")
    return found


def _parse_number(text: str) -> int | float | str:
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
