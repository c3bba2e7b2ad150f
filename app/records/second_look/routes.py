"""Routes of the records most in need of a second look."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from ...access.gate.caller import READS_RECORDS, ServicesIn, SessionIn
from ...base.errors import Conflict
from ...deployments.deployment_in_address import NEEDS_LOGGED, ReadableDeployment, exported
from ...deployments.monitor.queries import find_monitor
from ...domain.groups import GroupWords
from ...domain.mitigation import ONLY_DIRECT
from ...mitigation.window.flag_queries import FlaggedFilter, FlaggedPayload, FlagPlace, page_flagged
from ...web.route_declarations import (
    FilterText,
    Limit,
    OptionalMoment,
    PlaceCursor,
    answers,
    encode_place,
    in_utc,
    read_place_cursor,
)
from ..csv_streams import CsvAnswer, CsvPiece, RawTexts, RowLimit, send_csv
from .bodies import Direction, FlaggedOut, FlaggedPage, Kind, RecordOut
from .flagged_csv import build_csv_header, build_csv_row

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}",
    tags=["mitigation"],
    dependencies=[NEEDS_LOGGED],
    responses=answers(Conflict),
)


def read_flag_filter(
    deployment: ReadableDeployment,
    *,
    attribute: FilterText = None,
    direction: Direction | None = None,
    kind: Kind | None = None,
    since: OptionalMoment = None,
    until: OptionalMoment = None,
    model_revision: Annotated[
        FilterText,
        Query(
            description="What this revision of the model said when it was asked again. Left out: the "
            "deployment's present one."
        ),
    ] = None,
) -> FlaggedFilter:
    return FlaggedFilter(
        model_revision=deployment.model_revision if model_revision is None else model_revision,
        attribute=attribute,
        direction=direction,
        kind=kind,
        since=in_utc("since", since),
        until=in_utc("until", until),
    )


FlagFilterIn = Annotated[FlaggedFilter, Depends(read_flag_filter)]


@router.get("/flagged-records", dependencies=[READS_RECORDS])
def list_flagged_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    filters: FlagFilterIn,
    cursor: PlaceCursor = None,
    limit: Limit = 100,
) -> FlaggedPage:
    """Returns records whose outcome would, or would probably, differ with a reference value: largest gap of
    the scores first.

    `since` <= `logged_at` < `until`. Checks flag records; each record and attribute is listed once.
    """
    after = read_place_cursor(cursor, FlagPlace)
    flags = page_flagged(session, deployment.no, filters, after=after, limit=limit + 1)
    names = GroupWords.of(find_monitor(session, deployment.no))
    page = flags.items[:limit]
    return FlaggedPage(
        model_revision=filters.model_revision,
        flagged_records=[
            FlaggedOut.of(flagged.flag, names, record=RecordOut.of(flagged)) for flagged in page
        ],
        next_cursor=encode_place(page[-1].place if flags.is_cut or len(flags.items) > limit else None),
        notes=[ONLY_DIRECT],
    )


@router.get(
    "/flagged-records.csv",
    response_class=CsvAnswer,
    dependencies=[READS_RECORDS, exported("flagged_records")],
)
def export_flagged_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    filters: FlagFilterIn,
    limit: RowLimit = None,
    *,
    raw: RawTexts = False,
) -> CsvAnswer:
    """Returns the same list, whole, as CSV with an empty column `label`: fill it in and send it to `POST
    …/feedback-records`.

    There, rows with an empty label are refused one by one, and the others stored. One request takes at
    most 10,000 rows. A text that a spreadsheet would take for a formula has an apostrophe before it,
    unless `raw` is set; the id never has.
    """

    def read(session: Session, after: FlagPlace | None, size: int) -> CsvPiece[FlaggedPayload, FlagPlace]:
        items = page_flagged(session, deployment.no, filters, after=after, limit=size).items
        return CsvPiece(items, items[-1].place if items else None)

    header = build_csv_header(deployment.schema, is_raw=raw)
    write = partial(build_csv_row, schema=deployment.schema, is_raw=raw)
    return send_csv(services, session, f"{deployment.id}-flagged-records", header, write, read, limit=limit)
