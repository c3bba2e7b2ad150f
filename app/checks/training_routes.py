"""The route that measures stored training data."""

from collections.abc import Iterator
from dataclasses import replace

from fastapi import APIRouter

from ..access.gate.caller import SessionIn
from ..base.errors import Conflict
from ..deployments.deployment_in_address import ReadableDeployment
from ..deployments.monitor.queries import find_monitor
from ..deployments.training.from_distributions import build_present_tables
from ..deployments.training.queries import (
    TrainingData,
    read_distributions,
    read_label_tables,
    require_summary,
)
from ..domain.check import DataSet, Measurement
from ..domain.deployment import Deployment
from ..domain.monitor import Monitor
from ..statistics.catalogue import list_metrics_on
from ..web.route_declarations import CONFLICT
from .counting.tabulate import EVERYBODY
from .measure import build_measurements, leave_unmeasured, measure_table
from .views.measurement_bodies import MeasurementPage, SeriesMeasurementOut

router = APIRouter(prefix="/v1/deployments/{deployment_id}/training-data", tags=["training data"])

NO_ROWS = "it compares records with each other, and the rows of training data are not kept"
"""Reason why a metric that reads the records themselves has no value."""


@router.get("/measurements", responses=CONFLICT)
def measure_training_data(deployment: ReadableDeployment, session: SessionIn) -> MeasurementPage:
    """Returns all pre-training metrics of the monitor's attributes and intersections, whatever metrics the
    monitor picks.

    If the monitor changed since the upload and the stored distributions do not hold its groups, `value` is
    null and `reason` says so: upload again. The same applies to metrics that read the records themselves,
    because the rows are not kept.
    """
    summary = require_summary(session, deployment)
    monitor = find_monitor(session, deployment.no)
    if monitor is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor, which says which groups are compared; set "
            "one first."
        )
    data = TrainingData(
        summary, read_distributions(session, deployment.no), read_label_tables(session, deployment.no)
    )
    return MeasurementPage(
        measurements=[
            SeriesMeasurementOut.of(measurement) for measurement in _measure_all(data, monitor, deployment)
        ],
        next_cursor=None,
    )


def _measure_all(data: TrainingData, monitor: Monitor, deployment: Deployment) -> Iterator[Measurement]:
    table_metrics = [metric for metric in list_metrics_on("training") if "rows" not in metric.needs]
    row_metrics = [metric for metric in list_metrics_on("training") if "rows" in metric.needs]
    full_monitor = replace(monitor, metrics=tuple(metric.key for metric in table_metrics))
    at = data.summary.processed_at
    for present in build_present_tables(data, monitor, deployment.schema):
        if present.table is None:
            unmeasured = leave_unmeasured(DataSet.TRAINING, present.comparison, table_metrics, present.reason)
            yield from build_measurements(unmeasured, monitor=full_monitor, at=at)
        else:
            lacking = {} if present.table.strata is not None else {"strata": present.no_strata}
            yield from measure_table(
                DataSet.TRAINING,
                present.comparison,
                present.table,
                monitor=full_monitor,
                at=at,
                lacking=lacking,
            )
    unmeasured = leave_unmeasured(DataSet.TRAINING, EVERYBODY, row_metrics, NO_ROWS)
    yield from build_measurements(unmeasured, monitor=full_monitor, at=at)
