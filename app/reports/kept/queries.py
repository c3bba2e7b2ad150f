"""Kept reports: their queue, their end and their files."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from ...base.errors import Conflict, require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import HeldRow, lease_row, page_newest, read_row, write_held
from ...database.tables import KeptReportFileRow, KeptReportRow
from ...domain.check import Span
from ...domain.paging import Paging
from ..regulator.sheets import SheetSelection


class KeptReportState(StrEnum):
    """The state of a kept report; `ready` and `failed` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"


@frozen_by_name
class KeptReport:
    """Kept report. `seal` is that of its data, `chain_head` the last link of its chain.

    Both are None until it is ready; `schedule_id` is None where a person asked for it.
    """

    no: int
    id: str
    deployment_no: int
    schedule_id: str | None
    span: Span
    wanted: SheetSelection
    state: KeptReportState
    reason: str | None
    seal: str | None
    chain_head: str | None
    created_by: str
    created_at: datetime
    finished_at: datetime | None
    attempts: int
    schedule_no: int | None = field(repr=False)
    lease_token: str | None = field(repr=False)


MAX_OPEN_REPORTS = 20
"""Of a deployment, requested and not made yet."""

MAX_SENT_PER_HOUR = 20
"""Of a deployment, by people."""

LEASE = timedelta(minutes=10)
"""Time after which another worker takes over a report."""

_OPEN_STATES = (KeptReportState.QUEUED, KeptReportState.RUNNING)


def request_report(
    session: Session, deployment_no: int, span: Span, wanted: SheetSelection, *, by: str
) -> KeptReport:
    """Returns a waiting equal one, if any. The caller holds the deployment's lock."""
    conditions = (KeptReportRow.deployment_no == deployment_no, KeptReportRow.state.in_(_OPEN_STATES))
    open_rows = session.scalars(select(KeptReportRow).where(*conditions)).all()
    for row in open_rows:
        report = _read_report(row)
        if (report.span, report.wanted) == (span, wanted):
            return report
    if len(open_rows) >= MAX_OPEN_REPORTS:
        raise Conflict(
            f"{len(open_rows)} reports of the deployment wait to be made. Ask for more once they are ready."
        )
    if wanted.channels:
        count = select(func.count()).where(
            KeptReportRow.deployment_no == deployment_no,
            KeptReportRow.created_at > func.now() - timedelta(hours=1),
            KeptReportRow.wanted["channels"][0].astext.is_not(None),
        )
        if (session.scalar(count) or 0) >= MAX_SENT_PER_HOUR:
            raise Conflict(
                f"{MAX_SENT_PER_HOUR} reports of the deployment were sent in the last hour, "
                "which is the maximum. Send it later, or set a schedule."
            )
    insertion = insert(KeptReportRow).values(
        deployment_no=deployment_no, span_start=span.start, span_end=span.end, wanted=wanted, created_by=by
    )
    return _read_report(session.scalars(insertion.returning(KeptReportRow)).one())


def claim_report(session: Session, *, token: str) -> KeptReport | None:
    no = session.scalar(
        select(KeptReportRow.no)
        .where(KeptReportRow.claimable_at <= func.now())
        .order_by(KeptReportRow.no)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if no is None:
        return None
    lease_row(session, KeptReportRow, no, token=token, lease=LEASE, state=KeptReportState.RUNNING)
    return _read_report(session.get_one(KeptReportRow, no, populate_existing=True))


def keep_report(
    session: Session, report: KeptReport, files: Mapping[str, bytes], *, seal: str, chain_head: str | None
) -> KeptReport:
    """If it raises LeaseLost, roll everything back."""
    ended = _end_report(
        session, report, state=KeptReportState.READY, seal=seal, chain_head=chain_head, reason=None
    )
    session.execute(
        insert(KeptReportFileRow),
        [{"report_no": report.no, "form": form, "content": file} for form, file in files.items()],
    )
    return ended


def fail_report(session: Session, report: KeptReport, *, reason: str) -> KeptReport:
    """Raises LeaseLost."""
    return _end_report(session, report, state=KeptReportState.FAILED, reason=reason)


def page_kept_reports(session: Session, deployment_no: int, paging: Paging) -> list[KeptReport]:
    statement = select(KeptReportRow).where(KeptReportRow.deployment_no == deployment_no)
    return [_read_report(row) for row in session.scalars(page_newest(statement, KeptReportRow.no, paging))]


def get_kept(session: Session, deployment_no: int, report_id: str) -> KeptReport:
    """Raises NotFound."""
    statement = select(KeptReportRow).where(
        KeptReportRow.deployment_no == deployment_no, KeptReportRow.id == report_id
    )
    return _read_report(require_present(session.scalars(statement).one_or_none(), "kept report", report_id))


def read_kept_file(session: Session, report: KeptReport, form: str) -> bytes:
    """Raises Conflict if it is not ready."""
    content = session.scalar(
        select(KeptReportFileRow.content).where(
            KeptReportFileRow.report_no == report.no, KeptReportFileRow.form == form
        )
    )
    if content is None:
        reason = f"it is {report.state.value}"
        if report.state is KeptReportState.FAILED:
            reason = f"it failed: {report.reason}"
        elif report.state is KeptReportState.READY:
            reason = f"a report of its kind has no {form}"
        raise Conflict(f"Report {report.id} has no file, because {reason}")
    return content


def _end_report(session: Session, report: KeptReport, **values: Any) -> KeptReport:  # noqa: ANN401 - columns
    if_lost = f"Report {report.id} is no longer this worker's: nothing was written."
    held = HeldRow(table=KeptReportRow, no=report.no, token=report.lease_token, if_lost=if_lost)
    values |= {"claimable_at": None, "lease_token": None, "finished_at": func.now()}
    write_held(session, held, values, KeptReportRow.no)
    return _read_report(session.get_one(KeptReportRow, report.no, populate_existing=True))


def _read_report(row: KeptReportRow) -> KeptReport:
    return read_row(KeptReport, row, span=Span(start=row.span_start, end=row.span_end))
