"""Page of one alert."""

import re
import uuid
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...access.gate.caller import SHOWS_RECORDS, NowIn, Reader, SessionIn
from ...alerts.queries import comments_page, get_alert
from ...base.errors import NotFound
from ...domain.alert import ClosingReason, RuleKind
from ...domain.check import DataSet
from ...domain.paging import Paging
from ...evidence.attribution import words as attribution_words
from ...evidence.attribution.queries import attribution_of_alert
from ...evidence.queries.eras import followed_deployment
from ...records.record_list import RecordsWanted
from ...sources.stored.record_queries import RecordCount
from ..range_bar import RangeIn
from ..record import words as record_words
from ..record.filter_form import write_query
from ..render import offer_assignees, page, people
from .alert_figures import affected_records, draw_alert, format_figure, read_affected, start_of_figure

router = APIRouter(include_in_schema=False)

MOST_COMMENTS = 200
"""Max comments that are shown, the oldest."""

REASONS = {
    ClosingReason.FIXED: "the cause is fixed",
    ClosingReason.JUSTIFIED: "the difference is justified; the note says by what",
    ClosingReason.DATA_ERROR: "records or labels were wrong",
    ClosingReason.OTHER: "another reason",
}

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def say_affected(listed: int, count: RecordCount, query: RecordsWanted) -> str:
    times = ""
    if query.since is not None and query.until is not None:
        times = (
            f", logged from {query.since:%Y-%m-%d %H:%M} to {query.until:%Y-%m-%d %H:%M} UTC, when "
            "there was enough evidence"
        )
    if not count.is_least and listed >= count.records:
        return f"{listed:,} record{'' if listed == 1 else 's'} in all{times}."
    return (
        f"The newest {listed:,} of {'at least ' if count.is_least else ''}{count.records:,} records{times}."
    )


@router.get("/alerts/{alert_id}", dependencies=[SHOWS_RECORDS])
def alert_page(
    request: Request, principal: Reader, session: SessionIn, now: NowIn, time_range: RangeIn, alert_id: str
) -> Response:
    if not _ID.fullmatch(alert_id):
        raise NotFound("alert", alert_id)
    alert = get_alert(session, alert_id)
    # In the words of a missing one: whether it exists is not for everybody.
    if not principal.sees(alert.deployment_no):
        raise NotFound("alert", alert_id)
    comments = comments_page(session, alert, Paging(MOST_COMMENTS + 1))
    worst = alert.worst
    query = affected_records(worst) if principal.may_read_records else None
    is_in_files = followed_deployment(session, alert.deployment_no).payload is not None
    values = {
        "alert": alert,
        "is_in_files": is_in_files,
        "worst": worst,
        "facts": worst.facts,
        "format_figure": format_figure,
        "explained": attribution_of_alert(session, alert.no),
        "attribution_words": attribution_words,
        "chart": draw_alert(session, alert, time_range.zone, now),
        "since": start_of_figure(worst),
        "records": None if is_in_files else read_affected(session, alert, query),
        "say_affected": say_affected,
        "wanted": query,
        "records_query": "" if query is None else urlencode(write_query(query)),
        "has_evidence": alert.find(RuleKind.EVIDENCE) is not None,
        "is_counterfactual": worst.data is DataSet.COUNTERFACTUAL,
        "record_words": record_words,
        "comments": comments[:MOST_COMMENTS],
        "has_more_comments": len(comments) > MOST_COMMENTS,
        # Made here, so that a form that is sent twice stores one comment.
        "comment_id": uuid.uuid4(),
        "assignees": offer_assignees(session, principal, alert.deployment_no),
        "own": principal.actor,
        "reasons": REASONS,
        "names": people(
            session,
            [
                alert.acknowledged_by,
                alert.closed_by,
                alert.assignee,
                principal.actor,
                *(comment.author for comment in comments),
            ],
        ),
        "now": now,
    }
    return page(request, "alert.html", values)
