"""Reads a stored check as a `CheckRun`."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...domain.checks import CheckRun, CheckState, Span
from ..database.rows import read_row
from ..tables import CheckRow, DeploymentRow

SELECT_RUNS = select(CheckRow, DeploymentRow.id).join(DeploymentRow, DeploymentRow.no == CheckRow.deployment_no)


def read_run(session: Session, no: int) -> CheckRun:
    return to_run(*session.execute(SELECT_RUNS.where(CheckRow.no == no)).one())


def to_run(row: CheckRow, deployment_id: str) -> CheckRun:
    waits_for_retry = row.state == CheckState.FAILED
    return read_row(
        CheckRun,
        row,
        deployment_id=deployment_id,
        span=Span(start=row.span_start, end=row.span_end),
        next_attempt_at=row.claimable_at if waits_for_retry else None,
    )
