"""Check of a request for a subgroup scan."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from ...base.errors import Conflict, InvalidInput
from ...deployments.monitor.queries import find_monitor
from ...domain.deployment import RecordSchema
from ...statistics.scan.search_subgroup import MAX_FEATURES

SCANNED_HOURS = 720
"""Hours that a scan may read; fewer can be asked for."""


def check_scan(
    session: Session, deployment_no: int, schema: RecordSchema, features: Sequence[str] | None
) -> None:
    """Checks that a scan by these features can run; None: those of the deployment.

    Raises:
        InvalidInput: too many, or one is repeated, no column, or says whose record it is.
        Conflict: the deployment has no monitor.
    """
    monitor = find_monitor(session, deployment_no)
    listed = features or ()
    if features is not None and not 1 <= len(features) <= MAX_FEATURES:
        raise InvalidInput("features", f"must name 1 to {MAX_FEATURES} columns, found {len(features)}")
    for position, name in enumerate(listed):
        field = f"features[{position}]"
        if name in listed[:position]:
            raise InvalidInput(field, f"{name!r} is named twice")
        if schema.column(name) is None:
            raise InvalidInput(field, f"{name!r} is not a feature or meta field of the deployment")
        if monitor is not None and name == monitor.evidence.person:
            raise InvalidInput(field, f"{name!r} says whose record it is, so it makes no subgroup")
    if monitor is None:
        raise Conflict(
            "The deployment has no fairness monitor, which says what is favourable. Set one first."
        )
