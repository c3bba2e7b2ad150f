"""Records that programs scored and Evenhand did not get: dropped on the way, or left out of a sample on purpose."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTotals:
    """Running totals of one sender for one hour. `not_received` records were dropped, `left_out` ones are not in its sample."""

    hour: datetime
    not_received: int
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingRecords:
    """Missing records of some hours, of all senders together.

    `lowest_rate` and `highest_rate` are the sample rates of the senders that left records out; None where none did.
    """

    not_received: int
    left_out: int
    lowest_rate: float | None
    highest_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingHour(MissingRecords):
    """Missing records of one hour, by the clocks of the `senders` that counted them."""

    hour: datetime
    senders: int
