"""Leases of attributions, by the protocol of checks."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import func, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ...domain.attributions import AttributionCost, AttributionResult, AttributionRun, AttributionState, AttributionTrigger
from ...domain.checks import Progress
from ..database.leased_rows import HeldRow, lease_row, returned_values, write_held
from ..tables import AttributionRow
from .attributions import encode_result, read_attribution

_NEXT = text("""
    SELECT a.no
    FROM attributions a
    WHERE a.claimable_at <= now() AND a.trigger = ANY(:triggers)
      AND (a.state = 'running' OR a.trigger = 'alert'
           OR NOT EXISTS (
               SELECT FROM attributions r
               WHERE r.deployment_no = a.deployment_no AND r.state = 'running' AND r.trigger <> 'alert'))
    ORDER BY a.state <> 'running', CASE a.trigger WHEN 'nightly' THEN 1 ELSE 0 END, a.no
    LIMIT 1
    FOR UPDATE OF a SKIP LOCKED
""")
"""One whose worker went silent first, then those that somebody waits for."""

_END_ABANDONED = text("""
    UPDATE attributions
    SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'failed' END,
        problem = CASE WHEN NOT cancel_requested THEN :problem END,
        claimable_at = NULL, lease_token = NULL, finished_at = now()
    WHERE no IN (
        SELECT no FROM attributions
        WHERE state = 'running' AND claimable_at <= now() AND (cancel_requested OR attempts >= :most)
        FOR UPDATE SKIP LOCKED
    )
""")

_UNLEASED: dict[str, Any] = {"lease_token": None, "claimable_at": None}


def end_abandoned(session: Session, *, max_attempts: int, problem: str) -> None:
    """Ends attributions of silent workers that have no attempt left, or are to be cancelled."""
    session.execute(_END_ABANDONED, {"most": max_attempts, "problem": problem})


def claim_attribution(session: Session, *, token: str, lease: timedelta, triggers: Sequence[AttributionTrigger]) -> AttributionRun | None:
    """Claims the next attribution, or one whose worker went silent; `token` is new for each claim."""
    try:
        # A collision must not undo what the transaction did before.
        with session.begin_nested():
            no = session.scalar(_NEXT, {"triggers": [one.value for one in triggers]})
            if no is None:
                return None
            lease_row(
                session,
                AttributionRow,
                no,
                token=token,
                lease=lease,
                state=AttributionState.RUNNING,
                progress=None,
                planned_rows=None,
                planned_requests=None,
                started_at=func.now(),
            )
    except IntegrityError:  # another worker started one of this deployment
        return None
    return read_attribution(session, no)


def renew_attribution(session: Session, run: AttributionRun, *, lease: timedelta, progress: Progress | None) -> bool:
    """Keeps the lease, and stores the progress; returns whether to cancel. Raises LeaseLost."""
    values: dict[str, Any] = {"claimable_at": func.now() + lease}
    if progress is not None:
        values["progress"] = {"step": progress.step, "done": progress.done, "total": progress.total}
    return _write(session, run, values)


def note_cost(session: Session, run: AttributionRun, cost: AttributionCost) -> None:
    """Stores the cost before anything is asked. Raises LeaseLost."""
    _write(session, run, {"planned_rows": cost.rows, "planned_requests": cost.requests})


def finish_attribution(session: Session, run: AttributionRun, result: AttributionResult, *, asked_rows: int) -> None:
    """Ends the attribution with its result. If it raises LeaseLost, roll everything back."""
    found = {"result": encode_result(result), "asked_rows": asked_rows}
    _write(session, run, {"state": AttributionState.DONE, "finished_at": func.now(), **found, **_UNLEASED})


def fail_attribution(session: Session, run: AttributionRun, *, problem: str) -> None:
    """Ends the attribution without a result or another try. Raises LeaseLost."""
    _write(session, run, {"state": AttributionState.FAILED, "problem": problem, "finished_at": func.now(), **_UNLEASED})


def stop_attribution(session: Session, run: AttributionRun) -> None:
    """Ends the attribution as cancelled. Raises LeaseLost."""
    _write(session, run, {"state": AttributionState.CANCELLED, "finished_at": func.now(), **_UNLEASED})


def release_attribution(session: Session, run: AttributionRun) -> None:
    """Puts the attribution back, the attempt not counted, or ends one to be cancelled. Raises LeaseLost."""
    _write(session, run, returned_values(AttributionRow))


def _write(session: Session, run: AttributionRun, values: dict[str, Any]) -> bool:
    """Returns whether to cancel."""
    if_lost = f"Attribution {run.id} is no longer this worker's: nothing was written."
    held = HeldRow(table=AttributionRow, no=run.no, token=run.lease_token, if_lost=if_lost)
    return write_held(session, held, values, AttributionRow.cancel_requested)
