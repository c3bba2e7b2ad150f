"""Kept reports: the queue, their end, and their files."""

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from ...domain.checks import Span
from ...domain.paging import Paging
from ...domain.report_schedules import KeptReport, KeptReportState
from ...errors import Conflict, require_present
from ..database.leased_rows import HeldRow, lease_row, write_held
from ..database.paging import page_newest
from ..database.rows import read_row
from ..tables import KeptReportFileRow, KeptReportRow

MOST_OPEN = 20
"""Max reports of a deployment that are requested and not made yet."""

LEASE = timedelta(minutes=10)
"""Time after which another worker takes over a report."""

_OPEN = (KeptReportState.QUEUED, KeptReportState.RUNNING)


def request_report(session: Session, deployment_no: int, span: Span, wanted: Mapping[str, Any], *, by: str) -> KeptReport:
    """Queues a requested report, or returns a waiting equal one. The caller holds the deployment's lock."""
    is_open = (KeptReportRow.deployment_no == deployment_no, KeptReportRow.state.in_(_OPEN))
    waiting = session.scalars(select(KeptReportRow).where(*is_open)).all()
    for row in waiting:
        if (row.span_start, row.span_end, row.wanted) == (span.start, span.end, wanted):
            return _report(row)
    if len(waiting) >= MOST_OPEN:
        raise Conflict(f"{len(waiting)} reports of the deployment wait to be made. Ask for more once they are ready.")
    values = {
        "id": str(uuid.uuid4()),
        "deployment_no": deployment_no,
        "span_start": span.start,
        "span_end": span.end,
        "wanted": dict(wanted),
        "state": KeptReportState.QUEUED,
        "created_by": by,
        "claimable_at": func.now(),
        "attempts": 0,
    }
    no = session.scalars(insert(KeptReportRow).values(values).returning(KeptReportRow.no)).one()
    return _report(session.get_one(KeptReportRow, no))


def claim_report(session: Session, *, token: str) -> KeptReport | None:
    """Takes the next report for the holder of `token`, new for each call."""
    due = KeptReportRow.claimable_at <= func.now()
    no = session.scalar(select(KeptReportRow.no).where(due).order_by(KeptReportRow.no).limit(1).with_for_update(skip_locked=True))
    if no is None:
        return None
    lease_row(session, KeptReportRow, no, token=token, lease=LEASE, state=KeptReportState.RUNNING)
    return _report(session.get_one(KeptReportRow, no, populate_existing=True))


def keep_report(session: Session, report: KeptReport, files: Mapping[str, bytes], *, seal: str, chain_head: str) -> KeptReport:
    """Ends the report as ready. If it raises LeaseLost, roll everything back."""
    _end(session, report, state=KeptReportState.READY, seal=seal, chain_head=chain_head, reason=None)
    session.execute(insert(KeptReportFileRow), [{"report_no": report.no, "form": form, "content": file} for form, file in files.items()])
    return _report(session.get_one(KeptReportRow, report.no, populate_existing=True))


def fail_report(session: Session, report: KeptReport, *, reason: str) -> KeptReport:
    """Ends the report without files. Raises LeaseLost."""
    _end(session, report, state=KeptReportState.FAILED, reason=reason)
    return _report(session.get_one(KeptReportRow, report.no, populate_existing=True))


def kept_page(session: Session, deployment_no: int, paging: Paging) -> list[KeptReport]:
    wanted = select(KeptReportRow).where(KeptReportRow.deployment_no == deployment_no)
    return [_report(row) for row in session.scalars(page_newest(wanted, KeptReportRow.no, paging))]


def get_kept(session: Session, deployment_no: int, report_id: str) -> KeptReport:
    """Returns the report, or raises NotFound."""
    wanted = select(KeptReportRow).where(KeptReportRow.deployment_no == deployment_no, KeptReportRow.id == report_id)
    row = session.scalars(wanted).one_or_none()
    return _report(require_present(row, "kept report", report_id))


def read_kept_file(session: Session, report: KeptReport, form: str) -> bytes:
    """Returns the report in that form, or raises Conflict if it is not ready."""
    content = session.scalar(
        select(KeptReportFileRow.content).where(KeptReportFileRow.report_no == report.no, KeptReportFileRow.form == form)
    )
    if content is None:
        why = f"it failed: {report.reason}" if report.state is KeptReportState.FAILED else f"it is {report.state.value}"
        raise Conflict(f"Report {report.id} has no file, because {why}")
    return content


def _end(session: Session, report: KeptReport, **values: Any) -> None:  # noqa: ANN401 - columns of the row
    if_lost = f"Report {report.id} is no longer this worker's: nothing was written."
    held = HeldRow(table=KeptReportRow, no=report.no, token=report.lease_token, if_lost=if_lost)
    write_held(session, held, {"claimable_at": None, "lease_token": None, "finished_at": func.now(), **values}, KeptReportRow.no)


def _report(row: KeptReportRow) -> KeptReport:
    return read_row(KeptReport, row, span=Span(start=row.span_start, end=row.span_end))
