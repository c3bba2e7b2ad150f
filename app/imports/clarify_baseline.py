"""The baseline of SageMaker's bias monitor, as limits."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import InvalidInput
from ..metrics.catalogue import CATALOGUE

_PREFIX: Final = "Clarify "

CLARIFY_KEYS: Final[Mapping[str, str]] = {
    alias.removeprefix(_PREFIX): key for key, metric in CATALOGUE.items() for alias in metric.aliases if alias.startswith(_PREFIX)
}

IMPACT: Final = "disparate_impact"

_RESULTS: Final = ("pre_training_bias_metrics", "post_training_bias_metrics")


def limits_of_baseline(constraints: object) -> dict[str, dict[str, dict[str, float | None]]]:
    """Returns the limits of each facet's metrics: as far from the ideal as the baseline, on either side.

    Of several values of a facet the widest limits count.
    """
    if not isinstance(constraints, dict):
        raise InvalidInput.of("constraints", "must be a JSON object")
    # Of the ratio a factor of at least 1, of a difference an amount.
    distances = defaultdict[str, dict[str, float]](dict)
    for facet, metric in _metrics_of(constraints):
        key, value = CLARIFY_KEYS.get(str(metric.get("name"))), metric.get("value")
        if key is None or isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            continue
        if key == IMPACT and value <= 0:
            continue
        distance = max(value, 1 / value) if key == IMPACT else abs(value)
        distances[facet][key] = max(distances[facet].get(key, 0.0), distance)

    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for facet, of_facet in distances.items():
        found[facet] = {
            key: {"lower": 1 / distance if key == IMPACT else None if CATALOGUE[key].lowest == 0 else -distance, "upper": distance}
            for key, distance in of_facet.items()
        }
    return found


def _metrics_of(constraints: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for part in _RESULTS:
        results = constraints.get(part)
        facets = results.get("facets") if isinstance(results, dict) else None
        for name, values in facets.items() if isinstance(facets, dict) else ():
            for one in values if isinstance(values, list) else ():
                metrics = one.get("metrics") if isinstance(one, dict) else None
                for metric in metrics if isinstance(metrics, list) else ():
                    if isinstance(metric, dict):
                        yield name, metric
