"""`evenhand report` of deployments: `--deployment`, `verify`, `kept` and `schedule`."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.orm import Session
from typer import echo

from ...access.audit.activity_queries import record_activity
from ...access.secret_box import open_secret_box
from ...alerts.rules.rules import unknown_channels
from ...base.clock import utc_now
from ...base.errors import InvalidInput
from ...deployments.queries import Deployments
from ...domain.check import Span
from ...domain.deployment import Deployment
from ...domain.paging import Paging
from ...domain.record_times import parse_moment
from ...reports.document import Made
from ...reports.kept.queries import (
    MAX_SCHEDULES,
    ReportRhythm,
    ScheduleContent,
    get_kept,
    kept_page,
    put_schedule,
    read_kept_file,
    schedules_page,
)
from ...reports.regulator.clauses import ToolKind
from ...reports.regulator.regulator_report import (
    ReportForm,
    check_database,
    check_file,
    make_regulator_report,
    read_report_file,
)
from ...reports.regulator.report_data import choose_controls, require_monitor
from ...reports.regulator.sheets import SheetsWanted, choose_sheets
from ...statistics.selections.category_people import CategoryMapping
from ...web.route_declarations import ID_PATTERN
from ..database import command_settings, ready_database

MOST_LINES = 50


def read_period(start: str | None, end: str | None) -> Span:
    if start is None or end is None:
        raise InvalidInput(
            "from" if start is None else "to", "must be given: a report of a deployment is on a period"
        )
    span = Span(start=parse_moment("from", start), end=parse_moment("to", end))
    if span.start >= span.end:
        raise InvalidInput("from", "must lie before --to")
    return span


def choose_content(
    sheets: Sequence[str] | None,
    preset: str | None,
    attribute: Sequence[str] | None,
    control: Sequence[str] | None,
    tool: ToolKind,
    categories: tuple[CategoryMapping, ...] = (),
) -> SheetsWanted:
    return SheetsWanted(
        sheets=choose_sheets(sheets or (), preset),
        attributes=tuple(attribute or ()),
        controls=tuple(control or ()),
        tool=tool,
        preset=preset,
        categories=categories,
    )


def report_deployment(deployment_id: str, span: Span, query: SheetsWanted, form: str) -> bytes:
    origin = Made(at=utc_now().replace(microsecond=0), by="evenhand report")
    settings = command_settings()
    with ready_database(settings) as database:
        with database.transaction() as session:
            deployment = Deployments(session, open_secret_box(settings)).get(deployment_id)
        return make_regulator_report(database, deployment, span, query, origin, ReportForm(form))


def verify_report(file: Path, *, is_offline: bool) -> bool:
    report = read_report_file(file.read_bytes())
    differences = list(check_file(report))
    looked_at = "the file"
    if not is_offline:
        settings = command_settings()
        with ready_database(settings) as database, database.transaction() as session:
            deployment = Deployments(session, open_secret_box(settings)).get(report.deployment_id)
            differences += check_database(session, deployment, report)
        looked_at = "the file and the database"
    if not differences:
        checks = sum(link.part.startswith("check ") for link in report.chain)
        counted = "1 check" if checks == 1 else f"{checks:,} checks"
        echo(
            f"Unchanged: {looked_at}; {counted} and the configuration, chain {report.content['chain_head']}."
        )
        return True
    echo(f"Changed: {'1 part differs' if len(differences) == 1 else f'{len(differences):,} parts differ'}.")
    for difference in differences[:MOST_LINES]:
        echo(f"{difference.part}: {difference.message}")
    if len(differences) > MOST_LINES:
        echo(f"{len(differences) - MOST_LINES:,} more.")
    return False


MOST_REPORTS = 1000

ACTOR = "evenhand report"


def list_kept(deployment_id: str) -> Iterator[str]:
    with _opened(deployment_id) as (session, deployment):
        for schedule in schedules_page(session, deployment.no, Paging(MAX_SCHEDULES)):
            content = schedule.content
            state = "on" if content.enabled else "off"
            channels = ", ".join(content.channels) or "none"
            yield f"schedule {schedule.id}: {content.name}; {content.rhythm.value}, {state}; channels: {channels}"
        for report in kept_page(session, deployment.no, Paging(MOST_REPORTS)):
            by = f"schedule {report.schedule_id}" if report.schedule_id else report.created_by
            end = f" {report.reason}" if report.reason else f" seal {report.seal}" if report.seal else ""
            yield f"{report.id}  {report.span.start:%Y-%m-%d} to {report.span.end:%Y-%m-%d}  by {by}  {report.state.value}{end}"


def read_kept(deployment_id: str, report_id: str, form: str) -> bytes:
    with _opened(deployment_id) as (session, deployment):
        return read_kept_file(session, get_kept(session, deployment.no, report_id), form)


def set_schedule(
    deployment_id: str,
    schedule: str,
    query: SheetsWanted,
    *,
    name: str | None,
    rhythm: str,
    channels: Sequence[str],
    is_off: bool,
) -> str:
    if re.fullmatch(ID_PATTERN, schedule) is None:
        raise InvalidInput(
            "schedule", f"must be an id of small letters, digits, - and _, found {schedule!r:.100}"
        )
    if rhythm not in list(ReportRhythm):
        raise InvalidInput("every", f"must be one of {', '.join(ReportRhythm)}, found {rhythm!r:.100}")
    with _opened(deployment_id) as (session, deployment):
        choose_controls(deployment, require_monitor(session, deployment), query)
        unknown = unknown_channels(session, channels)
        if unknown:
            raise InvalidInput("channel", f"there is no channel {unknown[0]}")
        content = ScheduleContent(
            name=name or schedule,
            rhythm=ReportRhythm(rhythm),
            wanted=query.to_json(),
            channels=tuple(sorted(set(channels))),
            enabled=not is_off,
        )
        stored = put_schedule(session, deployment.no, schedule, content)
        record_activity(
            session,
            ACTOR,
            "report_schedule.changed",
            deployment,
            subject=schedule,
            details={"version": stored.version},
        )
    return f"Schedule {schedule} is stored, version {stored.version}: {rhythm}, {'off' if is_off else 'on'}."


@contextmanager
def _opened(deployment_id: str) -> Iterator[tuple[Session, Deployment]]:
    settings = command_settings()
    with ready_database(settings) as database, database.transaction() as session:
        yield session, Deployments(session, open_secret_box(settings)).get_for_change(deployment_id)
