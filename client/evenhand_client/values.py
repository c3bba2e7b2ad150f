"""Values of a program as JSON has them, and columns of any library. None is imported: each is known by its members."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

JsonObject = dict[str, Any]

MOST_DIGITS = 309
"""Digits of a whole Decimal, beyond which no reader of JSON has a number for it."""


def plain(value: Any, place: str = "a record") -> Any:  # noqa: ANN401 - of any library
    """Returns a value that JSON has, or that is one step nearer to it.

    Missing values are None, an Enum is its value, a Decimal its number, a UUID its text, a time ISO 8601.

    Raises:
        TypeError: JSON has no such value.
    """
    kind = type(value).__name__
    if kind in ("NAType", "NaTType"):  # pandas' missing values; NaT calls itself a datetime
        return None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        is_whole = value.is_finite() and value.adjusted() < MOST_DIGITS and value == value.to_integral_value()
        return None if value.is_nan() else int(value) if is_whole else float(value)
    if isinstance(value, (date, UUID)):
        return str(value) if isinstance(value, UUID) else value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if kind == "datetime64":  # whose item() is a number of nanoseconds
        return None if str(value) == "NaT" else str(value)
    # What only has a method of that name is no number of a library.
    if not hasattr(value, "dtype") or kind == "timedelta64":
        raise TypeError(f"{place}: a value of type {kind} cannot be logged; log its text or its number")
    if getattr(value, "shape", ()) != ():
        return plain_list(value)
    item = value.item()
    return float(item) if type(item) is type(value) else item  # of numpy's longdouble


def plain_parts(value: Any, place: str) -> Any:  # noqa: ANN401 - any part of a record
    """Returns a value with all its parts as JSON has them; a number that is none is None.

    Raises:
        TypeError, ValueError: JSON has no such value; the message begins with its place.
    """
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        raise ValueError(f"{place}: the number {value} is infinite, or too large for JSON; log None or a number")
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, dict):
        return {name: plain_parts(part, f"{place}.{name}") for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_parts(part, f"{place}[{number}]") for number, part in enumerate(value)]
    return plain_parts(plain(value, place), place)


def plain_list(values: Any) -> list[Any]:  # noqa: ANN401 - a column or an array of any library
    """Returns the values of a list, a column or an array.

    Raises:
        TypeError: it is something else, though it may have parts: a text, a dictionary, a set, a frame, a single number.
    """
    is_whole = isinstance(values, (str, bytes, bytearray, Mapping, AbstractSet)) or hasattr(values, "columns")
    if is_whole or not isinstance(values, Iterable) or getattr(values, "shape", None) == ():
        raise TypeError(f"one value a row was expected, found {values!r:.50} of type {type(values).__name__}; give a list or a column")
    # An array of times would list numbers of nanoseconds.
    convert = None if "time" in str(getattr(values, "dtype", "")) else getattr(values, "tolist", None)
    return list(convert() if callable(convert) else values)


def columns_of(frame: Any) -> dict[str, Any] | None:  # noqa: ANN401 - as above
    """Returns the columns of a DataFrame, a dictionary, a list of dictionaries or an array with names; None if it is something else.

    Raises:
        ValueError: two columns have one name, or one has a name of several levels.
    """
    names: Any = getattr(getattr(frame, "dtype", None), "names", None) or getattr(frame, "columns", None)
    if isinstance(frame, Mapping):
        names = frame
    if isinstance(frame, (list, tuple)) and frame and all(hasattr(row, "keys") for row in frame):
        names = dict.fromkeys(name for row in frame for name in row.keys())  # noqa: SIM118 - a Series iterates over values
        frame = {name: [row.get(name) for row in frame] for name in names}
    if names is None:
        return None
    columns = {str(name): frame[name] for name in names if isinstance(name, (str, int))}
    if len(columns) < len(list(names)):
        raise ValueError(f"each column needs a name of its own, and one text; found {', '.join(map(repr, names))}; rename them")
    return columns
