"""What an alert rule may not say. Pure: gives the problems, each with its place, raises nothing."""

from collections.abc import Callable, Collection, Iterator, Sequence

from app.domain.alerts import Condition, RuleContent, StaleDataCondition, VerdictCondition
from app.domain.checks import DataSet, Scope
from app.domain.deployments import RecordSchema
from app.domain.monitor_rules import unknown_metric
from app.domain.texts import TOGETHER, name_problem
from app.errors import FieldProblem

MAX_RULES = 100
"""Of one deployment."""

MAX_CHANNELS = 20
MAX_METRICS = 50
MAX_ATTRIBUTES = 100
MAX_IN_A_ROW = 100
MAX_HOURS = 8760
"""A year."""

CHECKED_DATA = tuple(data for data in DataSet if data is not DataSet.TRAINING)
"""What checks measure on; training data are measured when they are uploaded."""

ScopesOf = Callable[[str, DataSet], Collection[str]]
"""The scopes that a metric has on a data set; none where it is not measured there."""


def rule_problems(content: RuleContent, *, schema: RecordSchema, known_metrics: Collection[str], scopes_of: ScopesOf) -> list[FieldProblem]:
    """Everything wrong with the rule for a deployment of that schema, but for its channels' existence; empty if it may be stored."""
    named = name_problem(content.name)
    found = [] if named is None else [FieldProblem("name", named)]
    if content.remind_after_hours is not None:
        found += _within("remind_after_hours", content.remind_after_hours, MAX_HOURS)
    found += _listed("channels", content.channels, MAX_CHANNELS, least=0)
    return [*found, *_condition(content.condition, schema, known_metrics, scopes_of)]


def _condition(condition: Condition, schema: RecordSchema, known_metrics: Collection[str], scopes_of: ScopesOf) -> Iterator[FieldProblem]:
    if isinstance(condition, StaleDataCondition):
        yield from _within("condition.hours", condition.hours, MAX_HOURS)
        return
    yield from _within("condition.checks_in_a_row", condition.checks_in_a_row, MAX_IN_A_ROW)
    if not isinstance(condition, VerdictCondition):
        return
    yield from _listed("condition.verdicts", condition.verdicts, 2)
    yield from _listed("condition.data", condition.data, len(CHECKED_DATA))
    for index, data in enumerate(condition.data):
        if data not in CHECKED_DATA:
            yield FieldProblem(f"condition.data[{index}]", "is not measured by checks, so no alert can be about it")
    yield from _metrics(condition, known_metrics, scopes_of)
    if condition.attributes is not None:
        yield from _attributes(condition.attributes, schema)
    if condition.scope not in (Scope.GROUP, Scope.WORST):
        yield FieldProblem("condition.scope", "must be group or worst")


def _metrics(condition: VerdictCondition, known_metrics: Collection[str], scopes_of: ScopesOf) -> Iterator[FieldProblem]:
    """A rule that could never open an alert is refused: it would look as if all were well."""
    problems = list(_listed("condition.metrics", condition.metrics, MAX_METRICS))
    yield from problems
    if problems:
        return
    for index, metric in enumerate(condition.metrics):
        place = f"condition.metrics[{index}]"
        if metric not in known_metrics:
            yield FieldProblem(place, f"{metric[:100]!r} {unknown_metric(metric, known_metrics)}")
        elif not any(condition.scope in scopes_of(metric, data) for data in condition.data):
            listed = ", ".join(condition.data)
            yield FieldProblem(
                place, f"{metric!r} has no figure of the scope {condition.scope} on {listed}; choose another scope or data set"
            )


def _attributes(attributes: Sequence[str], schema: RecordSchema) -> Iterator[FieldProblem]:
    problems = list(_listed("condition.attributes", attributes, MAX_ATTRIBUTES))
    yield from problems
    if problems:
        return
    for index, attribute in enumerate(attributes):
        for part in attribute.split(TOGETHER):
            if schema.column(part) is None:
                yield FieldProblem(
                    f"condition.attributes[{index}]", f"{part[:200]!r} is neither a feature nor a meta field of the deployment"
                )


def _listed(place: str, items: Sequence[str], most: int, *, least: int = 1) -> Iterator[FieldProblem]:
    if len(items) < least:
        yield FieldProblem(place, "must list at least one")
    if len(items) > most:
        yield FieldProblem(place, f"must list at most {most}, found {len(items)}")
        return
    for index, item in enumerate(items):
        if item in items[:index]:
            yield FieldProblem(f"{place}[{index}]", f"{str(item)[:200]!r} is listed twice")


def _within(place: str, number: int, most: int) -> list[FieldProblem]:
    return [] if 1 <= number <= most else [FieldProblem(place, f"must be between 1 and {most:,}, found {number}")]
