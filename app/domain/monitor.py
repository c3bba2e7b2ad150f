"""The configuration of a deployment's fairness monitor."""

from dataclasses import field, replace
from enum import StrEnum
from typing import Any

from ..base.frozen import frozen
from ..base.values import GroupValue
from .deployment import Column, FieldKind, FieldType, RecordSchema
from .display_names import DisplayNames
from .group_rules import ALL_OTHERS, FoundBy, GroupRule
from .outcome import OutcomeRule

DEFAULT_THRESHOLD = 0.8
"""The four-fifths rule, as OpenScale defaults it."""

DRAWS_PER_ROW = 2
"""Copies per source record and target range of a numeric attribute."""


class Schedule(StrEnum):
    """The times at which checks run by themselves. `BATCH`: a partition of files is checked as a whole when its files came or changed.

    Only deployments whose records lie in files have other schedules than `HOURLY` and `OFF`.
    """

    HOURLY = "hourly"
    DAILY = "daily"
    BATCH = "batch"
    OFF = "off"


@frozen(kw_only=True)
class Limits:
    """The range in which a metric counts as fair: `lower <= value <= upper`; an absent side is open."""

    lower: float | None = None
    upper: float | None = None


@frozen(kw_only=True)
class MonitoredAttribute:
    """One watched attribute. `reference` None = every other value seen; `metric_limits` overrides per metric key.

    `correlated_features` are those that copies of a meta field change instead of it. With a `rule`, `feature` is the attribute's name, and
    the rule says of each record whether it is in the monitored group or among all others; such an attribute has no copies. `found_by` is
    the scan that found the group.
    """

    feature: str
    monitored: tuple[GroupValue, ...]
    reference: tuple[GroupValue, ...] | None = None
    threshold: float = DEFAULT_THRESHOLD
    upper_threshold: float | None = None
    metric_limits: tuple[tuple[str, Limits], ...] = ()
    correlated_features: tuple[str, ...] = ()
    rule: GroupRule | None = None
    found_by: FoundBy | None = None

    @classmethod
    def of_rule(cls, name: str, rule: GroupRule, **members: Any) -> "MonitoredAttribute":  # noqa: ANN401 - the other members
        return cls(feature=name, monitored=(rule.label,), reference=(ALL_OTHERS,), rule=rule, **members)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.feature,) if self.rule is None else self.rule.features

    def column_in(self, schema: RecordSchema) -> Column | None:
        """Returns the column whose values are the groups', of a rule one that no record has; None if the schema lacks what is read."""
        if self.rule is None:
            return schema.column(self.feature)
        if any(schema.column(name) is None for name in self.columns):
            return None
        return Column(name=self.feature, type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


LABEL_HORIZON_HOURS = 720
FALSE_ALARM_HOURS = 8760


@frozen(kw_only=True)
class EvidenceSettings:
    """Settings of the evidence over time.

    `person` is the column that says whose record it is: only a person's first record counts. All comparisons together raise at most one
    false alarm in `false_alarm_hours` on average.
    """

    person: str | None = None
    label_horizon_hours: int = LABEL_HORIZON_HOURS
    false_alarm_hours: int = FALSE_ALARM_HOURS


MAX_NIGHTLY_ROWS = 50_000


@frozen(kw_only=True)
class AttributionSettings:
    """Whether the gaps of each day are attributed in the night after it, and for about how many rows at most."""

    nightly: bool = False
    max_rows: int = MAX_NIGHTLY_ROWS


@frozen(kw_only=True)
class Monitor:
    """A deployment's fairness monitor. `version` grows with every change but one of `attribution` or `names`; each check records it.

    `metrics` None = the usual ones. `strata` is the column within whose values the conditional metrics compare.
    """

    outcomes: OutcomeRule
    attributes: tuple[MonitoredAttribute, ...]
    intersections: tuple[tuple[str, ...], ...] = ()
    min_records: int = 100
    max_records: int = 10_000
    schedule: Schedule = Schedule.HOURLY
    metrics: tuple[str, ...] | None = None
    strata: str | None = None
    draws: int = DRAWS_PER_ROW
    seed: int = 0
    evidence: EvidenceSettings = EvidenceSettings()
    attribution: AttributionSettings = AttributionSettings()
    names: DisplayNames = field(default_factory=DisplayNames)
    version: int = 1

    def within(self, schema: RecordSchema) -> "Monitor":
        """Returns the monitor of the attributes whose columns the schema has."""
        attributes = tuple(attribute for attribute in self.attributes if attribute.column_in(schema) is not None)
        features = {attribute.feature for attribute in attributes}
        return replace(self, attributes=attributes, intersections=tuple(pair for pair in self.intersections if features.issuperset(pair)))
