"""Routes of the report that a regulator keeps."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from ..domain.category_schemes import EXAMPLE_MAPPING, MAX_MAPPING_LENGTH, parse_mappings
from ..domain.checks import Span
from ..domain.deployments import Deployment
from ..frozen import frozen
from ..reports.making import RegulatorOrder
from ..reports.regulator.clauses import NOT_LEGAL_ADVICE
from ..reports.regulator.data import choose_controls, require_columns, require_monitor
from ..reports.regulator.making import ReportForm
from ..reports.regulator.presets import PRESETS, ReportPreset, choose_sheets, find_missing
from ..reports.regulator.wanted import PeriodSheet, SheetsWanted, ToolKind
from ..store.deployments.monitors import monitor_of
from ..store.retention.policies import policy_of
from ..web.access import NowIn, ReadableDeployment, Reader, ServicesIn, SessionIn
from .answers import CONFLICT, Answers
from .exports import exported
from .reports import ReportFile, describe_files, make_stamp, name_regulator_file, report_turn, send_file, wanted_period
from .schemas.report_presets import ReportPresetOut, ReportPresetsOut

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["reports"])

MOST_NAMES = 20
CATEGORIES = "Categories by attribute, as a JSON object: the category of each value, or of each column of probabilities (`weights`)."
REPORT_FILES: Answers = describe_files("text/html", "application/pdf", "text/csv", "application/json")


@frozen
class WantedSheets:
    form: Annotated[ReportForm, Path()]
    preset: Annotated[ReportPreset | None, Query(description="Rule whose sheets are made; without one, all sheets.")] = None
    sheet: Annotated[
        list[PeriodSheet] | None, Query(max_length=MOST_NAMES, description="Sheet to make, instead of those of the preset. Repeatable.")
    ] = None
    attribute: Annotated[
        list[str] | None, Query(max_length=MOST_NAMES, description="Watched attribute; without one, all. Repeatable.", examples=[["sex"]])
    ] = None
    control: Annotated[
        list[str] | None,
        Query(max_length=MOST_NAMES, description="Column that decisions may depend on; without one, the monitor's strata. Repeatable."),
    ] = None
    tool: Annotated[ToolKind, Query(description="Kind of tool, for the sheet of Local Law 144.")] = ToolKind.SELECTING
    categories: Annotated[str | None, Query(max_length=MAX_MAPPING_LENGTH, description=CATEGORIES, examples=[EXAMPLE_MAPPING])] = None

    def sheets_wanted(self) -> SheetsWanted:
        return SheetsWanted(
            sheets=choose_sheets(self.sheet or (), self.preset),
            attributes=tuple(self.attribute or ()),
            controls=tuple(self.control or ()),
            tool=self.tool,
            categories=() if self.categories is None else parse_mappings(self.categories),
            preset=None if self.preset is None else self.preset.value,
        )


@router.get(
    "/regulator-report.{form}",
    response_class=ReportFile,
    responses=REPORT_FILES | CONFLICT,
    dependencies=[Depends(report_turn, scope="function"), exported("report")],
)
async def report_to_regulator(
    principal: Reader,
    deployment: ReadableDeployment,
    wanted: Annotated[WantedSheets, Depends()],
    period: Annotated[Span, Depends(wanted_period)],
    session: SessionIn,
    services: ServicesIn,
    now: NowIn,
) -> ReportFile:
    """Returns the report on a period with the sheets that rules ask for, made from the live log. Not legal advice.

    `json` has all figures unrounded with the hash chain over the checks of the period; the other forms are made of the same data.
    Without `until` up to now, without `since` the 30 days before `until`.
    """
    sheets = wanted.sheets_wanted()
    await run_in_threadpool(require_sheets, session, deployment, sheets)
    order = RegulatorOrder(deployment=deployment, of=period, wanted=sheets, made=make_stamp(principal, now), form=wanted.form)
    name = name_regulator_file(deployment.id, period, sheets.preset)
    return send_file(await services.reports.make(order), wanted.form.value, name)


def require_sheets(session: Session, deployment: Deployment, wanted: SheetsWanted) -> None:
    choose_controls(deployment, require_monitor(session, deployment), wanted)


@router.get("/report-presets")
def read_report_presets(
    deployment: ReadableDeployment,
    session: SessionIn,
    control: Annotated[
        list[str] | None, Query(max_length=MOST_NAMES, description="Controls that the report will have. Repeatable.")
    ] = None,
) -> ReportPresetsOut:
    """Returns the presets of a regulator's report, and what the deployment lacks for each."""
    require_columns(deployment, control or ())
    monitor, retention = monitor_of(session, deployment.no), policy_of(session, deployment.no)
    presets = [
        ReportPresetOut.of(name, preset, list(find_missing(name, deployment, monitor, tuple(control or ()), retention)))
        for name, preset in PRESETS.items()
    ]
    return ReportPresetsOut(presets=presets, notice=NOT_LEGAL_ADVICE)
