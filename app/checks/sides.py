"""Which limits of a monitor watch one side only, and the monitor that watches both. Stores nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.domain.monitors import Limits, Monitor, MonitoredAttribute
from app.metrics.catalogue import CATALOGUE
from app.metrics.sides import both_sides, mirrored_ratio

THRESHOLDS_OF = "disparate_impact"
"""The metric that an attribute's thresholds are of; the other disparate impacts are held against the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSide:
    """One metric of an attribute with a lone limit: the limits that are set, and those with its mirror image."""

    feature: str
    metric: str
    present: Limits
    complete: Limits


def missing_sides(monitor: Monitor | None) -> tuple[MissingSide, ...]:
    """Returns what the monitor watches on one side only, in the order of its attributes; nothing where there is no monitor."""
    return () if monitor is None else tuple(side for attribute in monitor.attributes for side in _missing(attribute))


def watching_both_sides(monitor: Monitor) -> Monitor:
    """Returns the monitor with the mirror image of each lone limit; what has both sides, or one only by its nature, stays as it is."""
    return replace(monitor, attributes=tuple(_completed(attribute) for attribute in monitor.attributes))


def _missing(attribute: MonitoredAttribute) -> Iterator[MissingSide]:
    thresholds = Limits(lower=attribute.threshold, upper=attribute.upper_threshold)
    for metric, present in ((THRESHOLDS_OF, thresholds), *attribute.metric_limits):
        complete = _complete(metric, present)
        if complete != present:
            yield MissingSide(feature=attribute.feature, metric=metric, present=present, complete=complete)


def _completed(attribute: MonitoredAttribute) -> MonitoredAttribute:
    upper = attribute.upper_threshold
    return replace(
        attribute,
        upper_threshold=mirrored_ratio(attribute.threshold) if upper is None else upper,
        metric_limits=tuple((metric, _complete(metric, limits)) for metric, limits in attribute.metric_limits),
    )


def _complete(metric: str, limits: Limits) -> Limits:
    lower, upper = both_sides(CATALOGUE[metric], (limits.lower, limits.upper))
    return Limits(lower=lower, upper=upper)
