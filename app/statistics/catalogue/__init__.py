"""Metrics, one row each, in a file for each family."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from . import entropy_metrics as entropy
from . import error_metrics as errors
from . import mitigation_metrics as mitigation
from . import odds_metrics as odds
from . import pretraining_metrics as distributions
from . import quality_metrics as quality
from . import record_metrics as records
from . import score_metrics as scores
from . import selection_metrics as selection
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
