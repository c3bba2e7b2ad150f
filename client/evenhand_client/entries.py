"""Encoded records: the bytes that are sent, and the lines of the spool."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from .counting import HOUR_NANOSECONDS, time_text

PAYLOAD, FEEDBACK, PAIR = "payload", "feedback", "pair"
KINDS = (PAYLOAD, PAIR, FEEDBACK)

_BODY = b'"body":'


class Logged(NamedTuple):
    """One call of a logging method, as it waits: nothing is encoded yet, and its dictionaries belong to the client.

    `features`, `prediction` and `probability` are a payload record's; `others` are all other members.
    """

    kind: str
    id: str
    nanoseconds: int
    features: dict[str, Any] | None = None
    prediction: Any = None
    probability: Any = None
    others: dict[str, Any] | None = None

    @property
    def hour(self) -> int:
        """The hour since 1970 in which it was logged."""
        return self.nanoseconds // HOUR_NANOSECONDS

    @property
    def members(self) -> dict[str, Any]:
        """Everything but id and time."""
        members: dict[str, Any] = {}
        if self.kind == PAYLOAD:
            members = {"features": self.features, "prediction": self.prediction}
            if self.probability is not None:
                members["probability"] = self.probability
        if self.others is not None:
            members.update(self.others)
        return members


class Entry(NamedTuple):
    """One record as it is sent: `body` is JSON, `hour` the hour since 1970 in which it was logged."""

    kind: str
    id: str
    hour: int
    body: bytes

    def line(self) -> bytes:
        """Returns the line of the spool."""
        head = f'{{"kind": "{self.kind}", "id": {json.dumps(self.id)}, "hour": {self.hour},'
        return b"%s%s%s}\n" % (head.encode("ascii"), _BODY, self.body)

    @classmethod
    def of_line(cls, line: bytes) -> Entry | None:
        """Returns the entry of a line; None if the line is torn or something else."""
        try:
            read = json.loads(line)
            if not line.endswith(b"}\n") or read["kind"] not in KINDS:
                return None
            # Quotes inside of the id are escaped, so the first occurrence is the member's name.
            body = line[line.index(_BODY) + len(_BODY) : -2]
            return cls(read["kind"], str(read["id"]), int(read["hour"]), body)
        except (ValueError, KeyError, TypeError):
            return None


def encode(logged: Logged) -> Entry:
    """Returns the record as it is sent. Raises ValueError or TypeError if JSON cannot express it."""
    members = logged.members
    if logged.kind == PAIR:
        body = {"scoring_id": logged.id, "scoring_timestamp": time_text(logged.nanoseconds), **members}
    elif logged.kind == FEEDBACK:
        body = {"id": logged.id, **members}
    else:
        scored_at = members.pop("scored_at", None)
        body = {"id": logged.id, "scored_at": time_text(logged.nanoseconds) if scored_at is None else _moment(scored_at), **members}
    try:
        text = _encoder.encode(body)
    except ValueError:
        # A number that is not finite, as pandas writes a missing value; looked for only where there is one.
        text = _encoder.encode(_without_nan(body))
    return Entry(logged.kind, logged.id, logged.hour, text.encode("ascii"))


def plain_list(values: Any) -> list[Any]:  # noqa: ANN401 - a column or an array of any library
    """Returns the values as a list of plain ones."""
    convert = getattr(values, "tolist", None) or getattr(values, "to_list", None)
    return list(convert() if callable(convert) else values)


def _plain(value: Any) -> Any:  # noqa: ANN401 - of any library
    """Returns a number or array of another library, a time or a mapping as plain values."""
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' missing values; NaT calls itself a datetime
        return None
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    for method in ("tolist", "item"):
        found = getattr(value, method, None)
        if callable(found):
            plain = found()
            return None if isinstance(plain, float) and math.isnan(plain) else plain
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be logged")


_encoder = json.JSONEncoder(allow_nan=False, default=_plain, separators=(",", ":"))
"""One for all records: `json.dumps` with such options makes one for each."""


def _without_nan(value: Any) -> Any:  # noqa: ANN401 - any part of a record
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    return value


def _moment(value: Any) -> str:  # noqa: ANN401 - checked here
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.astimezone()).isoformat()
    if isinstance(value, str):
        return value
    raise TypeError(f"scored_at must be a datetime, found {type(value).__name__}")
