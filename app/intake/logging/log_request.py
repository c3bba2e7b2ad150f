"""One request's body in any of its forms, read and checked, with warnings about its records."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from ...base.encodings import UTF_8, decode_parts
from ...base.errors import InvalidInput
from ...base.strict_json import JsonObject
from ...base.values import Range, find_nearest, name_value, quote_names
from ...domain.deployment import Column
from ...domain.groups import normalize_look
from ...domain.monitor import Outcome
from ...domain.record import Json, ReceiptWarning, describe_value, parse_label, parse_probability, parse_text
from ...domain.record_times import RecordSource
from .decode_body import MAX_BODY_BYTES, decode_json, decompress_body, require_decodable
from .encode_lines import check_feedback, check_payload
from .ingest_plan import CheckedPayload, CheckedRecords, IngestPlan, RecordRefused, StatedTimes, require_count
from .model_call import check_pairs

MAX_WARNINGS = 10

LABEL = "label"

# Python's own limit would refuse a whole file for one long value.
csv.field_size_limit(MAX_BODY_BYTES)

_ID_COLUMNS = ("id", "record_id")
_TIME_FIELDS = ("scored_at", "labelled_at", "scoring_timestamp")
_PREDICTION = "_original_prediction"
_PROBABILITY = "_original_probability"


class LogRequest(Struct, frozen=True, kw_only=True):
    """Body of a request and its options. `label` is the label's column in feedback. With `first_time_counts`,
    a record sent again with another time is a duplicate. Large bodies of one `actor` wait for each other.
    """

    body: bytes
    actor: str = ""
    encoding: str = ""
    is_csv: bool = False
    charset: str = UTF_8
    historical: bool = False
    label: str = LABEL
    first_time_counts: bool = False
    assume_utc: bool = False
    source: RecordSource = RecordSource.REST


def read_payload(
    request: LogRequest, plan: IngestPlan, moments: StatedTimes, max_bytes: int = MAX_BODY_BYTES
) -> CheckedPayload:
    """The body may unpack to `max_bytes`.

    Raises InvalidInput (the field says where), TooLarge, UnsupportedMediaType.
    """
    if request.is_csv:
        raise InvalidInput("body", "payload records are taken as JSON only")
    body = decompress_body(request.body, request.encoding, max_bytes)
    require_decodable(body)
    checked = plan.fast.read(body, moments) if plan.fast else None
    if checked is None:
        value = decode_json(body)
        records = _find_native_records(value)
        if records is not None:
            require_count(len(records))
            checked = check_payload(records, plan, moments)
        else:
            pairs = value if isinstance(value, list) else [value]
            require_count(len(pairs))
            if not isinstance(pairs[0], dict) or pairs[0].keys().isdisjoint(("request", "response")):
                raise InvalidInput(
                    "body",
                    "must be records {features: {…}, prediction: …}, or logged pairs {request, response}",
                )
            checked = check_pairs(pairs, plan, moments)
    require_count(checked.sent)
    _require_times(checked)
    return checked


def read_feedback(
    request: LogRequest, plan: IngestPlan, moments: StatedTimes, max_bytes: int = MAX_BODY_BYTES
) -> CheckedRecords:
    body = decompress_body(request.body, request.encoding, max_bytes)
    if request.is_csv:
        header, *lines = read_csv_lines("".join(decode_parts([body], request.charset, "body")))
        if request.label not in header:
            raise InvalidInput(
                "label", f"the header has no column {request.label!r:.210}; it has {quote_names(header)}"
            )
        records = [_build_csv_record(header, line, plan, request) for line in lines]
    else:
        require_decodable(body)
        records = _list_json_records(decode_json(body), plan, request)
    require_count(len(records))
    checked = check_feedback(records, plan, moments, label_field=request.label)
    _require_times(checked)
    return checked


def _list_json_records(value: Json, plan: IngestPlan, request: LogRequest) -> list[Any]:
    native = _find_native_records(value)
    if native is not None:
        if request.label != LABEL:
            raise InvalidInput(
                "label", "names a column, and records have none: each holds its label as `label`"
            )
        return native
    rows = [value] if _is_table(value) else value
    if not isinstance(rows, list):
        raise InvalidInput(
            "body",
            "must be {records: […]}, an array of objects of columns, or {fields, values} or an array of them",
        )
    if rows and all(map(_is_table, rows)):
        return _list_table_records(rows, plan, request)
    return [_build_record(row, plan, request) if isinstance(row, dict) else row for row in rows]


def find_warnings(checked: CheckedRecords, plan: IngestPlan) -> Sequence[ReceiptWarning]:
    return [*_find_alike_ids(checked.ids), *_find_unlisted(checked, plan)]


def _find_alike_ids(ids: Sequence[str | None]) -> list[ReceiptWarning]:
    texts = dict.fromkeys(record_id for record_id in ids if record_id is not None)
    if all(text.isascii() for text in texts):
        return []
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(normalize_look(text), []).append(text)
    return [
        ReceiptWarning("id", len(twins), f"{', '.join(map(ascii, twins))} look alike, and are different ids")
        for twins in alike.values()
        if not all(text.isascii() for text in twins) and len(twins) > 1
    ][:MAX_WARNINGS]


def _find_unlisted(checked: CheckedRecords, plan: IngestPlan) -> Sequence[ReceiptWarning]:
    outcomes = plan.target.outcomes
    classify = plan.classify
    predictions = checked.predictions
    if outcomes is None or classify is None:
        return ()
    if isinstance(checked, CheckedPayload):
        # The decoded form counts, where there is one.
        predictions = [
            prediction for prediction, label in zip(predictions, checked.labels, strict=True) if label is None
        ]
    answers = [("label", label) for label in checked.labels] + [
        ("prediction", prediction) for prediction in predictions
    ]
    unlisted = Counter(
        (name, answer)
        for name, answer in answers
        if answer is not None and classify(answer) is Outcome.UNCLASSIFIED
    )
    outcome_values = {
        name_value(value): value
        for value in (*outcomes.favourable, *outcomes.unfavourable)
        if not isinstance(value, Range)
    }
    warnings = []
    for (name, answer), records in unlisted.most_common(MAX_WARNINGS):
        likely = find_nearest(name_value(answer), outcome_values)
        question = "" if likely is None else f"; did you mean {describe_value(outcome_values[likely])}?"
        warnings.append(
            ReceiptWarning(name, records, f"{describe_value(answer)} is in neither outcome list{question}")
        )
    return warnings


def _find_native_records(value: Json) -> list[Any] | None:
    """Records of `{"records": […]}`, of an array, or a single one; None if they have another form."""
    if not isinstance(value, dict) or "records" not in value:
        bare = value if isinstance(value, list) else [value]
        has_features = bool(bare) and isinstance(bare[0], dict) and isinstance(bare[0].get("features"), dict)
        return bare if has_features else None
    records = value["records"]
    if not isinstance(records, list):
        raise InvalidInput("records", "must be an array of records")
    unknown = sorted(value.keys() - {"records"})
    if unknown:
        # ascii() escapes control characters; its quotes are cut off.
        raise InvalidInput(ascii(unknown[0])[1:-1], "is not a member that is known here; send only records")
    return records


def _require_times(checked: CheckedRecords) -> None:
    """Raises InvalidInput if most of several records have times that cannot be."""
    refused = [rejection for rejection in checked.rejections if rejection.field in _TIME_FIELDS]
    if checked.sent > 1 and 2 * len(refused) > checked.sent:
        first = refused[0]
        refusal = f"has no usable time in {len(refused):,} of {checked.sent:,} records, so none is stored"
        raise InvalidInput(f"records[{first.index}].{first.field}", f"{refusal}; here it {first.reason}")


def _list_table_records(tables: Iterable[Any], plan: IngestPlan, request: LogRequest) -> list[Any]:
    records: list[Any] = []
    for position, table in enumerate(tables):
        fields = table["fields"]
        if not all(isinstance(name, str) for name in fields):
            raise InvalidInput(f"[{position}].fields", "must be an array of column names")
        for row in table["values"]:
            if not isinstance(row, list):
                records.append(RecordRefused("values", "must be an array"))
            elif len(row) != len(fields):
                records.append(RecordRefused("values", f"has {len(row)} values for {len(fields)} fields"))
            else:
                records.append(_build_record(dict(zip(fields, row, strict=True)), plan, request))
    return records


def _is_table(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("fields"), list)
        and isinstance(value.get("values"), list)
    )


def read_csv_lines(text: str) -> list[list[str]]:
    try:
        header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True) if text else ([],)
    except csv.Error as error:
        raise InvalidInput("body", f"is not CSV ({error})") from error
    if len(set(header)) < len(header):
        raise InvalidInput("body", "the header names a column twice")
    return [header, *filter(None, lines)]


def _build_record(row: JsonObject, plan: IngestPlan, request: LogRequest) -> JsonObject:
    columns = plan.features.names | plan.meta.names
    # OpenScale's name of the time is of historical imports only.
    time_columns = ("labelled_at", "record_timestamp") if request.historical else ("labelled_at",)
    free = {name: value for name, value in row.items() if name not in columns}
    record = {
        "features": _pick_columns(row, plan.features.columns),
        "meta": _pick_columns(row, plan.meta.columns),
        "label": row.get(request.label),
        "id": _find_first(free, _ID_COLUMNS),
        "labelled_at": _find_first(free, time_columns),
    }
    for name in (_PREDICTION, _PROBABILITY):
        if name not in columns:
            record[name] = row.get(name)
    return record


def _find_first(row: JsonObject, names: Sequence[str]) -> Json:
    return next((row[name] for name in names if name in row), None)


def _pick_columns(row: JsonObject, columns: Sequence[Column]) -> JsonObject | None:
    return {column.name: row[column.name] for column in columns if column.name in row} or None


def _build_csv_record(header: list[str], line: list[str], plan: IngestPlan, request: LogRequest) -> Json:
    if len(line) != len(header):
        return RecordRefused("line", f"has {len(line)} values under {len(header)} columns")
    record = _build_record(
        {name: text or None for name, text in zip(header, line, strict=True)}, plan, request
    )
    record["label"] = parse_label(record["label"] or "", is_text=plan.target.lists_texts)
    record[_PREDICTION] = parse_label(record.get(_PREDICTION) or "", is_text=plan.target.lists_texts)
    record[_PROBABILITY] = parse_probability(record.get(_PROBABILITY) or "")
    for kind, columns in (("features", plan.features.columns), ("meta", plan.meta.columns)):
        values = record[kind]
        if values is not None:
            record[kind] = {
                column.name: parse_text(values[column.name] or "", column.sent)
                for column in columns
                if column.name in values
            }
    return record
