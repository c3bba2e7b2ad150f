"""Limits of one request and of one record, which the API's description states."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

from ...domain.record_times import AHEAD, TimeRule

MAX_BODY_BYTES = 64 * 1024 * 1024
"""After decompression."""

MAX_RECORDS = 10_000
"""Max records in one request."""

MAX_CONTAINERS = 1_000_000
"""Counted before they are made: each takes many times its two characters."""

MAX_COMMAS = 10_000_000
"""About as many values may be in one JSON body."""

MAX_RECORD_BYTES = 256 * 1024
"""As JSON in UTF-8, without the names of the columns."""

AHEAD_HISTORICAL = timedelta(minutes=10)
"""Max time by which the sender's clock may be ahead where its time places the record on our own clock."""


@dataclass(frozen=True)
class StatedTimes:
    """The times that a request's records may state; `historical` records must state one.

    If the `first_counts`, a record sent again with another time is a duplicate. Times without an offset are
    refused, unless they are UTC. `earliest` is the deployment's first possible day.
    """

    now: datetime
    historical: bool
    first_counts: bool = False
    without_offset_is_utc: bool = False
    earliest: date | None = None

    @cached_property
    def rule(self) -> TimeRule:
        latest = self.now + (AHEAD_HISTORICAL if self.historical else AHEAD)
        return replace(TimeRule.at(self.now, self.earliest), latest=latest, zone=UTC if self.without_offset_is_utc else None)
