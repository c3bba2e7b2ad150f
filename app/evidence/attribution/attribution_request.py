"""Requests for an attribution, and their cost."""

from sqlalchemy.orm import Session

from ...base.clock import floor_to_hour
from ...base.values import frozen_by_name
from ...checks.queries import get_check, require_monitor, require_past
from ...database.engine import Database, arrow_reader, current_time
from ...domain.check import Span
from ...domain.deployment import Deployment
from .attribution import AttributionCost, AttributionLimits, AttributionRun, Method
from .compared_records import read_window_records, require_comparisons
from .model_questions import choose_seed, plan_attribution
from .queries import find_waiting, lock_requests, queue_manual


@frozen_by_name
class AttributionRequest:
    """Order for the window of that check, or of one of that span; with neither, of a check for now."""

    span: Span | None
    check_id: str | None
    limits: AttributionLimits


@frozen_by_name
class EstimatedCost:
    method: Method
    span: Span
    records: int
    cost: AttributionCost


def request_attribution(
    session: Session, deployment_no: int, request: AttributionRequest, *, requested_by: str
) -> AttributionRun:
    """Queues an attribution; one of the same window and limits that waits is brought up to now instead.

    Raises:
        Conflict: the deployment has no monitor.
        NotFound: it has no check of that id.
        InvalidInput: the range is empty, in the future or before 1970, a limit is out of range, or a
            comparison is not the monitor's.
    """
    lock_requests(session, deployment_no)
    require_comparisons(require_monitor(session, deployment_no), request.limits.comparisons)
    span = _find_span(session, deployment_no, request)
    extends = request.span is None and request.check_id is None
    waiting_run = find_waiting(
        session, deployment_no, span, check_id=request.check_id, limits=request.limits, extends=extends
    )
    return waiting_run or queue_manual(
        session,
        deployment_no,
        span,
        check_id=request.check_id,
        limits=request.limits,
        requested_by=requested_by,
    )


def estimate_cost(
    session: Session, deployment: Deployment, request: AttributionRequest, *, database: Database
) -> EstimatedCost:
    """Computes the rows and requests that an attribution takes. Stores nothing and asks nobody.

    Raises:
        Conflict, NotFound, InvalidInput: as `request_attribution`, or the monitor cannot be applied to what
            was logged.
    """
    monitor = require_monitor(session, deployment.no)
    span = _find_span(session, deployment.no, request)
    with arrow_reader(database) as reader:
        records = read_window_records(reader, deployment, monitor, span)
        if deployment.endpoint is None:
            require_comparisons(monitor, request.limits.comparisons)
            cost = AttributionCost(rows=0, requests=0)
            return EstimatedCost(method=Method.KITAGAWA, span=span, records=len(records.window), cost=cost)
        plan = plan_attribution(reader, records, request.limits, seed=choose_seed(monitor))
    return EstimatedCost(
        method=Method.HYBRIDS,
        span=span,
        records=len(records.window),
        cost=plan.count_cost(deployment.endpoint.page_size),
    )


def _find_span(session: Session, deployment_no: int, request: AttributionRequest) -> Span:
    if request.check_id is not None:
        return get_check(session, deployment_no, request.check_id).span
    if request.span is not None:
        return require_past(session, request.span)
    now = current_time(session)
    return Span(start=floor_to_hour(now - now.resolution), end=now)
