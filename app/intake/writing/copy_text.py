"""Cells in COPY's text form. JSON holds no raw tab or newline, so only backslashes are escaped."""

from collections.abc import Sequence
from typing import Any

import msgspec

NULL = "\\N"

_ENCODER = msgspec.json.Encoder()
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_text(text: str) -> str:
    """Returns a text cell; it must hold no NUL."""
    return text.translate(_ESCAPES)


def json_lines(values: Sequence[Any]) -> list[str]:
    """Returns one JSON cell per value. None becomes JSON's null, not SQL's."""
    is_one = len(values) == 1  # half the time of making and splitting lines
    text = (_ENCODER.encode(values[0]) if is_one else _ENCODER.encode_lines(values)).decode()
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return [text] if is_one else text.split("\n")[:-1]
