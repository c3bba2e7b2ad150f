"""Failures of model endpoints; one that answers has none. Every time is the database's."""

from sqlalchemy import case, delete, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ..database.binary_rows import read_row
from ..database.tables import DeploymentRow, EndpointFailureRow
from ..domain.endpoint_health import HEALTHY, OPEN_FOR, OPENS_AFTER, BreakerState, EndpointHealth

IS_OPEN = EndpointFailureRow.open_until.between(func.now(), func.now() + OPEN_FOR).label("is_open")
"""Whether the breaker of a row is open now; NULL if it never was."""


def health_from(row: EndpointFailureRow | None, *, is_open: bool | None) -> EndpointHealth:
    if row is None:
        return HEALTHY
    states = {None: BreakerState.CLOSED, True: BreakerState.OPEN, False: BreakerState.HALF_OPEN}
    return read_row(EndpointHealth, row, state=states[is_open], tried_again_at=row.open_until)


def record_no_answer(session: Session, deployment_no: int, reason: str) -> None:
    """Counts a check without an answer; from OPENS_AFTER in a row on, the breaker opens."""
    here = select(DeploymentRow.no, literal(1), literal(reason)).where(DeploymentRow.no == deployment_no)
    first = insert(EndpointFailureRow).from_select(["deployment_no", "failures", "reason"], here)
    failures = EndpointFailureRow.failures + 1
    again = {
        "failures": failures,
        "reason": reason,
        "failed_at": func.now(),
        "open_until": case((failures >= OPENS_AFTER, func.now() + OPEN_FOR)),
    }
    session.execute(first.on_conflict_do_update(index_elements=[EndpointFailureRow.deployment_no], set_=again))


def record_answer(session: Session, deployment_no: int) -> None:
    """Deletes the failures."""
    session.execute(delete(EndpointFailureRow).where(EndpointFailureRow.deployment_no == deployment_no))
