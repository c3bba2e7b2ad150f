"""Logged records, and one record with its counterfactuals."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from ...access.gate.caller import READS_RECORDS, NowIn, SessionIn
from ...base.values import frozen_by_name
from ...charts.time_ranges import RangePreset
from ...checks import queries as checks
from ...deployments.deployment_in_address import Watched
from ...domain.check import WindowCounts
from ...domain.groups import GroupWords
from ...domain.mitigation import ONLY_DIRECT
from ...domain.paging import Paging
from ...records.corrections.correct import page_corrections
from ...records.one_record import read_record_details
from ...records.record_list import RecordListPage, list_matching_records
from ...records.second_look.words import pick_labels
from ...sources.stored.record_conditions import GapPlace, RecordSort
from ...sources.stored.record_queries import MAX_SCANNED, MAX_SCANNED_WITH_COPIES
from ...web.route_declarations import encode_place
from .. import check_words
from ..range_bar import KEEPS_RANGE, RangeIn, build_bar, find_chosen_span
from ..render import show_page
from . import record_texts
from .files_page import show_page_without_records
from .filter_form import (
    CHECK_ID,
    ChosenRecords,
    encode_group_choice,
    list_choices,
    write_for_control,
    write_query,
)
from .record_texts import list_favourable_probabilities, list_flip_totals

router = APIRouter(
    prefix="/deployments/{deployment_id}/transactions", include_in_schema=False, dependencies=[KEEPS_RANGE]
)

MAX_RECORDS = 50
"""Records of a page, and corrections of a record."""

SORTS = {RecordSort.NEWEST: "newest first", RecordSort.GAP: "largest score difference first"}
CheckId = Annotated[str, Query(pattern=CHECK_ID)]
RecordId = Annotated[str, Path(max_length=1000, pattern=r"^[^\x00]*$")]
IdInQuery = Annotated[str, Query(alias="id", max_length=1000, pattern=r"^[^\x00]*$")]


@frozen_by_name
class ListedRecords:
    """Facts on the length of a list. If it `is_all`, no other page has more.

    Under a filter (`is_narrowed`) the length is unknown, unless a check has counted the `fitting` records.
    """

    is_narrowed: bool
    is_all: bool
    fitting: int | None = None


def say_count(listed: int, window: Mapping[str, object] | None, facts: ListedRecords) -> str:
    """Says how many of the records are listed; `window` is that of the check whose records they are."""
    records = f"{listed:,} record{'' if listed == 1 else 's'}"
    read_count = None if facts.is_narrowed else WindowCounts.of(window).records
    if read_count is not None and not facts.is_all:
        return f"{records} of the {read_count:,} that the check read."
    # Records may have been erased since the check counted them.
    if facts.fitting is not None and listed < facts.fitting and not facts.is_all:
        return (
            f"{records} on this page of the {facts.fitting:,} that fit the filter, as the check counted them."
        )
    fit = f" fit{'s' if listed == 1 else ''} the filter" if facts.is_narrowed else ""
    if facts.is_all:
        return f"{records}{fit or ' in all'}."
    return f"{records} on this page{fit}. Other pages may have more."


_TEMPLATE_NAMES = {
    "say_count": say_count,
    "ListedRecords": ListedRecords,
    "among_of": encode_group_choice,
    "local": write_for_control,
    "words": record_texts,
    "span": check_words.write_span,
    "only_direct": ONLY_DIRECT,
    "sorts": SORTS,
    "shown": MAX_RECORDS,
}


@router.get("", dependencies=[READS_RECORDS])
def show_transactions_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    now: NowIn,
    time_range: RangeIn,
    chosen: Annotated[ChosenRecords, Query()],
) -> Response:
    deployment = watched.deployment
    monitor = watched.monitor
    if deployment.payload is not None:
        return show_page_without_records(request, deployment, "Records")
    records_query = chosen.read_query(limit=MAX_RECORDS)
    span = find_chosen_span(time_range, now)
    has_own_times = records_query.since is not None or records_query.until is not None
    # A check has its own records, and the filter's times say more than a range chosen elsewhere.
    if span is not None and records_query.check_id is None and not has_own_times:
        records_query = replace(records_query, since=span.start, until=time_range.end)
    check = (
        checks.get_check(session, deployment.no, records_query.check_id)
        if records_query.check_id is not None
        else None
    )
    # A check that read no records is not an error here: the page says so.
    has_read = check is None or check.window is not None
    records = (
        list_matching_records(session, deployment.no, records_query)
        if has_read
        else RecordListPage(records=(), next_place=None)
    )
    query = write_query(records_query)
    is_by_gap = records_query.sort is RecordSort.GAP
    here = {} if records_query.after is None else {"cursor": encode_place(records_query.after)}
    counted, totals = list_flip_totals(session, deployment, monitor, check)
    json_address = f"/v1/deployments/{deployment.id}/payload-records"
    older = None
    if records.next_place is not None:
        older = f"?{urlencode(query | {'cursor': encode_place(records.next_place)})}"
    values = {
        "deployment": deployment,
        "counted": counted,
        "totals": totals,
        "fitting": next((total.records for total in totals if total.query == query), None),
        "check": check,
        "has_read": has_read,
        "found": records,
        "favourable_probabilities": list_favourable_probabilities(records.records, monitor),
        "wanted": records_query,
        "own_times": has_own_times,
        "monitor": monitor,
        "group_words": GroupWords.of(monitor),
        "choices": [] if monitor is None else list_choices(session, deployment.no, monitor, records_query),
        **_TEMPLATE_NAMES,
        "older": older,
        "bar": build_bar(request, time_range, span, usual=RangePreset.ALL),
        "is_first": records_query.after is None,
        "is_filtered": bool(query.keys() - {"sort"}),
        "is_among_flagged": isinstance(records.next_place, GapPlace) and records.next_place.gap is not None,
        "scanned": MAX_SCANNED
        if records_query.changed is None and not is_by_gap
        else MAX_SCANNED_WITH_COPIES,
        "by_gap": is_by_gap,
        "as_csv": f"{json_address}.csv{f'?{urlencode(query)}' if query else ''}",
        "as_json": f"{json_address}?{urlencode(query | here | {'limit': MAX_RECORDS})}",
    }
    return show_page(request, "transactions.html", values)


@router.get("/{record_id:path}", dependencies=[READS_RECORDS])
def show_record_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    record_id: RecordId,
    id_in_query: IdInQuery = "",
    check: CheckId = "",
) -> Response:
    deployment = watched.deployment
    monitor = watched.monitor
    if deployment.payload is not None:
        return show_page_without_records(request, deployment, "Records")
    counted_check = checks.get_check(session, deployment.no, check) if check else None
    check_id = None
    if counted_check is not None and counted_check.window is not None:
        check_id = counted_check.id
    values = {
        "deployment": deployment,
        "details": read_record_details(session, deployment.no, record_id or id_in_query, check_id=check_id),
        "corrections": page_corrections(
            session, deployment.no, Paging(MAX_RECORDS), record=record_id or id_in_query
        ),
        "choices": pick_labels(monitor),
        "check": counted_check,
        "monitor": monitor,
        "group_words": GroupWords.of(monitor),
        **_TEMPLATE_NAMES,
        "modes": check_words.MODES,
    }
    return show_page(request, "record.html", values)
