"""A group that a scan found becomes an attribute of the monitor's next version.

Its evidence begins with later records: those of the scan say more than later ones will.
"""

from dataclasses import replace

from ...base.errors import Conflict, InvalidInput
from ...domain.group_rules import FoundBy, GroupRule
from ...domain.monitor import DEFAULT_THRESHOLD, Monitor, MonitoredAttribute
from ...domain.ruled_attributes import MAX_CONDITIONS
from ...statistics.measures.worst_group import mirror_ratio
from .scan_queries import SubgroupScan, read_result


def read_found_group(scan: SubgroupScan) -> tuple[GroupRule, FoundBy]:
    """Raises Conflict: the scan found no group."""
    result = read_result(scan)
    if result is None or result.group is None:
        raise Conflict("The scan found no group that could be watched.")
    return result.group.rule, FoundBy(scan_id=scan.id, subsets=result.subsets, p_value=result.p_value)


def watch_found_group(monitor: Monitor, rule: GroupRule, found_by: FoundBy, *, name: str | None) -> Monitor:
    """Monitor with an attribute of that name for the rule, unless it watches it already.

    Raises:
        Conflict: the rule has more conditions than one may have.
        InvalidInput: no search has these numbers.
    """
    problem = find_watching_problem(rule)
    if problem is not None:
        raise Conflict(problem)
    if found_by.subsets < 1:
        raise InvalidInput(
            "search.subsets",
            f"must be the number of groups that were searched, 1 or more, found {found_by.subsets}",
        )
    if not 0 <= found_by.p_value <= 1:
        raise InvalidInput("search.p_value", f"must be a number from 0 to 1, found {found_by.p_value}")
    if find_watched(monitor, rule) is not None:
        return monitor
    attribute = MonitoredAttribute.of_rule(
        name or choose_name(monitor, rule),
        rule,
        upper_threshold=mirror_ratio(DEFAULT_THRESHOLD),
        found_by=found_by,
    )
    return replace(monitor, attributes=(*monitor.attributes, attribute))


def find_watching_problem(rule: GroupRule) -> str | None:
    if len(rule.features) <= MAX_CONDITIONS:
        return None
    conditions = (
        f"The group has conditions on {len(rule.features)} columns, and a monitor takes at most "
        f"{MAX_CONDITIONS}"
    )
    return f"{conditions}. Request a scan of fewer columns."


def find_watched(monitor: Monitor | None, rule: GroupRule) -> MonitoredAttribute | None:
    return next(
        (
            attribute
            for attribute in (() if monitor is None else monitor.attributes)
            if attribute.rule == rule
        ),
        None,
    )


def choose_name(monitor: Monitor, rule: GroupRule) -> str:
    names = {attribute.feature for attribute in monitor.attributes}
    name = f"group by {', '.join(rule.features)}"
    return (
        name
        if name not in names
        else next(f"{name} ({no})" for no in range(2, len(names) + 3) if f"{name} ({no})" not in names)
    )
