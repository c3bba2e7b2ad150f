"""Calls of a model read as payload records: one, or logged pairs of request and answer."""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from msgspec import Struct

from ...base.errors import FieldProblem, InvalidInput, ScoringFailed, TooLarge
from ...base.strict_json import JsonObject
from ...base.values import printable
from ...domain.record import (
    CellRefused,
    Rejection,
    read_probability,
    read_record_id,
    read_sample_rate,
    read_scalar,
)
from ...payloads.codec import JSON, Codec
from ...payloads.read_call import LoggedTable, join_call, read_call, read_optional_text
from ...payloads.registry import (
    PAIR_CODEC,
    bind_codec,
    find_codec_of_form,
    find_form,
    find_named_codec,
    list_candidates,
)
from ...payloads.wire import name_kind
from .decode_body import MAX_BODY_BYTES, decompress_body, require_decodable
from .encode_lines import Refusals, check_moment, check_rows, check_values, pick_columns, read_optional
from .ingest_plan import (
    CheckedPayload,
    IngestPlan,
    RecordRefused,
    StatedTimes,
    describe_missing,
    require_count,
)

_BINARY = "application/octet-stream"


def check_pairs(pairs: Sequence[Any], plan: IngestPlan, moments: StatedTimes) -> CheckedPayload:
    """Reads logged pairs as payload records; positions of records are counted over all pairs."""
    tables = []
    rates = []
    for position, pair in enumerate(pairs):
        where = f"[{position}]"
        if not isinstance(pair, dict):
            raise InvalidInput(where, "must be an object with request and response")
        try:
            tables.append(_read_pair(pair, plan))
        except InvalidInput as error:
            problems = [
                FieldProblem(printable(f"{where}.{problem.field}"), printable(problem.message))
                for problem in error.problems
            ]
            raise InvalidInput(problems) from error
        try:
            rates.append(read_optional("sample_rate", read_sample_rate, pair))
        except RecordRefused as refused:
            raise InvalidInput(f"{where}.{refused.field}", refused.reason) from refused

    sent = sum(map(len, tables))
    require_count(sent)

    checked = CheckedPayload(sent=sent)
    first = 0
    for table, rate in zip(tables, rates, strict=True):
        _add_table(checked, first, table, plan, moments)
        checked.sample_rates += [rate] * (len(checked.indexes) - len(checked.sample_rates))
        first += len(table)
    return checked


def _add_table(
    checked: CheckedPayload, first: int, table: LoggedTable, plan: IngestPlan, moments: StatedTimes
) -> None:
    rows = len(table)
    refusals = Refusals()
    unknown = [
        name for name in table.fields if name not in plan.features.names and name not in plan.meta.names
    ]
    missing = [column.name for column in plan.features.columns if column.name not in table.fields]
    if missing:
        refusals.add_all(rows, missing[0], describe_missing(missing, unknown))
    elif unknown:
        refusals.add_all(rows, printable(unknown[0]), "is not a column of the schema")
    for name in table.meta_fields:
        if name not in plan.meta.names:
            refusals.add_all(rows, printable(name), "is not a meta field of the schema")
    scored_at: datetime | None = None
    try:
        scored_at = check_moment("scoring_timestamp", table.scoring_timestamp, moments)
    except RecordRefused as refused:
        refusals.add_all(rows, refused.field, refused.reason)
    ids: list[str | None] = [None] * rows
    if table.scoring_id is not None:
        # Ids as OpenScale names them. The last is the longest, so that its check is the check of all.
        ids = [f"{table.scoring_id}-{number}" for number in range(1, rows + 1)]
        try:
            read_record_id(f"{table.scoring_id}-{rows}")
        except CellRefused as error:
            refusals.add_all(rows, "scoring_id", str(error))
    add_rows(checked, table, plan, ids, scored_at, refusals, first=first)


def add_rows(
    checked: CheckedPayload,
    table: LoggedTable,
    plan: IngestPlan,
    ids: Sequence[str | None],
    scored_at: datetime | None,
    refusals: Refusals,
    *,
    first: int = 0,
) -> None:
    """Adds rows to `checked`, those in `refusals` as rejections. `first` is the position of the first in the
    request.
    """
    rows = len(table)
    features = pick_columns(table.rows, table.fields, plan.features.columns)
    check_rows(features, plan.features.columns, plan.features.checks, refusals)
    meta: list[Any] = [None] * rows
    meta_rows, meta_fields = table.meta_rows, table.meta_fields
    if meta_rows is None and plan.meta.names.intersection(table.fields):
        meta_rows, meta_fields = table.rows, table.fields
    if meta_rows is not None:
        meta = pick_columns([list(row) for row in meta_rows], meta_fields, plan.meta.columns)
        check_rows(meta, plan.meta.columns, plan.meta.checks, refusals)
    outputs = plan.target.outputs
    for index, value in enumerate(table.predictions):
        if value is None:
            refusals.add(index, outputs.prediction, "is missing")
    predictions = check_values(table.predictions, plan.prediction, outputs.prediction, refusals)
    empty = [None] * rows
    probabilities = check_values(
        table.probabilities or empty, read_probability, outputs.probability or "", refusals
    )
    labels = check_values(table.labels or empty, read_scalar, outputs.label or "", refusals)

    accepted = [position for position in range(rows) if position not in refusals.by_position]
    lists = {
        "ids": ids,
        "features": features,
        "meta": meta,
        "predictions": predictions,
        "probabilities": probabilities,
        "labels": labels,
    }
    if table.probabilities is not None:
        checked.rounded += sum(
            probabilities[position] != table.probabilities[position] for position in accepted
        )
    for name, values in lists.items():
        getattr(checked, name).extend(values[position] for position in accepted)
    checked.rejections += [
        Rejection(first + position, *refusal) for position, refusal in sorted(refusals.by_position.items())
    ]
    checked.indexes += [first + position for position in accepted]
    checked.times += [scored_at] * len(accepted)


def _read_pair(pair: JsonObject, plan: IngestPlan) -> LoggedTable:
    columns = plan.call_columns
    codec = _find_codec(pair, plan)
    if codec is PAIR_CODEC:
        return PAIR_CODEC.read_pair(pair, outputs=columns.outputs)
    stated: JsonObject = {
        member: read_optional_text(pair, member) for member in ("scoring_id", "scoring_timestamp")
    }
    request = _read_body(pair, "request", codec.content_type)
    response = _read_body(pair, "response", codec.accept)
    with _name_faulty_body():
        table = codec.read_request(request, [column.name for column in columns.features])
    if not table.values:
        raise InvalidInput("request", "holds no record")
    with _name_faulty_body():
        answer = codec.read_answer(response, outputs=columns.outputs, expected_rows=len(table.values))
        logged = join_call(table, answer, columns)
    return replace(logged, **stated)


def _find_codec(pair: JsonObject, plan: IngestPlan) -> Codec:
    stated_format = read_optional_text(pair, "payload_format")
    endpoint = plan.target.endpoint
    if stated_format is not None:
        return find_named_codec(stated_format, endpoint)
    codec = find_codec_of_form(find_form(pair.get("request")))
    if codec is not None:
        return codec
    own_codec = None if endpoint is None else bind_codec(endpoint)
    if own_codec is not None and not own_codec.forms:
        return own_codec
    if not isinstance(pair.get("request"), dict):
        # PAIRED reports the fault of a pair of no format.
        return own_codec or PAIR_CODEC
    request = _read_body(pair, "request", JSON)
    response = _read_body(pair, "response", JSON)
    with _name_faulty_body():
        return read_call(request, response, list_candidates(own_codec, is_csv=False), plan.call_columns).codec


@contextmanager
def _name_faulty_body() -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"request.{error.problems[0].field}", error.problems[0].message) from error
    except ScoringFailed as error:
        raise InvalidInput("response", f"cannot be read: {error}") from error


def _read_body(pair: JsonObject, member: str, media: str) -> bytes:
    content = pair.get(member)
    if content is None:
        raise InvalidInput(member, "is missing")
    if isinstance(content, str) and _BINARY in media:
        try:
            return base64.b64decode(content, validate=True)
        except ValueError as error:
            raise InvalidInput(
                member, f"must be base64: in this format bodies are no text ({error})"
            ) from error
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(member, "holds half of a surrogate pair, which is no text") from error
    if JSON not in media and _BINARY not in media:
        raise InvalidInput(
            member, f"must be text: in this format bodies are {media}, found {name_kind(content)}"
        )
    return json.dumps(content).encode()


MAX_LINES = 1_000_000


class CapturedBody(Struct, frozen=True, array_like=True):
    """A body as it was sent, with its content type and content encoding."""

    body: bytes
    content_type: str = ""
    encoding: str = ""

    def read(self, max_bytes: int = MAX_BODY_BYTES) -> bytes:
        return decompress_body(self.body, self.encoding.strip().lower(), max_bytes)


class Exchange(Struct, frozen=True, kw_only=True):
    """One call of a model: its request and the answer to it."""

    call_id: str
    scored_at: datetime
    request: CapturedBody
    answer: CapturedBody


def require_bounded(body: bytes) -> None:
    """Refuses a body that trying its formats would decode into many times its size."""
    require_decodable(body)
    if body.count(b"\n") > MAX_LINES:
        raise TooLarge(f"The body holds more than {MAX_LINES:,} lines. Send fewer records at once.")


def list_call_ids(call_id: str, rows: int) -> list[str]:
    """The call's own id for one record, `{id}-1`, `{id}-2`, … for several."""
    return [call_id] if rows == 1 else [f"{call_id}-{number}" for number in range(1, rows + 1)]


def read_exchange(
    exchange: Exchange, plan: IngestPlan, codec: Codec | None, max_bytes: int = MAX_BODY_BYTES
) -> CheckedPayload:
    """Reads a call as payload records. `codec` is the endpoint's; callers of a server may use another format
    of it.

    Raises:
        InvalidInput: the request is in no format that has the schema's features.
        UnsupportedMediaType, TooLarge: a body cannot be decompressed, or is too large.
        ScoringFailed: the answer has no usable prediction for each record.
    """
    request = exchange.request.read(max_bytes)
    answer = exchange.answer.read(max_bytes)
    require_bounded(request)
    require_bounded(answer)
    codecs = list_candidates(codec, is_csv="csv" in exchange.request.content_type.lower())
    logged = read_call(request, answer, codecs, plan.call_columns).table
    rows = len(logged)
    refusals = Refusals()
    ids = list_call_ids(exchange.call_id, rows)
    for index, row_id in enumerate(ids):
        try:
            read_record_id(row_id)
        except CellRefused as error:
            refusals.add(index, "id", str(error))
    checked = CheckedPayload(sent=rows)
    add_rows(checked, logged, plan, ids, exchange.scored_at, refusals)
    return checked
