"""Outputs of answers that are an object a record, without dictionaries of all that these hold."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from ..domain.deployments import OutputFields
from ..domain.records import Prediction
from .answers import to_predictions
from .wire import BOM

_PREDICTION, _PROBABILITY, _LABEL = "prediction", "probability", "label"


class NamedRows:
    def __init__(self, prediction: str, probability: str | None, label: str | None) -> None:
        roles = {_PREDICTION: prediction, _PROBABILITY: probability, _LABEL: label}
        named = {role: name for role, name in roles.items() if name is not None}
        # Values are checked later. They hold no reference to their row, so the collector may skip it.
        self._row = msgspec.defstruct("Row", [(role, Any) for role in named], rename=named, gc=False)
        self._has_probability, self._has_label = _PROBABILITY in named, _LABEL in named
        self._listed = msgspec.json.Decoder(list[self._row])  # type: ignore[name-defined]
        self._wrapped: dict[str, msgspec.json.Decoder[Any]] = {}

    def listed(self, body: bytes) -> list[Any] | None:
        rows: list[Any] | None = _read(self._listed.decode, body)
        return rows

    def lines(self, body: bytes) -> list[Any] | None:
        text = body.removesuffix(b"\n")
        rows = _read(msgspec.json.Decoder(self._row).decode_lines, text)
        # msgspec takes several values in one line, and one in several.
        return rows if rows is not None and len(rows) == text.count(b"\n") + 1 else None

    def under(self, member: str, body: bytes) -> list[Any] | None:
        decoder = self._wrapped.get(member)
        if decoder is None:
            shape = msgspec.defstruct("Answer", [("rows", list[self._row])], rename={"rows": member})  # type: ignore[name-defined]
            decoder = self._wrapped.setdefault(member, msgspec.json.Decoder(shape))
        answer = _read(decoder.decode, body)
        return None if answer is None else answer.rows

    def predictions(self, rows: list[Any], outputs: OutputFields) -> list[Prediction]:
        return to_predictions(
            [row.prediction for row in rows],
            [row.probability for row in rows] if self._has_probability else None,
            [row.label for row in rows] if self._has_label else None,
            outputs,
        )


def named_rows_of(outputs: OutputFields) -> NamedRows | None:
    """Returns the reader for these outputs; None where two have one name."""
    names = [name for name in (outputs.prediction, outputs.probability, outputs.label) if name is not None]
    return _make(outputs.prediction, outputs.probability, outputs.label) if len(set(names)) == len(names) else None


_make = lru_cache(maxsize=256)(NamedRows)


def _read(decode: Callable[[bytes], Any], body: bytes) -> Any:  # noqa: ANN401 - what the decoder makes
    try:
        return decode(body.removeprefix(BOM))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
