"""Alerts of a deployment and the rules that open them."""

from datetime import datetime
from enum import StrEnum

from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name
from .check import DataSet, Scope

DEFAULT_REMIND_AFTER_HOURS = 24


class RuleKind(StrEnum):
    """The subject of a rule."""

    VERDICT = "verdict"
    EVIDENCE = "evidence"
    STALE_DATA = "stale_data"
    FAILED_CHECKS = "failed_checks"
    LATE_LABELS = "late_labels"


class AlertKind(StrEnum):
    """The subject of an alert: a group that is unfair, or one of the whole deployment."""

    UNFAIR = "unfair"
    SOME_GROUP = "some_group"
    STALE_DATA = "stale_data"
    FAILED_CHECKS = "failed_checks"
    LATE_LABELS = "late_labels"


class AlertingVerdict(StrEnum):
    """Verdicts that a rule may be about."""

    UNFAIR = "unfair"
    SUSPECTED = "suspected"


class AlertState(StrEnum):
    """The state of an alert. Open and acknowledged alerts are not over; reminders are sent of open ones
    only.
    """

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class Resolution(StrEnum):
    """The reason why an alert, or a figure of it, is over: its cause has passed, a person closed it, or no
    rule asks about it any more. Some group's is `named` once it is clear which group it is.
    """

    RECOVERED = "recovered"
    NO_LONGER_WATCHED = "no_longer_watched"
    NAMED = "named"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    RULE_CHANGED = "rule_changed"
    RULE_DISABLED = "rule_disabled"
    RULE_DELETED = "rule_deleted"


class ClosingReason(StrEnum):
    """The reason why a person closed an alert by hand; the note says more."""

    FIXED = "fixed"
    JUSTIFIED = "justified"
    DATA_ERROR = "data_error"
    OTHER = "other"


class Event(StrEnum):
    """The event that a notification reports of an alert; `test`, and the `report` that was made, belong to
    no alert.
    """

    OPENED = "opened"
    EXPLAINED = "explained"
    REMINDED = "reminded"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    TEST = "test"
    REPORT = "report"


@frozen_by_name
class VerdictCondition:
    """A metric is outside its limits in `checks_in_a_row` checks. `attributes` None = all; `scope` is `group`
    or `worst`.
    """

    verdicts: tuple[AlertingVerdict, ...] = (AlertingVerdict.UNFAIR,)
    data: tuple[DataSet, ...] = (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL)
    metrics: tuple[str, ...] = ("disparate_impact",)
    attributes: tuple[str, ...] | None = None
    scope: Scope = Scope.GROUP
    checks_in_a_row: int = 1


@frozen_by_name
class StaleDataCondition:
    """No record came for `hours`; None: for twice the usual gap between records."""

    hours: int | None = None


@frozen_by_name
class LateLabelsCondition:
    """Labels that are due by their usual delay are missing."""


@frozen_by_name
class FailedChecksCondition:
    """So many checks failed one after the other."""

    checks_in_a_row: int = 1


@frozen_by_name
class EvidenceCondition:
    """Evidence has accumulated that a metric is beyond a limit. `metrics` and `attributes` None = all."""

    data: tuple[DataSet, ...] = (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, DataSet.LABELLED)
    metrics: tuple[str, ...] | None = None
    attributes: tuple[str, ...] | None = None

    def covers(self, subject: "AlertSubject") -> bool:
        return (
            subject.data in self.data
            and (self.metrics is None or subject.metric in self.metrics)
            and (self.attributes is None or subject.attribute in self.attributes)
        )


Condition = (
    VerdictCondition | EvidenceCondition | StaleDataCondition | FailedChecksCondition | LateLabelsCondition
)

CONDITIONS = {
    RuleKind.VERDICT: VerdictCondition,
    RuleKind.EVIDENCE: EvidenceCondition,
    RuleKind.STALE_DATA: StaleDataCondition,
    RuleKind.FAILED_CHECKS: FailedChecksCondition,
    RuleKind.LATE_LABELS: LateLabelsCondition,
}


@frozen
class RuleContent:
    """Rule as people state it; `channels` are ids, `remind_after_hours` None: never."""

    name: str
    condition: Condition
    remind_after_hours: int | None = DEFAULT_REMIND_AFTER_HOURS
    channels: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def kind(self) -> RuleKind:
        return next(kind for kind, form in CONDITIONS.items() if isinstance(self.condition, form))


@frozen_by_name
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

DEFAULT_RULES = {
    DEFAULT_RULE_ID: RuleContent("Unfair outcomes", EvidenceCondition()),
    "failed-checks": RuleContent("Failed checks", FailedChecksCondition(checks_in_a_row=2)),
    "no-records": RuleContent("No records", StaleDataCondition()),
    "late-labels": RuleContent("Late labels", LateLabelsCondition()),
}


@frozen_by_name
class AlertSubject:
    """Figure that an alert is about; all None: the whole deployment."""

    data: DataSet | None = None
    metric: str | None = None
    attribute: str | None = None
    group: str | None = None


WHOLE_DEPLOYMENT = AlertSubject()


@frozen_by_name
class AlertFigure:
    """Figure of an alert, as a rule last saw it; of a kind of the whole deployment, the fault.

    `facts` hold `sentence`, `at`, `since`; of a figure also `value`, `lower`, `upper`, `n_monitored`,
    `n_reference`, `lower_limit`, `upper_limit`, `direction`. `rule_no` is None once the rule is deleted. A
    figure that holds again before its alert is over goes on.
    """

    no: int
    alert_no: int
    rule_no: int | None
    rule_id: str
    rule_name: str
    kind: RuleKind
    data: DataSet | None
    metric: str | None
    attribute: str | None
    group: str | None
    facts: JsonObject
    opened_at: datetime
    last_seen_at: datetime
    ended_at: datetime | None = None
    resolution: Resolution | None = None

    @property
    def subject(self) -> AlertSubject:
        return AlertSubject(data=self.data, metric=self.metric, attribute=self.attribute, group=self.group)

    @property
    def since(self) -> datetime:
        since = self.facts.get("since")
        return datetime.fromisoformat(since) if isinstance(since, str) else self.opened_at

    @property
    def sentence(self) -> str:
        return read_display_sentence(self.facts)


@frozen_by_name
class Alert:
    """All that is wrong with one group, or with the deployment, from the first figure to the end of the last.

    Of `figures` the worst open one comes first; its facts are those of the alert. `change` says why a figure
    of evidence changed; None until known.
    """

    no: int
    id: str
    deployment_no: int
    deployment_id: str
    deployment_name: str
    kind: AlertKind
    attribute: str | None
    group: str | None
    figures: tuple[AlertFigure, ...]
    opened_at: datetime
    reminded_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    note: str | None
    resolved_at: datetime | None
    resolution: Resolution | None
    change: JsonObject | None = None
    closed_by: str | None = None
    closing_note: str | None = None
    closing_reason: ClosingReason | None = None
    assignee: str | None = None
    assigned_at: datetime | None = None

    @property
    def worst(self) -> AlertFigure:
        return self.figures[0]

    @property
    def first(self) -> AlertFigure:
        """The open figure that began first; of all figures if none is open."""
        open_figures = [figure for figure in self.figures if figure.ended_at is None]
        return min(open_figures or self.figures, key=lambda figure: figure.since)

    @property
    def facts(self) -> JsonObject:
        return self.worst.facts

    @property
    def last_seen_at(self) -> datetime:
        return max(figure.last_seen_at for figure in self.figures)

    @property
    def group_name(self) -> str | None:
        name = self.facts.get("display_group")
        return self.group if name is None else str(name)

    @property
    def sentence(self) -> str:
        return self.worst.sentence

    @property
    def state(self) -> AlertState:
        if self.resolved_at:
            return AlertState.RESOLVED
        return AlertState.ACKNOWLEDGED if self.acknowledged_at else AlertState.OPEN

    def is_about(self, metric: str | None, data: DataSet | None) -> bool:
        return any((figure.metric, figure.data) == (metric, data) for figure in self.figures)

    def find(self, kind: RuleKind) -> AlertFigure | None:
        return next((figure for figure in self.figures if figure.kind is kind), None)


def read_display_sentence(facts: JsonObject) -> str:
    """Returns the sentence with people's names for groups, else with the labels; empty without any."""
    return str(facts.get("display_sentence") or facts.get("sentence") or "")
