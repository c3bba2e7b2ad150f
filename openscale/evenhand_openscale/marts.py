"""Routes of data marts. There is one, under the zero id; whatever database a script states, the data are in Evenhand's own."""

from fastapi import APIRouter, Response

from .bodies import active, resource
from .refused import not_found
from .v1 import MANAGE, Json, V1In

router = APIRouter(prefix="/openscale/v2/data_marts", tags=["data marts"])

THE_MART = "00000000-0000-0000-0000-000000000000"
SINCE = "2026-01-01T00:00:00.000000Z"
"""Time of what was never made, because it is always there."""


@router.get("")
async def read_data_marts(v1: V1In) -> Json:
    await v1.require("read")
    return {"data_marts": [_answer()]}


@router.post("", status_code=201)
async def add_data_mart(v1: V1In, response: Response) -> Json:
    """Returns the data mart, which is there already: published scripts add one."""
    await v1.require(MANAGE, of_all=True)
    response.headers["Location"] = f"/v2/data_marts/{THE_MART}"
    return _answer()


@router.get("/{data_mart_id}")
async def read_data_mart(data_mart_id: str, v1: V1In) -> Json:
    await v1.require("read")
    require_mart(data_mart_id)
    return _answer()


def require_mart(mart_id: str) -> None:
    if mart_id != THE_MART:
        raise not_found("data mart", mart_id)


def _answer() -> Json:
    return resource(THE_MART, f"/v2/data_marts/{THE_MART}", active({"name": "Evenhand", "internal_database": True}), created_at=SINCE)
