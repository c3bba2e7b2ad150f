"""Reads a stored check as a `CheckRun`."""

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from ...domain.checks import CheckRun, CheckState, Failure, Progress, Span, Trigger
from ..database.rows import read_row
from ..tables import CheckRow, DeploymentRow


def run_rows() -> Select[CheckRow, str]:
    """Selects checks with their deployment's public id, read again even where the session has them."""
    joined = select(CheckRow, DeploymentRow.id).join(DeploymentRow, DeploymentRow.no == CheckRow.deployment_no)
    return joined.execution_options(populate_existing=True)


def read_run(session: Session, no: int) -> CheckRun:
    return to_run(*session.execute(run_rows().where(CheckRow.no == no)).one())


def to_run(row: CheckRow, deployment_id: str) -> CheckRun:
    waits_for_retry = row.state == CheckState.FAILED
    return read_row(
        CheckRun,
        row,
        deployment_id=deployment_id,
        trigger=Trigger(row.trigger),
        state=CheckState(row.state),
        span=Span(start=row.span_start, end=row.span_end),
        progress=None if row.progress is None else Progress(**row.progress),
        next_attempt_at=row.claimable_at if waits_for_retry else None,
        failure=None if row.failure is None else Failure(row.failure),
    )
