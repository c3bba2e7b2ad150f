"""What one request and one record may be. All of it is stated in the API's description."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Of a body, after decompression."""

MAX_RECORDS = 10_000
"""In one request."""

MAX_CONTAINERS = 1_000_000
"""Arrays and objects in one body of JSON. Each takes memory many times its two characters, so they are counted before they are made."""

MAX_COMMAS = 10_000_000
"""In one body of JSON: about as many values may be in it."""

MAX_ID_CHARACTERS = 256

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
"""A time before this is a mistake (a zero, seconds taken for milliseconds), not history."""

AHEAD = timedelta(days=1)
"""How far the sender's clock may be ahead."""

AHEAD_HISTORICAL = timedelta(minutes=10)
"""The same where the sender's time places the record on our own clock."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The times that a request's records may state; `historical` records must state one.

    `now` is when the request was received, and what a record that states none is given.
    """

    now: datetime
    historical: bool

    @property
    def latest(self) -> datetime:
        """The latest time that is believed."""
        return self.now + (AHEAD_HISTORICAL if self.historical else AHEAD)
