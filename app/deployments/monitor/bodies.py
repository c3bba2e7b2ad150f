"""The fairness monitor as a body."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from ...base.errors import FieldProblem
from ...base.strict_json import JsonObject
from ...domain.group_rules import ALL_OTHERS
from ...domain.monitor import (
    DEFAULT_THRESHOLD,
    DRAWS_PER_ROW,
    FALSE_ALARM_HOURS,
    LABEL_HORIZON_HOURS,
    MAX_NIGHTLY_ROWS,
    MIN_FALSE_ALARM_HOURS,
    DisplayNames,
    GroupName,
    Monitor,
    MonitoredAttribute,
    OutcomeRule,
    Schedule,
)
from ...domain.monitor_rules import (
    MAX_ATTRIBUTED_ROWS,
    MAX_ATTRIBUTES,
    MAX_DRAWS,
    MAX_FALSE_ALARM_HOURS,
    MAX_LABEL_HORIZON_HOURS,
    MAX_RECORDS,
)
from ...domain.ruled_attributes import MAX_CONDITIONS, MAX_CONJUNCTIONS
from ...statistics.catalogue import CATALOGUE, DEFAULT_METRICS
from ...statistics.measures.worst_group import mirror_ratio
from ...web.body import (
    FromText,
    GroupValueJson,
    In,
    NextPageCursor,
    Out,
    PageOut,
    ScalarJson,
    example,
    read_from,
)
from .queries import PlacedMonitor, list_measured_keys

_EXAMPLE: JsonObject = {
    "favourable": ["No Risk"],
    "unfavourable": ["Risk"],
    "attributes": [
        {
            "feature": "Sex",
            "monitored": ["female"],
            "reference": ["male"],
            "threshold": 0.8,
            "upper_threshold": 1.25,
        },
        {
            "feature": "Age",
            "monitored": [[18, 25]],
            "reference": [[26, 75]],
            "threshold": 0.8,
            "upper_threshold": 1.25,
        },
    ],
    "intersections": [["Sex", "Age"]],
    "min_records": 100,
    "names": {
        "favourable": "rated No Risk",
        "groups": {
            "Sex": {"female": "women", "male": "men"},
            "Age": {"18-25": "under 26", "26-75": "over 25"},
        },
    },
}
_STORED: JsonObject = {
    **_EXAMPLE,
    "version": 1,
    "attributes": [
        {**attribute, "metric_limits": {}, "correlated_features": [], "rule": None, "found_by": None}
        for attribute in _EXAMPLE["attributes"]
    ],
    "max_records": 10_000,
    "schedule": "hourly",
    "metrics": None,
    "measured_metrics": [key for key in CATALOGUE if key in DEFAULT_METRICS],
    "strata": None,
    "draws": DRAWS_PER_ROW,
    "seed": 0,
    "evidence": {
        "person": None,
        "label_horizon_hours": LABEL_HORIZON_HOURS,
        "false_alarm_hours": FALSE_ALARM_HOURS,
        "each_record_another_person": False,
        "declared_by": None,
        "declared_on": None,
    },
    "attribution": {"nightly": False, "max_rows": MAX_NIGHTLY_ROWS},
    "warnings": [],
}

_NOT_EMPTY_LIST: JsonObject = {"minItems": 1}

FeatureName = Annotated[str, Field(examples=["Sex"])]
ColumnName = Annotated[str, Field(examples=["Job"])]
MetricKey = Annotated[str, Field(examples=["disparate_impact"])]


class LimitsIn(In):
    """The range in which one metric counts as fair; an absent side is open."""

    lower: float | None = None
    upper: float | None = None


class IntervalIn(In):
    """The numbers above `above` and up to, including, `up_to`; an end that is left out is open."""

    above: float | None = None
    up_to: float | None = None


class ConditionIn(In):
    """A requirement of a rule for one column: one of `values`, a number in one of `intervals`, or any
    value but those `excluded`.
    """

    feature: ColumnName
    values: list[ScalarJson] = Field(default_factory=list)
    intervals: list[IntervalIn] = Field(default_factory=list)
    excluded: list[ScalarJson] | None = None
    """An empty list takes any value."""

    or_missing: bool = False
    """Records without a value meet it, too."""


class GroupRuleIn(In):
    """Who is in the monitored group: a record that meets every condition of one of the lists. All other
    records are the reference group.
    """

    any_of: list[list[ConditionIn]] = Field(
        json_schema_extra={"minItems": 1, "maxItems": MAX_CONJUNCTIONS},
        description=f"Each list has at most {MAX_CONDITIONS} conditions.",
    )


class FoundByIn(In):
    """The search that found a group."""

    scan_id: str | None = None
    """The scan; null if a file was searched."""

    subsets: int
    """The groups among which it was found."""

    p_value: float
    """The share of searches of random outcomes that find as much."""


class AttributeIn(In):
    """One watched attribute: a feature of the model, a meta field that is logged but never sent to the
    model, or a group by a rule.
    """

    feature: FeatureName
    """The column; with a rule, a name for the attribute that no column has."""

    monitored: list[GroupValueJson] = Field(default_factory=list, json_schema_extra=_NOT_EMPTY_LIST)
    """Values of the monitored groups, or closed ranges of a numeric feature. Left out with a rule."""

    reference: list[GroupValueJson] | None = None
    """The reference group. Left out: every other value that is seen. Required for ranges."""

    threshold: float = Field(DEFAULT_THRESHOLD, json_schema_extra={"exclusiveMinimum": 0, "maximum": 1})
    """The lowest fair ratio."""

    upper_threshold: float | None = None
    """The highest fair ratio, at least 1. Left out: 1/threshold, which watches the reference group as
    closely as the monitored one (1.25 mirrors 0.8). Null: only one side is watched, and a ratio beyond
    1/threshold is `unwatched`, not `fair`."""

    metric_limits: dict[str, LimitsIn] = Field(default_factory=dict)
    """Limits of single metrics, by their key."""

    correlated_features: list[FeatureName] = Field(default_factory=list)
    """Of a meta field: the features that its copies change instead, redrawn together from the training
    data. See `GET /v1/deployments/{deployment_id}/correlated-features`. Left out: its records have no
    copies."""

    rule: GroupRuleIn | None = None
    """A group over several columns, which no column names. The model is not asked about copies of its
    records."""

    found_by: FoundByIn | None = None
    """As it was read, or left out: `POST …/fairness-monitor/found-groups` sets it, and the rule keeps it."""

    def to_domain(self) -> MonitoredAttribute:
        members: dict[str, object] = {"metric_limits": sorted(self.metric_limits.items())}
        if "upper_threshold" not in self.model_fields_set:
            members["upper_threshold"] = mirror_ratio(self.threshold)
        attribute = self.read_as(MonitoredAttribute, **members)
        if attribute.rule is None:
            return attribute
        return replace(
            attribute,
            monitored=attribute.monitored or (attribute.rule.label,),
            reference=attribute.reference or (ALL_OTHERS,),
        )


class WhoseRecordsIn(In):
    """Whose the records are. Until it is said, evidence counts at a tenth."""

    person: ColumnName | None = None
    """The column with a person's id. Only a person's first record of a model revision counts."""

    each_record_another_person: bool = False
    """Declares, with the caller's name and the day, that no two records are of one person. Not together
    with `person`."""


class EvidenceSettingsIn(WhoseRecordsIn):
    """Settings of the evidence over time. Members that are left out get their default."""

    label_horizon_hours: int = Field(
        LABEL_HORIZON_HOURS, json_schema_extra={"minimum": 1, "maximum": MAX_LABEL_HORIZON_HOURS}
    )
    """A label counts if it arrives within these hours of its record; then the hour of the record is
    complete."""

    false_alarm_hours: int = Field(
        FALSE_ALARM_HOURS,
        json_schema_extra={"minimum": MIN_FALSE_ALARM_HOURS, "maximum": MAX_FALSE_ALARM_HOURS},
    )
    """All comparisons together raise at most one false alarm in these hours on average; 8,760 are a year.
    Who scores once a month may set 240. Fixed from the first block of evidence on."""

    declared_by: str | None = None
    """Not read: it is the caller who declares."""

    declared_on: str | None = None
    """Not read, as well."""


class AttributionSettingsIn(In):
    """Attribution of each day's gaps in the night after it. Members that are left out get their default."""

    nightly: bool = False
    """True: queued once a night, at midnight UTC, for the day that has ended."""

    max_rows: int = Field(MAX_NIGHTLY_ROWS, json_schema_extra={"minimum": 1, "maximum": MAX_ATTRIBUTED_ROWS})
    """Max rows a night that the model is asked about; fewer pairs are compared where all of them would
    cost more."""


GroupNames = dict[FeatureName, dict[str, str]]


class DisplayNamesIn(In):
    """Names for people, used in sentences and tables. What has no name is shown as it is logged."""

    favourable: str | None = Field(None, examples=["rated No Risk"])
    """Continues "they are": `rated No Risk`."""

    groups: GroupNames = Field(default_factory=dict)
    """Names by feature and group, such as `women` for `female` of `Sex`. A range is written `18-25`.
    Names of several features are joined: `women under 26`."""

    def to_domain(self) -> DisplayNames:
        groups = [
            GroupName(feature=feature, group=group, name=name)
            for feature, names in self.groups.items()
            for group, name in names.items()
        ]
        return DisplayNames(favourable=self.favourable, groups=tuple(groups))


class MonitorIn(In):
    """The configuration of a deployment's fairness monitor."""

    model_config = example(_EXAMPLE)

    favourable: list[GroupValueJson] = Field(json_schema_extra=_NOT_EMPTY_LIST)
    """Favourable outcomes: class values, or closed ranges for regression. Text never counts under numbers."""

    unfavourable: list[GroupValueJson] = Field(json_schema_extra=_NOT_EMPTY_LIST)
    """Unfavourable outcomes. Predictions in neither list are unclassified."""

    attributes: list[AttributeIn] = Field(json_schema_extra={"minItems": 1, "maxItems": MAX_ATTRIBUTES})
    intersections: list[list[FeatureName]] = Field(default_factory=list)
    """Pairs or triples of attributes to be watched together."""

    min_records: int = Field(100, json_schema_extra={"minimum": 1, "maximum": MAX_RECORDS})
    """With fewer records than this, a check ends as insufficient_data."""

    max_records: int = Field(10_000, json_schema_extra={"minimum": 1, "maximum": MAX_RECORDS})
    """Of more records than this, a check reads the newest."""

    schedule: FromText[Schedule] = Schedule.HOURLY
    metrics: list[MetricKey] | None = Field(None, json_schema_extra=_NOT_EMPTY_LIST)
    """Keys of the metrics, see `GET /v1/metrics`. Left out: the usual ones and, with `strata`, the
    conditional ones."""

    strata: ColumnName | None = None
    """The column within whose values the conditional metrics compare like with like."""

    draws: int = Field(DRAWS_PER_ROW, json_schema_extra={"minimum": 1, "maximum": MAX_DRAWS})
    """Copies per record and target range of a numeric attribute; one with correlated features has one
    copy each."""

    seed: int = Field(0, json_schema_extra={"minimum": -(2**63), "maximum": 2**63 - 1})
    """Seed of the draws; a signed 64-bit integer."""

    evidence: EvidenceSettingsIn = Field(default_factory=EvidenceSettingsIn)
    """Settings of the evidence over time, see `GET /v1/deployments/{deployment_id}/evidence`."""

    attribution: AttributionSettingsIn = Field(default_factory=AttributionSettingsIn)
    """Attribution of the gaps, every night, see `GET /v1/deployments/{deployment_id}/attributions`. A
    change of it makes no new version. What a night costs is said beforehand by `POST …/attributions`
    with `dry_run`."""

    names: DisplayNamesIn = Field(default_factory=DisplayNamesIn)
    """Names of groups and of the favourable outcome. A change of them makes no new version."""

    def to_domain(self) -> Monitor:
        attributes = [attribute.to_domain() for attribute in self.attributes]
        return self.read_as(
            Monitor, outcomes=self.read_as(OutcomeRule), attributes=attributes, names=self.names.to_domain()
        )


class FileSearchIn(In):
    """Result of a search of a file, as `evenhand groups` prints it."""

    rule: GroupRuleIn
    subsets: int = Field(json_schema_extra={"minimum": 1})
    """The groups that were searched."""

    p_value: float = Field(json_schema_extra={"minimum": 0, "maximum": 1})
    """The share of searches of random outcomes that find as much."""


class FoundGroupIn(In):
    """The group to be watched: that of a scan, or of a search of a file."""

    model_config = example({"scan_id": "8c4f0b36-4d5e-4a1f-9a53-0c7f5f0c1f6e"})

    scan_id: str | None = None
    """The scan that found it."""

    search: FileSearchIn | None = None
    """In the place of a scan."""

    name: str | None = None
    """Names the attribute. Left out: its columns."""


class BothSidesIn(In):
    """The version of the monitor that the caller looked at; another one is refused."""

    model_config = example({"version": 1})

    version: int


class LimitsOut(Out):
    """The range in which one metric counts as fair; null is an open side."""

    lower: float | None
    upper: float | None


class IntervalOut(Out):
    """The numbers above `above` and up to, including, `up_to`; null is an open end."""

    above: float | None
    up_to: float | None


class ConditionOut(Out):
    """A requirement of a rule for one column."""

    feature: ColumnName
    values: list[ScalarJson]
    intervals: list[IntervalOut]
    excluded: list[ScalarJson] | None
    or_missing: bool


class GroupRuleOut(Out):
    """Who is in the monitored group."""

    any_of: list[list[ConditionOut]]


class FoundByOut(Out):
    """The search that found a group."""

    scan_id: str | None
    """The scan; null if a file was searched."""

    subsets: int
    """The groups among which it was found."""

    p_value: float
    """The share of searches of random outcomes that find as much."""


class AttributeOut(Out):
    """One watched attribute."""

    feature: FeatureName
    monitored: list[GroupValueJson]
    reference: list[GroupValueJson] | None
    threshold: float
    upper_threshold: float | None
    metric_limits: Annotated[dict[str, LimitsOut], BeforeValidator(dict)]
    correlated_features: list[FeatureName]
    rule: GroupRuleOut | None
    found_by: FoundByOut | None
    """Of a group that a search found."""


class MonitorWarning(Out):
    """One doubtful field of a configuration that may be stored all the same."""

    field: str = Field(examples=["favourable[0]", "attributes[0].correlated_features[1]"])
    message: str = Field(
        examples=["'No Rsik' was never seen in the training data; seen there: 'Risk' (700), 'No Risk' (300)"]
    )


class EvidenceSettingsOut(Out):
    """Settings of the evidence over time."""

    person: ColumnName | None
    label_horizon_hours: int
    false_alarm_hours: int
    each_record_another_person: bool
    declared_by: str | None
    """Who declared that each record is another person."""

    declared_on: str | None
    """The day of that."""


class AttributionSettingsOut(Out):
    """Attribution of each day's gaps in the night after it."""

    nightly: bool
    max_rows: int


def _group_by_feature(names: Sequence[GroupName]) -> dict[str, dict[str, str]]:
    by_feature: dict[str, dict[str, str]] = {}
    for group_name in names:
        by_feature.setdefault(group_name.feature, {})[group_name.group] = group_name.name
    return by_feature


class DisplayNamesOut(Out):
    """Names for people."""

    favourable: str | None
    groups: Annotated[GroupNames, BeforeValidator(_group_by_feature)]


class MonitorOut(Out):
    """The stored configuration. `version` grows with every change but one of `attribution` or `names`;
    each check records it.
    """

    model_config = example(_STORED)

    version: int
    favourable: list[GroupValueJson] = read_from("outcomes.favourable")
    unfavourable: list[GroupValueJson] = read_from("outcomes.unfavourable")
    attributes: list[AttributeOut]
    intersections: list[list[FeatureName]]
    min_records: int
    max_records: int
    schedule: Schedule
    metrics: list[MetricKey] | None
    measured_metrics: list[MetricKey]
    """The metrics that checks measure: `metrics`, or the usual ones where that is null."""

    strata: ColumnName | None
    draws: int
    seed: int
    evidence: EvidenceSettingsOut
    attribution: AttributionSettingsOut
    names: DisplayNamesOut
    warnings: list[MonitorWarning]
    """Doubtful fields, none of which is refused: outcomes and groups that neither the training data nor
    the newest records hold, and correlated features that are no stronger than chance. Not part of what is
    set."""

    @classmethod
    def of(cls, monitor: Monitor, warnings: Sequence[FieldProblem] = ()) -> "MonitorOut":
        return cls.from_object(monitor, warnings=warnings, measured_metrics=list_measured_keys(monitor))


class ListedMonitorOut(Out):
    """A monitor in a list, without warnings."""

    deployment_id: str
    monitor: MonitorOut

    @classmethod
    def of(cls, placed: PlacedMonitor) -> "ListedMonitorOut":
        return cls(deployment_id=placed.deployment_id, monitor=MonitorOut.of(placed.monitor))


class MonitorPage(PageOut):
    """Some monitors, those of the oldest deployments first."""

    model_config = example(
        {"fairness_monitors": [{"deployment_id": "credit-risk", "monitor": _STORED}], "next_cursor": None}
    )

    fairness_monitors: list[ListedMonitorOut]
    next_cursor: NextPageCursor
