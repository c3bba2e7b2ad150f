"""The circuit breaker: an endpoint that keeps failing is not called for a while, then tried with a single
record.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from ..base.frozen import frozen_by_name

OPENS_AFTER = 3

OPEN_FOR = timedelta(minutes=5)
"""Pause after each further failure. The third repetition of an hourly check comes later than that."""


class BreakerState(StrEnum):
    """The state of the breaker: checks call the endpoint as usual, only if a person asks for the check, or
    with one record first.
    """

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@frozen_by_name
class EndpointHealth:
    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    failed_at: datetime | None = None
    reason: str | None = None
    tried_again_at: datetime | None = None


HEALTHY = EndpointHealth()
