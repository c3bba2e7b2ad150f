"""All metrics; a file for each family defines them."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from . import (
    entropy_metrics,
    error_metrics,
    mitigation_metrics,
    pretraining_metrics,
    quality_metrics,
    record_metrics,
    score_metrics,
    selection_metrics,
)
from .metric import Data, Direction, Metric, RowFigure, ScoreFigure

__all__ = [
    "CATALOGUE",
    "DEFAULT_METRICS",
    "Data",
    "Direction",
    "Metric",
    "RowFigure",
    "ScoreFigure",
    "list_metrics_on",
]

_FAMILIES = (
    selection_metrics,
    quality_metrics,
    error_metrics,
    score_metrics,
    entropy_metrics,
    pretraining_metrics,
    record_metrics,
    mitigation_metrics,
)

CATALOGUE: Mapping[str, Metric] = MappingProxyType(
    {metric.key: metric for family in _FAMILIES for metric in family.METRICS}
)

DEFAULT_METRICS = frozenset(metric.key for metric in CATALOGUE.values() if metric.is_default)


@cache
def list_metrics_on(data: Data) -> tuple[Metric, ...]:
    return tuple(metric for metric in CATALOGUE.values() if data in metric.data)
