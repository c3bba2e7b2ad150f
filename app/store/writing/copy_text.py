"""Cells in the text form of COPY. JSON holds no raw tab or newline, so a backslash is all it needs escaped."""

from collections.abc import Iterable
from typing import Any

import msgspec

NULL = "\\N"

_ENCODER = msgspec.json.Encoder()
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_text(text: str) -> str:
    """A text cell; it must hold no NUL."""
    return text.translate(_ESCAPES)


def json_lines(values: Iterable[Any]) -> list[str]:
    """One JSON cell per value, in order. None becomes the JSON word null, not SQL's NULL."""
    text = _ENCODER.encode_lines(values).decode()
    return (text.replace("\\", "\\\\") if "\\" in text else text).split("\n")[:-1]
