"""Whether a monitor fits a deployment and its training data, and what is doubtful in it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from ...access.principals import Principal
from ...base.clock import utc_now
from ...base.errors import FieldProblem, InvalidInput
from ...domain.deployment import Deployment
from ...domain.monitor import Monitor, Schedule
from ...statistics.measures.worst_group import mirror_ratio
from ..training.queries import NOT_CORRECTED, Association, read_associations
from ..training.unseen_groups import find_donor_problems, find_unseen
from .queries import complete_limits, find_monitor_problems


def keep_declaration(monitor: Monitor, before: Monitor | None, principal: Principal) -> Monitor:
    """Adds to a new declaration who declares and on which day; a repeated one keeps both."""
    settings = monitor.evidence
    declared_by = None
    declared_on = None
    if settings.each_record_another_person and before and before.evidence.each_record_another_person:
        declared_by = before.evidence.declared_by
        declared_on = before.evidence.declared_on
    elif settings.each_record_another_person:
        declared_by = principal.author
        declared_on = utc_now().date().isoformat()
    return replace(monitor, evidence=replace(settings, declared_by=declared_by, declared_on=declared_on))


def add_missing_limits(monitor: Monitor) -> Monitor:
    attributes = tuple(
        replace(
            attribute,
            upper_threshold=mirror_ratio(attribute.threshold)
            if attribute.upper_threshold is None
            else attribute.upper_threshold,
            metric_limits=tuple(
                (metric, complete_limits(metric, limits)) for metric, limits in attribute.metric_limits
            ),
        )
        for attribute in monitor.attributes
    )
    return replace(monitor, attributes=attributes)


CHANCE_MEMBER = "no_stronger_than_chance"

NOT_CORRECTED_MEMBER = "not_corrected_for_chance"


def describe_doubts(picked: Collection[str], associations: Sequence[Association]) -> dict[str, object]:
    """Members of a check's window: picked features no stronger than chance, or not compared with it."""
    picked_associations = [association for association in associations if association.feature in picked]
    levels = {
        association.feature: {"strength": association.strength, "chance_level": association.chance_level}
        for association in picked_associations
        if association.is_within_chance
    }
    not_corrected = [
        association.feature for association in picked_associations if not association.is_corrected
    ]
    members = {CHANCE_MEMBER: levels, NOT_CORRECTED_MEMBER: not_corrected}
    return {name: member for name, member in members.items() if member}


def find_chance_warning(attribute: str, association: Association) -> str | None:
    feature = association.feature
    if not association.is_corrected:
        return (
            f"whether {feature} goes together with {attribute} more strongly than chance is not known: "
            + NOT_CORRECTED
        )
    if not association.is_within_chance:
        return None
    return (
        f"{feature} goes together with {attribute} no more strongly than shuffled values do (strength "
        f"{association.strength:.3f}, level of chance {association.chance_level:.3f}), so changing it says "
        "nothing about indirect bias: pick the features that are recommended"
    )


def list_notes_on_doubts(attribute: str, doubts: Mapping[str, Any]) -> Iterator[str]:
    levels = doubts.get(CHANCE_MEMBER, {})
    unknown = doubts.get(NOT_CORRECTED_MEMBER, [])
    strengths = "; ".join(
        f"{name}: strength {figures['strength']:.3f}, level of chance {figures['chance_level']:.3f}"
        for name, figures in levels.items()
    )
    if levels and set(levels) == set(doubts["features"]):
        yield (
            f"Do not take the counterfactual figures of {attribute} for a sign of fairness: in the training "
            f"data {_join(levels)} went together with {attribute} no more strongly than shuffled values do "
            f"({strengths}). Copies that change nothing else are answered alike in both groups whatever the "
            "model does, so a ratio near 1 says nothing. Pick the recommended features."
        )
    elif levels:
        yield (
            f"Among the features that copies of {attribute} change, {_join(levels)} went together with "
            f"{attribute} in the training data no more strongly than shuffled values do ({strengths}). "
            "Changing this shows no indirect bias and adds chance; take it out of the monitor."
        )
    if unknown:
        yield (
            f"It is not known whether {_join(unknown)} went together with {attribute} in the training data "
            "more strongly than chance: they were uploaded when strengths were not yet corrected for it. A "
            "counterfactual ratio near 1 may be false; upload the training data again."
        )


def _join(names: Collection[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


NO_PERSON = (
    "cannot be used where records lie in your own tables, which do not say which record of a person was the "
    "first. Leave it out, or declare evidence.each_record_another_person if no two records are of one person"
)


def find_fitting_problems(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
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
    fields_with_problems = {problem.field for problem in problems}
    return problems + [
        problem
        for problem in find_donor_problems(session, deployment, monitor)
        if problem.field not in fields_with_problems
    ]


def keep_origins(monitor: Monitor, before: Monitor | None) -> Monitor:
    """Raises InvalidInput if the request names another search that found a group."""
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


def list_monitor_warnings(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    correlated = [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
    associations = read_associations(session, deployment.no, correlated) if correlated else {}
    warnings = find_unseen(session, deployment, monitor) + [
        FieldProblem(
            f"attributes[{index}].correlated_features[{attribute.correlated_features.index(association.feature)}]",
            warning,
        )
        for index, attribute in enumerate(monitor.attributes)
        for association in associations.get(attribute.feature, ())
        if association.feature in attribute.correlated_features
        and (warning := find_chance_warning(attribute.feature, association))
    ]
    name = monitor.strata
    if name is not None and name in {attribute.feature for attribute in monitor.attributes}:
        message = (
            f"{name!r} is one of the attributes, too: each of its values holds one of its groups only, so "
            f"the conditional metrics of {name} itself have no value"
        )
        warnings.append(FieldProblem("strata", message))
    return warnings
