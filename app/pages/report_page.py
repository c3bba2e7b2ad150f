"""Page of a deployment's reports: of a check, of a range, for a regulator, kept and scheduled."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from multiprocessing.forkserver import ensure_running
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ..access.gate.caller import Reader, SessionIn
from ..access.principals import Permission, Principal
from ..alerts.channels.channel import Channel, ChannelKind, page_channels
from ..alerts.channels.notification import Notification, NotificationState
from ..alerts.channels.notification_queries import list_named_channels, list_report_notifications
from ..base.errors import InvalidInput
from ..base.values import frozen
from ..charts.time_ranges import RangeChoice, RangePreset
from ..checks.queries import get_check
from ..database.engine import current_time
from ..deployments.deployment_in_address import Watched
from ..domain.deployment import Deployment
from ..domain.monitor import Monitor
from ..domain.paging import Paging
from ..reports.kept.queries import KeptReport, page_kept_reports
from ..reports.kept.schedules import (
    MAX_SCHEDULES,
    CalendarPeriod,
    ReportRhythm,
    find_first_due,
    find_period,
    page_schedules,
)
from ..reports.regulator.clauses import NOT_LEGAL_ADVICE, ToolKind
from ..reports.regulator.regulator_report import ReportForm
from ..reports.regulator.report_data import choose_controls
from ..reports.regulator.sheets import PRESETS, PeriodSheet, SheetSelection, find_missing
from ..retention.queries import read_retention_policy
from ..sources.stored.record_conditions import RecordFilter
from ..sources.stored.record_queries import count_records
from ..statistics.selections.category_people import (
    EXAMPLE_MAPPING,
    MAX_MAPPING_CHARACTERS,
    SCHEMES,
    CategoryMapping,
    parse_mappings,
)
from .range_bar import KEEPS_RANGE, RangeIn, build_bar, find_chosen_span
from .render import read_header, show_page
from .words import write_time

router = APIRouter(
    prefix="/deployments/{deployment_id}/reports", include_in_schema=False, dependencies=[KEEPS_RANGE]
)

MAX_NAMES = 20
"""Attributes that an address names, and controls."""

MAX_KEPT_REPORTS = 50

MAX_COUNTED_RECORDS = 10_000
"""Records of the range that are counted; of more, the page says that there are at least so many."""

MAX_CHANNELS = 100


@frozen
class ChosenContent:
    """Content of a report that the address names. No `attribute` means all; `categories` are JSON."""

    attribute: Annotated[list[str] | None, Query(max_length=MAX_NAMES)] = None
    control: Annotated[list[str] | None, Query(max_length=MAX_NAMES)] = None
    tool: Annotated[ToolKind, Query()] = ToolKind.SELECTING
    check: Annotated[str | None, Query(max_length=64)] = None
    categories: Annotated[str, Query(max_length=MAX_MAPPING_CHARACTERS)] = ""

    @property
    def mappings(self) -> tuple[CategoryMapping, ...]:
        return parse_mappings(self.categories) if self.categories.strip() else ()

    def list_query_members(self) -> dict[str, str | list[str]]:
        members = {
            "attribute": self.attribute,
            "control": self.control,
            "tool": None if self.tool is ToolKind.SELECTING else self.tool.value,
            "categories": self.categories.strip(),
        }
        return {name: value for name, value in members.items() if value}


def _start_report_process() -> Iterator[None]:
    # After the page is sent: the new process would compete with it for processors.
    yield
    with suppress(OSError):  # the machine refuses it: the report will say so
        ensure_running()


@router.get("", dependencies=[Depends(_start_report_process)])
def show_reports_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    principal: Reader,
    time_range: RangeIn,
    chosen: Annotated[ChosenContent, Depends()],
) -> Response:
    now = current_time(session)
    deployment = watched.deployment
    monitor = watched.monitor
    retention = read_retention_policy(session, deployment.no)
    span = find_chosen_span(time_range, now) or time_range.span(now, usual=RangePreset.MONTH)
    query = {
        "since": span.start.isoformat(timespec="seconds"),
        "until": span.end.isoformat(timespec="seconds"),
        "zone": time_range.zone.key,
    }
    problem = find_problem(chosen, deployment, monitor)
    usable = {} if problem else chosen.list_query_members()
    mappings = () if problem else chosen.mappings
    controls = tuple(usable.get("control", ()))
    header = read_header(session, deployment.no, now)
    check_id = chosen.check or header.check_id
    kept_reports = page_kept_reports(session, deployment.no, Paging(MAX_KEPT_REPORTS))
    every_channel = page_channels(session, Paging(MAX_CHANNELS))
    channel_names = {channel.id: channel.name for channel in every_channel}
    notifications = list_report_notifications(session, [report.id for report in kept_reports])
    may_see_reasons = Permission.MANAGE in principal.role.permissions
    values = {
        "schedules": [
            (schedule, find_first_due(schedule, now))
            for schedule in page_schedules(session, deployment.no, Paging(MAX_SCHEDULES))
        ],
        "kept": kept_reports,
        "deliveries_of": lambda report: say_deliveries(
            report, notifications.get(report.id, ()), channel_names, with_reasons=may_see_reasons
        ),
        "channel_names": channel_names,
        "most_kept": MAX_KEPT_REPORTS,
        "rhythms": list(ReportRhythm),
        "titles": {name.value: preset.title for name, preset in PRESETS.items()},
        "columns": [column.name for column in (*deployment.schema.features, *deployment.schema.meta)],
        "header": header,
        "check": None if check_id is None else get_check(session, deployment.no, check_id),
        "records": None
        if deployment.payload
        else count_records(
            session, deployment.no, RecordFilter(since=span.start, until=span.end), most=MAX_COUNTED_RECORDS
        ),
        "last": list(list_last_periods(time_range, now)),
        "channels": list_channels(session, principal, deployment.no, every_channel),
        "deployment": deployment,
        "monitor": monitor,
        "lines": [
            {
                "preset": preset,
                "sheets": [sheet.row.title for sheet in preset.sheets],
                "missing": list(find_missing(name, deployment, monitor, controls, retention, mappings)),
                "query": urlencode({"preset": name.value, **query, **usable}, doseq=True),
            }
            for name, preset in PRESETS.items()
        ],
        "span": span,
        "query": urlencode(query | usable, doseq=True),
        "range_query": urlencode(query),
        "range_link": urlencode(replace(time_range, preset=None, start=span.start, end=span.end).query()),
        "all_sheets": len(PeriodSheet),
        "forms": [form.value for form in ReportForm],
        "notice": NOT_LEGAL_ADVICE,
        "chosen": chosen,
        "problem": problem,
        "body": list_body_members(usable),
        "tools": {
            ToolKind.SELECTING: "selects: who got the favourable outcome",
            ToolKind.SCORING: "scores: who is above the median score",
        },
        "mappings": {"most": MAX_MAPPING_CHARACTERS, "example": EXAMPLE_MAPPING, "schemes": list(SCHEMES)},
        "bar": build_bar(request, time_range, span, usual=RangePreset.MONTH, without={RangePreset.ALL}),
    }
    return show_page(request, "regulator_report.html", values)


def list_channels(
    session: Session, principal: Principal, deployment_no: int, channels: Sequence[Channel]
) -> list[Channel]:
    """Lists channels for reports, e-mail first.

    A person bound to a deployment sees only those that its rules name already.
    """
    if Permission.MANAGE not in principal.role.permissions:
        return []
    if principal.deployment_no is not None:
        named_ids = list_named_channels(session, deployment_no)
        channels = [channel for channel in channels if channel.id in named_ids]
    return sorted(channels, key=lambda channel: channel.kind is not ChannelKind.EMAIL)


def say_deliveries(
    report: KeptReport,
    notifications: Sequence[Notification],
    channel_names: Mapping[str, str],
    *,
    with_reasons: bool,
) -> Iterator[str]:
    """Says for each channel of a kept report whether it was sent there."""
    notification_of_channel = {notification.channel_id: notification for notification in notifications}
    for channel_id in dict.fromkeys((*report.wanted.channels, *notification_of_channel)):
        notification = notification_of_channel.get(channel_id)
        state = "waiting to be sent"
        if notification is None and report.finished_at is not None:
            state = "no longer known whether it was sent"
        elif notification is not None and notification.sent_at is not None:
            state = f"sent at {write_time(notification.sent_at)}"
        elif notification is not None and notification.state is NotificationState.GIVEN_UP:
            state = "not sent"
        reason = notification.last_error if notification is not None and with_reasons else None
        yield f"{channel_names.get(channel_id, channel_id)}: {state}{f': {reason}' if reason else ''}"


def list_last_periods(time_range: RangeChoice, now: datetime) -> Iterator[tuple[str, str]]:
    zone = time_range.zone
    for kind in (CalendarPeriod.WEEK, CalendarPeriod.MONTH, CalendarPeriod.QUARTER):
        present = find_period(kind, now.astimezone(zone).date(), zone)
        last = find_period(kind, (present.start - timedelta.resolution).astimezone(zone).date(), zone)
        yield kind.value, urlencode(RangeChoice(start=last.start, end=last.end, zone=zone).query())


def find_problem(chosen: ChosenContent, deployment: Deployment, monitor: Monitor | None) -> str:
    """Says why the files cannot have the choices; empty where they can, or without a monitor."""
    if monitor is None:
        return ""
    try:
        selection = SheetSelection(
            attributes=tuple(chosen.attribute or ()),
            controls=tuple(chosen.control or ()),
            categories=chosen.mappings,
        )
        choose_controls(deployment, monitor, selection)
    except InvalidInput as error:
        return str(error)
    return ""


def list_body_members(choices: Mapping[str, str | list[str]]) -> dict[str, object]:
    """Members of a body that orders a report with the choices of an address."""
    names = {"attribute": "attributes", "control": "controls"}
    body: dict[str, object] = {names.get(name, name): value for name, value in choices.items()}
    if "categories" in choices:
        body["categories"] = json.loads(str(choices["categories"]))
    return body
