"""Requests for scans: checked against the deployment, then queued."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from ...base.errors import Conflict, InvalidInput
from ...deployments.monitor.queries import find_monitor
from ...domain.deployment import RecordSchema
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.scan.search_subgroup import MAX_FEATURES
from .scan_queries import SubgroupScan, queue_scan

SCANNED_HOURS = 720
"""Hours before a scan whose records it reads."""


def require_features(session: Session, deployment_no: int, schema: RecordSchema, features: Sequence[str] | None) -> None:
    """Checks the features of a scan.

    Raises:
        InvalidInput: too many, or one is repeated, no column, or says whose record it is.
    """
    if features is None:
        return
    if not 1 <= len(features) <= MAX_FEATURES:
        raise InvalidInput.of("features", f"must name 1 to {MAX_FEATURES} columns, found {len(features)}")
    monitor = find_monitor(session, deployment_no)
    for position, name in enumerate(features):
        if name in features[:position]:
            raise InvalidInput.of(f"features[{position}]", f"{name!r} is named twice")
        if schema.column(name) is None:
            raise InvalidInput.of(f"features[{position}]", f"{name!r} is not a feature or meta field of the deployment")
        if monitor is not None and name == monitor.evidence.person:
            raise InvalidInput.of(f"features[{position}]", f"{name!r} says whose record it is, so it makes no subgroup")


def request_scan(
    session: Session,
    deployment_no: int,
    *,
    features: Sequence[str] | None,
    direction: UnfairSide,
    hours: int,
    requested_by: str,
) -> SubgroupScan:
    """Queues a scan, or returns the deployment's waiting or running one.

    Raises:
        Conflict: the deployment has no monitor.
    """
    if find_monitor(session, deployment_no) is None:
        raise Conflict("The deployment has no fairness monitor, which says what is favourable. Set one first.")
    return queue_scan(session, deployment_no, features=features, direction=direction.value, hours=hours, requested_by=requested_by)
