"""Routes of records: store, list, count, read. Bodies go to REST v1 as they come."""

import base64
import csv
import io
import json
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from starlette.responses import JSONResponse

from .data_sets import FEEDBACK, KINDS, PAYLOAD, find_data_set
from .refused import conflict, invalid, not_found
from .times import moment, read_time
from .v1 import MANAGE, PAGE, V1, Document, Json, Subscription, V1In, answered, quoted, split_id

router = APIRouter(prefix="/openscale/v2/data_sets/{data_set_id}", tags=["records"])

MAX_CSV_BYTES = 64 * 2**20
"""Max bytes of a CSV that is cut here; REST v1 bounds those that need no cutting."""

MAX_OFFSET = 100_000
"""Max records that are passed over: they are read."""

_LISTS = {PAYLOAD: "payload-records", FEEDBACK: "feedback-records"}


@router.post("/records", status_code=202)
async def store_records(
    *,
    data_set_id: str,
    v1: V1In,
    response: Response,
    header: bool = True,
    delimiter: Annotated[str, Query(min_length=1, max_length=1)] = ",",
    skip: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int | None, Query(ge=0)] = None,
    is_historical_data: bool = False,
) -> Json:
    """Stores records durably before it answers, so that the request is ready at once; a `scoring_id` that is known is stored once."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    # Each time it is sent, the SDK stamps a record that states no time; IBM's own scripts state str(datetime.utcnow()).
    query: Json = {"first_time_counts": True, "assume_utc": True, "historical": is_historical_data}
    is_csv = v1.request.headers.get("content-type", "").startswith("text/csv")
    if is_csv and not header:
        raise invalid("header", "must be true: without a line of column names Evenhand cannot distinguish the values")
    fact = (await v1.facts([subscription_id])).get(subscription_id)
    stored = Subscription({"id": subscription_id}, fact)
    if stored.entity.get("data_sets", {}).get(kind, {}).get("is_deleted"):
        raise not_found("data set", data_set_id)
    if kind == FEEDBACK and stored.label_column != "label":
        query["label"] = stored.label_column
    is_cut = is_csv and (delimiter, skip, limit) != (",", 0, None)
    content = _cut(await _read_body(v1), delimiter, skip, limit) if is_cut else v1.request.receive
    path = f"/v1/deployments/{quoted(subscription_id)}/{_LISTS[kind]}"
    receipt = answered(await v1.entry.call(v1.request, "POST", path, query=query, content=content))
    response.headers["Location"] = f"/v2/data_sets/{data_set_id}/requests/{_request_id(receipt)}"
    return {"state": "active"}


@router.get("/requests/{request_id}")
async def read_request(data_set_id: str, request_id: str, v1: V1In) -> Json:
    """Returns the state of a request to store records, which its id says: it was over when the id was given out."""
    await find_data_set(v1, data_set_id)
    try:
        stored, rejected, first = json.loads(base64.urlsafe_b64decode(request_id + "=" * (-len(request_id) % 4)))
        message = f"{rejected:d} of {stored + rejected:d} records were not stored. The first: {first}"
    except (ValueError, TypeError) as error:
        raise not_found("request of the data set", request_id) from error
    if not rejected:
        return {"state": "active"}
    return {"state": "error", "failure": {"trace": None, "errors": [{"code": "records-rejected", "message": message}]}}


@router.get("/records")
async def read_records(
    *,
    data_set_id: str,
    v1: V1In,
    start: str | None = None,
    end: str | None = None,
    limit: Annotated[int, Query(ge=0)] = 100,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    includes: str | None = None,
    format: Literal["dict", "list"] = "dict",  # noqa: A002 - the name in the address
    include_total_count: bool = False,
) -> Json:
    """Returns records, newest first; a larger `limit` than a page is cut to it, as OpenScale does."""
    for name in ("filter", "order", "seed"):
        if v1.request.query_params.get(name):
            raise invalid(name, "of records is not supported by Evenhand: they are listed newest first, within `start` and `end`")
    subscription, kind = await find_data_set(v1, data_set_id)
    since, until = read_time("start", start), read_time("end", end)
    window = {name: time.isoformat() for name, time in (("since", since), ("until", until)) if time is not None}
    most = min(limit, PAGE)
    answer: Json = {"limit": most, "offset": offset, "records": []}
    path, member = f"/v1/deployments/{subscription.id}/{_LISTS[kind]}", _LISTS[kind].replace("-", "_")
    if include_total_count:
        answer["total_count"] = (await v1.ask("GET", path, query={**window, "limit": 1, "count": True}))["count"]
    records: list[Json] = []
    if most:
        async for page in v1.pages(path, member, window):
            records += page
            if len(records) >= offset + most:
                break
    rows = [(record["id"], _values(subscription, kind, record)) for record in records[offset : offset + most]]
    columns = includes.split(",") if includes else None
    # Tables of the SDK have the names of the first record, and the values of each by position.
    names = [name for name in dict.fromkeys(name for _, row in rows for name in row) if columns is None or name in columns]
    return {**answer, "records": _in_form(format, data_set_id, [(one, {name: row.get(name) for name in names}) for one, row in rows])}


@router.get("/records/{record_id}")
async def read_record(data_set_id: str, record_id: str, v1: V1In) -> Json:
    subscription, kind = await find_data_set(v1, data_set_id)
    record = await v1.ask("GET", f"/v1/deployments/{subscription.id}/{_LISTS[kind]}/{quoted(record_id)}")
    return _in_form("dict", data_set_id, [(record_id, _values(subscription, kind, record))])[0]


@router.get("/records/{record_id}/{field_name}")
async def read_field(data_set_id: str, record_id: str, field_name: str, v1: V1In) -> JSONResponse:
    values = (await read_record(data_set_id, record_id, v1))["entity"]["values"]
    if field_name not in values:
        raise not_found("field of the record", field_name)
    return JSONResponse(values[field_name])


@router.patch("/records")
@router.patch("/records/{record_id}")
async def change_records(data_set_id: str, v1: V1In) -> Json:
    """Refuses: what was logged is evidence, and is never changed."""
    await v1.require(MANAGE)
    await find_data_set(v1, data_set_id)
    raise conflict("Changing records is not supported by Evenhand: what was logged stays as it was. Send corrected labels as feedback.")


async def _read_body(v1: V1) -> bytes:
    body = b""
    async for part in v1.request.stream():
        body += part
        if len(body) > MAX_CSV_BYTES:
            raise invalid("body", f"is larger than {MAX_CSV_BYTES // 2**20} MiB")
    return body


def _cut(body: bytes, delimiter: str, skip: int, limit: int | None) -> bytes:
    try:
        rows = list(csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), delimiter=delimiter, strict=True))
    except (UnicodeDecodeError, csv.Error, TypeError, ValueError) as error:
        raise invalid("body", f"is not CSV in UTF-8: {error}") from error
    kept = [*rows[:1], *rows[1 + skip :][: len(rows) if limit is None else limit]]
    written = io.StringIO(newline="")
    csv.writer(written).writerows(kept)
    return written.getvalue().encode()


def _request_id(receipt: Document) -> str:
    reasons = [f"records[{rejection['index']}].{rejection['field']}: {rejection['reason']}" for rejection in receipt["rejections"]]
    reasons += [f"records[{one['index']}].id: {one['reason']}" for one in receipt["conflicts"]]
    parts = [receipt["accepted"] + receipt["duplicate"], receipt["rejected"], reasons[0][:300] if reasons else ""]
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _values(subscription: Subscription, kind: str, record: Document) -> Json:
    row = {**(record["features"] or {}), **(record["meta"] or {})}
    if kind == FEEDBACK:
        row |= {subscription.label_column: record["label"], "record_id": record["id"], "record_timestamp": moment(record["logged_at"])}
        return row | {"_original_prediction": record["prediction"], "_original_probability": record["probability"]}
    outputs = subscription.deployment["outputs"]
    row[outputs["prediction"]] = record["prediction"]
    if outputs["probability"] is not None and outputs["probability"] != outputs["prediction"]:
        row[outputs["probability"]] = record["probability"]
    if outputs["label"] is not None:
        row[outputs["label"]] = record["label"]
    row |= {"scoring_id": record["id"], "scoring_timestamp": moment(record["scored_at"]), "asset_revision": record["model_revision"]}
    if record["mitigated"] is not None:
        row |= {f"_debiased_{name}": record["mitigated"].get(name) for name in ("prediction", "probability")}
    return row


def _in_form(form: str, data_set_id: str, rows: Sequence[tuple[str, Json]]) -> list[Json]:
    """Returns records in one of the two forms of the SDK: objects of values, or names and values by position."""
    if form == "list":
        # One table, as the SDK reads `records[0].fields`; and each record with its own, as it reads those of every entry.
        return [{"fields": list(row), "values": list(row.values()), "annotations": []} for _, row in rows]
    return [
        {
            "metadata": {"id": record_id, "url": f"/v2/data_sets/{data_set_id}/records/{record_id}"},
            "entity": {"values": row, "annotations": {}},
        }
        for record_id, row in rows
    ]
