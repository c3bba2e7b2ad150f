"""Routes that read payload records: a list to look through, as CSV, too, and one record."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from sqlalchemy.orm import Session

from ..access.gate.caller import READS_RECORDS, ServicesIn, SessionIn
from ..deployments.deployment_in_address import NEEDS_LOGGED, ReadableDeployment, exported
from ..deployments.monitor.queries import find_monitor
from ..domain.deployment import RecordSchema
from ..domain.groups import GroupWords
from ..domain.mitigation import ONLY_DIRECT
from ..sources.stored.record_conditions import GapPlace, RecordPlace, RecordSort
from ..sources.stored.record_queries import count_window
from ..web.route_declarations import (
    CONFLICT,
    UUID_PATTERN,
    FilterText,
    Limit,
    OptionalMoment,
    PlaceCursor,
    encode_place,
    in_utc,
    read_record_cursor,
)
from .bodies import PayloadRecordDetailsOut, PayloadRecordOut, PayloadRecordPage
from .csv_streams import CsvAnswer, CsvPiece, RawTexts, RowLimit, send_csv
from .one_record import read_record_details
from .record_list import (
    ChangedFilter,
    OutcomeWord,
    RecordListQuery,
    RecordSummary,
    list_matching_records,
    name_values,
)
from .second_look.flagged_csv import name_columns, write_cell

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}/payload-records",
    tags=["records"],
    dependencies=[NEEDS_LOGGED],
    responses=CONFLICT,
)

export_router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["records"])

CheckId = Annotated[
    str | None,
    Query(
        alias="check",
        description="Only the records that this check read: those of its span and the additional earlier "
        "ones.",
        pattern=UUID_PATTERN,
    ),
]
WithCount = Annotated[
    bool,
    Query(
        description="Adds `count`, all records from `since` to `until`, whatever else filters the list. It "
        "reads the whole window."
    ),
]
RecordId = Annotated[
    str, Path(description="The record's id, percent-encoded.", max_length=1000, pattern=r"^[^\x00]*$")
]


def read_filter(
    *,
    attribute: Annotated[
        FilterText, Query(description="The attribute, or intersection, that `group` and `changed` are about.")
    ] = None,
    group: Annotated[
        FilterText, Query(description="Only records of this value or range of the attribute.")
    ] = None,
    outcome: OutcomeWord | None = None,
    changed: Annotated[
        ChangedFilter | None,
        Query(
            description="Only records whose copies changed the outcome so: `none` has copies that changed "
            "nothing."
        ),
    ] = None,
    mitigated: Annotated[
        Literal["changed"] | None,
        Query(
            description="Only records whose mitigated answer has another outcome, or of which a check "
            "found that it would."
        ),
    ] = None,
    sort: Annotated[
        RecordSort,
        Query(
            description="`gap`: the largest gap of the scores of a flag first; records without a flag last, "
            "newest first."
        ),
    ] = RecordSort.NEWEST,
    check: CheckId = None,
    since: OptionalMoment = None,
    until: OptionalMoment = None,
) -> RecordListQuery:
    return RecordListQuery(
        check_id=check,
        since=in_utc("since", since),
        until=in_utc("until", until),
        attribute=attribute,
        group=group,
        outcome=outcome,
        changed=changed,
        mitigated=mitigated is not None,
        sort=sort,
    )


def read_paged_filter(
    filters: Annotated[RecordListQuery, Depends(read_filter)], limit: Limit = 100, cursor: PlaceCursor = None
) -> RecordListQuery:
    return replace(filters, after=read_record_cursor(cursor, filters.sort), limit=limit)


@router.get("", dependencies=[READS_RECORDS])
def list_payload_records(
    *,
    deployment: ReadableDeployment,
    session: SessionIn,
    filters: Annotated[RecordListQuery, Depends(read_paged_filter)],
    count: WithCount = False,
) -> PayloadRecordPage:
    """Returns logged records, `since` <= `logged_at` < `until`, newest first or by `sort`, in the words of
    the present fairness monitor.

    One request looks through a bounded number of records: a filter that matches few gives short pages,
    even empty ones, with a `next_cursor` to go on. The records of a check are found by times and counts:
    those placed into past hours afterwards are among them.
    """
    page = list_matching_records(session, deployment.no, filters)
    names = GroupWords.of(find_monitor(session, deployment.no))
    return PayloadRecordPage(
        payload_records=[PayloadRecordOut.of(summary, names) for summary in page.records],
        next_cursor=encode_place(page.next_place),
        count=count_window(session, deployment.no, since=filters.since, until=filters.until)
        if count
        else None,
    )


@router.get("/{record_id:path}", dependencies=[READS_RECORDS])
def read_payload_record(
    deployment: ReadableDeployment, session: SessionIn, record_id: RecordId, check: CheckId = None
) -> PayloadRecordDetailsOut:
    """Returns one record with its label and mitigation, and its counterfactuals: the model's answers where
    one attribute is another.
    """
    details = read_record_details(session, deployment.no, record_id, check_id=check)
    return PayloadRecordDetailsOut.of(
        details.summary,
        GroupWords.of(find_monitor(session, deployment.no)),
        feedback=details.feedback,
        counterfactuals=details.counterfactuals,
        notes=[ONLY_DIRECT],
    )


_LOG_COLUMNS = ("logged_at", "scored_at", "model_revision", "prediction", "probability")


def _write_row(
    summary: RecordSummary, schema: RecordSchema, attributes: Sequence[str], *, is_raw: bool
) -> list[str]:
    record = summary.record
    if record.label is not None:
        record = replace(record, prediction=record.label)
    values = name_values(summary.schema, record.features, record.meta)
    groups = {group.attribute: group.group for group in summary.groups}
    cells = [
        record.record_id,
        *(getattr(record, name) for name in _LOG_COLUMNS),
        summary.outcome,
        summary.gap,
        *(values.get(column.name) for column in schema.columns),
        *map(groups.get, attributes),
        *map(summary.changes.get, attributes),
    ]
    return [write_cell(cell, is_raw=is_raw) for cell in cells]


@export_router.get(
    "/payload-records.csv",
    response_class=CsvAnswer,
    responses=CONFLICT,
    dependencies=[READS_RECORDS, exported("payload_records")],
)
def export_payload_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    filters: Annotated[RecordListQuery, Depends(read_filter)],
    limit: RowLimit = None,
    *,
    raw: RawTexts = False,
) -> CsvAnswer:
    """Returns the records of `GET …/payload-records`, whole, as CSV in the same order: columns as the present
    schema has them.

    `gap` is the largest gap of a record's flags, empty where none is known; `group of …` is the record's
    group in the monitor, `change of …` is `gained`, `lost` or `none` where copies were asked about. A text
    that a spreadsheet would take for a formula has an apostrophe before it, unless `raw` is set.
    """
    monitor = find_monitor(session, deployment.no)
    # Each attribute of the monitor has a column of groups and one of changes.
    attributes = [attribute.feature for attribute in monitor.attributes] if monitor else []
    names_after = [(f"{what} of {attribute}",) for what in ("group", "change") for attribute in attributes]
    header = name_columns(deployment.schema, (*_LOG_COLUMNS, "outcome", "gap"), names_after, is_raw=raw)
    write = partial(_write_row, schema=deployment.schema, attributes=attributes, is_raw=raw)

    def read(
        session: Session, after: RecordPlace | GapPlace | None, size: int
    ) -> CsvPiece[RecordSummary, RecordPlace | GapPlace]:
        # A piece is of a bounded part of the log: an empty one may have a next one.
        page = list_matching_records(session, deployment.no, replace(filters, after=after, limit=size))
        return CsvPiece(page.records, page.next_place)

    return send_csv(services, session, f"{deployment.id}-payload-records", header, write, read, limit=limit)
