"""One request's body in any of its forms, read and checked."""

from typing import Any

from msgspec import Struct

from ..domain.arrivals import RecordSource
from ..errors import InvalidInput, TooLarge
from .bodies import decoded_json, decompressed, require_decodable
from .checked import CheckedFeedback, CheckedPayload
from .feedback_forms import LabelColumns, is_table, records_of_csv, records_of_objects, records_of_tables
from .limits import MAX_RECORDS, StatedTimes
from .native import check_feedback, check_payload
from .pairs import check_pairs
from .plan import IngestPlan

LABEL = "label"

_NATIVE = frozenset({"records"})
_PAYLOAD_FORMS = "must be {records: […]}, or a logged pair {request, response} or an array of them"
_FEEDBACK_FORMS = "must be {records: […]}, an array of objects of columns, or {fields, values} or an array of them"


class LogRequest(Struct, frozen=True, kw_only=True):
    """One request to log records; `label` is the label's column in feedback.

    With `first_time_counts`, a record sent again with another time is a duplicate. Large bodies of one
    `actor` wait for each other.
    """

    body: bytes
    actor: str = ""
    encoding: str = ""
    is_csv: bool = False
    historical: bool = False
    label: str = LABEL
    first_time_counts: bool = False
    without_offset_is_utc: bool = False
    source: RecordSource = RecordSource.REST


def read_payload(request: LogRequest, plan: IngestPlan, moments: StatedTimes) -> CheckedPayload:
    """Payload records that were sent.

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
        decoded = decoded_json(body)
        value = decoded.value
        if isinstance(value, dict) and "records" in value:
            checked = check_payload(_native_records(value), plan, moments)
        elif isinstance(value, dict) and ("request" in value or "response" in value):
            checked = check_pairs([value], plan, moments, is_plain=decoded.is_plain)
        elif isinstance(value, list):
            _check_count(len(value))
            checked = check_pairs(value, plan, moments, is_plain=decoded.is_plain)
        else:
            raise InvalidInput.of("body", _PAYLOAD_FORMS)
    # Again, because one pair holds many records.
    _check_count(checked.sent)
    return checked


def read_feedback(request: LogRequest, plan: IngestPlan, moments: StatedTimes) -> CheckedFeedback:
    body = decompressed(request.body, request.encoding)
    if not request.is_csv:
        require_decodable(body)
    label, names = request.label, LabelColumns(request.label, historical=request.historical)
    value = None if request.is_csv else decoded_json(body).value
    if request.is_csv:
        records = records_of_csv(body, plan, names)
    elif isinstance(value, dict) and "records" in value:
        if label != LABEL:
            raise InvalidInput.of("label", "names a column, and {records: […]} has none: each record holds its label as `label`")
        records = _native_records(value)
    else:
        rows = [value] if is_table(value) else value
        if not isinstance(rows, list):
            raise InvalidInput.of("body", _FEEDBACK_FORMS)
        are_tables = rows and all(map(is_table, rows))
        records = records_of_tables(rows, plan, names) if are_tables else records_of_objects(rows, plan, names)
    _check_count(len(records))
    return check_feedback(records, plan, moments, label_field=label)


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
