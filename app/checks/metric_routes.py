"""Routes of the catalogue of metrics."""

from typing import Annotated

from fastapi import APIRouter, Path

from ..access.gate.caller import AnyKey
from ..base.errors import NotFound
from ..statistics.catalogue import CATALOGUE
from ..web.problem_answers import NOT_FOUND
from .metric_bodies import MetricOut, MetricsOut

router = APIRouter(prefix="/v1/metrics", tags=["metrics"])

MetricKey = Annotated[
    str,
    Path(
        description="The metric's key.", max_length=100, pattern=r"^[^\x00]*$", examples=["disparate_impact"]
    ),
]


@router.get("")
async def list_metrics(_key: AnyKey) -> MetricsOut:
    """Returns every metric, in the order in which they are shown. Any key may read it."""
    return MetricsOut(metrics=[MetricOut.from_object(metric) for metric in CATALOGUE.values()])


@router.get("/{metric_key}", responses=NOT_FOUND)
async def read_metric(_key: AnyKey, metric_key: MetricKey) -> MetricOut:
    """Returns one metric. Any key may read it."""
    if metric_key not in CATALOGUE:
        raise NotFound("metric", metric_key)
    return MetricOut.from_object(CATALOGUE[metric_key])
