"""Whether a monitor fits a deployment and its training data, and what is doubtful in it."""

from dataclasses import replace

from sqlalchemy.orm import Session

from ...base.errors import FieldProblem, InvalidInput
from ...domain.deployment import Deployment
from ...domain.monitor import Monitor, Schedule
from ..training.unseen_groups import donor_problems, find_unseen
from .doubted_features import chance_warnings
from .queries import find_monitor_problems

NO_PERSON = (
    "cannot be used where records lie in your own tables, which do not say which record of a person was the "
    "first. Leave it out, or declare evidence.each_record_another_person if no two records are of one person"
)


def fitting_problems(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    problems = find_monitor_problems(monitor, deployment.schema, deployment.problem_type)
    payload = deployment.payload
    schedule = monitor.schedule
    if payload is None and schedule not in {Schedule.HOURLY, Schedule.OFF}:
        message = "must be hourly or off: this deployment's records are logged, not read from files"
        problems.append(FieldProblem("schedule", message))
    elif payload is not None and payload.partition_by is None and schedule is Schedule.BATCH:
        message = "cannot be batch: the payload table has no `partition_by`, whose values are the batches"
        problems.append(FieldProblem("schedule", message))
    if payload is not None and monitor.evidence.person is not None:
        problems.append(FieldProblem("evidence.person", NO_PERSON))
    # A rule's problem of a field precedes one of the training data.
    ruled = {problem.field for problem in problems}
    return problems + [
        problem for problem in donor_problems(session, deployment, monitor) if problem.field not in ruled
    ]


def keep_origins(monitor: Monitor, before: Monitor | None) -> Monitor:
    """Monitor in which a rule that stays is still said to be found by its scan.

    Raises:
        InvalidInput: another scan is said to have found it.
    """
    origins = {
        attribute.rule: attribute.found_by for attribute in (() if before is None else before.attributes)
    }
    attributes = []
    for position, attribute in enumerate(monitor.attributes):
        origin = origins.get(attribute.rule)
        if attribute.found_by not in (None, origin):
            message = (
                "must be left out, or be as it was read with the same rule: POST "
                "…/fairness-monitor/found-groups sets it"
            )
            raise InvalidInput(f"attributes[{position}].found_by", message)
        attributes.append(replace(attribute, found_by=origin))
    return replace(monitor, attributes=tuple(attributes))


def monitor_warnings(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    warnings = [*find_unseen(session, deployment, monitor), *chance_warnings(session, deployment, monitor)]

    name = monitor.strata
    if name is not None and name in {attribute.feature for attribute in monitor.attributes}:
        message = (
            f"{name!r} is one of the attributes, too: each of its values holds one of its groups only, so "
            f"the conditional metrics of {name} itself have no value"
        )
        warnings.append(FieldProblem("strata", message))
    return warnings
