"""One alert for a group, whatever rules, metrics and data find, and one message for a check, however many groups."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import select

from app.alerts.channels.notification_queries import queue_explanation
from app.alerts.lifecycle import AlertWork
from app.checks.lease_queries import finish_check
from app.checks.result_queries import store_measurements
from app.database.engine import Database
from app.database.tables import NotificationRow
from app.deployments.queries import Deployments
from app.domain.alert import Alert, AlertKind, AlertState, FailedChecksCondition, Resolution, VerdictCondition
from app.domain.check import CheckState, DataSet, Measurement
from tests.builders.alert_history import History, figure
from tests.scenes import PlainSealer

PARITY = "statistical_parity_difference"


@pytest.fixture
def history(database: Database) -> History:
    return History(database)


def measured(history: History, hour: float, figures: Sequence[tuple[DataSet, str, str]]) -> None:
    """A check of that hour with a disparate impact of each group on these data, and its alerts."""
    check = history.queue(hour)
    measurements: list[Measurement] = [replace(figure(check, group, word), data=data) for data, group, word in figures]
    with history.database.transaction() as session:
        finish_check(session, check, state=CheckState.SUCCEEDED, window={}, alerts_due=True)
        store_measurements(session, check.no, history.no, measurements)
    history.evaluate()


def bodies(history: History) -> list[dict[str, object]]:
    with history.database.transaction() as session:
        return list(session.scalars(select(NotificationRow.body).order_by(NotificationRow.no)))


def unresolved(alerts: Sequence[Alert]) -> list[Alert]:
    return [alert for alert in alerts if alert.resolved_at is None]


BOTH = (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL)


@pytest.mark.thorough
def test_a_check_of_60_unfair_branches_sends_one_message_with_the_worst_five_and_never_again(history: History) -> None:
    worst = {f"branch-{no:02}": 0.05 + place / 60 for place, no in enumerate((44, 7, 31, 18, 52))}
    values = {f"branch-{no:02}": worst.get(f"branch-{no:02}", 0.25 + no / 1000) for no in range(60)}
    check = history.queue(0)
    with history.database.transaction() as session:
        finish_check(session, check, state=CheckState.SUCCEEDED, window={}, alerts_due=True)
        store_measurements(
            session,
            check.no,
            history.no,
            [replace(figure(check, group, "unfair"), value=value, lower=value / 2, upper=value * 2) for group, value in values.items()],
        )
    history.evaluate()
    history.ends(1, dict.fromkeys(values, "unfair"))
    history.evaluate()

    assert history.messages() == [("opened", 60)]
    (body,) = bodies(history)
    assert [alert["group"] for alert in body["alerts"]] == list(worst)  # type: ignore[attr-defined]
    assert body["path"] == "/deployments/a-model/alerts"
    assert len(unresolved(history.alerts())) == 60


def test_reminders_and_resolutions_of_one_moment_are_one_message_each(history: History) -> None:
    history.ends(0, {"female": "unfair", "other": "unfair"})
    history.evaluate()
    history.let_pass(timedelta(hours=24))
    history.tick()
    history.ends(1, {"female": "fair", "other": "fair"})
    history.evaluate()

    assert history.messages() == [("opened", 2), ("reminded", 2), ("resolved", 2)]


def test_a_second_figure_joins_the_alert_without_a_message_and_the_last_one_resolves_it(history: History) -> None:
    measured(history, 0, [(DataSet.AS_LOGGED, "female", "unfair")])
    opened = history.alert()
    measured(history, 1, [(data, "female", "unfair") for data in BOTH])
    joined = history.alert()
    measured(history, 2, [(DataSet.AS_LOGGED, "female", "fair"), (DataSet.COUNTERFACTUAL, "female", "unfair")])
    one_left = history.alert()
    measured(history, 3, [(data, "female", "fair") for data in BOTH])
    over = history.alert()

    assert {alert.id for alert in (joined, one_left, over)} == {opened.id}
    assert [len(alert.figures) for alert in (opened, joined, one_left, over)] == [1, 2, 2, 2]
    assert (one_left.state, one_left.worst.data) == (AlertState.OPEN, DataSet.COUNTERFACTUAL)
    assert [figure.resolution for figure in one_left.figures] == [None, Resolution.RECOVERED]
    assert (over.state, over.resolution) == (AlertState.RESOLVED, Resolution.RECOVERED)
    assert history.messages() == [("opened", 1), ("resolved", 1)]


def test_a_figure_that_comes_back_before_its_alert_is_over_goes_on_in_it(history: History) -> None:
    for hour, word in enumerate(["unfair", "fair", "unfair"]):
        measured(history, hour, [(DataSet.AS_LOGGED, "female", word), (DataSet.COUNTERFACTUAL, "female", "unfair")])

    assert [figure.ended_at for figure in history.alert().figures] == [None, None]
    assert history.messages() == [("opened", 1)]


def test_the_facts_of_an_alert_are_those_of_its_worst_open_figure(history: History) -> None:
    check = history.queue(0)
    mild = figure(check, "female", "unfair")
    grave = replace(mild, data=DataSet.COUNTERFACTUAL, value=0.1, lower=0.05, upper=0.2)
    with history.database.transaction() as session:
        finish_check(session, check, state=CheckState.SUCCEEDED, window={}, alerts_due=True)
        store_measurements(session, check.no, history.no, [mild, grave])
    history.evaluate()
    facts = history.alert().facts

    assert (facts["value"], facts["lower"], facts["upper"], facts["lower_limit"]) == (0.1, 0.05, 0.2, 0.8)
    assert (facts["n_monitored"], facts["n_reference"], facts["direction"]) == (100, 100, "below")


def test_a_channel_of_another_rule_that_finds_the_same_group_later_is_sent_the_alert_once(history: History) -> None:
    history.rule("unfair", VerdictCondition(data=(DataSet.AS_LOGGED,)))
    measured(history, 0, [(DataSet.AS_LOGGED, "female", "unfair")])
    history.execute("DELETE FROM alert_rule_channels")
    history.execute("DELETE FROM notifications")
    history.rule("counterfactual", VerdictCondition(data=(DataSet.COUNTERFACTUAL,)))
    for hour in (1, 2):
        measured(history, hour, [(data, "female", "unfair") for data in BOTH])

    assert len(unresolved(history.alerts())) == 1
    assert history.messages() == [("opened", 1)]


def test_failed_checks_are_an_alert_of_the_deployment_apart_from_its_groups(history: History) -> None:
    history.rule("failing", FailedChecksCondition())
    history.ends(0, {"female": "unfair"})
    history.fails(1)
    history.evaluate()

    assert {(alert.kind, alert.group) for alert in history.alerts()} == {(AlertKind.UNFAIR, "female"), (AlertKind.FAILED_CHECKS, None)}


def test_what_a_person_does_with_several_alerts_is_one_message_and_keeps_the_first_note(history: History) -> None:
    history.ends(0, {"female": "unfair", "other": "unfair"})
    history.evaluate()
    for person, note in (("user:ada", "On it."), ("user:eve", "Me, too.")):
        with history.database.transaction() as session:
            work = AlertWork(session, Deployments(session, PlainSealer()), person)
            work.acknowledge(history.alerts(), note)
            work.assign(history.alerts()[:1], "user:eve")
    history.ends(1, {"female": "unfair", "other": "unfair"})
    history.evaluate()

    assert history.messages() == [("opened", 2), ("acknowledged", 2)]
    assert {(alert.acknowledged_by, alert.note) for alert in history.alerts()} == {("user:ada", "On it.")}
    assert [alert.assignee for alert in history.alerts()] == ["user:eve", "user:ada"]


def test_why_it_changed_is_sent_of_an_alert_that_was_told_alone_and_not_of_many(history: History) -> None:
    history.ends(0, {"female": "unfair", "other": "unfair"})
    history.evaluate()
    many = history.alerts()
    history.ends(1, {"third": "unfair"})
    history.evaluate()
    (alone,) = (alert for alert in history.alerts() if alert.group == "third")
    for alert in (*many, alone):
        with history.database.transaction() as session:
            queue_explanation(session, replace(alert, change={"sentence": "It is the income."}))

    assert history.told()[3:] == [("explained", "third")]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.thorough
def test_whatever_happens_a_group_has_one_unresolved_alert_which_is_open_as_long_as_a_figure_is(database: Database, seed: int) -> None:
    draw = random.Random(seed)
    history = History(database)
    for hour in range(12):
        rule = draw.choice(("unfair", "second", "third"))
        history.rule(rule, VerdictCondition(data=tuple(draw.sample(BOTH, draw.choice((1, 2))))), enabled=draw.random() < 0.8)
        figures = [(data, group, draw.choice(("unfair", "fair", "suspected"))) for data in BOTH for group in ("female", "other")]
        start = Barrier(2)

        def evaluate(start: Barrier = start) -> int:
            start.wait()
            return history.evaluate()

        check = history.queue(hour)
        with database.transaction() as session:
            finish_check(session, check, state=CheckState.SUCCEEDED, window={}, alerts_due=True)
            store_measurements(
                session, check.no, history.no, [replace(figure(check, group, word), data=data) for data, group, word in figures]
            )
        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(evaluate) for _ in range(2)]:
                future.result()
        history.evaluate()

        alerts = history.alerts()
        groups = [alert.group for alert in unresolved(alerts)]
        assert len(groups) == len(set(groups))
        for alert in alerts:
            assert (alert.resolved_at is None) == any(one.ended_at is None for one in alert.figures)
    messages = history.told()
    for group in ("female", "other"):
        assert sum(one == ("opened", group) for one in messages) <= sum(alert.group == group for alert in history.alerts())
