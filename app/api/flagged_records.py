"""Routes of the records most in need of a second look: a list in pages, and a CSV to be labelled anew."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from app.api.answers import problems_of_deployment
from app.api.flagged_csv import csv_header, csv_lines, csv_row
from app.api.schemas.flagged_records import Direction, FlaggedOut, FlaggedPage, Kind
from app.domain.deployments import Deployment
from app.domain.mitigation import ONLY_DIRECT
from app.services import Services
from app.store.flagged_records import FlaggedFilter, FlaggedPayload, FlagPlace, flagged_page
from app.web.access import ReadableDeployment, ServicesIn, SessionIn
from app.web.paging import Limit, PlaceCursor, cut_at_place, place_behind
from app.web.times import Moment, in_utc

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["mitigation"])

PIECE = 1000
"""Rows of a CSV that are read and sent at once."""

Text = Annotated[str | None, Query(max_length=1000, pattern=r"^[^\x00]*$")]


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `FlagPlace` as a cursor holds it."""

    gap: Annotated[float, msgspec.Meta(ge=0)]
    record_no: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    attribute: Annotated[str, msgspec.Meta(pattern=r"\A[^\x00]*\Z")]


class CsvAnswer(StreamingResponse):
    """A CSV that is sent while it is read."""

    media_type = "text/csv"


@dataclass(frozen=True, slots=True)
class _Export:
    """What a CSV is made of."""

    services: Services
    deployment: Deployment
    wanted: FlaggedFilter


def wanted_flags(
    deployment: ReadableDeployment,
    *,
    attribute: Text = None,
    direction: Direction | None = None,
    kind: Kind | None = None,
    since: Moment = None,
    until: Moment = None,
    model_revision: Annotated[
        Text, Query(description="What this revision of the model said when it was asked again. Left out: the deployment's present one.")
    ] = None,
) -> FlaggedFilter:
    """The filter that an address asks for. A new model treats the same records otherwise, so one revision is asked for at a time.

    Raises:
        InvalidInput: a time that cannot be expressed in UTC.
    """
    return FlaggedFilter(
        model_revision=deployment.model_revision if model_revision is None else model_revision,
        attribute=attribute,
        direction=direction,
        kind=kind,
        since=in_utc("since", since),
        until=in_utc("until", until),
    )


def flag_behind(cursor: PlaceCursor = None) -> FlagPlace | None:
    """The place behind which the page begins; None for the first page.

    Raises:
        InvalidInput: the cursor is none of ours.
    """
    place = place_behind(cursor, _Place)
    return None if place is None else FlagPlace(place.gap, place.record_no, place.attribute)


Wanted = Annotated[FlaggedFilter, Depends(wanted_flags)]


@router.get("/flagged-records", operation_id="listFlaggedRecords", responses=problems_of_deployment())
def list_flagged_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    wanted: Wanted,
    behind: Annotated[FlagPlace | None, Depends(flag_behind)],
    limit: Limit = 100,
) -> FlaggedPage:
    """Records whose outcome would be another with a reference value, or probably: largest gap of the scores first.

    `since` <= `logged_at` < `until`. Checks flag records; each record and attribute is listed once.
    """
    found = flagged_page(session, deployment.no, wanted, behind=behind, limit=limit + 1)
    page, next_cursor = cut_at_place(found, limit, lambda one: _Place(one.place.gap, one.place.record_no, one.place.attribute))
    return FlaggedPage(
        model_revision=wanted.model_revision,
        flagged_records=[FlaggedOut.with_record(one) for one in page],
        next_cursor=next_cursor,
        notes=[ONLY_DIRECT],
    )


@router.get("/flagged-records.csv", operation_id="exportFlaggedRecords", response_class=CsvAnswer, responses=problems_of_deployment())
def export_flagged_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    wanted: Wanted,
    limit: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="How many rows at most. Left out: all.")] = None,
) -> CsvAnswer:
    """The same list, whole, as CSV with an empty column `label`: fill it in and send it to `POST …/feedback-records`.

    Rows whose label is left empty are refused there one by one, and the others stored. At most 10,000 are taken at once. Values stand
    as they were logged, those that a spreadsheet may take for formulas too.
    """
    first = flagged_page(session, deployment.no, wanted, behind=None, limit=PIECE if limit is None else min(limit, PIECE))
    export = _Export(services, deployment, wanted)
    name = f'attachment; filename="{deployment.id}-flagged-records.csv"'
    return CsvAnswer(_pieces(export, first, limit), headers={"Content-Disposition": name})


async def _pieces(export: _Export, first: list[FlaggedPayload], limit: int | None) -> AsyncIterator[bytes]:
    """The CSV, piece by piece, each read by itself: a slow reader holds neither a connection nor a snapshot of the database."""
    schema, piece, sent = export.deployment.schema, first, 0
    yield csv_lines([csv_header(schema)])
    while piece:
        yield await run_in_threadpool(_lines, export, piece)
        sent += len(piece)
        most = PIECE if limit is None else min(PIECE, limit - sent)
        if len(piece) < PIECE or not most:
            return
        async with export.services.turns:
            piece = await run_in_threadpool(_next_piece, export, piece[-1].place, most)


def _lines(export: _Export, piece: Iterable[FlaggedPayload]) -> bytes:
    return csv_lines(csv_row(one, export.deployment.schema) for one in piece)


def _next_piece(export: _Export, behind: FlagPlace, limit: int) -> list[FlaggedPayload]:
    with export.services.database.transaction() as session:
        return flagged_page(session, export.deployment.no, export.wanted, behind=behind, limit=limit)
