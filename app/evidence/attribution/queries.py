"""Attributions: asked for, claimed by workers, and read; and the model's answers to their parts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from sqlalchemy import Select, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import Insert, distinct_on, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ...base.errors import Conflict, require_present
from ...base.values import frozen
from ...database.binary_rows import (
    HeldRow,
    build_returned_values,
    equal,
    lease_row,
    list_column_values,
    page_newest,
    read_row,
    write_held,
)
from ...database.tables import AttributionAnswerRow, AttributionRow, DeploymentRow
from ...domain.check import Progress, Span
from ...domain.paging import Paging
from .attribution import (
    AttributionCost,
    AttributionLimits,
    AttributionResult,
    AttributionRun,
    AttributionState,
    AttributionTrigger,
)

_SELECT_RUNS: Select[Any] = select(AttributionRow.__table__, DeploymentRow.id.label("deployment_id")).join(
    DeploymentRow, DeploymentRow.no == AttributionRow.deployment_no
)

_QUEUE_NIGHTLY = text("""
    INSERT INTO attributions (id, deployment_no, trigger, state, span_start, span_end, max_rows, attempts,
        cancel_requested, claimable_at,
                              created_by)
    SELECT gen_random_uuid(), due.no, 'nightly', 'queued', :start, :end, due.max_rows, 0, false, now(),
        'schedule'
    FROM (
        SELECT d.no, (m.attribution->>'max_rows')::int AS max_rows
        FROM monitors m
        JOIN deployments d ON d.no = m.deployment_no
        WHERE m.nightly_since <= :end
          AND NOT EXISTS (SELECT FROM attributions a WHERE a.deployment_no = d.no AND a.trigger = 'nightly'
              AND a.span_end >= :end)
        ORDER BY d.no
        FOR KEY SHARE OF d SKIP LOCKED
    ) AS due
    ON CONFLICT DO NOTHING
    RETURNING no
""")
"""Queues in the order of scheduled checks. The unique index decides between two tickers."""


def lock_requests(session: Session, deployment_no: int) -> None:
    """Lets requests for the deployment take turns until the transaction ends; records may be logged."""
    session.execute(
        select(DeploymentRow.no).where(DeploymentRow.no == deployment_no).with_for_update(key_share=True)
    )


def queue_nightly(session: Session, *, night: Span) -> int:
    return len(session.scalars(_QUEUE_NIGHTLY, {"start": night.start, "end": night.end}).all())


def queue_manual(
    session: Session,
    deployment_no: int,
    span: Span,
    *,
    check_id: str | None,
    limits: AttributionLimits,
    requested_by: str,
) -> AttributionRun:
    insertion = _insert_run(
        deployment_no,
        span,
        AttributionTrigger.MANUAL,
        check_id=check_id,
        created_by=requested_by,
        **list_column_values(limits),
    )
    return read_attribution(session, session.scalars(insertion.returning(AttributionRow.no)).one())


def queue_for_alert(session: Session, deployment_no: int, span: Span, *, alert_no: int) -> None:
    """Queues the attribution of the change that an alert is about, once."""
    insertion = _insert_run(
        deployment_no, span, AttributionTrigger.ALERT, alert_no=alert_no, created_by="alert"
    )
    # An alert that a recount opens again keeps its first explanation.
    session.execute(insertion.on_conflict_do_nothing(index_elements=[AttributionRow.alert_no]))


def find_waiting(
    session: Session,
    deployment_no: int,
    span: Span,
    *,
    check_id: str | None,
    limits: AttributionLimits,
    extends: bool,
) -> AttributionRun | None:
    """The requested attribution of the same window and limits that no worker has begun.

    `extends`: the window goes up to now, so one is extended to its end.
    """
    conditions = [
        AttributionRow.deployment_no == deployment_no,
        AttributionRow.trigger == AttributionTrigger.MANUAL,
        AttributionRow.state == AttributionState.QUEUED,
        AttributionRow.attempts == 0,
        AttributionRow.span_start == span.start,
        AttributionRow.check_id.is_not_distinct_from(check_id),
        *(
            getattr(AttributionRow, name).is_not_distinct_from(limit)
            for name, limit in list_column_values(limits).items()
        ),
        *([] if extends else [AttributionRow.span_end == span.end]),
    ]
    no = session.scalar(
        update(AttributionRow).where(*conditions).values(span_end=span.end).returning(AttributionRow.no)
    )
    return None if no is None else read_attribution(session, no)


def get_attribution(session: Session, deployment_no: int, attribution_id: str) -> AttributionRun:
    runs = _read_runs(
        session,
        _SELECT_RUNS.where(
            AttributionRow.deployment_no == deployment_no, AttributionRow.id == attribution_id
        ),
    )
    return require_present(next(iter(runs), None), "attribution", attribution_id)


def page_attributions(
    session: Session, deployment_no: int, paging: Paging, *, trigger: AttributionTrigger | None = None
) -> list[AttributionRun]:
    conditions = equal({AttributionRow.deployment_no: deployment_no, AttributionRow.trigger: trigger})
    return _read_runs(session, page_newest(_SELECT_RUNS.where(*conditions), AttributionRow.no, paging))


def cancel_attribution(session: Session, run: AttributionRun) -> AttributionRun:
    """A running one stops before its next page. Raises Conflict if it is over."""
    # As it is now: a worker may have begun or ended it.
    statement = text(
        """UPDATE attributions SET cancel_requested = true,
               state = CASE state WHEN 'running' THEN state ELSE 'cancelled' END,
               claimable_at = CASE state WHEN 'running' THEN claimable_at END,
               finished_at = CASE state WHEN 'queued' THEN now() END
           WHERE no = :no AND state IN ('queued', 'running') RETURNING no"""
    )
    if session.scalar(statement, {"no": run.no}) is None:
        raise Conflict(f"Attribution {run.id} is over; there is nothing left to cancel.")
    return read_attribution(session, run.no)


def delete_attribution(session: Session, run: AttributionRun) -> None:
    """Deletes it; the night of a deleted one is not attributed again.

    Raises:
        Conflict: it is not over, or belongs to an alert, with which it is deleted.
    """
    if run.trigger is AttributionTrigger.ALERT:
        raise Conflict(f"Attribution {run.id} explains an alert and is deleted with it.")
    lock_requests(session, run.deployment_no)
    deletion = text(
        "DELETE FROM attributions WHERE no = :no AND state NOT IN ('queued', 'running') RETURNING no"
    )
    if session.scalar(deletion, {"no": run.no}) is None:
        raise Conflict(f"Attribution {run.id} is not over; cancel it first.")
    if run.trigger is AttributionTrigger.NIGHTLY:
        # Otherwise the ticker would ask the model about this night again.
        later = run.span.end + timedelta(microseconds=1)
        skip_night = text(
            "UPDATE monitors SET nightly_since = :later WHERE deployment_no = :no AND nightly_since < :later"
        )
        session.execute(skip_night, {"no": run.deployment_no, "later": later})


@frozen
class NewestAttributions:
    newest: AttributionRun | None
    done: AttributionRun | None


def find_newest_attributions(
    session: Session,
    deployment_no: int,
    *,
    before: datetime | None = None,
    features: Sequence[str] | None = None,
) -> NewestAttributions:
    """The newest attribution, not for an alert, of a window that begins before that moment; and the newest
    that is done, with a gap of that comparison.
    """
    is_done = AttributionRow.state == AttributionState.DONE
    about = {"gaps": [{"features": features}]}
    statement = _SELECT_RUNS.where(
        AttributionRow.deployment_no == deployment_no,
        AttributionRow.trigger != AttributionTrigger.ALERT,
        *([] if before is None else [AttributionRow.span_start < before]),
        *([] if features is None else [or_(~is_done, AttributionRow.result.contains(about))]),
    )
    newest_of_each = statement.ext(distinct_on(is_done)).order_by(is_done, AttributionRow.no.desc())
    runs = _read_runs(session, newest_of_each)
    return NewestAttributions(
        max(runs, key=attrgetter("no"), default=None),
        next((run for run in runs if run.state is AttributionState.DONE), None),
    )


def find_attribution_of_alert(session: Session, alert_no: int) -> AttributionRun | None:
    return next(iter(_read_runs(session, _SELECT_RUNS.where(AttributionRow.alert_no == alert_no))), None)


def read_attribution(session: Session, no: int) -> AttributionRun:
    return _read_runs(session, _SELECT_RUNS.where(AttributionRow.no == no))[0]


def _insert_run(deployment_no: int, span: Span, trigger: AttributionTrigger, **values: object) -> Insert:
    ends = {"span_start": span.start, "span_end": span.end}
    return insert(AttributionRow).values(deployment_no=deployment_no, trigger=trigger, **ends, **values)


def _read_runs(session: Session, statement: Select[Any]) -> list[AttributionRun]:
    return [
        read_row(
            AttributionRun,
            row,
            span=Span(start=row.span_start, end=row.span_end),
            limits=read_row(AttributionLimits, row),
        )
        for row in session.execute(statement)
    ]


_FIND_NEXT = text("""
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
"""Takes one whose worker went silent first, then those that somebody waits for."""

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


def end_abandoned(session: Session, *, max_attempts: int, problem: str) -> None:
    session.execute(_END_ABANDONED, {"most": max_attempts, "problem": problem})


def claim_attribution(
    session: Session, *, token: str, lease: timedelta, triggers: Sequence[AttributionTrigger]
) -> AttributionRun | None:
    """Claims the next attribution, or one whose worker went silent; `token` is new for each claim."""
    try:
        # A collision must not undo what the transaction did before.
        with session.begin_nested():
            no = session.scalar(_FIND_NEXT, {"triggers": [trigger.value for trigger in triggers]})
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


def renew_attribution(
    session: Session, run: AttributionRun, *, lease: timedelta, progress: Progress | None
) -> bool:
    """Stores the progress; returns whether to cancel. Raises LeaseLost."""
    return _write_run(
        session,
        run,
        {"claimable_at": func.now() + lease, **({} if progress is None else {"progress": progress})},
    )


def note_cost(session: Session, run: AttributionRun, cost: AttributionCost) -> None:
    """Raises LeaseLost."""
    _write_run(session, run, {"planned_rows": cost.rows, "planned_requests": cost.requests})


def finish_attribution(
    session: Session, run: AttributionRun, result: AttributionResult, *, asked_rows: int
) -> None:
    """Ends it with its result. If this raises LeaseLost, roll everything back."""
    _end_run(session, run, AttributionState.DONE, result=result, asked_rows=asked_rows)


def fail_attribution(session: Session, run: AttributionRun, *, problem: str) -> None:
    """No other try is made. Raises LeaseLost."""
    _end_run(session, run, AttributionState.FAILED, problem=problem)


def stop_attribution(session: Session, run: AttributionRun) -> None:
    _end_run(session, run, AttributionState.CANCELLED)


def _end_run(session: Session, run: AttributionRun, state: AttributionState, **values: object) -> None:
    _write_run(
        session,
        run,
        {"state": state, "finished_at": func.now(), "lease_token": None, "claimable_at": None, **values},
    )


def release_attribution(session: Session, run: AttributionRun) -> None:
    """Returns it to the queue without counting the attempt; one to be cancelled ends. Raises LeaseLost."""
    _write_run(session, run, build_returned_values(AttributionRow))


def _write_run(session: Session, run: AttributionRun, values: dict[str, Any]) -> bool:
    if_lost = f"Attribution {run.id} is no longer this worker's: nothing was written."
    held = HeldRow(table=AttributionRow, no=run.no, token=run.lease_token, if_lost=if_lost)
    return write_held(session, held, values, AttributionRow.cancel_requested)


_KEEP_ANSWERS = text("""
    INSERT INTO attribution_answers (attribution_no, part, question, outcomes)
    SELECT no, :part, :question, :outcomes FROM attributions WHERE no = :attribution_no FOR KEY SHARE
    ON CONFLICT (attribution_no, part) DO UPDATE SET question = excluded.question,
        outcomes = excluded.outcomes
""")
"""No lease fences it: an answer is true, whichever worker asked."""


def read_answers(session: Session, attribution_no: int, part: int, *, question: bytes) -> bytes | None:
    """Returns that part's outcomes, one byte each; None if not answered, or asked otherwise."""
    row = AttributionAnswerRow
    key = (row.attribution_no == attribution_no, row.part == part, row.question == question)
    return session.scalar(select(row.outcomes).where(*key))


def keep_answers(
    session: Session, attribution_no: int, part: int, *, question: bytes, outcomes: bytes
) -> None:
    session.execute(
        _KEEP_ANSWERS,
        {"attribution_no": attribution_no, "part": part, "question": question, "outcomes": outcomes},
    )


def forget_answers(session: Session) -> None:
    session.execute(
        text(
            "DELETE FROM attribution_answers WHERE attribution_no IN (SELECT no FROM attributions WHERE "
            "claimable_at IS NULL)"
        )
    )
