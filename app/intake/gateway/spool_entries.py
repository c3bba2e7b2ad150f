"""Entries of the spool, and outcomes of the calls that they hold."""

from datetime import datetime
from enum import StrEnum

import msgspec
import structlog
from msgspec import Struct

from ...base.values import frozen_by_name
from ..logging.model_call import CapturedBody, Exchange


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


class CallSource(StrEnum):
    GATEWAY = "gateway"
    EVENTS = "events"


class CallSide(StrEnum):
    REQUEST = "request"
    RESPONSE = "response"


class CompleteCall(Struct, frozen=True, kw_only=True, tag="call"):
    deployment_id: str
    deployment_no: int
    source: CallSource
    received_at: datetime
    exchange: Exchange


class CallHalf(Struct, frozen=True, kw_only=True, tag="half"):
    deployment_id: str
    deployment_no: int
    source: CallSource
    received_at: datetime
    call_id: str
    side: CallSide
    stated_at: datetime | None
    body: CapturedBody


Entry = CompleteCall | CallHalf

log = structlog.get_logger("evenhand.spool")

encode_entry = msgspec.msgpack.Encoder().encode
_decoder: "msgspec.msgpack.Decoder[Entry]" = msgspec.msgpack.Decoder(Entry)


def decode_entry(data: bytes) -> Entry | None:
    """None, which is logged, for an entry of another version."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        log.warning("an entry of the spool is of another version and is left out", bytes=len(data))
        return None
