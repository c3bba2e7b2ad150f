"""Counters of a client, and the totals of records that the service did not get, by hour."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from uuid import uuid4

from .values import JsonObject

Totals = dict[int, list[int]]
"""Records that were not received, and left out, by hour."""

HOUR_NANOSECONDS = 3_600_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_KEPT_HOURS = 48


@dataclass(frozen=True)
class Report:
    """Result of a `flush()`: counts since the one before.

    `sent` records were stored by the service, `duplicate` ones it had already, `rejected` ones it (or the client) refused for good,
    `dropped` ones were lost because there was no room. `waiting` are in memory, `spooled` in the spool; both are yet to be sent.
    """

    sent: int = 0
    duplicate: int = 0
    rejected: int = 0
    dropped: int = 0
    spooled: int = 0
    waiting: int = 0


@dataclass(frozen=True)
class Stats:
    """Counts since the client was made, or since this process was forked.

    `left_out` records are not in the sample. `last_problem` says why records wait; None while the service takes them.
    """

    sent: int
    duplicate: int
    rejected: int
    dropped: int
    left_out: int
    spooled: int
    spooled_bytes: int
    waiting: int
    last_problem: str | None


class Counters:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.totals = {"sent": 0, "duplicate": 0, "rejected": 0, "dropped": 0, "left_out": 0}

    def add(self, name: str, count: int = 1) -> None:
        with self._lock:
            self.totals[name] += count


class Losses:
    """Records that the service did not get, by the hour in which they were logged.

    Running totals of one sender can be sent any number of times: the service keeps the highest of each hour.
    """

    def __init__(self, sample_rate: float, source: str | None = None) -> None:
        self.source = source or str(uuid4())
        self.sample_rate = sample_rate
        self._lock = threading.Lock()
        self._hours: Totals = {}
        self._changed: set[int] = set()

    def add(self, hour: int, *, not_received: int = 0, left_out: int = 0) -> None:
        with self._lock:
            totals = self._hours.setdefault(hour, [0, 0])
            totals[0] += not_received
            totals[1] += left_out
            self._changed.add(hour)

    def changed(self) -> Totals:
        with self._lock:
            return {hour: list(self._hours[hour]) for hour in sorted(self._changed)}

    def settle(self, sent: Totals) -> None:
        with self._lock:
            self._changed -= {hour for hour, totals in sent.items() if self._hours.get(hour) == totals}
            for hour in [hour for hour in self._hours if hour < max(self._hours) - _KEPT_HOURS and hour not in self._changed]:
                del self._hours[hour]

    def document(self) -> JsonObject:
        return {"source": self.source, "sample_rate": self.sample_rate, "hours": {str(hour): one for hour, one in self.changed().items()}}

    @classmethod
    def of_document(cls, document: JsonObject) -> Losses:
        """Returns the losses of a document. Raises ValueError, KeyError, TypeError or AttributeError if it is none."""
        losses = cls(float(document["sample_rate"]), str(document["source"]))
        for hour, (not_received, left_out) in document["hours"].items():
            losses.add(int(hour), not_received=int(not_received), left_out=int(left_out))
        return losses


def losses_body(sample_rate: float, totals: Totals) -> JsonObject:
    hours = [
        {"hour": hour_text(hour), "not_received": not_received, "left_out": left_out} for hour, (not_received, left_out) in totals.items()
    ]
    return {"sample_rate": sample_rate, "hours": hours}


def hour_text(hour: int) -> str:
    """Returns the beginning of an hour since 1970 as ISO 8601."""
    return (_EPOCH + timedelta(hours=hour)).isoformat()


def time_text(nanoseconds: int) -> str:
    """Returns nanoseconds since 1970 as ISO 8601."""
    return (_EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat()
