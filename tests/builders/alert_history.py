"""A deployment with a history of ended checks, put straight into the store: what each found is given, so that rules can be tried."""

from collections.abc import Mapping
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

from sqlalchemy import delete, insert, select, text

from app.alerts.evaluate import evaluate_ended_checks, evaluate_passing_time
from app.alerts.lifecycle import end_uncovered_figures
from app.alerts.queries import AlertFilter, page_alerts
from app.alerts.rules.rule_queries import find_rule, lock_alerts, put_rule
from app.checks.lease_queries import CHECK_POLICY, finish_check
from app.checks.result_queries import store_measurements
from app.database.engine import Database
from app.database.tables import AlertChannelRow, AlertRuleRow, NotificationRow
from app.domain.alert import Alert, Condition, Rule, RuleContent, VerdictCondition
from app.domain.check import CheckRun, CheckState, DataSet, Details, Failure, Measurement, Scope, Span, Trigger
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import Comparison, Monitor, MonitoredAttribute, OutcomeRule
from app.domain.paging import Paging
from tests.connections import connect
from tests.scenes import HOUR, NOON, Scene, scene

COLUMNS = (Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),)
SEX = MonitoredAttribute(feature="sex", monitored=("female", "other"), reference=("male",))
MONITOR = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(SEX,))

VALUES = {
    "unfair": 0.3,
    "suspected": 0.75,
    "undecided": 0.9,
    "unwatched": 1.9,
    "fair": 0.9,
    "insufficient_data": 0.1,
    "not_computable": None,
}
"""A value that would be judged so."""

CHANNEL = "risk-team"


class History:
    """Checks end when they are told to; the hours count from noon."""

    def __init__(self, database: Database, stage: Scene | None = None) -> None:
        self.database = database
        self.scene = stage or scene(database, COLUMNS, MONITOR, endpoint=None)
        self.no = self.scene.deployment.no
        with database.transaction() as session:
            session.execute(insert(AlertChannelRow).values(id=CHANNEL, name="Risk team", kind="webhook", config={}))
            session.execute(delete(AlertRuleRow))  # a test has its own
        self.rule("unfair", VerdictCondition())

    def rule(self, rule_id: str, condition: Condition, **more: Any) -> Rule:  # noqa: ANN401 - members of a rule
        """Puts a rule that tells the channel, as the API does."""
        content = RuleContent(name=rule_id, condition=condition, channels=(CHANNEL,), **more)
        with self.database.transaction() as session:
            lock_alerts(session, self.no)
            before = find_rule(session, self.no, rule_id)
            after = put_rule(session, self.no, rule_id, content)
            if before is not None:
                end_uncovered_figures(session, before, after)
            return after

    def moved_to(self, database: Database) -> "History":
        """Returns the same history for a copy of its database, without rows."""
        moved = copy(self)
        moved.database, moved.scene = database, self.scene.moved_to(database)
        return moved

    def queue(self, hour: float, trigger: Trigger = Trigger.SCHEDULE) -> CheckRun:
        """A running check of that hour."""
        start = NOON + hour * HOUR
        return self.scene.queue(Span(start=start, end=start + HOUR), trigger)

    def ends(
        self,
        hour: float,
        found: Mapping[str, str],
        *,
        trigger: Trigger = Trigger.SCHEDULE,
        carried: bool = False,
        failure: Failure | None = None,
    ) -> CheckRun:
        """A check of that hour succeeds, with a verdict on payload for each group; with a failure, without the model."""
        check = self.queue(hour, trigger)
        with self.database.transaction() as session:
            due = CHECK_POLICY.alerts_follow(check, CheckState.SUCCEEDED)
            reason, window = None if failure is None else "The model answered 500.", {"carried_from": "x"} if carried else {}
            finish_check(session, check, state=CheckState.SUCCEEDED, window=window, alerts_due=due, reason=reason, failure=failure)
            store_measurements(session, check.no, self.no, [figure(check, group, word, carried=carried) for group, word in found.items()])
        return check

    def is_idle(self, hour: float) -> CheckRun:
        """A check of that hour has too few records."""
        check = self.queue(hour)
        with self.database.transaction() as session:
            finish_check(session, check, state=CheckState.INSUFFICIENT_DATA, window={}, alerts_due=True)
        return check

    def fails(self, hour: float, failure: Failure = Failure.SCORING_FAILED, trigger: Trigger = Trigger.SCHEDULE) -> CheckRun:
        """A check of that hour fails."""
        check = self.queue(hour, trigger)
        with self.database.transaction() as session:
            due = CHECK_POLICY.alerts_follow(check, CheckState.FAILED)
            pause = CHECK_POLICY.retry_after(check)
            finish_check(
                session,
                check,
                state=CheckState.FAILED,
                reason="The model answered 500.",
                failure=failure,
                retry_after=pause,
                alerts_due=due,
            )
        return check

    def evaluate(self) -> int:
        """Works out the alerts, as the ticker has it done after checks."""
        return evaluate_ended_checks(self.database)

    def tick(self) -> None:
        """Works out the alerts, as the ticker has it done once a minute."""
        evaluate_passing_time(self.database)

    def let_pass(self, duration: timedelta) -> None:
        """Moves all alerts and the deployment into the past, as if so much time had gone by."""
        with self.database.transaction() as session:
            session.execute(text("UPDATE alerts SET opened_at = opened_at - :d, reminded_at = reminded_at - :d"), {"d": duration})
            figures = "UPDATE alert_figures SET opened_at = opened_at - :d, last_seen_at = last_seen_at - :d"
            session.execute(text(figures), {"d": duration})
            session.execute(text("UPDATE deployments SET created_at = created_at - :d"), {"d": duration})

    def alerts(self) -> list[Alert]:
        """All alerts, oldest first."""
        with self.database.transaction() as session:
            return page_alerts(session, AlertFilter(), Paging(1000))[::-1]

    def alert(self) -> Alert:
        """The only alert."""
        (alert,) = self.alerts()
        return alert

    def told(self) -> list[tuple[str, str | None]]:
        """The events that were told, each with the groups it is about, oldest first."""
        with self.database.transaction() as session:
            rows = session.scalars(select(NotificationRow).order_by(NotificationRow.no))
            return [(row.event, alert["group"]) for row in rows for alert in row.body["alerts"]]

    def messages(self) -> list[tuple[str, int]]:
        """The events that were told, each with its number of alerts, oldest first."""
        with self.database.transaction() as session:
            rows = session.scalars(select(NotificationRow).order_by(NotificationRow.no))
            return [(row.event, row.body["count"]) for row in rows]

    def execute(self, statement: LiteralString, *values: str) -> None:
        """Changes the stored state behind everybody's back."""
        with connect(self.database.url) as connection:
            connection.execute(statement, values)


def figure(check: CheckRun, group: str, word: str, *, carried: bool = False) -> Measurement:
    """A disparate impact of that verdict."""
    value = VALUES[word]
    return Measurement(
        metric="disparate_impact",
        data=DataSet.AS_LOGGED,
        scope=Scope.GROUP,
        comparison=Comparison(("sex",)),
        group=group,
        at=check.span.end,
        value=value,
        reason=None if value is not None else "nobody of male was predicted favourable",
        lower=None if value is None else value - 0.05,
        upper=None if value is None else value + 0.05,
        interval_method=None if value is None else "log_ratio",
        n=200,
        verdict=word,
        lower_limit=0.8,
        upper_limit=None,
        carried_forward=carried,
        details=Details(
            formula="favourable_rate(monitored) / favourable_rate(reference)",
            monitored=group,
            reference="male",
            monitored_counts={"favourable": 30, "n": 100},
            reference_counts={"favourable": 100, "n": 100},
        ),
    )


def utc(hour: float) -> str:
    """The moment so many hours after noon, as facts tell it."""
    return (NOON + hour * HOUR).astimezone(UTC).isoformat()


def moment(text_of: object) -> datetime:
    """What facts tell as a moment."""
    assert isinstance(text_of, str)
    return datetime.fromisoformat(text_of)
