"""Values of logged records as senders write them, the receipt of a batch, and a model's answer."""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..base.strict_json import parse_json, vanishes
from ..base.values import (
    CONTROL,
    EXACT,
    JSON_NUMBER,
    MAX_TEXT,
    NUMBER,
    Scalar,
    frozen,
    is_number,
    parse_boolean,
    printable,
    tidy,
)
from .deployment import FieldType
from .record_times import ImpossibleTime, TimeRule

MAX_ID_CHARACTERS = 256

MIN_SAMPLE_RATE = 1e-6
"""One record represents at most a million."""

MAX_ROUNDING = 1e-6
"""Distance from [0, 1] up to which a probability is taken for a rounded 0 or 1."""

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_MAX_SHOWN_CHARACTERS = 60
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,300}")


class CellRefused(ValueError):
    """A value that cannot be stored. The message continues the name of its field: `must be a number`."""


Json = Any

ValueReader = Callable[[Json], Any]
"""From decoded JSON to the value to store. Every reader raises CellRefused."""


def read_number(value: Json) -> int | float:
    """Reads a finite number; one without a fraction becomes an int, so that 1 and 1.0 are stored alike."""
    if type(value) not in (int, float):
        raise CellRefused(f"must be a number, found {describe_value(value)}")
    try:
        converted = float(value)
    except OverflowError as error:
        raise CellRefused("must be a number that double precision can hold") from error
    if not math.isfinite(converted):
        raise CellRefused(f"must be a finite number, found {converted}")
    return tidy(converted)


def read_integer(value: Json) -> int:
    """Reads a whole number of 64 bits; `3.0` is one."""
    if type(value) is float and value.is_integer() and abs(value) < EXACT:
        return int(value)
    if type(value) is not int:
        raise CellRefused(f"must be a whole number, found {describe_value(value)}")
    if not INT64_MIN <= value <= INT64_MAX:
        raise CellRefused("must be a whole number of at most 64 bits")
    return value


def read_string(value: Json) -> str:
    if type(value) is not str:
        raise CellRefused(f"must be text, found {describe_value(value)}")
    if len(value) > MAX_TEXT:
        raise CellRefused(f"must have at most {MAX_TEXT:,} characters, found {len(value):,}")
    if "\0" in value:
        raise CellRefused("must not contain the NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise CellRefused("must not contain half of a surrogate pair") from error
    return value


def read_boolean(value: Json) -> bool:
    if type(value) is not bool:
        raise CellRefused(f"must be true or false, found {describe_value(value)}")
    return value


VALUE_READERS: dict[FieldType, ValueReader] = {
    FieldType.STRING: read_string,
    FieldType.INTEGER: read_integer,
    FieldType.NUMBER: read_number,
    FieldType.BOOLEAN: read_boolean,
}
_SCALAR_READERS: dict[type, Callable[[Json], Scalar]] = {
    str: read_string,
    bool: read_boolean,
    int: read_integer,
    float: read_number,
}


def read_scalar(value: Json) -> Scalar:
    if type(value) not in _SCALAR_READERS:
        raise CellRefused(f"must be text, a number or a boolean, found {describe_value(value)}")
    return _SCALAR_READERS[type(value)](value)


def read_probability(value: Json) -> int | float | list[int | float]:
    """Reads a number in [0, 1], or an array of them; one that rounding moved out becomes 0 or 1."""
    if type(value) is list:
        return [_read_one_probability(element) for element in value]
    return _read_one_probability(value)


def read_sample_rate(value: Json) -> float | None:
    """Reads a share in (0, 1]; None for 1."""
    if not is_number(value) or not MIN_SAMPLE_RATE <= value <= 1:
        raise CellRefused(f"must be a number from {MIN_SAMPLE_RATE:g} to 1, found {describe_value(value)}")
    return None if value == 1 else float(value)


def read_record_id(value: Json) -> str:
    if type(value) is str and not 1 <= len(value) <= MAX_ID_CHARACTERS:
        raise CellRefused(f"must have 1 to {MAX_ID_CHARACTERS} characters, found {len(value):,}")
    text = read_string(value)
    if not text.isprintable() and CONTROL.search(text):
        raise CellRefused("must not contain control characters")
    return text


def read_moment(value: Json, rule: TimeRule) -> datetime:
    """Reads a possible time, with its offset, in UTC."""
    if type(value) is not str:
        raise CellRefused(f"must be a time as ISO 8601 text, found {describe_value(value)}")
    reading = rule.read(value)
    if reading.reason in (ImpossibleTime.NO_TIME, ImpossibleTime.NOT_A_TIME) or reading.is_date:
        raise CellRefused(
            f"must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found {describe_value(value)}"
        )
    if not reading.is_placed:
        raise CellRefused(
            f"must state its offset from UTC, such as 2030-01-31T12:00:00Z, found {describe_value(value)}"
        )
    if reading.reason:
        bounds = f"{rule.earliest:%Y-%m-%d} and {rule.latest:%Y-%m-%d %H:%M} UTC"
        raise CellRefused(f"must lie between {bounds}, found {describe_value(value)}, {reading.reason}")
    return reading.at


def parse_text(text: str, column_type: FieldType) -> Json:
    """Parses a cell of text as a value of the type; an empty one is missing, an unreadable one stays text."""
    if text == "":
        return None
    if column_type is FieldType.BOOLEAN:
        spelled = parse_boolean(text)
        return text if spelled is None else spelled
    return text if column_type is FieldType.STRING else _parse_number(text.strip())


def parse_label(text: str, *, is_text: bool) -> Json:
    """Parses a label: a number if spelled as in JSON, unless outcomes are texts; an empty cell is missing."""
    if not text:
        return None
    if is_text or not JSON_NUMBER.fullmatch(text):
        return text
    return _parse_number(text)


def parse_probability(text: str) -> Json:
    """Parses JSON; other text stays text, and an empty cell is missing."""
    return parse_json(text, text) if text.strip() else None


def describe_value(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        return "a number of more than 64 bits"
    text = f"'{printable(value)}'" if isinstance(value, str) else str(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + "…"


def _read_one_probability(value: Json) -> int | float:
    rounded = round_probability(read_number(value))
    if rounded is None:
        raise CellRefused(f"must lie within [0, 1], found {describe_value(value)}")
    return rounded


def _parse_number(text: str) -> int | float | str:
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    # A number that would become 0 or infinity stays text, and is refused where a number is expected.
    if not NUMBER.fullmatch(text) or vanishes(text) or math.isinf(float(text)):
        return text
    return float(text)


@frozen
class Rejection:
    """One record of a batch that was not stored: its position (from 0), the field, and what was expected
    and found.
    """

    index: int
    field: str
    reason: str


@frozen
class RecordConflict:
    """A record whose id is stored already with other content. The stored one stays."""

    index: int
    id: str
    reason: str


@frozen
class ReceiptWarning:
    """Stored records that probably hold a mistake: ids that look alike, or labels or predictions of one
    value that is in no outcome list of the monitor, which no figure counts.
    """

    field: str
    records: int
    message: str


@frozen
class Receipt:
    """Receipt of a batch after the durable commit: accepted + duplicate + rejected = sent.

    Conflicts are counted among the rejected, and listed because the sender has a bug. `rounded` counts
    records whose probability, at most 1e-6 outside [0, 1], became 0 or 1.
    """

    accepted: int
    duplicate: int
    rejected: int
    rejections: tuple[Rejection, ...]
    conflicts: tuple[RecordConflict, ...]
    rounded: int = 0
    warnings: Sequence[ReceiptWarning] = ()


def round_probability(value: float) -> float | None:
    """Moves a probability into [0, 1]; None if it is further outside than `MAX_ROUNDING`."""
    return min(max(value, 0), 1) if -MAX_ROUNDING <= value <= 1 + MAX_ROUNDING else None


# Not frozen: a check makes hundreds of thousands, and a frozen one takes more than twice as long to make.
@dataclass(slots=True, unsafe_hash=True)
class Prediction:
    """A model's answer to one row. `label` is the decoded form where the endpoint gives one. `is_rounded`:
    the probability was outside [0, 1] and became 0 or 1.
    """

    prediction: Scalar
    probability: float | tuple[float, ...] | None = None
    label: Scalar | None = None
    is_rounded: bool = False

    @property
    def outcome_value(self) -> Scalar:
        return self.prediction if self.label is None else self.label


def digest_id(record_id: str) -> bytes:
    """Digest that replaces the id of an erased record."""
    return hashlib.blake2b(
        record_id.encode("utf-8", "surrogatepass"), digest_size=16, person=b"erased id"
    ).digest()
