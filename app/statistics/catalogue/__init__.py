"""Metrics, one row each, in a file for each family."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from . import distributions, entropy, errors, mitigation, odds, quality, records, scores, selection
from .metric import Data, Direction, FromRows, FromScores, Metric

__all__ = ["CATALOGUE", "DEFAULT_METRICS", "Data", "Direction", "FromRows", "FromScores", "Metric", "metrics_on"]

_FAMILIES = (selection, odds, quality, errors, scores, entropy, distributions, records, mitigation)

CATALOGUE: Mapping[str, Metric] = MappingProxyType({row.key: row for family in _FAMILIES for row in family.ROWS})
"""Metrics by key, in display order."""

DEFAULT_METRICS = frozenset(row.key for row in CATALOGUE.values() if row.is_default)
"""Metrics of a monitor that picks none."""


@cache
def metrics_on(data: Data) -> tuple[Metric, ...]:
    return tuple(row for row in CATALOGUE.values() if data in row.data)
