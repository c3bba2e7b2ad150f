"""Warnings about a monitor that may be stored all the same."""

from sqlalchemy.orm import Session

from ...base.errors import FieldProblem
from ...domain.deployment import Deployment
from ...domain.monitor import Monitor
from ..training.unseen_groups import find_unseen
from .doubted_features import chance_warnings


def monitor_warnings(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    warnings = [*find_unseen(session, deployment, monitor), *chance_warnings(session, deployment, monitor)]

    name = monitor.strata
    if name is not None and name in {attribute.feature for attribute in monitor.attributes}:
        message = (
            f"{name!r} is one of the attributes, too: each of its values holds one of its groups only, so "
            "the conditional metrics of"
            f" {name} itself have no value"
        )
        warnings.append(FieldProblem("strata", message))
    return warnings
