"""Routes of the report that a regulator keeps: made now, kept, and by a schedule."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from ...access.audit.activity_queries import changes_between, record_activity
from ...access.gate.caller import Manager, NowIn, Reader, SessionIn
from ...alerts.channels.channel import find_channel_problems
from ...base.errors import InvalidInput, refuse
from ...base.values import frozen
from ...charts.routes import describe_files
from ...checks.queries import get_check
from ...database.engine import current_time
from ...deployments.deployment_in_address import LockedDeployment, ReadableDeployment, exported
from ...deployments.monitor.queries import find_monitor
from ...domain.check import Span
from ...domain.deployment import Deployment
from ...retention.queries import read_retention_policy
from ...statistics.selections.category_people import EXAMPLE_MAPPING, MAX_MAPPING_CHARACTERS, parse_mappings
from ...statistics.selections.selection_presets import ReportPreset
from ...web.route_declarations import (
    CONFLICT,
    ID_PATTERN,
    NumberPaging,
    ShortNumberPaging,
    in_utc,
    name_location,
    uuid_path,
)
from ..kept.bodies import (
    MAX_NAMES,
    KeptReportIn,
    KeptReportOut,
    KeptReportPage,
    ReportPresetOut,
    ReportPresetsOut,
    ReportScheduleIn,
    ReportScheduleOut,
    ReportSchedulePage,
)
from ..kept.queries import get_kept, page_kept_reports, read_kept_file, request_report
from ..kept.schedules import (
    ReportSchedule,
    delete_schedule,
    find_schedule,
    get_schedule,
    page_schedules,
    put_schedule,
)
from ..routes import (
    MAKES_REPORT,
    ReportFile,
    ReportsIn,
    ZoneIn,
    make_stamp,
    name_file,
    read_report_period,
    send_file,
)
from .clauses import NOT_LEGAL_ADVICE, ToolKind
from .regulator_report import ReportForm, ReportOrder
from .report_data import choose_controls, require_columns, require_monitor
from .sheets import PRESETS, PeriodSheet, ReportKind, SheetSelection, choose_sheets, find_missing

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["reports"])

CATEGORIES = (
    "Categories by attribute, as a JSON object: the category of each value, or of each column of "
    "probabilities (`weights`)."
)
REPORT_FILES = describe_files("report", "text/html", "application/pdf", "text/csv", "application/json")


@frozen
class SheetOptions:
    form: Annotated[ReportForm, Path()]
    zone: ZoneIn
    preset: Annotated[
        ReportPreset | None, Query(description="Rule whose sheets are made; without one, all sheets.")
    ] = None
    sheet: Annotated[
        list[PeriodSheet] | None,
        Query(max_length=MAX_NAMES, description="Sheet to make, instead of those of the preset. Repeatable."),
    ] = None
    attribute: Annotated[
        list[str] | None,
        Query(
            max_length=MAX_NAMES,
            description="Watched attribute; without one, all. Repeatable.",
            examples=[["sex"]],
        ),
    ] = None
    control: Annotated[
        list[str] | None,
        Query(
            max_length=MAX_NAMES,
            description="Column that decisions may depend on; without one, the monitor's strata. Repeatable.",
        ),
    ] = None
    tool: Annotated[ToolKind, Query(description="Kind of tool, for the sheet of Local Law 144.")] = (
        ToolKind.SELECTING
    )
    categories: Annotated[
        str | None,
        Query(max_length=MAX_MAPPING_CHARACTERS, description=CATEGORIES, examples=[EXAMPLE_MAPPING]),
    ] = None

    def read_sheets(self) -> SheetSelection:
        return SheetSelection(
            sheets=choose_sheets(self.sheet or (), self.preset),
            attributes=tuple(self.attribute or ()),
            controls=tuple(self.control or ()),
            tool=self.tool,
            categories=() if self.categories is None else parse_mappings(self.categories),
            preset=self.preset,
            zone=self.zone.key,
        )


@router.get(
    "/regulator-report.{form}",
    response_class=ReportFile,
    responses=REPORT_FILES | CONFLICT,
    dependencies=MAKES_REPORT,
)
async def report_to_regulator(
    principal: Reader,
    deployment: ReadableDeployment,
    options: Annotated[SheetOptions, Depends()],
    period: Annotated[Span, Depends(read_report_period)],
    session: SessionIn,
    reports: ReportsIn,
    now: NowIn,
) -> ReportFile:
    """Returns the report on a period with the sheets that rules ask for, made from the live log. Not legal
    advice.

    `json` has all figures unrounded with the hash chain over the checks of the period; the other forms are
    made of the same data. Without `until` up to now, without `since` the 30 days before `until`.
    """
    sheets = options.read_sheets()
    await run_in_threadpool(require_sheets, session, deployment, sheets)
    order = ReportOrder(deployment=deployment, span=period, wanted=sheets, made=make_stamp(principal, now))
    name = name_file(deployment.id, period, sheets.preset or sheets.kind)
    return send_file(await reports.make(order, options.form), options.form.value, name)


def require_sheets(session: Session, deployment: Deployment, sheets: SheetSelection) -> None:
    if sheets.kind is ReportKind.REGULATOR:
        choose_controls(deployment, require_monitor(session, deployment), sheets)


@router.get("/report-presets")
def read_report_presets(
    deployment: ReadableDeployment,
    session: SessionIn,
    control: Annotated[
        list[str] | None,
        Query(max_length=MAX_NAMES, description="Controls that the report will have. Repeatable."),
    ] = None,
) -> ReportPresetsOut:
    """Returns the presets of a regulator's report, and what the deployment lacks for each."""
    require_columns(deployment, control or ())
    monitor = find_monitor(session, deployment.no)
    retention = read_retention_policy(session, deployment.no)
    presets = [
        ReportPresetOut.from_object(
            preset,
            preset=name,
            missing=list(find_missing(name, deployment, monitor, control or (), retention)),
        )
        for name, preset in PRESETS.items()
    ]
    return ReportPresetsOut(presets=presets, notice=NOT_LEGAL_ADVICE)


ScheduleId = Annotated[
    str, Path(description="The schedule's id, which you choose.", pattern=ID_PATTERN, examples=["quarterly"])
]
KeptId = Annotated[str, uuid_path("The report's id.", "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e")]
_QUEUED = name_location(202, "Queued; read its address until it ends", "The report's address.")


@router.get("/report-schedules")
def list_report_schedules(
    deployment: ReadableDeployment, session: SessionIn, paging: ShortNumberPaging
) -> ReportSchedulePage:
    """Returns the deployment's schedules of reports, oldest first."""
    write = partial(ReportScheduleOut.of, now=current_time(session))
    return ReportSchedulePage.of(page_schedules(session, deployment.no, paging), paging, write)


@router.put("/report-schedules/{schedule_id}", responses=CONFLICT)
def put_report_schedule(
    body: ReportScheduleIn,
    deployment: LockedDeployment,
    schedule_id: ScheduleId,
    session: SessionIn,
    principal: Manager,
) -> ReportScheduleOut:
    """Sets a schedule: a report of each week, month, quarter or year of its time zone, six hours after its
    end,
    which is sent to its channels once. The first is that of the running period.

    Periods that end while no worker runs are made up for. The same content again changes nothing.
    """
    content = body.to_content()
    require_sheets(session, deployment, body.to_wanted())
    refuse(find_channel_problems(session, body.channels))
    before = find_schedule(session, deployment.no, schedule_id)
    after = put_schedule(session, deployment.no, schedule_id, content)
    if before != after:
        record_activity(
            session,
            principal.actor,
            "report_schedule.changed",
            deployment,
            subject=schedule_id,
            details=changes_between(
                None if before is None else _describe_schedule(before), _describe_schedule(after)
            ),
        )
    return ReportScheduleOut.of(after, current_time(session))


@router.get("/report-schedules/{schedule_id}")
def read_report_schedule(
    deployment: ReadableDeployment, schedule_id: ScheduleId, session: SessionIn
) -> ReportScheduleOut:
    """Returns one schedule."""
    return ReportScheduleOut.of(get_schedule(session, deployment.no, schedule_id), current_time(session))


@router.delete("/report-schedules/{schedule_id}", status_code=204)
def delete_report_schedule(
    deployment: LockedDeployment, schedule_id: ScheduleId, session: SessionIn, principal: Manager
) -> None:
    """Deletes a schedule. The reports that it made stay, and so do those that wait."""
    schedule = get_schedule(session, deployment.no, schedule_id)
    delete_schedule(session, schedule)
    changes = changes_between(_describe_schedule(schedule), None)
    record_activity(
        session, principal.actor, "report_schedule.deleted", deployment, subject=schedule_id, details=changes
    )


@router.post("/kept-reports", status_code=202, responses=_QUEUED | CONFLICT)
def request_kept_report(
    body: KeptReportIn,
    deployment: LockedDeployment,
    session: SessionIn,
    principal: Manager,
    response: Response,
) -> KeptReportOut:
    """Asks for a report that a worker makes in the background, in all forms, and that is kept. It never
    changes once it is ready. It is then sent to the `channels`, once; mails carry the PDF.

    While a report on the same subject with the same content waits, asking again returns that one.
    """
    content = body.to_wanted()
    require_sheets(session, deployment, content)
    refuse(find_channel_problems(session, body.channels))
    now = current_time(session)
    if content.check_id is not None:
        span = get_check(session, deployment.no, content.check_id).span
    else:
        start, end = in_utc("since", body.since), in_utc("until", body.until)
        if start is None or end is None or start >= end:
            raise InvalidInput("since", "must lie before until")
        if end > now:
            raise InvalidInput(
                "until",
                "must not lie in the future: a kept report never changes, and its period would not be over",
            )
        span = Span(start=start, end=end)
    report = request_report(session, deployment.no, span, content, by=principal.actor)
    if report.created_at == now:
        record_activity(
            session,
            principal.actor,
            "kept_report.requested",
            deployment,
            subject=report.id,
            details={"channels": body.channels},
        )
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/kept-reports/{report.id}"
    return KeptReportOut.of(report)


@router.get("/kept-reports")
def list_kept_reports(
    deployment: ReadableDeployment, session: SessionIn, paging: NumberPaging
) -> KeptReportPage:
    """Returns the deployment's kept reports, newest first."""
    return KeptReportPage.of(page_kept_reports(session, deployment.no, paging), paging, KeptReportOut.of)


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
    """Returns the file of a kept report, byte for byte as it was made. It is 409 while the report is not
    ready, and if it failed.
    """
    report = get_kept(session, deployment.no, report_id)
    name = name_file(deployment.id, report.span, report.wanted.preset or report.wanted.kind)
    return send_file(read_kept_file(session, report, form.value), form.value, name)


def _describe_schedule(schedule: ReportSchedule) -> Mapping[str, Any]:
    return {"version": schedule.version, **msgspec.to_builtins(schedule.content)}
