"""Whether a monitor fits a deployment: by the rules, and by the training data that its correlated features are taken from."""

from sqlalchemy.orm import Session

from app.checks.donors import donor_problems
from app.checks.picking import problems_of
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.errors import FieldProblem


def fitting_problems(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    """Everything wrong with the monitor for that deployment; empty if it may be stored."""
    found = problems_of(monitor, deployment.schema, deployment.problem_type)
    ruled = {problem.field for problem in found}  # what the rules say of a field goes before what the training data say of it
    return found + [problem for problem in donor_problems(session, deployment, monitor) if problem.field not in ruled]
