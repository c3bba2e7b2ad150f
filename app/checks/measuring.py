"""From count tables to measurements: metrics with intervals, held against the monitor's limits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from app.checks.tabulation import EVERYBODY, Table
from app.domain.checks import DataSet, Measurement, Scope
from app.domain.monitors import Limits, Monitor, MonitoredAttribute
from app.domain.texts import TOGETHER
from app.metrics.balanced import measure_balanced
from app.metrics.feedback import measure_feedback
from app.metrics.payload import measure_payload
from app.metrics.tables import BalancedCells, FeedbackCells, GroupCounts
from app.metrics.values import Measured, Undefined, Value
from app.metrics.verdicts import Verdict, verdict

DISPARATE_IMPACT = "disparate_impact"
NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A data set of an attribute that could not be measured at all, and why."""

    data: DataSet
    attribute: str | None
    metrics: tuple[str, ...]
    reason: str


def measure_table(data: DataSet, attribute: str, table: Table, *, monitor: Monitor, at: datetime) -> list[Measurement]:
    """Every metric of one table. `at` is the end of the time it speaks of."""
    configured = _attribute(monitor, attribute)
    limits = limits_of(configured, DISPARATE_IMPACT)
    measured = _measured(table, limits, monitor.seed)
    if data is DataSet.FEEDBACK and attribute != EVERYBODY:
        # Overall accuracy is the same for every attribute: it is said once, by the table of everybody.
        measured = [result for result in measured if Scope(result.scope) is not Scope.OVERALL]
    return [_measurement(result, data, attribute or None, limits=limits_of(configured, result.metric), at=at) for result in measured]


def not_measured(absent: NotMeasured, monitor: Monitor, at: datetime) -> list[Measurement]:
    """The headline of each metric as null, with the reason."""
    configured = _attribute(monitor, absent.attribute or EVERYBODY)
    results = [
        Measured(
            metric=metric, scope=_headline_scope(absent.data, metric), group=None, number=Undefined(absent.reason, 0), smallest_group=0
        )
        for metric in absent.metrics
    ]
    return [_measurement(result, absent.data, absent.attribute, limits=limits_of(configured, result.metric), at=at) for result in results]


def limits_of(attribute: MonitoredAttribute | None, metric: str) -> Limits:
    """The limits a metric is held against: those set for it, else for disparate impact the attribute's threshold."""
    if attribute is None:
        return NO_LIMITS
    default = Limits(lower=attribute.threshold, upper=attribute.upper_threshold) if metric == DISPARATE_IMPACT else NO_LIMITS
    return dict(attribute.metric_limits).get(metric, default)


def _measured(table: Table, limits: Limits, seed: int) -> Sequence[Measured]:
    match table:
        case GroupCounts():
            return measure_payload(table, lower_limit=limits.lower, upper_limit=limits.upper)
        case BalancedCells():
            return measure_balanced(table, seed=seed % 2**64, lower_limit=limits.lower, upper_limit=limits.upper)
        case FeedbackCells():
            return measure_feedback(table)


def _attribute(monitor: Monitor, name: str) -> MonitoredAttribute | None:
    """The configuration of an attribute; an intersection is held against the strictest limits of its members."""
    together = {TOGETHER.join(features): features for features in monitor.intersections}
    members = [attribute for attribute in monitor.attributes if attribute.feature in together.get(name, (name,))]
    if not members:
        return None
    uppers = [attribute.upper_threshold for attribute in members if attribute.upper_threshold is not None]
    limited = sorted({metric for attribute in members for metric, _ in attribute.metric_limits})
    return replace(
        members[0],
        threshold=max(attribute.threshold for attribute in members),
        upper_threshold=min(uppers, default=None),
        metric_limits=tuple((metric, _strictest(metric, members)) for metric in limited),
    )


def _strictest(metric: str, members: Sequence[MonitoredAttribute]) -> Limits:
    limits = [dict(attribute.metric_limits).get(metric, NO_LIMITS) for attribute in members]
    lowers = [limit.lower for limit in limits if limit.lower is not None]
    uppers = [limit.upper for limit in limits if limit.upper is not None]
    return Limits(lower=max(lowers, default=None), upper=min(uppers, default=None))


def _measurement(result: Measured, data: DataSet, attribute: str | None, *, limits: Limits, at: datetime) -> Measurement:
    number = result.number
    value = number if isinstance(number, Value) else None
    judged = _judged(result, limits)
    return Measurement(
        metric=result.metric,
        data=data,
        scope=Scope(result.scope),
        attribute=attribute,
        group=result.group,
        at=at,
        value=None if value is None else value.value,
        reason=number.reason if isinstance(number, Undefined) else None,
        lower=None if value is None else value.lower,
        upper=None if value is None else value.upper,
        interval_method=None if value is None else value.method,
        n=number.n,
        verdict=judged,
        lower_limit=limits.lower,
        upper_limit=limits.upper,
        details=result.details,
    )


def _judged(result: Measured, limits: Limits) -> Verdict | None:
    judged = verdict(result.number, lower_limit=limits.lower, upper_limit=limits.upper, smallest_group=result.smallest_group)
    # Without limits there is no verdict on fairness, but a missing number still says so.
    return Verdict.NOT_COMPUTABLE if judged is None and isinstance(result.number, Undefined) else judged


def _headline_scope(data: DataSet, metric: str) -> Literal["overall", "worst", "attribute"]:
    if data is DataSet.FEEDBACK:
        return "overall"
    return "worst" if metric == DISPARATE_IMPACT else "attribute"
