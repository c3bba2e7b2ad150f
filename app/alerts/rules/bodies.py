"""Alert rules as bodies."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from ...database.binary_rows import plain_json
from ...domain.alert import (
    CONDITIONS,
    DEFAULT_REMIND_AFTER_HOURS,
    AlertingVerdict,
    EvidenceCondition,
    Rule,
    RuleContent,
    RuleKind,
    VerdictCondition,
)
from ...domain.check import DataSet, Scope
from ...web.body import FollowingCursor, FromText, In, Out, PageOut, example
from ...web.route_declarations import ID_PATTERN
from .rules import MAX_HOURS, MAX_IN_A_ROW

_CONDITION = {
    "kind": "verdict",
    "verdicts": ["unfair"],
    "data": ["as_logged", "counterfactual"],
    "metrics": ["disparate_impact"],
    "attributes": ["Sex"],
    "scope": "group",
    "checks_in_a_row": 3,
}
_RULE = {
    "name": "Unfair to a sex for three hours",
    "condition": _CONDITION,
    "remind_after_hours": 24,
    "channels": [],
    "enabled": True,
}

_DEFAULT = VerdictCondition()
_Row = Annotated[
    int,
    Field(
        json_schema_extra={"minimum": 1, "maximum": MAX_IN_A_ROW},
        description="Number of checks in a row in which this must hold.",
    ),
]
_HOURS: dict[str, Any] = {"minimum": 1, "maximum": MAX_HOURS}


class VerdictConditionIn(In):
    """A metric is judged outside its limits. Members that are left out get their default."""

    kind: Literal["verdict"]
    verdicts: list[FromText[AlertingVerdict]] = Field(default=list(_DEFAULT.verdicts))
    """`unfair`: the whole interval is outside the limits. `suspected`: the value is, but the interval
    overlaps them."""

    data: list[FromText[DataSet]] = Field(default=list(_DEFAULT.data))
    """On which data sets."""

    metrics: list[str] = Field(default=list(_DEFAULT.metrics))
    """Keys of the catalogue. Only metrics that have a limit are judged at all."""

    attributes: list[str] | None = None
    """Attributes, or intersections as their names joined by ' × '. Left out: all that the monitor has."""

    scope: FromText[Scope] = _DEFAULT.scope
    """`group`: each group. `worst`: the group furthest out of an attribute, whichever it is."""

    checks_in_a_row: _Row = 1


class EvidenceConditionIn(In):
    """Enough evidence has accumulated that a metric is beyond a limit. Members that are left out get their
    default.
    """

    kind: Literal["evidence"]
    data: list[FromText[DataSet]] = Field(default=list(EvidenceCondition().data))
    """On which data sets: as_logged, counterfactual, labelled."""

    metrics: list[str] | None = None
    """Keys of the catalogue. Left out: all that evidence is collected on."""

    attributes: list[str] | None = None
    """Attributes, or intersections as their names joined by ' × '. Left out: all that the monitor has."""


class StaleDataConditionIn(In):
    """No payload record is logged."""

    kind: Literal["stale_data"]
    hours: int | None = Field(default=None, json_schema_extra=_HOURS)
    """For how many hours. Null: for twice the usual gap between records."""


class FailedChecksConditionIn(In):
    """Checks fail, whatever the cause, or cannot ask the model, so that counterfactual figures are
    missing.
    """

    kind: Literal["failed_checks"]
    checks_in_a_row: _Row = 1


class LateLabelsConditionIn(In):
    """Labels that are due by their usual delay are missing."""

    kind: Literal["late_labels"]


AnyCondition = Annotated[
    VerdictConditionIn
    | EvidenceConditionIn
    | StaleDataConditionIn
    | FailedChecksConditionIn
    | LateLabelsConditionIn,
    Field(discriminator="kind", description="When an alert is opened."),
]
ChannelId = Annotated[str, Field(pattern=ID_PATTERN, examples=["risk-team"])]


class AlertRuleIn(In):
    """An alert rule. Members that are left out get their default."""

    model_config = example(_RULE)

    name: str
    """For people."""

    condition: AnyCondition
    remind_after_hours: int | None = Field(default=DEFAULT_REMIND_AFTER_HOURS, json_schema_extra=_HOURS)
    """Hours between reminders of an open alert that is not acknowledged; null for none."""

    channels: list[ChannelId] = Field(default_factory=list)
    """The ids of the channels that are notified."""

    enabled: bool = True
    """A rule that is switched off opens nothing, and its alerts are resolved."""

    def to_domain(self) -> RuleContent:
        return RuleContent(
            name=self.name,
            condition=self.condition.read_as(CONDITIONS[RuleKind(self.condition.kind)]),
            remind_after_hours=self.remind_after_hours,
            channels=tuple(self.channels),
            enabled=self.enabled,
        )


class AlertRuleOut(Out):
    """A stored alert rule."""

    model_config = example(
        {
            "id": "unfair-to-a-sex",
            "version": 2,
            **_RULE,
            "created_at": "2026-11-20T15:00:00Z",
            "updated_at": "2026-11-21T09:30:00Z",
        }
    )

    id: str
    version: int
    """Grows with every change of content."""

    name: str
    condition: AnyCondition
    remind_after_hours: int | None
    channels: list[ChannelId]
    """Sorted."""

    enabled: bool
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, rule: Rule) -> "AlertRuleOut":
        return cls.from_object(rule, **rule_json(rule.content))


class AlertRulePage(PageOut):
    """Alert rules, oldest first."""

    alert_rules: list[AlertRuleOut]
    next_cursor: FollowingCursor


def rule_json(content: RuleContent) -> dict[str, Any]:
    document: dict[str, Any] = plain_json(content)
    return document | {"condition": {"kind": content.kind.value, **document["condition"]}}
