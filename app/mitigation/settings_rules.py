"""Rules about a deployment's mitigation settings. Source: spec of the fairness check, section 8.

A monitor that changes later leaves the settings as they are: they go on for what is left of the attributes.
"""

from ..base.errors import FieldProblem
from ..domain.mitigation import MitigationSettings
from ..domain.monitor import Monitor
from ..domain.repeated_rules import check_names


def mitigation_problems(settings: MitigationSettings, monitor: Monitor) -> list[FieldProblem]:
    named = settings.attributes
    if named is None:
        return []
    if not named:
        return [
            FieldProblem(
                "attributes", "must list at least one attribute; leave it out for every monitored one"
            )
        ]
    monitored = {attribute.feature for attribute in monitor.attributes if attribute.rule is None}
    if len(named) > len(monitored):
        message = f"must list at most the {len(monitored)} monitored attributes, found {len(named):,}"
        return [FieldProblem("attributes", message)]
    unknown = "is not one of the monitor's attributes"
    return list(check_names("attributes[{}]", named, monitored, lambda _name: unknown))


def mitigated_attributes(settings: MitigationSettings, monitor: Monitor) -> tuple[str, ...]:
    return tuple(
        attribute.feature
        for attribute in monitor.attributes
        if attribute.rule is None and settings.mitigates(attribute.feature)
    )


def unused_attributes(settings: MitigationSettings, monitor: Monitor | None) -> tuple[str, ...]:
    monitored = {attribute.feature for attribute in monitor.attributes} if monitor is not None else set()
    return tuple(dict.fromkeys(name for name in settings.attributes or () if name not in monitored))
