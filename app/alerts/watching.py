"""Decides whether checks still measure the subject of an alert."""

from dataclasses import dataclass

from ..checks.evidence import COPIED
from ..checks.picking import stored_on
from ..domain.alerts import AlertSubject
from ..domain.checks import DataSet
from ..domain.comparisons import find_comparison, split_group
from ..domain.mitigation import MitigationSettings
from ..domain.monitors import Monitor
from ..domain.values import label_of

_MITIGATED = (DataSet.DEBIASED, DataSet.DEBIASED_FEEDBACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """State that decides about a deployment's checks; monitor None: there are none."""

    monitor: Monitor | None
    has_endpoint: bool
    mitigation: MitigationSettings


def is_watched(subject: AlertSubject, watch: Watch) -> bool:
    """Returns whether checks can still measure the subject. Missing labels or records may come."""
    monitor = watch.monitor
    if monitor is None or subject.data is None:
        return monitor is not None
    is_unscored = subject.data in COPIED and not watch.has_endpoint
    is_unmitigated = subject.data in _MITIGATED and subject.attribute is not None and not watch.mitigation.mitigates(subject.attribute)
    if is_unscored or is_unmitigated or subject.metric not in {metric.key for metric in stored_on(monitor, subject.data)}:
        return False
    if subject.attribute is None:
        return True
    comparison = find_comparison(monitor, subject.attribute)
    if comparison is None or subject.group is None:
        return comparison is not None
    members = comparison.members(monitor)
    if len(members) == 1:
        return subject.group in {label_of(value) for value in members[0].monitored}
    return bool(split_group(subject.group, members))
