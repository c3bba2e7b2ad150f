"""One request's body in whatever form it came, read and checked."""

from typing import Any

from msgspec import Struct

from app.errors import InvalidInput, TooLarge
from app.ingest.bodies import decoded_json, decompressed, require_decodable
from app.ingest.checked import CheckedFeedback, CheckedPayload
from app.ingest.feedback_forms import is_table, records_of_csv, records_of_objects, records_of_tables
from app.ingest.limits import MAX_RECORDS, Moments
from app.ingest.native import check_feedback, check_payload
from app.ingest.pairs import check_pairs
from app.ingest.plan import Plan

LABEL = "label"
"""What the label, or its column, is called unless another name is given."""

_NATIVE = frozenset({"records"})
_PAYLOAD_FORMS = "must be {records: […]}, or a logged pair {request, response} or an array of them"
_FEEDBACK_FORMS = "must be {records: […]}, an array of objects of columns, or {fields, values} or an array of them"


class LogRequest(Struct, frozen=True, kw_only=True):
    """What was sent. `encoding` is the body's Content-Encoding; `label` the label's column of feedback in the forms that name columns."""

    body: bytes
    encoding: str = ""
    is_csv: bool = False
    historical: bool = False
    label: str = LABEL


def read_payload(request: LogRequest, plan: Plan, moments: Moments) -> CheckedPayload:
    """The payload records that were sent.

    Raises:
        InvalidInput: the body as a whole cannot be read; the field says where.
        TooLarge: it holds more than one request may.
        UnsupportedMediaType: it is compressed with something other than gzip.
    """
    body = decompressed(request.body, request.encoding)
    if request.is_csv:
        raise InvalidInput.of("body", "payload records are taken as JSON only")
    require_decodable(body)
    checked = plan.fast.read(body, moments) if plan.fast else None
    if checked is None:
        checked = _read_payload(body, plan, moments)
    _check_count(checked.sent)
    return checked


def read_feedback(request: LogRequest, plan: Plan, moments: Moments) -> CheckedFeedback:
    """The feedback records that were sent.

    Raises:
        InvalidInput, TooLarge, UnsupportedMediaType: as `read_payload`.
    """
    body = decompressed(request.body, request.encoding)
    if not request.is_csv:
        require_decodable(body)
    label_field, records = _feedback_records(body, request, plan)
    _check_count(len(records))
    return check_feedback(records, plan, moments, label_field=label_field)


def _read_payload(body: bytes, plan: Plan, moments: Moments) -> CheckedPayload:
    decoded = decoded_json(body)
    value = decoded.value
    if isinstance(value, dict) and "records" in value:
        return check_payload(_native_records(value), plan, moments)
    if isinstance(value, dict) and ("request" in value or "response" in value):
        return check_pairs([value], plan, moments, is_plain=decoded.is_plain)
    if isinstance(value, list):
        _check_count(len(value))
        return check_pairs(value, plan, moments, is_plain=decoded.is_plain)
    raise InvalidInput.of("body", _PAYLOAD_FORMS)


def _feedback_records(body: bytes, request: LogRequest, plan: Plan) -> tuple[str, list[Any]]:
    label = request.label
    if request.is_csv:
        return label, records_of_csv(body, plan, label)
    value = decoded_json(body).value
    if isinstance(value, dict) and "records" in value:
        if label != LABEL:
            raise InvalidInput.of("label", "names a column, and {records: […]} has none: each record holds its label as `label`")
        return LABEL, _native_records(value)
    if is_table(value):
        value = [value]
    if not isinstance(value, list):
        raise InvalidInput.of("body", _FEEDBACK_FORMS)
    if value and all(map(is_table, value)):
        return label, records_of_tables(value, plan, label)
    return label, records_of_objects(value, plan, label)


def _native_records(value: dict[str, Any]) -> list[Any]:
    records = value["records"]
    if not isinstance(records, list):
        raise InvalidInput.of("records", "must be an array of records")
    unknown = sorted(value.keys() - _NATIVE)
    if unknown:
        raise InvalidInput.of(ascii(unknown[0])[1:-1], "is not a member that is known here; send only records")
    _check_count(len(records))
    return records


def _check_count(count: int) -> None:
    if count == 0:
        raise InvalidInput.of("records", "must hold at least one record")
    if count > MAX_RECORDS:
        raise TooLarge(f"The request holds {count:,} records; at most {MAX_RECORDS:,} are taken at once.")
