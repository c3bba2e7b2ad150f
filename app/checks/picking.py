"""Which metrics a monitor measures, and what they need to be read."""

from app.domain.checks import DataSet
from app.domain.deployments import ProblemType, RecordSchema
from app.domain.monitor_rules import monitor_problems
from app.domain.monitors import Monitor
from app.errors import FieldProblem
from app.metrics.catalogue import CATALOGUE, DEFAULT_METRICS, Metric, metrics_on
from app.metrics.catalogue.metric import Needs

CONDITIONAL = tuple(key for key, metric in CATALOGUE.items() if "strata" in metric.needs)
"""The metrics that compare within the values of a column."""


def problems_of(monitor: Monitor, schema: RecordSchema, problem_type: ProblemType) -> list[FieldProblem]:
    """Everything wrong with the configuration for a deployment of that schema and type, beside the metrics there are."""
    return monitor_problems(
        monitor, schema=schema, problem_type=problem_type, known_metrics=CATALOGUE.keys(), conditional_metrics=CONDITIONAL
    )


def picked_on(monitor: Monitor, data: DataSet) -> tuple[Metric, ...]:
    """The metrics that the monitor measures on the data set, in catalogue order.

    Where it picks none they are the usual ones and, if it names strata, those that the strata are for.
    """
    if monitor.metrics is not None:
        wanted = frozenset(monitor.metrics)
    else:
        wanted = DEFAULT_METRICS | frozenset(CONDITIONAL if monitor.strata is not None else ())
    return tuple(metric for metric in metrics_on(data.value) if metric.key in wanted)


def is_needed(monitor: Monitor, need: Needs) -> bool:
    """Whether a picked metric needs it."""
    return any(need in metric.needs for data in DataSet for metric in picked_on(monitor, data))
