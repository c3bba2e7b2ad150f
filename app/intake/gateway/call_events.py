"""Events about calls of models: CloudEvents of KServe and Seldon, and those of Azure's collector."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

import msgspec
import structlog
from msgspec import Struct

from ...base.errors import InvalidInput, TooLarge, UnsupportedMediaType
from ...base.values import frozen, frozen_by_name
from ...domain.record import CellRefused, read_record_id
from ...domain.record_times import TimeRule
from ...payloads.wire import decode_request
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
    """Number of records of one source and outcome in one hour; of events, where these are unpaired or
    ignored. `reason` is that of the last.
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


SpoolEntry = CompleteCall | CallHalf

log = structlog.get_logger("evenhand.spool")

encode_entry = msgspec.msgpack.Encoder().encode
_decoder: "msgspec.msgpack.Decoder[SpoolEntry]" = msgspec.msgpack.Decoder(SpoolEntry)


def decode_entry(data: bytes) -> SpoolEntry | None:
    """None, which is logged, if another version wrote it."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        log.warning("an entry of the spool is of another version and is left out", bytes=len(data))
        return None


STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
MAX_UNPACKED_BYTES = 16 * 1024 * 1024
"""Max bytes of a request's events as JSON: the event loop reads them."""

MAX_EVENTS = 1_000

_HEADER_PREFIX = "ce-"

_SIDES = {
    "org.kubeflow.serving.inference.request": CallSide.REQUEST,
    "org.kubeflow.serving.inference.response": CallSide.RESPONSE,
    "io.seldon.serving.inference.request": CallSide.REQUEST,
    "io.seldon.serving.inference.response": CallSide.RESPONSE,
    "azureml.inference.model_inputs": CallSide.REQUEST,
    "azureml.inference.model_outputs": CallSide.RESPONSE,
}

_ID_ATTRIBUTES = ("requestid", "x-request-id", "xrequestid", "id")
"""Attributes that both halves of a call share, the surest first: only KServe's logger gives both one `id`."""

_UNPAIRABLE_PREFIX = "io.kserve.inference."
"""Prefix of the types of KServe's Python server, which gives request and response different ids; its logger
does not.
"""


class EventUnclear(ValueError):
    """Raised for, or in place of, an event that is not half of a call; the message is shown as the reason."""


@frozen
class ReportedHalf:
    """Half of a call as an event states it; `stated_at` is None where the sender gave no plausible time."""

    call_id: str
    side: CallSide
    stated_at: datetime | None
    body: CapturedBody


def read_events(
    headers: Mapping[str, str], body: bytes, *, now: datetime
) -> list[ReportedHalf | EventUnclear]:
    """An event that is not half of a call is an EventUnclear.

    Names of `headers` are in lower case. Raises EventUnclear if the request as a whole cannot be read.
    """
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in (STRUCTURED, BATCH):
        attributes = {
            name.removeprefix(_HEADER_PREFIX): value
            for name, value in headers.items()
            if name.startswith(_HEADER_PREFIX)
        }
        captured = CapturedBody(body, headers.get("content-type", ""), headers.get("content-encoding", ""))
        return [_read_half(attributes, captured, now)]
    try:
        document = decode_request(
            CapturedBody(body, "", headers.get("content-encoding", "")).read(MAX_UNPACKED_BYTES)
        )
    except (InvalidInput, TooLarge, UnsupportedMediaType) as error:
        raise EventUnclear(f"the body is not JSON: {error}") from error
    events = document if isinstance(document, list) else [document]
    if len(events) > MAX_EVENTS:
        raise EventUnclear(f"the body holds {len(events):,} events; at most {MAX_EVENTS:,} are read at once")
    return [_read_structured(event, now) for event in events]


def _read_structured(event: object, now: datetime) -> ReportedHalf | EventUnclear:
    if not isinstance(event, dict):
        return EventUnclear("an event must be an object")
    attributes = {name: str(value) for name, value in event.items() if isinstance(value, str | int | float)}
    content_type = attributes.get("datacontenttype", "application/json")
    data = event.get("data")
    if "data_base64" in event:
        try:
            body = base64.b64decode(event["data_base64"], validate=True)
        except (ValueError, TypeError) as error:
            return EventUnclear(f"data_base64 cannot be read: {error}")
    elif isinstance(data, str) and "json" not in content_type:
        # Text that is not JSON is the data itself.
        try:
            body = data.encode()
        except UnicodeEncodeError as error:
            return EventUnclear(f"data is not Unicode: {error.reason}")
    else:
        body = json.dumps(data).encode()
    return _read_half(attributes, CapturedBody(body, content_type), now)


def _read_half(
    attributes: Mapping[str, str], body: CapturedBody, now: datetime
) -> ReportedHalf | EventUnclear:
    event_type = attributes.get("type", "")
    side = _SIDES.get(event_type)
    if side is None:
        known_types = ", ".join(_SIDES)
        if event_type.startswith(_UNPAIRABLE_PREFIX):
            return EventUnclear(
                f"events of the type {event_type} cannot be paired: use the logger of the InferenceService"
            )
        return EventUnclear(
            f"the type {event_type[:100]!r} is not one of {known_types}"
            if event_type
            else f"there is no ce-type; expected one of {known_types}"
        )
    call_id = next((attributes[name] for name in _ID_ATTRIBUTES if attributes.get(name)), None)
    if call_id is None:
        return EventUnclear("there is no id of the call: expected ce-requestid, ce-x-request-id or ce-id")
    try:
        read_record_id(call_id)
    except CellRefused as error:
        return EventUnclear(f"the id of the call {error}")
    return ReportedHalf(call_id, side, read_time(attributes.get("time", ""), now), body)


def read_time(text: str, now: datetime) -> datetime | None:
    """Reads a time; None if it is not possible, or states no offset: nobody says the sender's zone."""
    reading = replace(TimeRule.at(now), zone=None).read(text)
    return reading.at if reading.reason is None and reading.is_placed else None
