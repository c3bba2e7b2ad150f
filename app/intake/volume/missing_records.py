"""Records that programs scored and Evenhand did not get: dropped, or left out of a sample on purpose."""

from datetime import datetime

from ...base.frozen import frozen, frozen_by_name


@frozen_by_name
class MissingTotals:
    """Running totals of one sender for one hour: dropped records, and those not in its sample."""

    hour: datetime
    not_received: int
    left_out: int


@frozen
class MissingHour:
    """Missing records of one hour, by the clocks of the `senders` that counted them, with the sample rates of
    those that left records out.
    """

    not_received: int
    left_out: int
    lowest_rate: float | None
    highest_rate: float | None
    hour: datetime
    senders: int
