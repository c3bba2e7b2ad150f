"""Limits of a monitor that watch one side only, and the monitor that watches both."""

from dataclasses import replace

from ...base.values import frozen_by_name
from ...domain.monitor import Limits, Monitor
from ...statistics.catalogue import CATALOGUE
from ...statistics.measures.worst_group import both_sides, mirrored_ratio

THRESHOLDS_OF = "disparate_impact"
"""Metric that an attribute's thresholds apply to; other disparate impacts are compared with the same."""


@frozen_by_name
class MissingSide:
    """A lone limit of an attribute's metric, and the limits with its mirror image."""

    feature: str
    metric: str
    present: Limits
    complete: Limits


def missing_sides(monitor: Monitor | None) -> tuple[MissingSide, ...]:
    """Limits with one side only, in the order of the attributes."""
    sides = []
    for attribute in () if monitor is None else monitor.attributes:
        thresholds = Limits(lower=attribute.threshold, upper=attribute.upper_threshold)
        for metric, present in ((THRESHOLDS_OF, thresholds), *attribute.metric_limits):
            complete = _complete(metric, present)
            if complete != present:
                sides.append(
                    MissingSide(feature=attribute.feature, metric=metric, present=present, complete=complete)
                )
    return tuple(sides)


def watching_both_sides(monitor: Monitor) -> Monitor:
    """Monitor with the mirror image of each lone limit that is not so by its nature."""
    attributes = tuple(
        replace(
            attribute,
            upper_threshold=mirrored_ratio(attribute.threshold)
            if attribute.upper_threshold is None
            else attribute.upper_threshold,
            metric_limits=tuple(
                (metric, _complete(metric, limits)) for metric, limits in attribute.metric_limits
            ),
        )
        for attribute in monitor.attributes
    )
    return replace(monitor, attributes=attributes)


def _complete(metric: str, limits: Limits) -> Limits:
    lower, upper = both_sides(CATALOGUE[metric], (limits.lower, limits.upper))
    return Limits(lower=lower, upper=upper)
