"""What speaks against a monitor although it may be stored."""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.checks.doubts import chance_warnings
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.errors import FieldProblem
from app.training.unseen import unseen_warnings


def monitor_warnings(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    """Returns every warning of the monitor for that deployment; empty where nothing speaks against it."""
    return [
        *unseen_warnings(session, deployment, monitor),
        *chance_warnings(session, deployment, monitor),
        *_strata_warnings(monitor),
    ]


def _strata_warnings(monitor: Monitor) -> Iterator[FieldProblem]:
    name = monitor.strata
    if name is not None and name in {attribute.feature for attribute in monitor.attributes}:
        yield FieldProblem(
            "strata",
            f"{name!r} is one of the attributes, too: each of its values holds one of its groups only, so the conditional metrics of"
            f" {name} itself have no value",
        )
