"""What is worth telling people about a deployment: rules, and the alerts they open. Refusals are in `alert_rules.py`."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from app.domain.checks import DataSet, Scope

DEFAULT_REMIND_AFTER_HOURS = 24


class RuleKind(StrEnum):
    """What a rule looks at."""

    VERDICT = "verdict"
    STALE_DATA = "stale_data"
    FAILED_CHECKS = "failed_checks"
    ENDPOINT_ERRORS = "endpoint_errors"


class AlertingVerdict(StrEnum):
    """The verdicts that a rule may be about."""

    UNFAIR = "unfair"
    SUSPECTED = "suspected"


class AlertState(StrEnum):
    """Where an alert stands. Open and acknowledged ones are not over; acknowledged ones are not reminded of."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class Resolution(StrEnum):
    """Why an alert is over: what it was about has passed, or nobody asks about it any more."""

    RECOVERED = "recovered"
    NO_LONGER_WATCHED = "no_longer_watched"
    RULE_CHANGED = "rule_changed"
    RULE_DISABLED = "rule_disabled"
    RULE_DELETED = "rule_deleted"


class Event(StrEnum):
    """What a notification tells of an alert; `test` is of none."""

    OPENED = "opened"
    REMINDED = "reminded"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCondition:
    """A metric is outside its limits in so many checks in a row. `attributes` None = all; `scope` is `group` or `worst`."""

    verdicts: tuple[AlertingVerdict, ...] = (AlertingVerdict.UNFAIR,)
    data: tuple[DataSet, ...] = (DataSet.PAYLOAD, DataSet.BALANCED)
    metrics: tuple[str, ...] = ("disparate_impact",)
    attributes: tuple[str, ...] | None = None
    scope: Scope = Scope.GROUP
    checks_in_a_row: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleDataCondition:
    """No payload record was logged for so many hours."""

    hours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedChecksCondition:
    """So many checks in a row failed, whatever the cause."""

    checks_in_a_row: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointErrorsCondition:
    """So many checks in a row failed because the model's endpoint gave no usable predictions."""

    checks_in_a_row: int = 1


Condition: TypeAlias = VerdictCondition | StaleDataCondition | FailedChecksCondition | EndpointErrorsCondition

KINDS: dict[type[Condition], RuleKind] = {
    VerdictCondition: RuleKind.VERDICT,
    StaleDataCondition: RuleKind.STALE_DATA,
    FailedChecksCondition: RuleKind.FAILED_CHECKS,
    EndpointErrorsCondition: RuleKind.ENDPOINT_ERRORS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleContent:
    """What a person says of a rule. `channels` are the ids of those that are told; `remind_after_hours` None = never."""

    name: str
    condition: Condition
    remind_after_hours: int | None = DEFAULT_REMIND_AFTER_HOURS
    channels: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def kind(self) -> RuleKind:
        """What the rule looks at."""
        return KINDS[type(self.condition)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A stored rule. `version` grows with every change of content."""

    no: int
    id: str
    deployment_no: int
    version: int
    content: RuleContent
    created_at: datetime
    updated_at: datetime


DEFAULT_RULE_ID = "unfair"
DEFAULT_RULE = RuleContent(name="Unfair outcomes", condition=VerdictCondition())
"""What every deployment starts with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What one alert is about: a measurement's place, or nothing narrower than the deployment."""

    data: DataSet | None = None
    metric: str | None = None
    attribute: str | None = None
    group: str | None = None


WHOLE_DEPLOYMENT = Subject()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert, from its opening to its resolution.

    `facts` hold everything that a notification says of it: `sentence`, `at`, `since`, `check_id`, `checks_in_a_row`; of a verdict
    also `value`, `lower`, `upper`, `n`, `verdict`, `lower_limit`, `upper_limit` and the `details` the sentence was made of.
    `rule_no` is None once the rule is deleted; `rule_id` and `rule_name` stay.
    """

    no: int
    id: str
    deployment_no: int
    deployment_id: str
    deployment_name: str
    rule_no: int | None
    rule_id: str
    rule_name: str
    kind: RuleKind
    subject: Subject
    facts: dict[str, object]
    opened_at: datetime
    last_seen_at: datetime
    reminded_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    note: str | None
    resolved_at: datetime | None
    resolution: Resolution | None

    @property
    def state(self) -> AlertState:
        """Where it stands."""
        if self.resolved_at is not None:
            return AlertState.RESOLVED
        return AlertState.OPEN if self.acknowledged_at is None else AlertState.ACKNOWLEDGED
