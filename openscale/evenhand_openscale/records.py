"""Routes of records: store, list, count, read. Storing goes through the ingestion service, with its durable receipt."""

import asyncio
import re
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from ..api.ingestion_bodies import Bodies, ClientGone
from ..domain.records import Receipt
from ..errors import Conflict, FieldProblem, InvalidInput, NotFound
from ..ingest import CsvForm, LogRequest
from ..security.principals import Permission
from ..services import Services
from ..store.openscale.subscriptions import subscriptions_of
from ..web.access import AnyKey, NowIn, ServicesIn
from ..web.auditing import READS_RECORDS
from ..web.media import reads_body, takes
from .bodies import Answer
from .callers import CallerIn, require_id, split_id
from .data_set_records import DataSetRecords, ListedRecord, records_in
from .data_sets import FEEDBACK, KINDS, PAYLOAD, label_column_of, require_kept
from .record_filters import read_includes
from .sealed_ids import seal_id, unseal_id
from .times import read_time

router = APIRouter(prefix="/openscale/v2/data_sets/{data_set_id}", tags=["records"])

MAX_LISTED = 1000
"""Max records in one answer; a larger `limit` is cut to it, as OpenScale does."""

_UPLOAD = re.compile(r"/openscale/v2/(data_sets/[^/]+/records|subscriptions/[^/]+/predictions)")

DataSetId = Annotated[str, Path(max_length=200)]

_bodies = Bodies()


def is_record_upload(scope: Scope) -> bool:
    """Returns whether the request's body is read here, with the limits of the ingestion routes."""
    return scope["method"] == "POST" and _UPLOAD.fullmatch(scope["path"]) is not None


@router.post("/records", status_code=202)
@takes("text/csv")
@reads_body
async def store_records(
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
    require_id(subscription_id)  # before the ingestion service looks it up: the database takes no NUL character
    plan = await services.ingestion.plan(subscription_id)
    if not principal.sees(plan.target.no):
        raise NotFound("deployment", subscription_id)  # the same words as for an id that does not exist
    is_csv = request.headers.get("content-type", "").startswith("text/csv")
    if is_csv and not header:
        raise InvalidInput.of("header", "must be true: without a line of column names Evenhand cannot distinguish the values")
    label = await asyncio.to_thread(_label_of, services, plan.target.no, kind, data_set_id)
    try:
        body = await _bodies.read(request.receive, request.headers.get("content-length", "").encode("latin-1"), principal.actor)
    except (ClientGone, ClientDisconnect) as error:
        raise InvalidInput.of("body", "did not arrive completely") from error
    try:
        log = services.ingestion.log_payload if kind == PAYLOAD else services.ingestion.log_feedback
        receipt = await log(
            subscription_id,
            LogRequest(
                body=body,
                encoding=request.headers.get("content-encoding", "").strip().lower(),
                is_csv=is_csv,
                csv=CsvForm(delimiter, skip, limit),
                actor=principal.actor,
                historical=is_historical_data,
                label=label,
                # Each time it is sent, the SDK stamps a record that states no time; IBM's own scripts state str(datetime.utcnow()).
                first_time_counts=True,
                without_offset_is_utc=True,
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
    stored = unseal_id(caller.services, request_id)
    if stored is None or stored.get("data_set_id") != data_set_id:
        raise NotFound("request of the data set", ascii(request_id)[1:-1][:60])
    if not stored["rejected"]:
        return {"state": "active"}
    total = stored["accepted"] + stored["duplicate"] + stored["rejected"]
    message = f"{stored['rejected']} of {total} records were not stored. The first: {stored['first']}"
    return {"state": "error", "failure": {"trace": None, "errors": [{"code": "records-rejected", "message": message}]}}


@router.get("/records", dependencies=[READS_RECORDS])
def read_records(
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
    seed: Annotated[float | None, Query(ge=0, le=1)] = None,
    format: Literal["dict", "list"] = "dict",  # noqa: A002 - the name in the address
    include_total_count: bool = False,
) -> Answer:
    """Returns the records that the filter lets through; newest first, unless an order is asked for."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    deployment = caller.find(subscription_id)
    records = DataSetRecords.of(caller, deployment, kind)
    wanted = records.read_search(read_time("start", start), read_time("end", end), filter, order, seed)
    columns = read_includes(includes, records.data_set.fields)
    most = min(limit, MAX_LISTED)
    # Counted only on request: it reads the whole log.
    answer: Answer = {"limit": most, "offset": offset, "records": []}
    if include_total_count:
        answer["total_count"] = records.count(wanted)
    rows = records.list(wanted, offset=offset, limit=most)
    picked = [
        ListedRecord(one.id, {name: value for name, value in one.values.items() if columns is None or name in columns}) for one in rows
    ]
    return {**answer, "records": records_in(format, data_set_id, picked)}


@router.get("/records/{record_id}", dependencies=[READS_RECORDS])
def read_record(data_set_id: DataSetId, record_id: str, caller: CallerIn) -> Answer:
    """Returns one record."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    found = DataSetRecords.of(caller, caller.find(subscription_id), kind).find(record_id.replace("\0", ""))
    if found is None:
        raise NotFound("record", ascii(record_id)[1:-1][:100])
    return records_in("dict", data_set_id, [found])[0]


@router.get("/records/{record_id}/{field_name}", dependencies=[READS_RECORDS])
def read_field(data_set_id: DataSetId, record_id: str, field_name: str, caller: CallerIn) -> JSONResponse:
    """Returns the value of one field of a record, as JSON."""
    values = read_record(data_set_id, record_id, caller)["entity"]["values"]
    if field_name not in values:
        raise NotFound("field of the record", ascii(field_name)[1:-1][:100])
    return JSONResponse(values[field_name])


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
    """Returns the receipt as the id of its request."""
    first = next((f"records[{one.index}].{one.field}: {one.reason}" for one in receipt.rejections), "")
    first = first or next((f"records[{one.index}].id: {one.reason}" for one in receipt.conflicts), "")
    facts = {
        "data_set_id": data_set_id,
        "accepted": receipt.accepted,
        "duplicate": receipt.duplicate,
        "rejected": receipt.rejected,
        "first": ascii(first)[1:-1][:300],
    }
    return seal_id(services, facts)


def _label_of(services: Services, deployment_no: int, kind: str, data_set_id: str) -> str:
    with services.database.transaction() as session:
        stored = subscriptions_of(session, [deployment_no]).get(deployment_no)
    require_kept(stored, kind, data_set_id)
    return label_column_of(stored) if kind == FEEDBACK else "label"
