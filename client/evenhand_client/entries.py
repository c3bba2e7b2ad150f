"""Encoded records: the bytes that are sent, and the lines of the spool."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from .counting import HOUR_NANOSECONDS, time_text
from .values import JsonObject, plain, plain_parts

PAYLOAD, FEEDBACK, PAIR, CORRECTION = "payload", "feedback", "pair", "correction"
KINDS = (PAYLOAD, PAIR, FEEDBACK, CORRECTION)
ABOUT_RECORDS = (FEEDBACK, CORRECTION)
"""Kinds that are no records, only values of some."""

_BODY = b'"body":'


class Logged(NamedTuple):
    """One call of a logging method, as it waits: nothing is encoded yet, and its dictionaries belong to the client.

    `features`, `prediction` and `probability` are a payload record's; `others` are all other members.
    """

    kind: str
    id: str
    nanoseconds: int
    features: JsonObject | None = None
    prediction: Any = None
    probability: Any = None
    others: JsonObject | None = None

    @property
    def hour(self) -> int:
        return self.nanoseconds // HOUR_NANOSECONDS

    @property
    def members(self) -> JsonObject:
        members: JsonObject = {}
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


Entries = list[Entry]


def encode(logged: Logged) -> Entry:
    members = logged.members
    if logged.kind == PAIR:
        body = {"scoring_id": logged.id, "scoring_timestamp": time_text(logged.nanoseconds), **members}
    elif logged.kind == CORRECTION:
        body = {"record": logged.id, **members}
    elif logged.kind == FEEDBACK:
        body = {"id": logged.id, **members}
    else:
        scored_at = members.pop("scored_at", None)
        body = {"id": logged.id, "scored_at": time_text(logged.nanoseconds) if scored_at is None else _moment(scored_at), **members}
    try:
        text = _encoder.encode(body)
    except (TypeError, ValueError):
        # A number that is not finite, as pandas writes a missing value, is looked for only where there is one.
        text = _encoder.encode({name: plain_parts(value, name) for name, value in body.items()})
    return Entry(logged.kind, logged.id, logged.hour, text.encode("ascii"))


_encoder = json.JSONEncoder(allow_nan=False, default=plain, separators=(",", ":"))
"""One for all records: `json.dumps` with such options makes one for each."""


def _moment(value: Any) -> str:  # noqa: ANN401 - checked here
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.astimezone()).isoformat()
    if isinstance(value, str):
        return value
    raise TypeError(f"scored_at must be a datetime, found {type(value).__name__}")
