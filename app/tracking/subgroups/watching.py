"""Watch from now on: a group that a scan found becomes an attribute of the monitor's next version.

Its evidence begins with later records: those that the scan chose it on say more than later ones will.
"""

from dataclasses import replace

from ...domain.group_rules import Condition, FoundBy, GroupRule
from ...domain.monitors import DEFAULT_THRESHOLD, Monitor, MonitoredAttribute
from ...domain.ruled_attributes import MOST_CONDITIONS
from ...errors import Conflict, InvalidInput
from ...metrics.sides import mirrored_ratio
from ...store.subgroups.scans import SubgroupScan
from .binning import Bins


def watch_found_group(monitor: Monitor, scan: SubgroupScan, *, name: str | None) -> Monitor:
    """Returns the monitor with an attribute of that name for the group that the scan found, or as it is if it watches the group.

    Raises:
        Conflict: the scan found no group, or one with more conditions than a rule may have.
    """
    rule = rule_of(scan)
    if rule is None:
        raise Conflict("The scan found no group that could be watched.")
    if len(rule.features) > MOST_CONDITIONS:
        searched = f"The group has conditions on {len(rule.features)} columns, and a monitor takes at most {MOST_CONDITIONS}"
        raise Conflict(f"{searched}. Request a scan of fewer columns.")
    if find_watched(monitor, scan) is not None:
        return monitor
    found_by = FoundBy(scan_id=scan.id, subsets=scan.result["subsets"], p_value=scan.result["p_value"]) if scan.result else None
    attribute = MonitoredAttribute.of_rule(
        name or _choose_name(monitor, rule), rule, upper_threshold=mirrored_ratio(DEFAULT_THRESHOLD), found_by=found_by
    )
    return replace(monitor, attributes=(*monitor.attributes, attribute))


def find_watched(monitor: Monitor, scan: SubgroupScan) -> MonitoredAttribute | None:
    """Returns the attribute by which the monitor watches the group that the scan found, if it does."""
    rule = rule_of(scan)
    return next((attribute for attribute in monitor.attributes if rule is not None and attribute.rule == rule), None)


def keep_origins(monitor: Monitor, before: Monitor | None) -> Monitor:
    """Returns the monitor in which a rule that stays is still said to be found by its scan.

    Raises:
        InvalidInput: another scan is said to have found it.
    """
    origins = {attribute.rule: attribute.found_by for attribute in (() if before is None else before.attributes)}
    for place, attribute in enumerate(monitor.attributes):
        if attribute.found_by is not None and (attribute.rule is None or attribute.found_by != origins.get(attribute.rule)):
            message = "must be left out, or be as it was read with the same rule: POST …/fairness-monitor/found-groups sets it"
            raise InvalidInput.of(f"attributes[{place}].found_by", message)
    attributes = (replace(one, found_by=origins.get(one.rule)) if one.rule is not None else one for one in monitor.attributes)
    return replace(monitor, attributes=tuple(attributes))


def rule_of(scan: SubgroupScan) -> GroupRule | None:
    """Returns the rule that puts the same records into the group as the scan did; None if it found none."""
    found = (scan.result or {}).get("values")
    if found is None or scan.bins is None:
        return None
    parts = zip(map(Bins.from_json, scan.bins), found, strict=True)
    conditions: list[Condition] = [bins.describe(places) for bins, places in parts if places is not None]
    return GroupRule((tuple(conditions),))


def _choose_name(monitor: Monitor, rule: GroupRule) -> str:
    """Returns a name for the attribute that no other one has."""
    taken, name = {attribute.feature for attribute in monitor.attributes}, f"group by {', '.join(rule.features)}"
    return name if name not in taken else next(f"{name} ({no})" for no in range(2, len(taken) + 3) if f"{name} ({no})" not in taken)
