"""Metrics that a monitor measures, and the data that they need."""

from collections.abc import Iterable

from ...base.errors import FieldProblem
from ...domain.check import DataSet
from ...domain.deployment import ProblemType, RecordSchema
from ...domain.monitor import Monitor
from ...domain.monitor_rules import monitor_problems
from ...statistics.catalogue import CATALOGUE, DEFAULT_METRICS, Metric, metrics_on
from ...statistics.catalogue.metric import Needs

CONDITIONAL = tuple(key for key, metric in CATALOGUE.items() if "strata" in metric.needs)
"""Metrics that compare within the values of a column."""


def find_monitor_problems(
    monitor: Monitor, schema: RecordSchema, problem_type: ProblemType
) -> list[FieldProblem]:
    """Every problem of the configuration for that schema and type, except unknown metrics."""
    return monitor_problems(
        monitor,
        schema=schema,
        problem_type=problem_type,
        known_metrics=CATALOGUE.keys(),
        conditional_metrics=CONDITIONAL,
    )


def picked_on(monitor: Monitor, data: DataSet) -> tuple[Metric, ...]:
    """Metrics measured on the data set, in catalogue order.

    If none are picked: the usual ones and, with named strata, those that use strata.
    """
    if monitor.metrics is not None:
        keys = frozenset(monitor.metrics)
    else:
        keys = DEFAULT_METRICS | frozenset(CONDITIONAL if monitor.strata is not None else ())
    return tuple(metric for metric in metrics_on(data.value) if metric.key in keys)


def stored_on(monitor: Monitor, data: DataSet) -> tuple[Metric, ...]:
    """Metrics of `picked_on` that a check stores; others are measured from count tables on request."""
    return tuple(metric for metric in picked_on(monitor, data) if metric.is_stored)


def measured_keys(monitor: Monitor) -> list[str]:
    picked = {metric.key for data in DataSet for metric in picked_on(monitor, data)}
    return [key for key in CATALOGUE if key in picked]


def is_needed(monitor: Monitor, need: Needs, on: Iterable[DataSet] = DataSet) -> bool:
    return any(need in metric.needs for data in on for metric in picked_on(monitor, data))
