"""Rules that an alert rule must keep."""

from collections.abc import Iterator, Sequence

from ...base.errors import FieldProblem
from ...base.values import name_problem
from ...domain.alert import (
    EvidenceCondition,
    LateLabelsCondition,
    RuleContent,
    StaleDataCondition,
    VerdictCondition,
)
from ...domain.check import DataSet, Scope
from ...domain.deployment import RecordSchema
from ...domain.monitor import Comparison
from ...domain.monitor_rules import describe_unknown_metric
from ...domain.ruled_attributes import check_bounds
from ...statistics.catalogue import CATALOGUE

MAX_CHANNELS = 20
MAX_METRICS = 50
MAX_ATTRIBUTES = 100
MAX_IN_A_ROW = 100
MAX_HOURS = 8760

CHECKED_DATA = tuple(data for data in DataSet if data is not DataSet.TRAINING)
"""Data that checks measure."""

EVIDENCE_DATA = (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, DataSet.LABELLED)


def find_rule_problems(content: RuleContent, schema: RecordSchema) -> list[FieldProblem]:
    """Does not look for the channels."""
    problem = name_problem(content.name)
    problems = [] if problem is None else [FieldProblem("name", problem)]
    if content.remind_after_hours is not None:
        problems += check_bounds("remind_after_hours", content.remind_after_hours, MAX_HOURS)
    problems += _check_list("channels", content.channels, MAX_CHANNELS, least=0)

    condition = content.condition
    if isinstance(condition, LateLabelsCondition):
        return problems
    if isinstance(condition, StaleDataCondition):
        hours = condition.hours
        return problems if hours is None else [*problems, *check_bounds("condition.hours", hours, MAX_HOURS)]
    if isinstance(condition, EvidenceCondition):
        return [*problems, *_check_evidence_condition(condition, schema)]
    problems += check_bounds("condition.checks_in_a_row", condition.checks_in_a_row, MAX_IN_A_ROW)
    if isinstance(condition, VerdictCondition):
        problems += _check_verdict_condition(condition, schema)
    return problems


def _check_verdict_condition(condition: VerdictCondition, schema: RecordSchema) -> Iterator[FieldProblem]:
    yield from _check_list("condition.verdicts", condition.verdicts, 2)
    yield from _check_list("condition.data", condition.data, len(CHECKED_DATA))
    yield from (
        FieldProblem(f"condition.data[{index}]", "is not measured by checks, so no alert can be about it")
        for index, data in enumerate(condition.data)
        if data not in CHECKED_DATA
    )

    # A rule that could never open an alert is refused: it would look as if all were well.
    problems = list(_check_list("condition.metrics", condition.metrics, MAX_METRICS))
    yield from problems
    if not problems:
        yield from _check_verdict_metrics(condition)
    yield from _check_attributes(condition.attributes, schema)
    if condition.scope not in (Scope.GROUP, Scope.WORST):
        yield FieldProblem("condition.scope", "must be group or worst")


def _check_verdict_metrics(condition: VerdictCondition) -> Iterator[FieldProblem]:
    for index, metric in enumerate(condition.metrics):
        field = f"condition.metrics[{index}]"
        row = CATALOGUE.get(metric)
        if row is None:
            yield FieldProblem(field, f"{metric[:100]!r} {describe_unknown_metric(metric, CATALOGUE)}")
        elif not row.is_stored or not any(
            data.value in row.data and condition.scope in row.list_scopes_on(data.value)
            for data in condition.data
        ):
            listed = ", ".join(condition.data)
            message = (
                f"{metric!r} has no figure of the scope {condition.scope} on {listed}; choose another "
                "scope or data set"
            )
            yield FieldProblem(field, message)


def _check_evidence_condition(condition: EvidenceCondition, schema: RecordSchema) -> Iterator[FieldProblem]:
    yield from _check_list("condition.data", condition.data, len(EVIDENCE_DATA))
    yield from (
        FieldProblem(
            f"condition.data[{index}]",
            f"must be one of {', '.join(EVIDENCE_DATA)}: no evidence is collected on other data",
        )
        for index, data in enumerate(condition.data)
        if data not in EVIDENCE_DATA
    )
    metrics = condition.metrics or ()
    least = 0 if condition.metrics is None else 1
    problems = list(_check_list("condition.metrics", metrics, MAX_METRICS, least=least))
    yield from problems
    for index, metric in enumerate(() if problems else metrics):
        if metric not in CATALOGUE:
            yield FieldProblem(
                f"condition.metrics[{index}]",
                f"{metric[:100]!r} {describe_unknown_metric(metric, CATALOGUE)}",
            )
    yield from _check_attributes(condition.attributes, schema)


def _check_attributes(attributes: Sequence[str] | None, schema: RecordSchema) -> Iterator[FieldProblem]:
    if attributes is None:
        return
    problems = list(_check_list("condition.attributes", attributes, MAX_ATTRIBUTES))
    yield from problems
    columns = {column.name for column in (*schema.features, *schema.meta)}
    for index, attribute in enumerate(() if problems else attributes):
        for feature in Comparison.from_label(attribute, columns).features:
            if feature not in columns:
                message = f"{feature[:200]!r} is neither a feature nor a meta field of the deployment"
                yield FieldProblem(f"condition.attributes[{index}]", message)


def _check_list(field: str, items: Sequence[str], limit: int, *, least: int = 1) -> Iterator[FieldProblem]:
    if len(items) < least:
        yield FieldProblem(field, "must list at least one")
    if len(items) > limit:
        yield FieldProblem(field, f"must list at most {limit}, found {len(items)}")
        return
    for index, item in enumerate(items):
        if item in items[:index]:
            yield FieldProblem(f"{field}[{index}]", f"{str(item)[:200]!r} is listed twice")
