"""Routes of reports of a check or a period, and measurements as CSV."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from ..access.gate.caller import NowIn, Reader, ServicesIn, SessionIn, open_feature
from ..access.principals import Principal
from ..base.errors import InvalidInput
from ..base.spreadsheets import write_cell
from ..base.values import frozen
from ..charts.measurement_routes import read_series_filter
from ..charts.pictures.twin_tables import Cell, Twin
from ..charts.routes import CsvDownload, describe_files, send_csv_file
from ..charts.series import read_points
from ..charts.time_ranges import MAX_ZONE_CHARACTERS, read_zone
from ..checks.days.measurement_queries import Point, SeriesFilter
from ..checks.queries import get_check
from ..checks.result_queries import read_measurements
from ..checks.routes import CheckId
from ..checks.views.measurement_bodies import list_members
from ..deployments.deployment_in_address import ReadableDeployment, exported
from ..domain.check import Measurement, Span
from ..domain.paging import Paging
from ..records.csv_streams import CsvAnswer, CsvPiece, send_csv
from ..web.body import FILE_POLICY
from ..web.route_declarations import OptionalMoment, in_utc
from .check_report import CHOICE_COLUMNS, MEASUREMENT_COLUMNS, write_trace_csv
from .document import ReportStamp
from .kept.schedules import CalendarPeriod, find_period
from .regulator.regulator_report import ReportOrder
from .regulator.sheets import ReportKind, SheetSelection
from .report_processes import Form, ReportMaker

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["reports"])

ReportsIn = Annotated[ReportMaker, Depends(open_feature(ReportMaker))]

DEFAULT_PERIOD = timedelta(days=30)
_COLUMNS = (
    "at",
    "check_id",
    *MEASUREMENT_COLUMNS,
    "sentence",
    "disadvantaged",
    "disadvantaged_group",
    "gap",
    "beyond_limit",
    "definition",
    *CHOICE_COLUMNS,
)

FILES = describe_files("report", "text/html", "application/pdf", "application/json")


class ReportFile(Response):
    media_type = None


@frozen
class ReportOptions:
    form: Annotated[Form, Path()]
    annex: Annotated[
        bool,
        Query(
            description="With the annex; without it the report has two pages. `json` is the same with and "
            "without."
        ),
    ] = False


def read_report_zone(
    zone: Annotated[
        str,
        Query(
            max_length=MAX_ZONE_CHARACTERS,
            description="Time zone of the period's days.",
            examples=["Europe/Berlin"],
        ),
    ] = "UTC",
) -> ZoneInfo:
    return read_zone(zone)


ZoneIn = Annotated[ZoneInfo, Depends(read_report_zone)]


def read_report_period(
    now: NowIn,
    zone: ZoneIn,
    *,
    since: OptionalMoment = None,
    until: OptionalMoment = None,
    period: Annotated[
        CalendarPeriod | None, Query(description="Calendar period of the zone, instead of since and until.")
    ] = None,
    day: Annotated[
        date | None, Query(description="A day of that period; without it, today.", examples=["2026-10-25"])
    ] = None,
) -> Span:
    """Reads the period; without `until` up to now, without `since` the 30 days before. Raises
    InvalidInput.
    """
    if period is not None or day is not None:
        if since is not None or until is not None:
            raise InvalidInput("period", "is given together with since or until; give one of them")
        chosen_day = day or now.astimezone(zone).date()
        span = find_period(period or CalendarPeriod.DAY, chosen_day, zone)
        if span.start == span.end:
            raise InvalidInput("day", f"{chosen_day} does not exist in {zone.key}")
        if span.start >= now:
            begins = f"{span.start.astimezone(zone):%Y-%m-%d %H:%M}"
            raise InvalidInput("day", f"this period begins on {begins}; there is nothing to report yet")
        return span
    end = in_utc("until", until) or now
    earliest = datetime.min.replace(tzinfo=UTC)
    # Near the year 1 there are no 30 days before `end`.
    start = in_utc("since", since) or end - min(DEFAULT_PERIOD, end - earliest)
    if start >= end:
        raise InvalidInput("since", f"must lie before until, {end.isoformat()}")
    return Span(start=start, end=end)


def read_cut_off(
    now: NowIn,
    labels_until: Annotated[
        date | None,
        Query(
            description="Labels and corrections count that were there before this day (UTC); without it, "
            "before today.",
            examples=["2026-12-01"],
        ),
    ] = None,
) -> datetime | None:
    if labels_until is None:
        return None
    midnight = datetime.combine(labels_until, time(), UTC)
    if midnight > now:
        raise InvalidInput("labels_until", f"must be {now:%Y-%m-%d} or earlier")
    return midnight


async def hold_turn(principal: Reader, reports: ReportsIn) -> AsyncIterator[None]:
    """Holds a place among the reports being made; waiting takes no thread and no connection."""
    async with reports.turns.turn(principal.actor):
        yield


MAKES_REPORT = [Depends(hold_turn, scope="function"), exported("report")]
"""The turn comes before anything that needs a connection."""


@router.get(
    "/checks/{check_id}/report.{form}", response_class=ReportFile, responses=FILES, dependencies=MAKES_REPORT
)
async def report_check(
    principal: Reader,
    deployment: ReadableDeployment,
    check_id: CheckId,
    options: Annotated[ReportOptions, Depends()],
    session: SessionIn,
    reports: ReportsIn,
    now: NowIn,
) -> ReportFile:
    """Returns one check as a self-contained file of two pages, with `annex` also its views, configuration and
    history.

    `json` is the data that the report is made from; the report names the SHA-256 of these bytes.
    """
    check = await run_in_threadpool(get_check, session, deployment.no, check_id)
    order = ReportOrder(
        deployment=deployment,
        span=check.span,
        wanted=SheetSelection(kind=ReportKind.CHECK, check_id=check.id),
        made=make_stamp(principal, now),
        has_annex=options.annex,
    )
    return send_file(await reports.make(order, options.form), options.form, f"{deployment.id}-{check.id}")


@router.get("/report.{form}", response_class=ReportFile, responses=FILES, dependencies=MAKES_REPORT)
async def report_period(
    principal: Reader,
    deployment: ReadableDeployment,
    options: Annotated[ReportOptions, Depends()],
    period: Annotated[Span, Depends(read_report_period)],
    zone: ZoneIn,
    reports: ReportsIn,
    *,
    labels_until: Annotated[datetime | None, Depends(read_cut_off)],
    now: NowIn,
) -> ReportFile:
    """Returns a period as such a file: the groups over all its checked hours, one part for each
    monitor version and model revision.

    Without `until` up to now, without `since` the 30 days before `until`.
    """
    order = ReportOrder(
        deployment=deployment,
        span=period,
        wanted=SheetSelection(kind=ReportKind.PERIOD, zone=zone.key),
        made=make_stamp(principal, now),
        has_annex=options.annex,
        labels_until=labels_until,
    )
    return send_file(await reports.make(order, options.form), options.form, name_file(deployment.id, period))


@router.get(
    "/checks/{check_id}/measurements.csv", response_class=CsvAnswer, dependencies=[exported("measurements")]
)
def export_check_measurements(
    deployment: ReadableDeployment, check_id: CheckId, session: SessionIn
) -> Response:
    """Returns all measurements of a check as CSV, unrounded, with a sentence each. The check itself has
    them as JSON.
    """
    check = get_check(session, deployment.no, check_id)
    rows = tuple(_write_row(measurement, check.id) for measurement in read_measurements(session, check.no))
    return send_csv_file(Twin(_COLUMNS, rows), f"{deployment.id}-{check.id}-measurements")


@router.get("/checks/{check_id}/trace.csv", response_class=CsvAnswer, dependencies=[exported("trace")])
def export_check_trace(deployment: ReadableDeployment, check_id: CheckId, session: SessionIn) -> Response:
    """Returns all measurements of a check as CSV, each with its formula and the counts that were put in.
    PDF reports carry this file.
    """
    check = get_check(session, deployment.no, check_id)
    name = f'attachment; filename="{deployment.id}-{check.id}-trace.csv"'
    return CsvDownload(
        write_trace_csv(check, read_measurements(session, check.no)), headers={"Content-Disposition": name}
    )


@router.get("/measurements.csv", response_class=CsvAnswer, dependencies=[exported("measurements")])
def export_measurements(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    filters: Annotated[SeriesFilter, Depends(read_series_filter)],
) -> CsvAnswer:
    """Returns the measurements of all checks as CSV, oldest first, `since` <= `at` < `until`, with the
    filters of `GET …/measurements`.
    """

    def read(session: Session, after: Point | None, limit: int) -> CsvPiece[Point, Point]:
        # From the last point's own moment, each piece is as cheap as the first.
        piece_filters = filters if after is None else replace(filters, since=after.measurement.at)
        points = read_points(
            session, deployment.no, piece_filters, Paging(limit, 0 if after is None else after.no)
        )
        return CsvPiece(points, points[-1] if points else None)

    def write(point: Point) -> Iterable[str]:
        return map(write_cell, _write_row(point.measurement, point.check_id))

    return send_csv(services, session, f"{deployment.id}-measurements", _COLUMNS, write, read)


def _write_row(measurement: Measurement, check_id: str) -> tuple[Cell, ...]:
    derived = {"check_id": check_id, **list_members(measurement)}
    return tuple(derived[name] if name in derived else getattr(measurement, name) for name in _COLUMNS)


def make_stamp(principal: Principal, now: datetime) -> ReportStamp:
    return ReportStamp(at=now.replace(microsecond=0), by=principal.actor, name=principal.name)


def name_file(deployment_id: str, span: Span, subject: str = "report") -> str:
    """Name without ending; the subject, such as a rule, keeps files of one period apart."""
    return f"{deployment_id}-{subject}-{span.start:%Y%m%d}-{span.end:%Y%m%d}"


def send_file(content: bytes, form: str, name: str) -> ReportFile:
    headers = {"Content-Disposition": f'inline; filename="{name}.{form}"'}
    if form == "html":
        headers["Content-Security-Policy"] = FILE_POLICY
    is_text = form in ("html", "csv")
    media_type = f"text/{form}; charset=utf-8" if is_text else f"application/{form}"
    return ReportFile(content, media_type=media_type, headers=headers)
