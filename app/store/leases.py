"""Who runs which check: claiming, keeping and giving back, and the fenced end of a run.

All times are the database's, so the clocks of the workers' machines do not matter. While a check runs, its
`claimable_at` equals `lease_until`: a worker that dies simply stops moving it, and the check becomes claimable.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import case, func, literal, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningUpdate

from app.domain.checks import CheckRun, CheckState, Failure, Progress, Trigger
from app.errors import LeaseLost
from app.store.check_runs import read_run
from app.store.tables import CheckRow

LEASE = timedelta(seconds=30)
"""How long a worker may be silent before its check is given to another."""

RETRY_DELAYS = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
"""After the first, second and third failed attempt at a scheduled check."""

MAX_ATTEMPTS = len(RETRY_DELAYS) + 1
"""Attempts at one check, those that a dying worker interrupted included."""

_COLLISIONS = 5
"""How often one claim tries again after another worker took the same deployment."""

_NEXT = text("""
    WITH heads AS (
        (SELECT DISTINCT ON (deployment_no, trigger) no
         FROM checks
         WHERE claimable_at <= now() AND state <> 'running'
         ORDER BY deployment_no, trigger, CASE trigger WHEN 'schedule' THEN span_start END, no)
        UNION ALL
        SELECT no FROM checks WHERE claimable_at <= now() AND state = 'running'
    )
    SELECT c.no
    FROM heads JOIN checks c ON c.no = heads.no
    WHERE c.claimable_at <= now()
      AND c.no <> ALL(:tried)
      AND (c.state = 'running'
           OR NOT EXISTS (SELECT FROM checks r WHERE r.deployment_no = c.deployment_no AND r.state = 'running'))
    ORDER BY c.state <> 'running',
             CASE c.trigger WHEN 'request' THEN 0 WHEN 'schedule' THEN 1 ELSE 2 END,
             CASE c.trigger WHEN 'schedule' THEN c.span_start END, c.no
    LIMIT 1
    FOR UPDATE OF c SKIP LOCKED
""")
"""The next check to run: those for now first (somebody waits), then the oldest hour, then ranges (they may be thousands).

Only the head of each deployment's line is looked at, locked or not, so that nobody overtakes within a deployment.
A check whose worker went silent stands in no line and comes before all others: as long as it counts as running,
everything else of its deployment waits for it. A check that waits for its retry is not yet claimable, hence in nobody's
way. The condition on `claimable_at` is repeated because Postgres checks it again on a row that changed before it could
be locked.
"""

_END_ABANDONED = text("""
    UPDATE checks
    SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'failed' END,
        reason = CASE WHEN cancel_requested THEN 'Cancelled on request.' ELSE :reason END,
        failure = CASE WHEN NOT cancel_requested THEN 'interrupted' END,
        alerts_due = trigger <> 'range' AND NOT cancel_requested,
        claimable_at = NULL, lease_token = NULL, lease_until = NULL, finished_at = now()
    WHERE no IN (
        SELECT no FROM checks
        WHERE state = 'running' AND claimable_at <= now() AND (cancel_requested OR attempts >= :most)
        FOR UPDATE SKIP LOCKED
    )
""")

_INTERRUPTED = (
    f"The check was interrupted {MAX_ATTEMPTS} times before it could end: its worker stopped, or lost the database. "
    "The logs of the workers say why; queue it again once they run."
)


def claim(session: Session, *, token: str, lease: timedelta = LEASE) -> CheckRun | None:
    """Takes the next check for the holder of `token` (new for each claim), or None when nothing is to be done.

    A check whose worker went silent is taken over, which counts as a new attempt; without attempts left it ends.
    """
    session.execute(_END_ABANDONED, {"reason": _INTERRUPTED, "most": MAX_ATTEMPTS})
    tried: list[int] = []
    while len(tried) < _COLLISIONS:
        try:
            with session.begin_nested():
                no = session.scalar(_NEXT, {"tried": tried})
                if no is None:
                    return None
                tried.append(no)
                _start(session, no, token=token, lease=lease)
        except IntegrityError:  # another worker started a check of the same deployment in this moment
            continue
        return read_run(session, no)
    return None


def _start(session: Session, no: int, *, token: str, lease: timedelta) -> None:
    statement = update(CheckRow).where(CheckRow.no == no)
    values = {
        "state": CheckState.RUNNING,
        "attempts": CheckRow.attempts + 1,
        "lease_token": token,
        **_leased(lease),
        "progress": None,
        "reason": None,
        "failure": None,
        "started_at": func.now(),
        "finished_at": None,
    }
    session.execute(statement.values(values).execution_options(synchronize_session=False))


def renew(session: Session, check: CheckRun, *, lease: timedelta = LEASE, progress: Progress | None = None) -> bool:
    """Keeps the lease for another while and stores the progress; says whether somebody asked to cancel.

    Raises:
        LeaseLost: the check is no longer this worker's.
    """
    values = _leased(lease)
    if progress is not None:
        values["progress"] = {"step": progress.step, "done": progress.done, "total": progress.total}
    return _write(session, check, values)


def finish(
    session: Session,
    check: CheckRun,
    *,
    state: CheckState,
    window: dict[str, Any] | None,
    reason: str | None = None,
    monitor_version: int | None = None,
    model_revision: str | None = None,
) -> None:
    """Ends the run for good.

    Call it first in the transaction that stores the results: it locks the check, so that until the commit nobody
    can take it over or cancel it.

    Raises:
        LeaseLost: the check is no longer this worker's; roll everything back.
    """
    values = {
        "state": state,
        "window": window,
        "reason": reason,
        "monitor_version": monitor_version,
        "model_revision": model_revision,
        "finished_at": func.now(),
        "alerts_due": _is_news(check) and state is not CheckState.CANCELLED,
        **_UNLEASED,
    }
    _write(session, check, values)


def fail(session: Session, check: CheckRun, *, reason: str, failure: Failure) -> None:
    """Ends the attempt: a scheduled check is tried again after the next of `RETRY_DELAYS`, anything else is final.

    Raises:
        LeaseLost: the check is no longer this worker's.
    """
    again = check.trigger is Trigger.SCHEDULE and check.attempts < MAX_ATTEMPTS
    values = {
        "state": CheckState.FAILED,
        "reason": reason,
        "failure": failure,
        "finished_at": func.now(),
        "alerts_due": _is_news(check),
        **_UNLEASED,
    }
    if again:
        values["claimable_at"] = func.now() + RETRY_DELAYS[check.attempts - 1]
    _write(session, check, values)


def release(session: Session, check: CheckRun) -> None:
    """Puts the check back into the queue for any worker to take at once; the attempt does not count.

    Raises:
        LeaseLost: the check is no longer this worker's, or has ended.
    """
    cancelled = CheckRow.cancel_requested
    values = {
        **_UNLEASED,
        "state": case((cancelled, literal(CheckState.CANCELLED.value)), else_=literal(CheckState.QUEUED.value)),
        "claimable_at": case((cancelled, None), else_=func.now()),
        "finished_at": case((cancelled, func.now()), else_=None),
        "attempts": CheckRow.attempts - 1,
        "progress": None,
        "started_at": None,
    }
    _write(session, check, values)


def _is_news(check: CheckRun) -> bool:
    """Whether its end says how things stand now; a range that somebody asked for speaks of the past."""
    return check.trigger is not Trigger.RANGE


_UNLEASED: dict[str, Any] = {"lease_token": None, "lease_until": None, "claimable_at": None}


def _leased(lease: timedelta) -> dict[str, Any]:
    until = func.now() + lease
    return {"lease_until": until, "claimable_at": until}


def _write(session: Session, check: CheckRun, values: dict[str, Any]) -> bool:
    """The only way a worker writes to a check: nothing happens unless its token is still the stored one."""
    owned = (CheckRow.no == check.no, CheckRow.lease_token == check.lease_token, CheckRow.state == CheckState.RUNNING)
    statement: ReturningUpdate[bool] = update(CheckRow).where(*owned).values(values).returning(CheckRow.cancel_requested)
    cancel_requested = session.scalar(statement.execution_options(synchronize_session=False))
    if cancel_requested is None:
        raise LeaseLost(f"Check {check.id} is no longer this worker's: nothing was written.")
    return cancel_requested
