"""Metrics, one row each, in a file for each family."""

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
    {row.key: row for family in _FAMILIES for row in family.ROWS}
)

DEFAULT_METRICS = frozenset(row.key for row in CATALOGUE.values() if row.is_default)


@cache
def list_metrics_on(data: Data) -> tuple[Metric, ...]:
    return tuple(row for row in CATALOGUE.values() if data in row.data)
