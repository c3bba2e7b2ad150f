"""What speaks against a monitor although it may be stored."""

from sqlalchemy.orm import Session

from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.domain.warnings import FieldWarning
from app.training.unseen import unseen_warnings


def monitor_warnings(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldWarning]:
    """Every warning of the monitor for that deployment, in the order of its members; empty where nothing speaks against it."""
    return [*unseen_warnings(session, deployment, monitor)]
