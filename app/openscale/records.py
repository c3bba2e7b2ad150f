"""Routes of records: store, list, count, read. Storing goes through the ingestion service, with its durable receipt."""

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from ..api.ingestion_bodies import Bodies, ClientGone
from ..domain.deployments import Deployment, RecordSchema
from ..domain.records import Receipt
from ..errors import Conflict, FieldProblem, InvalidInput, NotFound, SetupError
from ..ingest import LogRequest
from ..security.principals import Permission
from ..services import Services
from ..store.openscale.records import LoggedTimes, StoredFeedback, count_feedback, count_payload, list_feedback
from ..store.openscale.subscriptions import subscriptions_of
from ..store.records.record_conditions import RecordFilter
from ..store.records.transactions import StoredRecord, find_records, nth_newest, record_of, schemas_of
from ..web.access import AnyKey, NowIn, ServicesIn
from ..web.auditing import READS_RECORDS
from ..web.media import reads_body, takes
from .bodies import Answer, moment
from .callers import Caller, CallerIn, require_id, split_id
from .csv_feedback import CsvOptions, cut_csv
from .data_sets import FEEDBACK, KINDS, PAYLOAD, label_column_of
from .times import read_time

router = APIRouter(prefix="/openscale/v2/data_sets/{data_set_id}", tags=["records"])

MAX_LISTED = 1000
"""Max records in one answer; a larger `limit` is cut to it, as OpenScale does."""

_UPLOAD = re.compile(r"/openscale/v2/(data_sets/[^/]+/records|subscriptions/[^/]+/predictions)")
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)

DataSetId = Annotated[str, Path(max_length=200)]

_bodies = Bodies()


def is_record_upload(scope: Scope) -> bool:
    """Returns whether the request's body is read here, with the limits of the ingestion routes."""
    return scope["method"] == "POST" and _UPLOAD.fullmatch(scope["path"]) is not None


@router.post("/records", status_code=202)
@takes("text/csv")
@reads_body
async def store_records(  # noqa: PLR0913 - the parameters of the SDK
    *,
    data_set_id: DataSetId,
    request: Request,
    response: Response,
    principal: AnyKey,
    services: ServicesIn,
    now: NowIn,
    header: bool = True,
    delimiter: Annotated[str, Query(min_length=1, max_length=1)] = ",",
    skip: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int | None, Query(ge=0)] = None,
    is_historical_data: bool = False,
) -> Answer:
    """Stores records durably before it answers, so that the request is ready at once; a `scoring_id` that is known is stored once."""
    principal.require_role(Permission.LOG)
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    # Before the ingestion service looks it up: the database takes no NUL character.
    require_id(subscription_id)
    plan = await services.ingestion.plan(subscription_id)
    if not principal.sees(plan.target.no):
        raise NotFound("deployment", subscription_id)  # the same words as for an id that does not exist
    is_csv = request.headers.get("content-type", "").startswith("text/csv")
    label = await asyncio.to_thread(_label_of, services, plan.target.no) if kind == FEEDBACK else "label"
    try:
        body = await _bodies.read(request.receive, request.headers.get("content-length", "").encode("latin-1"), principal.actor)
    except (ClientGone, ClientDisconnect) as error:
        raise InvalidInput.of("body", "did not arrive completely") from error
    try:
        log = services.ingestion.log_payload if kind == PAYLOAD else services.ingestion.log_feedback
        receipt = await log(
            subscription_id,
            LogRequest(
                body=cut_csv(body, CsvOptions(header=header, delimiter=delimiter, skip=skip, limit=limit)) if is_csv else body,
                encoding=request.headers.get("content-encoding", "").strip().lower(),
                is_csv=is_csv,
                actor=principal.actor,
                historical=is_historical_data,
                label=label,
            ),
            now=now,
        )
    finally:
        _bodies.done(body, principal.actor)
    _require_stored(receipt)
    token = _write_request(services, data_set_id, receipt)
    response.headers["Location"] = f"/v2/data_sets/{data_set_id}/requests/{token}"
    return {"state": "active"}


@router.get("/requests/{request_id}")
def read_request(data_set_id: DataSetId, request_id: Annotated[str, Path(max_length=2000)], caller: CallerIn) -> Answer:
    """Returns the state of a request to store records: it is over, or its id was never given out."""
    _, subscription_id = split_id(data_set_id, KINDS, "data set")
    caller.find(subscription_id, Permission.READ)
    stored = _read_request(caller.services, request_id)
    if stored is None or stored["data_set_id"] != data_set_id:
        raise NotFound("request of the data set", ascii(request_id)[1:-1][:60])
    if not stored["rejected"]:
        return {"state": "active"}
    total = stored["accepted"] + stored["duplicate"] + stored["rejected"]
    message = f"{stored['rejected']} of {total} records were not stored. The first: {stored['first']}"
    return {"state": "error", "failure": {"trace": None, "errors": [{"code": "records-rejected", "message": message}]}}


@router.get("/records", dependencies=[READS_RECORDS])
def read_records(  # noqa: PLR0913 - the parameters of the SDK
    *,
    data_set_id: DataSetId,
    caller: CallerIn,
    start: str | None = None,
    end: str | None = None,
    limit: Annotated[int, Query(ge=0)] = 100,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    includes: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    order: str | None = None,
    format: Literal["dict", "list"] = "dict",  # noqa: A002 - the name in the address
    include_total_count: bool = False,
) -> Answer:
    """Returns records, newest first."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    deployment = caller.find(subscription_id)
    if filter:
        raise InvalidInput.of("filter", "is not supported by Evenhand; list records by their time with `start` and `end`")
    if order and order not in ("scoring_timestamp:desc", "record-timestamp:desc"):
        raise InvalidInput.of("order", "is not supported by Evenhand, except scoring_timestamp:desc; records come newest first")
    times = LoggedTimes(since=read_time("start", start), until=read_time("end", end))
    most = min(limit, MAX_LISTED)
    rows = (
        _payload_rows(caller, deployment, times, offset, most)
        if kind == PAYLOAD
        else _named(caller, deployment, list_feedback(caller.session, deployment.no, times, offset=offset, limit=most))
    )
    wanted = set(includes.split(",")) if includes else None
    picked = [(identifier, {name: value for name, value in row.items() if wanted is None or name in wanted}) for identifier, row in rows]
    # Counted only on request: it reads the whole log.
    answer: Answer = {"limit": most, "offset": offset, "records": _records_in(format, data_set_id, picked)}
    if include_total_count:
        count = count_payload if kind == PAYLOAD else count_feedback
        answer["total_count"] = count(caller.session, deployment.no, times)
    return answer


@router.get("/records/{record_id}", dependencies=[READS_RECORDS])
def read_record(data_set_id: DataSetId, record_id: str, caller: CallerIn) -> Answer:
    """Returns one record."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    deployment = caller.find(subscription_id)
    identifier = record_id.replace("\0", "")
    if kind == PAYLOAD:
        stored = record_of(caller.session, deployment.no, identifier)
        rows = [] if stored is None else [_payload_row(stored, schemas_of(caller.session, deployment.no), deployment)]
    else:
        found = list_feedback(caller.session, deployment.no, LoggedTimes(), offset=0, limit=1, only_id=identifier)
        rows = _named(caller, deployment, found)
    if not rows:
        raise NotFound("record", ascii(record_id)[1:-1][:100])
    return _records_in("dict", data_set_id, rows)[0]


@router.patch("/records")
@router.patch("/records/{record_id}")
def change_records(data_set_id: DataSetId, caller: CallerIn) -> Answer:
    """Refuses: what was logged is evidence, and is never changed."""
    _, subscription_id = split_id(data_set_id, KINDS, "data set")
    caller.find(subscription_id, Permission.MANAGE)
    raise Conflict("Changing records is not supported by Evenhand: what was logged stays as it was. Send corrected labels as feedback.")


def _require_stored(receipt: Receipt) -> None:
    """Returns if anything of the request is stored now.

    Raises:
        InvalidInput, Conflict: nothing is; names the first records and the reasons.
    """
    if receipt.accepted or receipt.duplicate or not receipt.rejected:
        return
    if receipt.rejections:
        raise InvalidInput([FieldProblem(f"records[{one.index}].{one.field}", one.reason) for one in receipt.rejections[:10]])
    raise Conflict(f"None of the {receipt.rejected} records was stored: records of these ids are stored already, with other content.")


def _write_request(services: Services, data_set_id: str, receipt: Receipt) -> str:
    """Returns the receipt as the id of its request. Sealed, so that nobody can make one up, and nothing has to be stored for it."""
    first = next((f"records[{one.index}].{one.field}: {one.reason}" for one in receipt.rejections), "")
    first = first or next((f"records[{one.index}].id: {one.reason}" for one in receipt.conflicts), "")
    facts = {
        "data_set_id": data_set_id,
        "accepted": receipt.accepted,
        "duplicate": receipt.duplicate,
        "rejected": receipt.rejected,
        "first": ascii(first)[1:-1][:300],
    }
    return base64.urlsafe_b64encode(services.secret_box.seal(json.dumps(facts).encode())).decode().rstrip("=")


def _read_request(services: Services, request_id: str) -> Mapping[str, Any] | None:
    try:
        sealed = base64.b64decode(request_id + "=" * (-len(request_id) % 4), altchars=b"-_", validate=True)
        found: Mapping[str, Any] = json.loads(services.secret_box.unseal(sealed))
    except (binascii.Error, ValueError, SetupError):
        return None
    return found


def _label_of(services: Services, deployment_no: int) -> str:
    with services.database.transaction() as session:
        return label_column_of(subscriptions_of(session, [deployment_no]).get(deployment_no))


Rows = Sequence[tuple[str, Mapping[str, Any]]]


def _payload_rows(caller: Caller, deployment: Deployment, times: LoggedTimes, offset: int, most: int) -> Rows:
    if not most:
        return []
    after = None
    since, until = times.since or _EARLIEST, times.until or _LATEST
    if offset:
        after = nth_newest(caller.session, deployment.no, None, before=until, since=since, count=offset)
        if after is None:
            return []
    wanted = RecordFilter(since=since, until=until)
    schemas = schemas_of(caller.session, deployment.no)
    rows: list[tuple[str, Mapping[str, Any]]] = []
    # A page may be cut to its size, but callers stop at a page that is shorter than asked for.
    while len(rows) < most:
        found = find_records(caller.session, deployment.no, wanted, after=after, limit=most - len(rows))
        rows += [_payload_row(one, schemas, deployment) for one in found.records]
        if not found.is_cut or not found.records:
            break
        after = found.records[-1].place
    return rows


def _payload_row(record: StoredRecord, schemas: Mapping[int, RecordSchema], deployment: Deployment) -> tuple[str, Mapping[str, Any]]:
    schema, outputs = schemas[record.schema_version], deployment.outputs
    row = _cells(schema, record.features, record.meta)
    row[outputs.prediction] = record.prediction
    if outputs.probability is not None and outputs.probability != outputs.prediction:
        row[outputs.probability] = record.probability
    if outputs.label is not None:
        row[outputs.label] = record.label
    row |= {"scoring_id": record.record_id, "scoring_timestamp": moment(record.scored_at), "asset_revision": record.model_revision}
    if record.debiased is not None:
        row |= {"_debiased_prediction": record.debiased.get("prediction"), "_debiased_probability": record.debiased.get("probability")}
    return record.record_id, row


def _named(caller: Caller, deployment: Deployment, found: Sequence[StoredFeedback]) -> list[tuple[str, Mapping[str, Any]]]:
    label = label_column_of(subscriptions_of(caller.session, [deployment.no]).get(deployment.no))
    schemas = schemas_of(caller.session, deployment.no)
    return [
        (
            one.feedback_id,
            {
                **_cells(schemas[one.schema_version], one.features, one.meta),
                label: one.label,
                "record_id": one.feedback_id,
                "record_timestamp": moment(one.logged_at),
                "_original_prediction": one.predicted,
                "_original_probability": one.probability,
            },
        )
        for one in found
    ]


def _cells(schema: RecordSchema, features: Sequence[Any] | None, meta: Sequence[Any] | None) -> dict[str, Any]:
    named = [*zip(schema.features, features or (), strict=False), *zip(schema.meta, meta or (), strict=False)]
    return {column.name: value for column, value in named}


def _records_in(form: str, data_set_id: str, rows: Rows) -> list[Answer]:
    if form == "list":
        fields = list(rows[0][1]) if rows else []
        # One table, as the SDK reads `records[0].fields`; and each record with its own, as it reads those of every entry.
        return [{"fields": fields, "values": [row.get(name) for name in fields], "annotations": []} for _, row in rows]
    return [
        {
            "metadata": {"id": identifier, "url": f"/v2/data_sets/{data_set_id}/records/{identifier}"},
            "entity": {"values": row, "annotations": {}},
        }
        for identifier, row in rows
    ]
