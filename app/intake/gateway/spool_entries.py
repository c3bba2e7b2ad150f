"""Entries of the spool."""

from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

import msgspec
import structlog
from msgspec import Struct

from ..logging.model_call import CapturedBody, Exchange


class CallSource(StrEnum):
    """The way on which a call came to us."""

    GATEWAY = "gateway"
    EVENTS = "events"


class CallSide(StrEnum):
    REQUEST = "request"
    RESPONSE = "response"


class CompleteCall(Struct, frozen=True, kw_only=True, tag="call"):
    """A model's request with its answer; time and id were fixed at receipt."""

    deployment_id: str
    deployment_no: int
    source: CallSource
    received_at: datetime
    exchange: Exchange


class CallHalf(Struct, frozen=True, kw_only=True, tag="half"):
    """Waits for the other half of its `call_id`. `stated_at` is the sender's time."""

    deployment_id: str
    deployment_no: int
    source: CallSource
    received_at: datetime
    call_id: str
    side: CallSide
    stated_at: datetime | None
    body: CapturedBody


Entry: TypeAlias = CompleteCall | CallHalf

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
