"""A request for mitigated predictions in any form. Ingestion checks the values, and one bad value refuses
all.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...base.errors import FieldProblem, InvalidInput, TooLarge
from ...base.values import printable
from ...domain.deployment import Endpoint
from ...domain.record import read_record_id
from ...intake.logging.decode_body import decode_json, decompress_body, require_decodable
from ...intake.logging.encode_lines import (
    Refusals,
    check_objects,
    describe_excess,
    measure_size,
    read_members,
    read_optional,
)
from ...intake.logging.ingest_plan import MAX_RECORD_BYTES, Cells, IngestPlan, RecordRefused
from ...payloads.codec import JSON, Codec, Form, Objects, Tables
from ...payloads.registry import FORMS, bind_codec, find_form, find_named_codec
from ...payloads.wire import require_members

MAX_RECORDS = 1_000

MAX_PROBLEMS = 100

_MAX_GROWTH = 8
"""Ratio of a record's size as measured to that as sent: `1e15` is written with all digits."""

_RECORDS = "records"
_RECORD_MEMBERS = frozenset({"id", "features", "meta"})
_SHAPES = ["{records: […]}", *(form.shape for form in FORMS)]


class RequestRecords(Struct, frozen=True, kw_only=True):
    """Checked records of a request: position i of every list is one record, each value as it is stored.

    Features and meta fields are in schema order. An id of None is to be generated; a record may come without
    meta fields. The request came in a `form`, or in a payload format without one (`codec`); with neither, as
    records of the service's own form. `path` is their place in the body.
    """

    form: Form | None
    codec: Codec | None
    path: str
    ids: list[str | None]
    features: Sequence[Cells]
    meta: Sequence[Cells | None]

    def __len__(self) -> int:
        return len(self.ids)


class _SentRecords(Struct, frozen=True, kw_only=True):
    """Records before they are checked: features and meta fields as objects, at paths in record number {}."""

    path: str
    ids: list[str | None]
    features: Sequence[Any]
    meta: Sequence[Any]
    features_path: str
    meta_path: str


def read_request_records(
    body: bytes,
    encoding: str,
    plan: IngestPlan,
    endpoint: Endpoint,
    payload_format: str | None,
    max_bytes: int,
) -> RequestRecords:
    """Reads the records of a request; `encoding` is the body's Content-Encoding.

    Without a `payload_format` the members of the body show its form; a body of no known form is read as one
    for the endpoint.

    Raises:
        InvalidInput: something in it does not match the schema; names each offending field.
        TooLarge: it exceeds the limits of one request.
        UnsupportedMediaType: it is compressed with something other than gzip.
    """
    body = decompress_body(body, encoding, max_bytes)
    require_decodable(body)
    codec = None if payload_format is None else find_named_codec(payload_format, endpoint)
    form = None
    endpoint_codec = bind_codec(endpoint)
    try:
        value = decode_json(body)
    except InvalidInput:
        # It may be of a format that is not JSON.
        if (codec or endpoint_codec).content_type == JSON:
            raise
        value = None
    if codec is None and isinstance(value, dict) and _RECORDS in value:
        require_members(value, "", frozenset({_RECORDS}), next_to=_RECORDS)
        sent = _read_records(value[_RECORDS])
    elif codec is None and (form := find_form(value)) is not None:
        parsed = form.read_request(value)
        sent = _read_objects(parsed, plan) if isinstance(parsed, Objects) else _read_tables(parsed, plan)
    else:
        if codec is None:
            codec = endpoint_codec
            if codec.forms:
                raise InvalidInput("body", f"must be {', '.join(_SHAPES[:-1])} or {_SHAPES[-1]}")
        table = codec.read_request(body, [column.name for column in plan.features.columns])
        sent = _read_tables(Tables(table), plan)

    refusals = Refusals()
    meta_refusals = Refusals()
    features = check_objects(sent.features, plan.features, refusals)
    with_meta = [index for index, row in enumerate(sent.meta) if row is not None]
    checked = check_objects([sent.meta[index] for index in with_meta], plan.meta, meta_refusals)
    meta = dict(zip(with_meta, checked, strict=True))
    faults = [
        (index, sent.features_path, "features", *fault) for index, fault in refusals.by_position.items()
    ]
    faults += [
        (with_meta[index], sent.meta_path, "meta", *fault)
        for index, fault in meta_refusals.by_position.items()
    ]
    if faults:
        problems = [
            FieldProblem(path.format(index) + field.removeprefix(kind), reason)
            for index, path, kind, field, reason in sorted(faults)
        ]
        raise InvalidInput(problems[:MAX_PROBLEMS])
    read = RequestRecords(
        form=form,
        codec=codec,
        path=sent.path,
        ids=sent.ids,
        features=features,
        meta=[meta.get(index) for index in range(len(features))],
    )
    if len(body) * _MAX_GROWTH > MAX_RECORD_BYTES:
        sizes = map(describe_excess, map(measure_size, read.ids, read.features, read.meta))
        large = [
            FieldProblem(f"{read.path}[{index}]", problem)
            for index, problem in enumerate(sizes)
            if problem is not None
        ]
        if large:
            raise InvalidInput(large[:MAX_PROBLEMS])
    return read


def _read_records(records: Any) -> _SentRecords:  # noqa: ANN401 - a decoded JSON value, not checked yet
    if not isinstance(records, list):
        raise InvalidInput(_RECORDS, "must be an array of records")
    _require_count(len(records), _RECORDS)
    ids = []
    problems = []
    for index, record in enumerate(records):
        try:
            members = read_members(record, _RECORD_MEMBERS)
            ids.append(read_optional("id", read_record_id, members))
            if "features" not in members:
                problems.append(FieldProblem(f"{_RECORDS}[{index}].features", "is missing"))
        except RecordRefused as refused:
            where = "" if refused.field == "record" else f".{refused.field}"
            problems.append(FieldProblem(f"{_RECORDS}[{index}]{where}", refused.reason))
    if problems:
        raise InvalidInput(problems[:MAX_PROBLEMS])
    return _SentRecords(
        path=_RECORDS,
        ids=ids,
        features=[record["features"] for record in records],
        meta=[record.get("meta") for record in records],
        features_path="records[{}].features",
        meta_path="records[{}].meta",
    )


def _read_objects(sent: Objects, plan: IngestPlan) -> _SentRecords:
    rows = sent.rows
    names = plan.meta.names
    _require_count(len(rows), sent.path)
    # A column that is in neither list is left among the features, whose check refuses it.
    features = [
        {name: value for name, value in row.items() if name not in names} if isinstance(row, dict) else row
        for row in rows
    ]
    has_meta = any(isinstance(row, dict) and not names.isdisjoint(row) for row in rows)
    meta = [
        {name: row[name] for name in names if name in row} if has_meta and isinstance(row, dict) else None
        for row in rows
    ]
    path = sent.path + "[{}]"
    return _SentRecords(
        path=sent.path,
        ids=[None] * len(rows),
        features=features,
        meta=meta,
        features_path=path,
        meta_path=path,
    )


def _read_tables(sent: Tables, plan: IngestPlan) -> _SentRecords:
    table = sent.table
    meta_table = sent.meta
    names = plan.meta.names
    _require_count(len(table.values), table.values_path)
    problems = []
    for index, name in enumerate(table.fields):
        where = f"{table.fields_path}[{index}]"
        if name not in plan.features.names | names:
            problems.append(
                FieldProblem(where, f"names {printable(name)}, which is not a column of the schema")
            )
        elif meta_table is not None and name in names:
            problems.append(
                FieldProblem(
                    where, f"names {printable(name)}, a meta field; as meta is sent, it belongs there"
                )
            )
    # Every row lacks what the line of names lacks, so it is said once.
    missing = [column.name for column in plan.features.columns if column.name not in table.fields]
    reason = "it is missing; a feature without a value must be sent as null"
    problems += [FieldProblem(table.fields_path, f"lacks {name}: {reason}") for name in missing]
    for index, name in enumerate(meta_table.fields if meta_table is not None else ()):
        if name not in names and meta_table is not None:
            where = f"{meta_table.fields_path}[{index}]"
            problems.append(
                FieldProblem(where, f"names {printable(name)}, which is not a meta field of the schema")
            )
    if problems:
        raise InvalidInput(problems[:MAX_PROBLEMS])

    with_meta = meta_table or (table if names.intersection(table.fields) else None)
    meta: list[Any] = [None] * len(table.values)
    if with_meta is not None:
        meta = [
            {name: row[index] for index, name in enumerate(with_meta.fields) if name in names}
            for row in with_meta.values
        ]
    return _SentRecords(
        path=table.values_path,
        ids=[None] * len(table.values),
        features=[
            {name: row[index] for index, name in enumerate(table.fields) if name not in names}
            for row in table.values
        ],
        meta=meta,
        features_path=table.values_path + "[{}]",
        meta_path=(with_meta or table).values_path + "[{}]",
    )


def _require_count(count: int, where: str) -> None:
    if count == 0:
        raise InvalidInput(where, "must hold at least one record")
    if count > MAX_RECORDS:
        raise TooLarge(f"The request holds {count:,} records; at most {MAX_RECORDS:,} are taken at once.")
