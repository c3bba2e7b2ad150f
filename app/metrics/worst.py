"""Which monitored value is the headline of an attribute: the one whose figure lies furthest to the unfair side of its limits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from app.metrics.catalogue.metric import Metric
from app.metrics.values import Measured, Value
from app.metrics.verdicts import MINIMUM_GROUP_SIZE

Limits: TypeAlias = tuple[float | None, float | None]
"""The lowest and the highest fair number of a metric; an absent side is open."""

AllLimits: TypeAlias = Mapping[str, Limits]
"""Limits by the metric's key; of a metric that is not there, those of the catalogue hold."""

DIGITS = 12
"""Figures that differ only behind these are equal: 0.8 - 0.5 and 0.5 - 0.2 are not, to a computer."""

NO_LIMITS: AllLimits = MappingProxyType({})


def headline(metric: Metric, results: Sequence[Measured], limits: AllLimits) -> list[Measured]:
    """The worst group's result again, as the attribute's headline; where none has a number, the first one's reason.

    The worst is the one furthest beyond the metric's limits (of ratios as a factor), or without any the one furthest from
    equality (of ratios the lowest). Values of fewer than `MINIMUM_GROUP_SIZE` records stand back while there are others, lest
    two odd records hide what happens to two hundred. The first of equals wins.
    """
    each = [result for result in results if result.scope == "group"]
    bounds = limits.get(metric.key, metric.limits)
    ranked = [
        (result.smallest_group < MINIMUM_GROUP_SIZE, round(-beyond_limits(result.number.value, metric, bounds), DIGITS), place)
        for place, result in enumerate(each)
        if isinstance(result.number, Value)
    ]
    if not ranked:
        return [replace(result, scope="worst", group=None) for result in each[:1]]
    worst = each[min(ranked)[2]]
    details = {**worst.details, "worst_group": worst.group, "chosen_from": len(ranked)}
    return [replace(worst, scope="worst", group=None, details=details)]


def beyond_limits(value: float, metric: Metric, limits: Limits) -> float:
    """How far beyond the limits, of ratios as the logarithm of a factor; negative inside. Without limits, how far from equality."""
    is_ratio = metric.order == "monitored / reference"
    # A limit of zero limits no ratio.
    lower, upper = (None if limit is None or (is_ratio and limit <= 0) else _scaled(limit, is_ratio=is_ratio) for limit in limits)
    number = _scaled(value, is_ratio=is_ratio)
    beyond = [*([] if upper is None else [number - upper]), *([] if lower is None else [lower - number])]
    return max(beyond, default=-number if is_ratio else abs(value - (metric.ideal or 0.0)))


def _scaled(value: float, *, is_ratio: bool) -> float:
    if not is_ratio:
        return value
    return math.log(value) if value > 0 else -math.inf
