"""Leases of checks: claiming, keeping, giving back, the fenced end, and retries after a failed attempt.

While a check runs, its `claimable_at` equals `lease_until`.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import func, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ..base.values import frozen_by_name
from ..database.binary_rows import HeldRow, build_returned_values, lease_row, write_held
from ..database.tables import CheckRow
from ..domain.check import PRESENT_TRIGGERS, CheckRun, CheckState, Failure, Progress, Trigger
from .queries import CLAIM_ORDER, read_run


@frozen_by_name
class CheckPolicy:
    """Rules for checks that do not succeed at once.

    `lease`: silence of a worker after which another one takes its check over. `retry_delays`: pauses after
    the failed attempts at a check of the schedule or of late files. `model_pause`: pause between attempts at
    an hour that the model has missed; there is no last attempt.
    """

    lease: timedelta = timedelta(seconds=30)
    retry_delays: tuple[timedelta, ...] = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
    model_pause: timedelta = timedelta(minutes=5)

    @property
    def max_attempts(self) -> int:
        return len(self.retry_delays) + 1

    def retry_after(self, check: CheckRun, failure: Failure = Failure.SCORING_FAILED) -> timedelta | None:
        """Pause before the next attempt; None if the failure is final, as of requested checks and ranges."""
        if check.trigger is Trigger.MODEL:
            return self.model_pause if failure is Failure.SCORING_FAILED else None
        if check.trigger not in {Trigger.SCHEDULE, Trigger.FILES} or check.attempts >= self.max_attempts:
            return None
        return self.retry_delays[check.attempts - 1]

    def alerts_follow(self, check: CheckRun, state: CheckState) -> bool:
        return check.trigger in PRESENT_TRIGGERS and state is not CheckState.CANCELLED


CHECK_POLICY = CheckPolicy()

_MAX_COLLISIONS = 5
"""Checks that a claim tries while other workers start checks of the same deployments."""

_LOCK_NEXT = text(f"""
    WITH heads AS MATERIALIZED (
        (
            SELECT DISTINCT ON (deployment_no, trigger) no
            FROM checks
            WHERE claimable_at <= now() AND state <> 'running'
            ORDER BY deployment_no, trigger,
                CASE WHEN trigger IN ('schedule', 'files', 'model') THEN span_start END, no
        )
        UNION ALL
        SELECT no FROM checks WHERE claimable_at <= now() AND state = 'running'
    )
    SELECT c.no
    FROM heads
    JOIN checks c ON c.no = heads.no
    WHERE c.claimable_at <= now() AND c.no <> ALL(:tried)
        AND (c.state = 'running' OR NOT EXISTS (
            SELECT FROM checks running
            WHERE running.deployment_no = c.deployment_no AND running.state = 'running'
        ))
    ORDER BY {CLAIM_ORDER}
    LIMIT 1
    FOR UPDATE OF c SKIP LOCKED
""")  # noqa: S608 - of constants only
"""Finds the check that a worker takes next, in the order of `CLAIM_ORDER`.

Only the head of each deployment's queue is looked at, so that no check overtakes another. A check whose
worker went silent comes first: its deployment waits. `claimable_at` is repeated because Postgres checks it
again on a row that changed before it could be locked.
"""

_END_ABANDONED = text("""
    UPDATE checks
    SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'failed' END,
        reason = CASE WHEN cancel_requested THEN 'Cancelled on request.' ELSE :reason END,
        failure = CASE WHEN NOT cancel_requested THEN 'interrupted' END,
        alerts_due = trigger = ANY(:alerted) AND NOT cancel_requested,
        claimable_at = NULL, lease_token = NULL, lease_until = NULL, finished_at = now()
    WHERE no IN (
        SELECT no FROM checks
        WHERE state = 'running' AND claimable_at <= now()
            AND (cancel_requested OR attempts >= :max_attempts)
        FOR UPDATE SKIP LOCKED
    )
""")


def claim_check(session: Session, *, token: str, policy: CheckPolicy) -> CheckRun | None:
    """Leases the next check, None if none waits; `token` is new for each claim.

    Taking over a silent worker's check is an attempt; without one left, it ends.
    """
    reason = (
        f"The check was interrupted {policy.max_attempts} times before it could end: its worker stopped, or "
        "lost the database. The logs of the workers say why; queue it again once they run."
    )
    alerted = [trigger.value for trigger in PRESENT_TRIGGERS]
    session.execute(
        _END_ABANDONED, {"reason": reason, "max_attempts": policy.max_attempts, "alerted": alerted}
    )
    tried: list[int] = []
    while len(tried) < _MAX_COLLISIONS:
        try:
            # A collision must not undo what the transaction did before.
            with session.begin_nested():
                no = session.scalar(_LOCK_NEXT, {"tried": tried})
                if no is None:
                    return None
                tried.append(no)
                lease_row(
                    session,
                    CheckRow,
                    no,
                    token=token,
                    lease=policy.lease,
                    state=CheckState.RUNNING,
                    lease_until=func.now() + policy.lease,
                    progress=None,
                    reason=None,
                    failure=None,
                    started_at=func.now(),
                    finished_at=None,
                )
        except IntegrityError:  # another worker started a check of this deployment
            continue
        return read_run(session, no)
    return None


def renew_lease(
    session: Session, check: CheckRun, *, lease: timedelta, progress: Progress | None = None
) -> bool:
    """Renews the lease and stores the progress; returns whether the check is to be cancelled.

    Raises:
        LeaseLost: the check is no longer this worker's.
    """
    until = func.now() + lease
    values: dict[str, Any] = {"lease_until": until, "claimable_at": until}
    if progress:
        values["progress"] = progress
    return _write_leased(session, check, values)


def finish_check(
    session: Session,
    check: CheckRun,
    *,
    state: CheckState,
    alerts_due: bool,
    window: dict[str, Any] | None = None,
    reason: str | None = None,
    failure: Failure | None = None,
    model_answer: str | None = None,
    monitor_version: int | None = None,
    model_revision: str | None = None,
    retry_after: timedelta | None = None,
) -> None:
    """Ends the check, or with `retry_after` this attempt; `alerts_due`: its alerts are to be decided.

    A success with a `failure` lacks figures.

    Call it first in the transaction that stores the results: until the commit no other process can take the
    check over or cancel it.

    Raises:
        LeaseLost: the check is no longer this worker's; roll everything back.
    """
    values = {
        "state": state,
        "window": window,
        "reason": reason,
        "failure": failure,
        "model_answer": model_answer,
        "monitor_version": monitor_version,
        "model_revision": model_revision,
        "finished_at": func.now(),
        "alerts_due": alerts_due,
        "lease_token": None,
        "lease_until": None,
        "claimable_at": None if retry_after is None else func.now() + retry_after,
    }
    _write_leased(session, check, values)


def release_check(session: Session, check: CheckRun) -> None:
    """Returns the check to the queue. Raises LeaseLost as `renew_lease`."""
    _write_leased(session, check, {**build_returned_values(CheckRow), "lease_until": None})


def _write_leased(session: Session, check: CheckRun, values: dict[str, Any]) -> bool:
    if_lost = f"Check {check.id} is no longer this worker's: nothing was written."
    held_row = HeldRow(table=CheckRow, no=check.no, token=check.lease_token, if_lost=if_lost)
    return write_held(session, held_row, values, CheckRow.cancel_requested)
