"""Whether a deployment's checks still measure what an alert is about."""

from dataclasses import dataclass

from app.checks.evidence import COPIED
from app.checks.picking import picked_on
from app.domain.alerts import Subject
from app.domain.checks import DataSet
from app.domain.mitigation import MitigationSettings
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.texts import TOGETHER
from app.domain.values import label_of

_MITIGATED = (DataSet.DEBIASED, DataSet.DEBIASED_FEEDBACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What decides about a deployment's checks: its monitor (None: there are none), its mitigation, and whether copies can be scored."""

    monitor: Monitor | None
    has_endpoint: bool
    mitigation: MitigationSettings


def is_watched(subject: Subject, watch: Watch) -> bool:
    """Whether checks can still speak of it. That labels or records are missing now does not count: they may come."""
    monitor = watch.monitor
    if monitor is None or subject.data is None:
        return monitor is not None
    if subject.data in COPIED and not watch.has_endpoint:
        return False
    if subject.data in _MITIGATED and subject.attribute is not None and not watch.mitigation.mitigates(subject.attribute):
        return False
    if subject.metric not in {metric.key for metric in picked_on(monitor, subject.data)}:
        return False
    together = {TOGETHER.join(features): features for features in monitor.intersections}
    if subject.attribute is None:
        return True
    features = together.get(subject.attribute, (subject.attribute,))
    by_name = {attribute.feature: attribute for attribute in monitor.attributes}
    members = [by_name[feature] for feature in features if feature in by_name]
    return len(members) == len(features) and (subject.group is None or _has_group(members, subject.group))


def _has_group(members: list[MonitoredAttribute], group: str) -> bool:
    """Whether the attribute monitors the group; of attributes together, whether each knows its part of the label."""
    if len(members) == 1:
        return group in {label_of(value) for value in members[0].monitored}
    parts = group.split(TOGETHER)
    return len(parts) == len(members) and all(_knows(member, part) for member, part in zip(members, parts, strict=True))


def _knows(member: MonitoredAttribute, label: str) -> bool:
    # Where no reference is listed, every other value that is seen is one.
    return member.reference is None or label in {label_of(value) for value in (*member.monitored, *member.reference)}
