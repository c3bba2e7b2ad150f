"""Routes of kept reports and of their schedules."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Response

from ..domain.changes import changes_between
from ..domain.checks import Span
from ..domain.report_schedules import ReportSchedule
from ..errors import FieldProblem, InvalidInput
from ..reports.regulator.making import ReportForm
from ..store.alerts.alert_rules import unknown_channels
from ..store.checks.checks import current_time
from ..store.people.activities import record_activity
from ..store.reports.kept import get_kept, kept_page, read_kept_file, request_report
from ..store.reports.schedules import delete_schedule, find_schedule, get_schedule, put_schedule, schedules_page
from ..web.access import LockedDeployment, Manager, ReadableDeployment, SessionIn
from ..web.paging import NumberPaging, ShortNumberPaging
from ..web.texts import ID_PATTERN, uuid_path
from ..web.times import in_utc
from .answers import CONFLICT, name_location
from .exports import exported
from .regulator_reports import REPORT_FILES, require_sheets
from .reports import ReportFile, name_regulator_file, send_file
from .schemas.kept_reports import KeptReportIn, KeptReportOut, KeptReportPage, ReportScheduleIn, ReportScheduleOut, ReportSchedulePage

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["reports"])

ScheduleId = Annotated[str, Path(description="The schedule's id, which you choose.", pattern=ID_PATTERN, examples=["quarterly"])]
KeptId = Annotated[str, uuid_path("The report's id.", "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e")]
_QUEUED = name_location(202, "Queued; read its address until it ends", "The report's address.")


@router.get("/report-schedules")
def list_report_schedules(deployment: ReadableDeployment, session: SessionIn, paging: ShortNumberPaging) -> ReportSchedulePage:
    """Returns the deployment's schedules of reports, oldest first."""
    write = partial(ReportScheduleOut.of, now=current_time(session))
    return ReportSchedulePage.of(schedules_page(session, deployment.no, paging), paging, write)


@router.put("/report-schedules/{schedule_id}", responses=CONFLICT)
def put_report_schedule(
    body: ReportScheduleIn, deployment: LockedDeployment, schedule_id: ScheduleId, session: SessionIn, principal: Manager
) -> ReportScheduleOut:
    """Sets a schedule: a report of each month, quarter or year, in UTC, six hours after its end. The first is that of the running period.

    Periods that end while no worker runs are made up for. The same content again changes nothing.
    """
    content = body.to_content()
    require_sheets(session, deployment, body.to_wanted())
    unknown = set(unknown_channels(session, content.channels))
    problems = [
        FieldProblem(f"channels[{place}]", f"there is no channel {channel}")
        for place, channel in enumerate(body.channels)
        if channel in unknown
    ]
    if problems:
        raise InvalidInput(problems)
    before = find_schedule(session, deployment.no, schedule_id)
    after = put_schedule(session, deployment.no, schedule_id, content)
    if before != after:
        changes = changes_between(_facts(before), _facts(after))
        record_activity(session, principal.actor, "report_schedule.changed", deployment=deployment, subject=schedule_id, details=changes)
    return ReportScheduleOut.of(after, current_time(session))


@router.get("/report-schedules/{schedule_id}")
def read_report_schedule(deployment: ReadableDeployment, schedule_id: ScheduleId, session: SessionIn) -> ReportScheduleOut:
    """Returns one schedule."""
    return ReportScheduleOut.of(get_schedule(session, deployment.no, schedule_id), current_time(session))


@router.delete("/report-schedules/{schedule_id}", status_code=204)
def delete_report_schedule(deployment: LockedDeployment, schedule_id: ScheduleId, session: SessionIn, principal: Manager) -> None:
    """Deletes a schedule. The reports that it made stay, and so do those that wait."""
    schedule = get_schedule(session, deployment.no, schedule_id)
    delete_schedule(session, schedule)
    changes = changes_between(_facts(schedule), None)
    record_activity(session, principal.actor, "report_schedule.deleted", deployment=deployment, subject=schedule_id, details=changes)


@router.post("/kept-reports", status_code=202, responses=_QUEUED | CONFLICT)
def request_kept_report(
    body: KeptReportIn, deployment: LockedDeployment, session: SessionIn, principal: Manager, response: Response
) -> KeptReportOut:
    """Asks for a report that a worker makes in the background, in all forms, and that is kept. It never changes once it is ready.

    While a report on the same period with the same sheets waits, asking again returns that one.
    """
    wanted = body.to_wanted()
    require_sheets(session, deployment, wanted)
    start, end, now = in_utc("since", body.since), in_utc("until", body.until), current_time(session)
    if start is None or end is None or start >= end:
        raise InvalidInput.of("since", "must lie before until")
    if end > now:
        raise InvalidInput.of("until", "must not lie in the future: a kept report never changes, and its period would not be over")
    found = request_report(session, deployment.no, Span(start=start, end=end), wanted.to_json(), by=principal.actor)
    if found.created_at == now:
        record_activity(session, principal.actor, "kept_report.requested", deployment=deployment, subject=found.id)
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/kept-reports/{found.id}"
    return KeptReportOut.of(found)


@router.get("/kept-reports")
def list_kept_reports(deployment: ReadableDeployment, session: SessionIn, paging: NumberPaging) -> KeptReportPage:
    """Returns the deployment's kept reports, newest first."""
    return KeptReportPage.of(kept_page(session, deployment.no, paging), paging, KeptReportOut.of)


@router.get("/kept-reports/{report_id}")
def read_kept_report(deployment: ReadableDeployment, report_id: KeptId, session: SessionIn) -> KeptReportOut:
    """Returns one kept report: its period, its state, and its seal."""
    return KeptReportOut.of(get_kept(session, deployment.no, report_id))


@router.get(
    "/kept-reports/{report_id}/file.{form}",
    response_class=ReportFile,
    responses=REPORT_FILES | CONFLICT,
    dependencies=[exported("kept_report")],
)
def download_kept_report(
    deployment: ReadableDeployment, report_id: KeptId, form: Annotated[ReportForm, Path()], session: SessionIn
) -> ReportFile:
    """Returns the file of a kept report, byte for byte as it was made. It is 409 while the report is not ready, and if it failed."""
    report = get_kept(session, deployment.no, report_id)
    name = name_regulator_file(deployment.id, report.span, report.wanted.get("preset"))
    return send_file(read_kept_file(session, report, form.value), form.value, name)


def _facts(schedule: ReportSchedule | None) -> Mapping[str, Any]:
    return {} if schedule is None else {"version": schedule.version, **msgspec.to_builtins(schedule.content)}
