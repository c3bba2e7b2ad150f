"""Alerts that end with their rule or with what is watched, and reminders of those that go on."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest

from app.database.engine import Database
from app.deployments.monitor.queries import delete_monitor
from app.domain.alert import AlertState, Resolution, VerdictCondition
from app.domain.monitor import MonitoredAttribute
from tests.builders.alert_history import MONITOR, SEX, History


@pytest.fixture
def history(database: Database) -> History:
    return History(database)


Change = Callable[[History], object]

CHANGES: dict[Resolution, Change] = {
    Resolution.RULE_DISABLED: lambda history: history.rule("unfair", VerdictCondition(), enabled=False),
    Resolution.RULE_CHANGED: lambda history: history.rule("unfair", VerdictCondition(metrics=("statistical_parity_difference",))),
}


@pytest.mark.parametrize("resolution", CHANGES)
def test_a_rule_that_is_switched_off_or_about_something_else_resolves_its_alerts(history: History, resolution: Resolution) -> None:
    history.ends(0, {"female": "unfair"})
    history.evaluate()
    CHANGES[resolution](history)

    assert (history.alert().state, history.alert().resolution) == (AlertState.RESOLVED, resolution)
    assert history.told() == [("opened", "female"), ("resolved", "female")]


def test_a_rule_that_still_covers_its_alert_keeps_it(history: History) -> None:
    history.ends(0, {"female": "unfair"})
    history.evaluate()
    history.rule("unfair", VerdictCondition(attributes=("sex",), checks_in_a_row=5), remind_after_hours=1)
    history.ends(1, {"female": "unfair"})
    history.evaluate()

    assert (history.alert().state, history.alert().facts["checks_in_a_row"]) == (AlertState.OPEN, 2)


def test_a_rule_that_was_switched_off_and_on_opens_its_alert_anew(history: History) -> None:
    for hour, enabled in enumerate([True, False, True]):
        history.rule("unfair", VerdictCondition(), enabled=enabled)
        history.ends(hour, {"female": "unfair"})
        history.evaluate()

    assert [alert.state for alert in history.alerts()] == [AlertState.RESOLVED, AlertState.OPEN]


def test_what_is_no_longer_watched_resolves_its_alert(history: History) -> None:
    history.ends(0, {"female": "unfair", "other": "unfair"})
    history.evaluate()
    history.scene.watch(replace(MONITOR, attributes=(replace(SEX, monitored=("other",)),)))
    history.tick()
    one_left = {alert.group: alert.resolution for alert in history.alerts()}
    with history.database.transaction() as session:
        delete_monitor(session, history.no)
    history.tick()
    history.tick()

    assert one_left == {"female": Resolution.NO_LONGER_WATCHED, "other": None}
    assert {alert.resolution for alert in history.alerts()} == {Resolution.NO_LONGER_WATCHED}
    assert history.told() == [("opened", "female"), ("opened", "other"), ("resolved", "female"), ("resolved", "other")]


def test_the_longest_names_there_may_be_fit_into_an_alert(history: History) -> None:
    name, group = "🂡" * 600, "𝄞" * 600
    history.ends(0, {"female": "unfair"})
    history.execute('UPDATE measurements SET attribute = %s, "group" = %s', name, group)
    history.evaluate()

    assert (history.alert().attribute, history.alert().group) == (name, group)


def test_people_are_reminded_when_it_is_time_and_not_of_what_somebody_took_on(history: History) -> None:
    history.ends(0, {"female": "unfair", "other": "unfair"})
    history.evaluate()
    history.execute("UPDATE alerts SET acknowledged_at = now(), acknowledged_by = 'ada' WHERE \"group\" = 'other'")
    history.let_pass(timedelta(hours=23))
    history.tick()
    early = history.told()[2:]
    history.let_pass(timedelta(hours=1))
    history.tick()
    history.tick()
    on_time = history.told()[2:]
    history.let_pass(timedelta(hours=72))
    history.tick()

    assert early == []
    assert on_time == [("reminded", "female")]
    assert history.told()[2:] == [("reminded", "female"), ("reminded", "female")]


def test_a_rule_without_reminders_reminds_nobody(history: History) -> None:
    history.rule("unfair", VerdictCondition(), remind_after_hours=None)
    history.ends(0, {"female": "unfair"})
    history.evaluate()
    history.let_pass(timedelta(days=400))
    history.tick()

    assert history.told() == [("opened", "female")]


def test_two_clocks_at_once_remind_once(history: History) -> None:
    history.ends(0, {"female": "unfair"})
    history.evaluate()
    history.let_pass(timedelta(days=2))
    start = Barrier(3)

    def tick() -> None:
        start.wait()
        history.tick()

    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(tick) for _ in range(3)]:
            future.result()

    assert history.told() == [("opened", "female"), ("reminded", "female")]


def test_the_monitored_attribute_of_an_intersection_keeps_its_alert(history: History) -> None:
    age = MonitoredAttribute(feature="age", monitored=("young",), reference=("old",))
    history.scene.watch(replace(MONITOR, attributes=(SEX, age), intersections=(("sex", "age"),)))
    history.ends(0, {"female": "unfair", "other": "unfair"})
    history.execute("UPDATE measurements SET attribute = 'sex × age', \"group\" = \"group\" || ' × ' || 'young'")
    history.evaluate()
    history.tick()
    kept = {alert.resolution for alert in history.alerts()}
    history.scene.watch(MONITOR)
    history.tick()

    assert kept == {None}
    assert {alert.resolution for alert in history.alerts()} == {Resolution.NO_LONGER_WATCHED}
