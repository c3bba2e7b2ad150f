"""Requests for a check of the hour so far, or of a range."""

from datetime import timedelta

from sqlalchemy.orm import Session

from ..base.clock import floor_to_hour
from ..base.errors import Conflict, InvalidInput
from ..database.engine import current_time
from ..database.tables import DeploymentRow
from ..deployments.listed_file_queries import span_of_batch
from ..deployments.monitor.queries import find_monitor
from ..domain.check import CheckRun, Span, Trigger
from ..domain.monitor import Monitor
from ..domain.record_times import EPOCH
from .queries import queue_requested, renew_waiting

CLOCK_TOLERANCE = timedelta(minutes=1)
"""Max lead of a client's clock: a range that ends within it is cut to end now."""


def request_check(session: Session, deployment_no: int, *, requested_by: str) -> CheckRun:
    """Queues a check of the present hour up to now, on the database's clock: all acknowledged before is in
    it.

    A waiting check of the same is brought up to now instead.

    Raises:
        Conflict: the deployment has no monitor.
    """
    require_monitor(session, deployment_no)
    now = current_time(session)
    # At a full hour exactly, the hour that has just ended.
    start = floor_to_hour(now - timedelta.resolution)
    return renew_waiting(session, deployment_no, start=start) or queue_requested(
        session,
        deployment_no,
        span=Span(start=start, end=now),
        trigger=Trigger.REQUEST,
        requested_by=requested_by,
    )


def request_span_check(session: Session, deployment_no: int, span: Span, *, requested_by: str) -> CheckRun:
    """Queues a check of the records that were logged in `span`.

    Raises:
        Conflict: the deployment has no monitor.
        InvalidInput: the range is empty, in the future, or before 1970.
    """
    require_monitor(session, deployment_no)
    return queue_requested(
        session,
        deployment_no,
        span=require_past(session, span),
        trigger=Trigger.RANGE,
        requested_by=requested_by,
    )


def request_check_of_batch(
    session: Session, deployment_no: int, batch: str, *, requested_by: str
) -> CheckRun:
    """Queues a check of a batch: records in files whose paths have that value of the table's `partition_by`.

    Raises:
        Conflict: the deployment has no monitor.
        InvalidInput: no file of that batch is listed.
    """
    require_monitor(session, deployment_no)
    span = span_of_batch(session, deployment_no, batch)
    if span is None:
        expected = (
            "must be a value of `partition_by` in the path of a file with records; files are listed "
            "every minute"
        )
        raise InvalidInput.of("batch", f"{expected}, and none has the value {batch!r}")
    return queue_requested(
        session, deployment_no, span=span, trigger=Trigger.RANGE, requested_by=requested_by, batch=batch
    )


def require_past(session: Session, span: Span) -> Span:
    """Range, cut to end now if it ends a moment later.

    Raises:
        InvalidInput: it is empty, in the future, or before 1970.
    """
    now = current_time(session)
    if span.start < EPOCH:
        raise InvalidInput.of("from", "must not be before 1970")
    if span.end > now + CLOCK_TOLERANCE:
        raise InvalidInput.of("to", f"must not be in the future: it is {now:%Y-%m-%dT%H:%M:%SZ} here")
    end = min(span.end, now)
    if span.start >= end:
        raise InvalidInput.of("from", "must be before `to`, and in the past")
    return Span(start=span.start, end=end)


def require_monitor(session: Session, deployment_no: int) -> Monitor:
    """Monitor of the deployment.

    Raises:
        Conflict: it has none.
    """
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        name = session.get_one(DeploymentRow, deployment_no).id
        raise Conflict(
            f"Deployment {name} has no fairness monitor to check by. PUT one to "
            f"/v1/deployments/{name}/fairness-monitor first."
        )
    return monitor
