"""Routes of reports: one check or a period as a file for people, and the measurements behind them as CSV."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Depends, Response
from fastapi.concurrency import run_in_threadpool

from app.api.answers import Answers, problems_of_deployment
from app.api.checks import CheckId
from app.api.figures_csv import csv_file, text_rows
from app.api.flagged_csv import csv_lines
from app.api.flagged_records import PIECE, CsvAnswer
from app.api.measurements import wanted_series
from app.api.schemas.verdicts import members_told
from app.charts.twins import Cell, Twin
from app.domain.checks import Measurement, Span
from app.domain.deployments import Deployment
from app.errors import InvalidInput, Unavailable
from app.reports.check_report import check_report
from app.reports.document import Document, Made
from app.reports.html import as_html
from app.reports.pdf import as_pdf
from app.reports.period_report import period_report
from app.security.principals import Principal
from app.services import Services
from app.store.checks import get
from app.store.measurements import Point, SeriesFilter, series
from app.store.results import measurements_of
from app.web.access import NowIn, ReadableDeployment, Reader, ServicesIn, SessionIn
from app.web.times import Moment, in_utc

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["reports"])

Form: TypeAlias = Literal["html", "pdf"]

USUAL = timedelta(days=30)
AT_ONCE = 2
WAIT_SECONDS = 5.0
"""Drawing charts and setting pages takes the processor for a second, so few reports are made at once and the others wait a little."""

_MAKING = threading.BoundedSemaphore(AT_ONCE)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
_COLUMNS = (
    *("at", "check_id", "metric", "data", "scope", "attribute", "group", "value", "lower", "upper", "interval_method", "n"),
    *("verdict", "lower_limit", "upper_limit", "carried_forward", "reason", "sentence"),
    *("disadvantaged", "disadvantaged_group", "gap", "beyond_limit", "definition"),
)

FILES: Answers = {
    200: {
        "description": "The report, in the form that the address ends with",
        "content": {"text/html": {"schema": {"type": "string"}}, "application/pdf": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class ReportFile(Response):
    """A report in one of its forms."""

    media_type = None


@dataclass(frozen=True, slots=True)
class _Export:
    services: Services
    deployment: Deployment
    wanted: SeriesFilter


def wanted_period(now: NowIn, *, since: Moment = None, until: Moment = None) -> Span:
    """The period; without `until` up to now, without `since` the 30 days before.

    Raises:
        InvalidInput: it ends before it begins, or a time cannot be expressed in UTC.
    """
    end = in_utc("until", until) or now
    earliest = datetime.min.replace(tzinfo=UTC)
    start = in_utc("since", since) or end - min(USUAL, end - earliest)
    if start >= end:
        raise InvalidInput.of("since", f"must lie before until, {end.isoformat()}")
    return Span(start=start, end=end)


@router.get(
    "/checks/{check_id}/report.{form}", operation_id="reportCheck", response_class=ReportFile, responses=FILES | problems_of_deployment()
)
def report_check(
    principal: Reader, deployment: ReadableDeployment, check_id: CheckId, form: Form, session: SessionIn, now: NowIn
) -> ReportFile:
    """One check as a file that needs nothing else: figures with intervals, charts, configuration, limits, and how to trace each figure."""
    check = get(session, deployment.no, check_id)
    return _file(lambda: check_report(session, deployment, check, _made(principal, now)), form, f"{deployment.id}-{check.id}")


@router.get("/report.{form}", operation_id="reportPeriod", response_class=ReportFile, responses=FILES | problems_of_deployment())
def report_period(
    principal: Reader,
    deployment: ReadableDeployment,
    form: Form,
    period: Annotated[Span, Depends(wanted_period)],
    session: SessionIn,
    now: NowIn,
) -> ReportFile:
    """A period as such a file, its checks summed up by day, week or month, with the views of its newest succeeded check.

    Without `until` up to now, without `since` the 30 days before `until`.
    """
    name = f"{deployment.id}-{period.start:%Y%m%d}-{period.end:%Y%m%d}"
    return _file(lambda: period_report(session, deployment, period, _made(principal, now)), form, name)


@router.get(
    "/checks/{check_id}/measurements.csv",
    operation_id="exportCheckMeasurements",
    response_class=CsvAnswer,
    responses=problems_of_deployment(),
)
def export_check_measurements(deployment: ReadableDeployment, check_id: CheckId, session: SessionIn) -> Response:
    """All measurements of a check as CSV, unrounded, with a sentence each. As JSON they stand in the check itself."""
    check = get(session, deployment.no, check_id)
    rows = tuple(_row(one, check.id) for one in measurements_of(session, check.no))
    return csv_file(Twin(_COLUMNS, rows), f"{deployment.id}-{check.id}-measurements")


@router.get("/measurements.csv", operation_id="exportMeasurements", response_class=CsvAnswer, responses=problems_of_deployment())
def export_measurements(
    deployment: ReadableDeployment, session: SessionIn, services: ServicesIn, wanted: Annotated[SeriesFilter, Depends(wanted_series)]
) -> CsvAnswer:
    """The measurements of all checks as CSV, oldest first, `since` <= `at` < `until`, with the filters of `GET …/measurements`."""
    first = series(session, deployment.no, wanted, after_no=0, limit=PIECE)
    name = f'attachment; filename="{deployment.id}-measurements.csv"'
    return CsvAnswer(_pieces(_Export(services, deployment, wanted), first), headers={"Content-Disposition": name})


async def _pieces(export: _Export, piece: list[Point]) -> AsyncIterator[bytes]:
    """The CSV, piece by piece, each read by itself: a slow reader holds neither a connection nor a snapshot of the database."""
    yield csv_lines([_COLUMNS])
    while piece:
        yield await run_in_threadpool(_lines, piece)
        if len(piece) < PIECE:
            return
        async with export.services.turns:
            piece = await run_in_threadpool(_next_piece, export, piece[-1])


def _lines(piece: list[Point]) -> bytes:
    return csv_lines(text_rows(_row(point.measurement, point.check_id) for point in piece))


def _next_piece(export: _Export, last: Point) -> list[Point]:
    # Reading on from the last point's own moment keeps each piece as cheap as the first.
    wanted = replace(export.wanted, since=last.measurement.at)
    with export.services.database.transaction() as session:
        return series(session, export.deployment.no, wanted, after_no=last.no, limit=PIECE)


def _row(one: Measurement, check_id: str) -> tuple[Cell, ...]:
    told = members_told(one)
    return (
        *(one.at, check_id, one.metric, one.data.value, one.scope.value, one.attribute, one.group, one.value, one.lower, one.upper),
        *(one.interval_method, one.n, one.verdict, one.lower_limit, one.upper_limit, one.carried_forward, one.reason),
        *(told[name] for name in ("sentence", "disadvantaged", "disadvantaged_group", "gap", "beyond_limit")),
        one.definition,
    )


def _made(principal: Principal, now: datetime) -> Made:
    return Made(at=now.replace(microsecond=0), by=principal.actor)


def _file(make: Callable[[], Document], form: Form, name: str) -> ReportFile:
    with _turn():
        document = make()
        if form == "pdf":
            named = {"Content-Disposition": f'inline; filename="{name}.pdf"'}
            return ReportFile(as_pdf(document), media_type="application/pdf", headers=named)
        headers = {"Content-Disposition": f'inline; filename="{name}.html"', "Content-Security-Policy": _POLICY}
        return ReportFile(as_html(document), media_type="text/html; charset=utf-8", headers=headers)


@contextmanager
def _turn() -> Iterator[None]:
    """A place among the reports that are being made.

    Raises:
        Unavailable: none came free.
    """
    if not _MAKING.acquire(timeout=WAIT_SECONDS):
        raise Unavailable(f"{AT_ONCE} reports are being made and more wait. Nothing was changed; ask for this one again in a few seconds.")
    try:
        yield
    finally:
        _MAKING.release()
