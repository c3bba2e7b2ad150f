"""A figure whose definition a new version of the monitor keeps goes on with its evidence."""

from dataclasses import asdict
from typing import Any

from ..domain.monitors import Monitor, MonitoredAttribute
from ..store.deployments.monitors import encode_rule, list_values
from .figures import WatchedMetric

Definition = dict[str, Any]


def define_figures(monitor: Monitor, watched: WatchedMetric) -> Definition:
    """JSON of what a metric's figures compare, each with its group.

    Labels name values within one attribute, so the group's label and this are the whole definition.
    """
    definition: Definition = {
        "favourable": list_values(monitor.outcomes.favourable),
        "unfavourable": list_values(monitor.outcomes.unfavourable),
        "limits": [[limit.direction.value, limit.value] for limit in watched.limits],
        "attributes": [_define_attribute(attribute) for attribute in watched.comparison.members(monitor)],
        "evidence": asdict(monitor.evidence),
    }
    if watched.definition.is_paired:
        (attribute,) = watched.comparison.members(monitor)
        copies = {"draws": monitor.draws, "seed": monitor.seed, "correlated_features": list(attribute.correlated_features)}
        definition["copies"] = copies
    return definition


def _define_attribute(attribute: MonitoredAttribute) -> Definition:
    definition: Definition = {"feature": attribute.feature}
    if attribute.rule is not None:
        return definition | {"rule": encode_rule(attribute.rule)}
    if attribute.reference is None:
        return definition | {"all_but": list_values(attribute.monitored)}
    return definition | {"reference": list_values(attribute.reference)}
