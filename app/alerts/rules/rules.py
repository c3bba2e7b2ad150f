"""Rules about alert rules. Pure: returns the problems, each with its place, and raises nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from sqlalchemy import Select, delete, func, insert, select, text, update
from sqlalchemy.orm import Session

from ...base.errors import Conflict, FieldProblem, require_present
from ...base.values import name_problem
from ...database.binary_rows import page_oldest, read_row
from ...database.tables import AlertChannelRow, AlertRuleChannelRow, AlertRuleRow
from ...deployments.queries import list_rule_columns
from ...domain.alert import (
    CONDITIONS,
    EvidenceCondition,
    LateLabelsCondition,
    Rule,
    RuleContent,
    RuleKind,
    StaleDataCondition,
    VerdictCondition,
)
from ...domain.check import DataSet, Scope
from ...domain.deployment import RecordSchema
from ...domain.monitor import Comparison
from ...domain.monitor_rules import describe_unknown_metric
from ...domain.paging import Paging
from ...domain.ruled_attributes import check_bounds
from ...statistics.catalogue import CATALOGUE
from ..channels.channel import lock_named_channels

MAX_RULES = 100

MAX_CHANNELS = 20
MAX_METRICS = 50
MAX_ATTRIBUTES = 100
MAX_IN_A_ROW = 100
MAX_HOURS = 8760

CHECKED_DATA = tuple(data for data in DataSet if data is not DataSet.TRAINING)

EVIDENCE_DATA = (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, DataSet.LABELLED)


def find_rule_problems(content: RuleContent, schema: RecordSchema) -> list[FieldProblem]:
    """Returns every problem of the rule for a deployment of that schema. Does not look for its channels."""
    named = name_problem(content.name)
    problems = [] if named is None else [FieldProblem("name", named)]
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
    for index, metric in enumerate(() if problems else condition.metrics):
        field = f"condition.metrics[{index}]"
        row = CATALOGUE.get(metric)
        if row is None:
            yield FieldProblem(field, f"{metric[:100]!r} {describe_unknown_metric(metric, CATALOGUE)}")
        elif not row.is_stored or not any(
            data.value in row.data and condition.scope in row.scopes_on(data.value) for data in condition.data
        ):
            listed = ", ".join(condition.data)
            message = (
                f"{metric!r} has no figure of the scope {condition.scope} on {listed}; choose another "
                "scope or data set"
            )
            yield FieldProblem(field, message)

    yield from _check_attributes(condition.attributes, schema)
    if condition.scope not in (Scope.GROUP, Scope.WORST):
        yield FieldProblem("condition.scope", "must be group or worst")


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
    problems = (
        []
        if condition.metrics is None
        else list(_check_list("condition.metrics", condition.metrics, MAX_METRICS))
    )
    yield from problems
    for index, metric in enumerate(() if problems else condition.metrics or ()):
        if metric not in CATALOGUE:
            yield FieldProblem(
                f"condition.metrics[{index}]",
                f"{metric[:100]!r} {describe_unknown_metric(metric, CATALOGUE)}",
            )
    yield from _check_attributes(condition.attributes, schema)


def _check_attributes(attributes: Sequence[str] | None, schema: RecordSchema) -> Iterator[FieldProblem]:
    problems = (
        [] if attributes is None else list(_check_list("condition.attributes", attributes, MAX_ATTRIBUTES))
    )
    yield from problems
    columns = {column.name for column in (*schema.features, *schema.meta)}
    for index, attribute in enumerate(() if problems else attributes or ()):
        for feature in (
            feature
            for feature in Comparison.from_label(attribute, columns).features
            if feature not in columns
        ):
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


_ALERTS_LOCK = 0x616C7274
"""First key of the advisory locks on the alerts of a deployment."""


def lock_alerts(session: Session, deployment_no: int) -> None:
    session.execute(
        text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": _ALERTS_LOCK, "no": deployment_no}
    )


def try_lock_alerts(session: Session, deployment_no: int) -> bool:
    return bool(
        session.scalar(
            text("SELECT pg_try_advisory_xact_lock(:lock, :no)"), {"lock": _ALERTS_LOCK, "no": deployment_no}
        )
    )


def list_rule_nos(session: Session, deployment_no: int, kinds: Sequence[RuleKind]) -> list[int]:
    conditions = (
        AlertRuleRow.deployment_no == deployment_no,
        AlertRuleRow.kind.in_(kinds),
        AlertRuleRow.enabled,
    )
    return list(session.scalars(select(AlertRuleRow.no).where(*conditions).order_by(AlertRuleRow.no)))


def read_rule_by_no(session: Session, no: int) -> Rule:
    return _to_rule(session.execute(_SELECT.where(AlertRuleRow.no == no)).one())


def page_rules(session: Session, deployment_no: int, paging: Paging) -> list[Rule]:
    statement = _SELECT.where(AlertRuleRow.deployment_no == deployment_no)
    return [_to_rule(row) for row in session.execute(page_oldest(statement, AlertRuleRow.no, paging))]


def find_rule(session: Session, deployment_no: int, rule_id: str) -> Rule | None:
    row = session.execute(
        _SELECT.where(AlertRuleRow.deployment_no == deployment_no, AlertRuleRow.id == rule_id)
    ).one_or_none()
    return None if row is None else _to_rule(row)


def get_rule(session: Session, deployment_no: int, rule_id: str) -> Rule:
    """Raises NotFound."""
    return require_present(find_rule(session, deployment_no, rule_id), "alert rule", rule_id)


def put_rule(session: Session, deployment_no: int, rule_id: str, content: RuleContent) -> Rule:
    """Stores a rule; its version grows only if the content differs. Raises Conflict if a channel was deleted,
    or there are too many rules.
    """
    # Another order is no change.
    content = replace(content, channels=tuple(sorted(content.channels)))
    before = find_rule(session, deployment_no, rule_id)
    if before is not None and before.content == content:
        return before
    if before is None:
        stored = session.scalar(
            select(func.count()).select_from(AlertRuleRow).where(AlertRuleRow.deployment_no == deployment_no)
        )
        if stored is not None and stored >= MAX_RULES:
            raise Conflict(
                f"The deployment has {stored} alert rules, which is the maximum. Delete one, or change one "
                "of them."
            )
        insertion = insert(AlertRuleRow).values(
            deployment_no=deployment_no, id=rule_id, version=1, **list_rule_columns(content)
        )
        no = session.scalars(insertion.returning(AlertRuleRow.no)).one()
    else:
        no = before.no
        changed = {"version": before.version + 1, "updated_at": func.now(), **list_rule_columns(content)}
        session.execute(update(AlertRuleRow).where(AlertRuleRow.no == no).values(changed))

    channel_nos = lock_named_channels(session, content.channels)
    session.execute(delete(AlertRuleChannelRow).where(AlertRuleChannelRow.rule_no == no))
    if channel_nos:
        session.execute(
            insert(AlertRuleChannelRow),
            [{"rule_no": no, "channel_no": channel_no} for channel_no in channel_nos],
        )
    return read_rule_by_no(session, no)


def delete_rule(session: Session, rule: Rule) -> None:
    session.execute(delete(AlertRuleRow).where(AlertRuleRow.no == rule.no))


_CHANNELS = (
    select(func.coalesce(func.array_agg(AlertChannelRow.id), text("'{}'")))
    .join(AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no)
    .where(AlertRuleChannelRow.rule_no == AlertRuleRow.no)
    .correlate(AlertRuleRow)
    .scalar_subquery()
)
_SELECT: Select[AlertRuleRow, Any] = select(AlertRuleRow, _CHANNELS)


def _to_rule(result: Any) -> Rule:  # noqa: ANN401 - a result row of `_SELECT`
    row, channels = result
    config = row.config
    return read_row(
        Rule,
        row,
        content=RuleContent(
            name=config["name"],
            condition=msgspec.convert(config["condition"], CONDITIONS[RuleKind(row.kind)]),
            remind_after_hours=config["remind_after_hours"],
            channels=tuple(sorted(set(channels))),
            enabled=row.enabled,
        ),
    )
