"""Routes of the records most in need of a second look."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from ..domain.deployments import Deployment
from ..domain.group_words import GroupWords
from ..domain.mitigation import ONLY_DIRECT
from ..errors import Conflict
from ..services import Services
from ..store.deployments.monitors import monitor_of
from ..store.records.flagged_records import FlaggedFilter, FlaggedPayload, FlagPlace, flagged_page
from ..web.access import NEEDS_LOGGED, ReadableDeployment, ServicesIn, SessionIn
from ..web.auditing import READS_RECORDS
from ..web.paging import Limit, PlaceCursor, cut_at_place, read_place_cursor
from ..web.times import Moment, in_utc
from .answers import answers
from .csv_streams import PIECE, CsvAnswer, CsvExport, CsvPiece, Raw, RowLimit, stream_csv
from .exports import exported
from .flagged_csv import csv_header, csv_row
from .schemas.flagged_records import Direction, FlaggedOut, FlaggedPage, Kind

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}",
    tags=["mitigation"],
    dependencies=[NEEDS_LOGGED],
    responses=answers(Conflict),
)

Text = Annotated[str | None, Query(max_length=1000, pattern=r"^[^\x00]*$")]


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    # JSON keeps every digit of a float.
    gap: Annotated[float, msgspec.Meta(ge=0)]
    record_no: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    attribute: Annotated[str, msgspec.Meta(pattern=r"\A[^\x00]*\Z")]


@dataclass(frozen=True, slots=True)
class _FlagExport(CsvExport[FlaggedPayload, FlagPlace]):
    services: Services
    deployment: Deployment
    wanted: FlaggedFilter
    is_raw: bool

    def header(self) -> Sequence[str]:
        return csv_header(self.deployment.schema, is_raw=self.is_raw)

    def rows(self, items: Sequence[FlaggedPayload]) -> Iterable[Sequence[str]]:
        return (csv_row(one, self.deployment.schema, is_raw=self.is_raw) for one in items)

    def read_after(self, place: FlagPlace | None, limit: int) -> CsvPiece[FlaggedPayload, FlagPlace]:
        with self.services.database.transaction() as session:
            return read_piece(session, self.deployment.no, self.wanted, place, limit)


def read_piece(
    session: Session, deployment_no: int, wanted: FlaggedFilter, after: FlagPlace | None, limit: int
) -> CsvPiece[FlaggedPayload, FlagPlace]:
    items = flagged_page(session, deployment_no, wanted, after=after, limit=limit).items
    return CsvPiece(items, items[-1].place if items else None)


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
    return FlaggedFilter(
        model_revision=deployment.model_revision if model_revision is None else model_revision,
        attribute=attribute,
        direction=direction,
        kind=kind,
        since=in_utc("since", since),
        until=in_utc("until", until),
    )


def read_flag_cursor(cursor: PlaceCursor = None) -> FlagPlace | None:
    place = read_place_cursor(cursor, _Place)
    return None if place is None else FlagPlace(place.gap, place.record_no, place.attribute)


Wanted = Annotated[FlaggedFilter, Depends(wanted_flags)]


@router.get("/flagged-records", dependencies=[READS_RECORDS])
def list_flagged_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    wanted: Wanted,
    after: Annotated[FlagPlace | None, Depends(read_flag_cursor)],
    limit: Limit = 100,
) -> FlaggedPage:
    """Returns records whose outcome would, or would probably, differ with a reference value: largest gap of the scores first.

    `since` <= `logged_at` < `until`. Checks flag records; each record and attribute is listed once.
    """
    found = flagged_page(session, deployment.no, wanted, after=after, limit=limit + 1)
    words = GroupWords.of(monitor_of(session, deployment.no))
    page, next_cursor = cut_at_place(
        found.items, limit, lambda one: _Place(one.place.gap, one.place.record_no, one.place.attribute), is_cut=found.is_cut
    )
    return FlaggedPage(
        model_revision=wanted.model_revision,
        flagged_records=[FlaggedOut.with_record(one, words) for one in page],
        next_cursor=next_cursor,
        notes=[ONLY_DIRECT],
    )


@router.get("/flagged-records.csv", response_class=CsvAnswer, dependencies=[READS_RECORDS, exported("flagged_records")])
def export_flagged_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    wanted: Wanted,
    limit: RowLimit = None,
    *,
    raw: Raw = False,
) -> CsvAnswer:
    """Returns the same list, whole, as CSV with an empty column `label`: fill it in and send it to `POST …/feedback-records`.

    There, rows with an empty label are refused one by one, and the others stored. One request takes at most 10,000 rows. A text that
    a spreadsheet would take for a formula has an apostrophe before it, unless `raw` is set; the id never has.
    """
    # Before the answer begins: a fault is still a problem document.
    first = read_piece(session, deployment.no, wanted, None, PIECE if limit is None else min(limit, PIECE))
    export = _FlagExport(services, deployment, wanted, raw)
    headers = {"Content-Disposition": f'attachment; filename="{deployment.id}-flagged-records.csv"'}
    return CsvAnswer(stream_csv(export, first, turns=services.turns, limit=limit), headers=headers)
