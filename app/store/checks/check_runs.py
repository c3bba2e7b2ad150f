"""Reads a stored check as a `CheckRun`; shared by the modules that ask for checks and that run them."""

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from ...domain.checks import CheckRun, CheckState, Span
from ..database.rows import read_object
from ..tables import CheckRow, DeploymentRow


def run_rows() -> Select[CheckRow, str]:
    """Selects checks with their deployment's public id, read again even where the session has seen them before."""
    joined = select(CheckRow, DeploymentRow.id).join(DeploymentRow, DeploymentRow.no == CheckRow.deployment_no)
    return joined.execution_options(populate_existing=True)


def read_run(session: Session, no: int) -> CheckRun:
    """Returns the check of that number, which the caller knows to exist."""
    return to_run(*session.execute(run_rows().where(CheckRow.no == no)).one())


def to_run(row: CheckRow, deployment_id: str) -> CheckRun:
    """Returns the row in the words of the product."""
    return read_object(
        CheckRun,
        row,
        deployment_id=deployment_id,
        span=Span(start=row.span_start, end=row.span_end),
        next_attempt_at=row.claimable_at if row.state == CheckState.FAILED else None,
    )
