"""Queues checks that are due or requested, cancels them, and reads checks."""

import uuid
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, ScalarSelect, func, insert, select, text
from sqlalchemy.orm import Session

from ..base.clock import floor_to_hour
from ..base.errors import Conflict, InvalidInput, require_present
from ..base.telemetry.traces import write_traceparent
from ..database.binary_rows import page_newest, read_row
from ..database.engine import current_time
from ..database.tables import CheckRow, DeploymentRow
from ..deployments.listed_file_queries import read_span_of_batch
from ..deployments.monitor.queries import find_monitor
from ..domain.check import CheckRun, CheckState, Span, Trigger
from ..domain.monitor import Monitor
from ..domain.paging import Paging
from ..domain.record_times import EPOCH

CLOCK_TOLERANCE = timedelta(minutes=1)
"""Time by which a span may end in the future: the caller's clock may be ahead."""

CLAIM_ORDER = """
    c.state <> 'running',
    CASE c.trigger WHEN 'request' THEN 0 WHEN 'schedule' THEN 1 WHEN 'files' THEN 2 WHEN 'model' THEN 3
        ELSE 4 END,
    CASE WHEN c.trigger IN ('schedule', 'files', 'model') THEN c.span_start END, c.no
"""
"""Order in which workers take a deployment's checks `c`."""

SELECT_RUNS = select(CheckRow, DeploymentRow.id).join(
    DeploymentRow, DeploymentRow.no == CheckRow.deployment_no
)

_QUEUE_SCHEDULED = text("""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, claimable_at, attempts,
        cancel_requested, created_by)
    SELECT gen_random_uuid(), due.deployment_no, 'schedule', 'queued', due.start, due.start + due.length,
        due.start + due.length + :grace, 0, false, 'schedule'
    FROM (
        SELECT d.no AS deployment_no, ended.start, step.length
        FROM monitors m
        JOIN deployments d ON d.no = m.deployment_no
        CROSS JOIN LATERAL (
            SELECT CASE m.schedule WHEN 'daily' THEN 'day' ELSE 'hour' END AS unit,
                CASE m.schedule WHEN 'daily' THEN interval '24 hours' ELSE interval '1 hour' END AS length
        ) AS step
        CROSS JOIN LATERAL (
            SELECT max(span_end) AS last
            FROM checks c
            WHERE c.deployment_no = d.no AND c.trigger = 'schedule'
                AND c.span_end <= :latest + interval '1 hour'
        ) AS checked
        CROSS JOIN LATERAL (
            -- The first day after those of which hours were checked: it may have been hourly before.
            SELECT date_trunc(step.unit, checked.last + step.length - interval '1 microsecond', 'UTC')
                AS start
        ) AS next
        CROSS JOIN LATERAL generate_series(
            greatest(
                date_trunc(step.unit, m.scheduled_since, 'UTC'),
                next.start,
                date_trunc(step.unit, CAST(:earliest AS timestamptz), 'UTC')
            ),
            :latest + interval '1 hour' - step.length, step.length
        ) AS ended(start)
        WHERE m.schedule IN ('hourly', 'daily')
        ORDER BY d.no, ended.start
        FOR KEY SHARE OF d SKIP LOCKED
    ) AS due
    ON CONFLICT DO NOTHING
    RETURNING no
""")
"""Ordered, so that two concurrent calls wait for the same row instead of a deadlock."""

_MAKE_EARLY_RANGES = text("""
    UPDATE checks c
    SET trigger = 'range'
    FROM monitors m
    WHERE c.deployment_no = m.deployment_no AND c.trigger = 'schedule'
        AND c.span_start >= :latest - interval '23 hours'
        AND c.created_at > now() AND c.claimable_at IS NULL
""")
"""Makes checks that were queued while the clock was ahead ranges: they are not the checks of their hours."""

_EXTEND_WAITING = text("""
    UPDATE checks
    SET span_end = now()
    WHERE deployment_no = :deployment_no AND span_start = :start AND trigger = 'request' AND state = 'queued'
        AND attempts = 0
    RETURNING no
""")

_CANCEL = text("""
    UPDATE checks
    SET cancel_requested = true,
        state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END,
        reason = CASE WHEN state = 'running' THEN reason ELSE 'Cancelled on request.' END,
        claimable_at = CASE WHEN state = 'running' THEN claimable_at END,
        finished_at = CASE WHEN state = 'running' THEN NULL ELSE now() END
    WHERE no = :no AND claimable_at IS NOT NULL
    RETURNING no
""")
"""Changes only a check that has `claimable_at`: the others are over."""


def queue_scheduled(session: Session, *, earliest: datetime, latest: datetime, grace: timedelta) -> int:
    """Queues unchecked hours that start in [earliest, latest], and days that end in them; returns how many.

    The checks of a deployment begin after its last scheduled one, and after its schedule was switched on.
    They become claimable `grace` after the end of their span.
    """
    session.execute(_MAKE_EARLY_RANGES, {"latest": latest})
    return len(
        session.scalars(_QUEUE_SCHEDULED, {"earliest": earliest, "latest": latest, "grace": grace}).all()
    )


def queue_requested(
    session: Session,
    deployment_no: int,
    *,
    span: Span,
    trigger: Trigger,
    requested_by: str,
    batch: str | None = None,
) -> CheckRun:
    values = {
        "id": str(uuid.uuid4()),
        "deployment_no": deployment_no,
        "trigger": trigger,
        "state": CheckState.QUEUED,
        "span_start": span.start,
        "span_end": span.end,
        "batch": batch,
        "claimable_at": func.now(),
        "attempts": 0,
        "cancel_requested": False,
        "created_by": requested_by,
        "traceparent": write_traceparent(),
        "created_at": func.now(),
    }
    return read_run(session, session.scalars(insert(CheckRow).values(values).returning(CheckRow.no)).one())


def get_check(session: Session, deployment_no: int, check_id: str) -> CheckRun:
    check = find_run(session, CheckRow.deployment_no == deployment_no, CheckRow.id == check_id)
    return require_present(check, "check", check_id)


def read_model_answer(session: Session, check_no: int) -> str | None:
    """Reads how an unusable answer began. It may repeat a record: only for callers who may read records."""
    return session.scalar(select(CheckRow.model_answer).where(CheckRow.no == check_no)) or None


def page_checks(
    session: Session,
    deployment_no: int,
    paging: Paging,
    *,
    state: CheckState | None = None,
    ends_in: Span | None = None,
) -> list[CheckRun]:
    """Reads a page of checks, the newest first; with `ends_in` those that end in (start, end]."""
    statement = page_newest(SELECT_RUNS.where(CheckRow.deployment_no == deployment_no), CheckRow.no, paging)
    if state:
        statement = statement.where(CheckRow.state == state)
    if ends_in:
        statement = statement.where(CheckRow.span_end > ends_in.start, CheckRow.span_end <= ends_in.end)
    return [build_run(*row) for row in session.execute(statement)]


def get_check_by_number(session: Session, deployment_no: int, no: int) -> CheckRun:
    check = find_run(session, CheckRow.deployment_no == deployment_no, CheckRow.no == no)
    return require_present(check, "check", no)


def find_run(session: Session, *conditions: ColumnElement[bool]) -> CheckRun | None:
    """Finds the last check, by its end, that meets all conditions."""
    statement = SELECT_RUNS.where(*conditions).order_by(CheckRow.span_end.desc(), CheckRow.no.desc())
    row = session.execute(statement.limit(1)).one_or_none()
    return None if row is None else build_run(*row)


def find_under_way(session: Session, deployment_no: int) -> CheckRun | None:
    return find_run(session, CheckRow.no == select_under_way(deployment_no))


def select_under_way(deployment_no: int) -> ScalarSelect[int]:
    statement = text(f"""
        SELECT c.no
        FROM checks c
        WHERE c.deployment_no = :deployment_no
            AND (c.state = 'running' OR c.state = 'queued' AND c.claimable_at IS NOT NULL)
        ORDER BY {CLAIM_ORDER}
        LIMIT 1
    """)  # noqa: S608 - of constants only
    return statement.bindparams(deployment_no=deployment_no).columns(CheckRow.no).scalar_subquery()


def request_cancel(session: Session, check: CheckRun) -> CheckRun:
    """Cancels a check that waits; a running one stops at its next page. Raises Conflict if it is over."""
    if session.scalar(_CANCEL, {"no": check.no}) is None:
        raise Conflict(f"Check {check.id} is over; there is nothing left to cancel.")
    return read_run(session, check.no)


def read_run(session: Session, no: int) -> CheckRun:
    return build_run(*session.execute(SELECT_RUNS.where(CheckRow.no == no)).one())


def build_run(row: CheckRow, deployment_id: str) -> CheckRun:
    return read_row(
        CheckRun,
        row,
        deployment_id=deployment_id,
        span=Span(row.span_start, row.span_end),
        next_attempt_at=row.claimable_at if row.state == CheckState.FAILED else None,
    )


def request_check(
    session: Session,
    deployment_no: int,
    *,
    requested_by: str,
    span: Span | None = None,
    batch: str | None = None,
) -> CheckRun:
    """Queues a check of the records that were logged in `span`, or of a batch: records in files whose paths
    have that value of the table's `partition_by`.

    Without these, the check is of the present hour up to now, on the database's clock, with every record
    acknowledged before. If such a check waits already, it is extended.

    Raises:
        Conflict: the deployment has no monitor.
        InvalidInput: the range is empty, in the future, or before 1970, or no file of that batch is listed.
    """
    require_monitor(session, deployment_no)
    trigger = Trigger.RANGE
    if batch is not None:
        span = read_span_of_batch(session, deployment_no, batch)
        if span is None:
            raise InvalidInput(
                "batch",
                "must be a value of `partition_by` in the path of a file with records; files are listed "
                f"every minute, and none has the value {batch!r}",
            )
    elif span:
        span = require_past(session, span)
    else:
        now = current_time(session)
        # At a full hour exactly, the hour that has just ended.
        start = floor_to_hour(now - timedelta.resolution)
        waiting_no = session.scalar(_EXTEND_WAITING, {"deployment_no": deployment_no, "start": start})
        if waiting_no is not None:
            return read_run(session, waiting_no)
        span = Span(start, now)
        trigger = Trigger.REQUEST
    return queue_requested(
        session, deployment_no, span=span, trigger=trigger, requested_by=requested_by, batch=batch
    )


def require_past(session: Session, span: Span) -> Span:
    """Cuts the span to end now if it ends a moment later.

    Raises:
        InvalidInput: it is empty, in the future, or before 1970.
    """
    now = current_time(session)
    if span.start < EPOCH:
        raise InvalidInput("from", "must not be before 1970")
    if span.end > now + CLOCK_TOLERANCE:
        raise InvalidInput("to", f"must not be in the future: it is {now:%Y-%m-%dT%H:%M:%SZ} here")
    end = min(span.end, now)
    if span.start >= end:
        raise InvalidInput("from", "must be before `to`, and in the past")
    return Span(span.start, end)


def require_monitor(session: Session, deployment_no: int) -> Monitor:
    """Finds the deployment's monitor. Raises Conflict without one."""
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        name = session.get_one(DeploymentRow, deployment_no).id
        raise Conflict(
            f"Deployment {name} has no fairness monitor to check by. PUT one to "
            f"/v1/deployments/{name}/fairness-monitor first."
        )
    return monitor
