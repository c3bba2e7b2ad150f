"""From count tables to measurements: metrics with intervals, held against the monitor's limits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from app.checks.gaps import NotMeasured
from app.checks.picking import picked_on
from app.checks.rows import MeasuredRows
from app.checks.tabulation import EVERYBODY, Table
from app.domain.checks import DataSet, Measurement, Scope
from app.domain.monitors import Limits, Monitor, MonitoredAttribute
from app.domain.texts import TOGETHER
from app.metrics.balanced import measure_balanced
from app.metrics.catalogue import CATALOGUE
from app.metrics.debiased import measure_debiased, measure_debiased_feedback
from app.metrics.feedback import measure_feedback
from app.metrics.payload import measure_payload, measure_training
from app.metrics.perturbed import measure_perturbed
from app.metrics.sides import mirror_of
from app.metrics.tables import BalancedCells, DebiasedCells, DebiasedFeedback, FeedbackCells, GroupCounts
from app.metrics.values import Measured, Undefined, Value
from app.metrics.verdicts import Verdict, verdict

DISPARATE_IMPACTS = frozenset(
    {
        "disparate_impact",
        "disparate_impact_before",
        "disparate_impact_after",
        "balanced_disparate_impact_before",
        "balanced_disparate_impact_after",
    }
)
"""The metrics that an attribute's thresholds are of."""

NO_LIMITS = Limits()
NOTHING_LACKING: Mapping[str, str] = {}


def measure_table(
    data: DataSet, attribute: str, table: Table, *, monitor: Monitor, at: datetime, lacking: Mapping[str, str] = NOTHING_LACKING
) -> list[Measurement]:
    """The picked metrics of one table. `at` is the end of the time it speaks of, `lacking` why it has no strata or scores."""
    members = _members(monitor, attribute)
    # Figures of everybody are the same for every attribute: they are said once, by the table of everybody, which has no others.
    everybody = attribute == EVERYBODY
    # What mitigation changes for everybody is another thing for each attribute.
    is_own = data is DataSet.DEBIASED_FEEDBACK
    measured = [
        _explained(result, lacking)
        for result in _measured(data, table, members, monitor)
        if is_own or (result.scope == "overall") == everybody
    ]
    return [_measurement(result, data, attribute or None, members=members, at=at) for result in measured]


def measured_rows(found: MeasuredRows, *, monitor: Monitor, at: datetime) -> list[Measurement]:
    """The metrics of records as measurements."""
    members = _members(monitor, found.attribute)
    return [_measurement(result, found.data, found.attribute or None, members=members, at=at) for result in found.measured]


def not_measured(absent: NotMeasured, *, monitor: Monitor, at: datetime) -> list[Measurement]:
    """The headline of each metric as null, with the reason."""
    members = _members(monitor, absent.attribute or EVERYBODY)
    return [_measurement(result, absent.data, absent.attribute, members=members, at=at) for result in absent.results()]


def limits_of(attribute: MonitoredAttribute | None, metric: str) -> Limits:
    """The limits a metric is held against: those set for it, else the attribute's thresholds, else those of the catalogue.

    The thresholds are of disparate impact, which has no others. `attribute` None stands for everybody.
    """
    given = dict(attribute.metric_limits).get(metric) if attribute else None
    if given is not None:
        return given
    if metric in DISPARATE_IMPACTS:
        return Limits(lower=attribute.threshold, upper=attribute.upper_threshold) if attribute else NO_LIMITS
    lower, upper = CATALOGUE[metric].limits
    return Limits(lower=lower, upper=upper)


def _measured(data: DataSet, table: Table, members: Sequence[MonitoredAttribute], monitor: Monitor) -> list[Measured]:
    picked = [metric.key for metric in picked_on(monitor, data)]
    strictest = {key: _strictest(members, key) for key in picked}
    limits = {key: (each.lower, each.upper) for key, each in strictest.items()}
    seed = monitor.seed % 2**64
    found: list[Measured]
    match table:
        case GroupCounts() if data is DataSet.TRAINING:
            found = measure_training(table, metrics=picked, seed=seed, limits=limits)
        case GroupCounts():
            found = measure_payload(table, metrics=picked, seed=seed, limits=limits)
        case BalancedCells() if data is DataSet.PAYLOAD_PERTURBED:
            found = measure_perturbed(table, metrics=picked, seed=seed, limits=limits)
        case BalancedCells():
            found = measure_balanced(table, metrics=picked, limits=limits)
        case FeedbackCells():
            found = measure_feedback(table, metrics=picked, seed=seed, limits=limits)
        case DebiasedCells():
            found = measure_debiased(table, metrics=picked, seed=seed, limits=limits)
        case DebiasedFeedback():
            found = measure_debiased_feedback(table, metrics=picked, seed=seed, limits=limits)
    return found


def _explained(result: Measured, lacking: Mapping[str, str]) -> Measured:
    """A result that has no number for want of strata or scores with the reason why there are none."""
    reasons = [reason for need, reason in lacking.items() if need in CATALOGUE[result.metric].needs]
    if not reasons or not isinstance(result.number, Undefined):
        return result
    return replace(result, number=Undefined(reasons[0], result.number.n))


def _members(monitor: Monitor, name: str) -> list[MonitoredAttribute]:
    """The attribute of that name, or those of the intersection; of everybody, all."""
    if name == EVERYBODY:
        return list(monitor.attributes)
    together = {TOGETHER.join(features): features for features in monitor.intersections}
    return [attribute for attribute in monitor.attributes if attribute.feature in together.get(name, (name,))]


def _strictest(members: Sequence[MonitoredAttribute], metric: str) -> Limits:
    """The limits of an attribute; an intersection is held against the strictest of its members'."""
    limits = [limits_of(member, metric) for member in members] or [limits_of(None, metric)]
    lowers = [limit.lower for limit in limits if limit.lower is not None]
    uppers = [limit.upper for limit in limits if limit.upper is not None]
    return Limits(lower=max(lowers, default=None), upper=min(uppers, default=None))


def _measurement(
    result: Measured, data: DataSet, attribute: str | None, *, members: Sequence[MonitoredAttribute], at: datetime
) -> Measurement:
    number, limits = result.number, _strictest(members, result.metric)
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
        definition=CATALOGUE[result.metric].definition_on(data.value),
        details=result.details,
    )


def _judged(result: Measured, limits: Limits) -> Verdict | None:
    mirror = mirror_of(CATALOGUE[result.metric], (limits.lower, limits.upper))
    judged = verdict(result.number, lower_limit=limits.lower, upper_limit=limits.upper, smallest_group=result.smallest_group, mirror=mirror)
    # Without limits there is no verdict on fairness, but a missing number still says so.
    return Verdict.NOT_COMPUTABLE if judged is None and isinstance(result.number, Undefined) else judged
