"""Outcomes of calls that came through the gateway or by events."""

from datetime import datetime
from enum import StrEnum

from ...base.frozen import frozen_by_name


class IntakeOutcome(StrEnum):
    """The outcome of a record, or of an event that did not become one. A rounded one is stored or a
    duplicate, too.
    """

    STORED = "stored"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"
    ROUNDED = "rounded_probability"
    UNPAIRED_REQUEST = "unpaired_request"
    UNPAIRED_RESPONSE = "unpaired_response"
    IGNORED = "ignored"


@frozen_by_name
class IntakeCount:
    """Records of one source and outcome in one hour; events where unpaired or ignored. `reason` is that of
    the last.
    """

    deployment_no: int
    hour: datetime
    source: str
    outcome: IntakeOutcome
    count: int
    reason: str | None = None
