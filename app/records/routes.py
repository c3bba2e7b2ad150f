"""Routes that read payload records: a list to look through, and one record."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query

from ..access.gate.audit_requests import READS_RECORDS
from ..access.gate.caller import SessionIn
from ..deployments.deployment_in_address import NEEDS_LOGGED, ReadableDeployment
from ..deployments.monitor.queries import find_monitor
from ..domain.groups import GroupWords
from ..domain.mitigation import ONLY_DIRECT
from ..sources.stored.record_conditions import RecordSort
from ..sources.stored.record_queries import count_window
from ..web.id_and_time import UUID_PATTERN, FilterText, Moment, in_utc
from ..web.paging import Limit, PlaceCursor, encode_place, read_record_cursor
from ..web.problem_answers import CONFLICT
from .bodies import PayloadRecordDetailsOut, PayloadRecordOut, PayloadRecordPage
from .one_record import record_details
from .record_lens import OutcomeWord
from .record_list import ChangedFilter, RecordsWanted, list_matching_records

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}/payload-records",
    tags=["records"],
    dependencies=[NEEDS_LOGGED],
    responses=CONFLICT,
)

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


def filters(
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
            description="Only records that the mitigated endpoint answered otherwise, or of which a check "
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
) -> RecordsWanted:
    return RecordsWanted(
        attribute=attribute,
        group=group,
        outcome=outcome,
        changed=changed,
        mitigated=mitigated is not None,
        sort=sort,
    )


def wanted_records(
    filtered: Annotated[RecordsWanted, Depends(filters)],
    *,
    check: CheckId = None,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 100,
    cursor: PlaceCursor = None,
) -> RecordsWanted:
    after = read_record_cursor(cursor, filtered.sort)
    earliest, latest = in_utc("since", since), in_utc("until", until)
    return replace(filtered, check_id=check, since=earliest, until=latest, after=after, limit=limit)


@router.get("", dependencies=[READS_RECORDS])
def list_payload_records(
    *,
    deployment: ReadableDeployment,
    session: SessionIn,
    filters: Annotated[RecordsWanted, Depends(wanted_records)],
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
    details = record_details(session, deployment.no, record_id, check_id=check)
    return PayloadRecordDetailsOut.of(
        details.summary,
        GroupWords.of(find_monitor(session, deployment.no)),
        feedback=details.feedback,
        counterfactuals=details.counterfactuals,
        notes=[ONLY_DIRECT],
    )
