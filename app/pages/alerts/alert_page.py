"""Page of one alert: its figures in text and over time, and the records it is about."""

import uuid
from datetime import datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...access.gate.caller import SHOWS_RECORDS, NowIn, Reader, SessionIn
from ...alerts.gravity import read_number
from ...alerts.queries import get_alert, page_comments
from ...base.errors import Conflict, InvalidInput, NotFound
from ...base.values import frozen_by_name
from ...charts.timeline import read_timeline
from ...checks.days.day_queries import FigureSelection
from ...checks.views.headlines import DATA_NAMES
from ...deployments.monitor.queries import find_monitor
from ...domain.alert import Alert, AlertFigure, ClosingReason, RuleKind
from ...domain.check import DataSet, FigureKey, Span
from ...domain.groups import GroupWords
from ...domain.monitor import POOLED_GROUP
from ...domain.paging import Paging
from ...evidence.attribution import words as attribution_words
from ...evidence.attribution.queries import find_attribution_of_alert
from ...evidence.queries.eras import read_followed_deployment
from ...records.record_list import (
    RecordListPage,
    RecordListQuery,
    count_matching_records,
    list_matching_records,
)
from ...sources.stored.record_queries import RecordCount
from ...statistics.sentences.figure_sentences import choose_joint, count_digits, write_minus
from ..deployment.over_time import TimelineChart, build_group_chart, select_group
from ..range_bar import RangeIn
from ..record import record_texts
from ..record.filter_form import write_query
from ..render import name_actors, offer_assignees, require_id, show_page

router = APIRouter(include_in_schema=False)

MAX_COMMENTS = 200

_MIN_DIGITS = 2
"""Decimals of a figure of an alert, at least."""

CHART_MARGIN = timedelta(hours=48)
"""Time before and after the start of a figure that its chart shows."""

MAX_RECORDS = 5
"""Affected records that are shown, the newest."""

MAX_COUNTED_RECORDS = 10_000
"""Affected records that are counted; of more, the page says that there are at least so many."""

REASONS = {
    ClosingReason.FIXED: "the cause is fixed",
    ClosingReason.JUSTIFIED: "the difference is justified; the note says by what",
    ClosingReason.DATA_ERROR: "records or labels were wrong",
    ClosingReason.OTHER: "another reason",
}


@frozen_by_name
class FigureTexts:
    data: str
    value: str
    interval: str
    records: str


@frozen_by_name
class AffectedRecords:
    records: RecordListPage
    count: RecordCount


def say_affected(listed: int, count: RecordCount, query: RecordListQuery) -> str:
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
def show_alert_page(
    request: Request, principal: Reader, session: SessionIn, now: NowIn, time_range: RangeIn, alert_id: str
) -> Response:
    require_id("alert", alert_id)
    alert = get_alert(session, alert_id)
    # The same words as for a missing one: not everybody may know whether it exists.
    if not principal.sees(alert.deployment_no):
        raise NotFound("alert", alert_id)
    comments = page_comments(session, alert, Paging(MAX_COMMENTS + 1))
    worst = alert.worst
    query = find_affected_records(worst) if principal.may_read_records else None
    is_in_files = read_followed_deployment(session, alert.deployment_no).payload is not None
    values = {
        "alert": alert,
        "is_in_files": is_in_files,
        "worst": worst,
        "facts": worst.facts,
        "format_figure": format_figure,
        "explained": find_attribution_of_alert(session, alert.no),
        "attribution_words": attribution_words,
        "chart": draw_alert(session, alert, time_range.zone, now),
        "since": worst.since,
        "records": None if is_in_files else read_affected(session, alert, query),
        "say_affected": say_affected,
        "wanted": query,
        "records_query": "" if query is None else urlencode(write_query(query)),
        "has_evidence": alert.find(RuleKind.EVIDENCE) is not None,
        "is_counterfactual": worst.data is DataSet.COUNTERFACTUAL,
        "record_words": record_texts,
        "comments": comments[:MAX_COMMENTS],
        "has_more_comments": len(comments) > MAX_COMMENTS,
        # Made here, so that a form that is sent twice stores one comment.
        "comment_id": uuid.uuid4(),
        "assignees": offer_assignees(session, principal, alert.deployment_no),
        "own": principal.actor,
        "reasons": REASONS,
        "names": name_actors(
            session,
            [
                alert.acknowledged_by,
                alert.closed_by,
                alert.assignee,
                principal.actor,
                *(comment.author for comment in comments),
            ],
        ),
    }
    return show_page(request, "alert.html", values)


def format_figure(figure: AlertFigure) -> FigureTexts:
    data = figure.data
    facts = figure.facts
    value, lower, upper = (read_number(facts.get(name)) for name in ("value", "lower", "upper"))
    marks = (0.0, 1.0, read_number(facts.get("lower_limit")), read_number(facts.get("upper_limit")))
    digits = max(
        (count_digits(number, marks, _MIN_DIGITS) for number in (value, lower, upper) if number is not None),
        default=_MIN_DIGITS,
    )
    value_text, lower_text, upper_text = (
        "" if number is None else write_minus(f"{number:.{digits}f}") for number in (value, lower, upper)
    )
    interval = ""
    if lower is not None and upper is not None:
        interval = f"{lower_text}{choose_joint(lower)}{upper_text}"
    elif lower is not None:
        interval = f"{lower_text} and more"
    elif upper is not None:
        interval = f"up to {upper_text}"
    sizes = [read_number(facts.get(name)) for name in ("n_monitored", "n_reference")]
    return FigureTexts(
        data="" if data is None else DATA_NAMES.get(data, data.value.replace("_", " ")),
        value=value_text,
        interval=interval,
        records=" / ".join(f"{size:,.0f}" for size in sizes if size is not None),
    )


def draw_alert(session: Session, alert: Alert, zone: ZoneInfo, now: datetime) -> TimelineChart | None:
    """Draws the figure around its start; None if it is of no single group, or has no value there."""
    figure = alert.worst
    if figure.data is None or figure.metric is None or figure.group is None:
        return None
    since = figure.since
    timeline = read_timeline(
        session,
        alert.deployment_no,
        Span(start=since - CHART_MARGIN, end=min(since + CHART_MARGIN, now)),
        FigureSelection(metric=figure.metric, data=figure.data),
        words=GroupWords.of(find_monitor(session, alert.deployment_no)),
        alerts=[alert],
    )
    key = FigureKey(metric=figure.metric, data=figure.data, attribute=figure.attribute, group=figure.group)
    group_timeline = select_group(timeline, key)
    if group_timeline is None or all(step.value is None for step in group_timeline.panels[0].steps):
        return None
    return build_group_chart(group_timeline, alert.deployment_id, zone, since)


def find_affected_records(figure: AlertFigure) -> RecordListQuery | None:
    """Returns the query of the records that a figure is about; None if it is of no single group.

    A counterfactual figure is about records that another group would turn favourable, others about records
    with the unfavourable outcome.
    """
    facts = figure.facts
    if figure.attribute is None or figure.group in {None, POOLED_GROUP}:
        return None
    check_id = facts.get("check_id")
    until = facts.get("alarm_at")
    is_counterfactual = figure.data is DataSet.COUNTERFACTUAL
    return RecordListQuery(
        check_id=str(check_id) if check_id is not None else None,
        # An hour is counted from its start, and a check ends with one.
        since=figure.since if check_id is None else None,
        until=datetime.fromisoformat(until) if check_id is None and isinstance(until, str) else None,
        attribute=figure.attribute,
        group=figure.group,
        outcome=None if is_counterfactual else "unfavourable",
        changed="gained" if is_counterfactual else None,
        limit=MAX_RECORDS,
    )


def read_affected(session: Session, alert: Alert, query: RecordListQuery | None) -> AffectedRecords | None:
    """Reads the records of a query; None without one, or if the monitor no longer has the group."""
    if query is None:
        return None
    try:
        return AffectedRecords(
            records=list_matching_records(session, alert.deployment_no, query),
            count=count_matching_records(session, alert.deployment_no, query, limit=MAX_COUNTED_RECORDS),
        )
    except (InvalidInput, Conflict, NotFound):
        return None
