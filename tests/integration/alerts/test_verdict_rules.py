"""Alerts about verdicts: opened once, upheld, resolved, and what says nothing."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from app.alerts.evaluate import apply_rule
from app.alerts.lifecycle import take_ended_check
from app.alerts.rules.rule_queries import get_rule, try_lock_alerts
from app.checks.lease_queries import CHECK_POLICY, finish_check
from app.checks.queries import read_run
from app.database.engine import Database
from app.domain.alert import AlertingVerdict, AlertState, Resolution, VerdictCondition
from app.domain.check import CheckState, Scope, Trigger
from tests.builders.alert_history import History, utc


@pytest.fixture
def history(database: Database) -> History:
    return History(database)


def test_an_unfair_group_opens_one_alert_that_says_everything(history: History) -> None:
    check = history.ends(0, {"female": "unfair", "other": "fair"})
    done = history.evaluate()

    alert = history.alert()
    assert done == 1
    assert (alert.state, alert.group, alert.attribute, alert.worst.rule_id) == (AlertState.OPEN, "female", "sex", "unfair")
    assert history.told() == [("opened", "female")]
    facts = alert.facts
    assert (facts["check_id"], facts["at"], facts["since"], facts["checks_in_a_row"]) == (check.id, utc(1), utc(1), 1)
    assert (facts["value"], facts["lower"], facts["upper"], facts["n"], facts["lower_limit"]) == (0.3, 0.25, 0.35, 200, 0.8)
    assert facts["verdict"] == "unfair"
    assert str(facts["sentence"]).startswith("Of every 100 records of female")
    assert facts["details"] != {}


def test_an_alert_that_goes_on_is_not_opened_again_but_counted(history: History) -> None:
    for hour in range(3):
        last = history.ends(hour, {"female": "unfair"})
        history.evaluate()

    alert = history.alert()
    assert history.told() == [("opened", "female")]
    assert (alert.facts["checks_in_a_row"], alert.facts["since"], alert.facts["check_id"]) == (3, utc(1), last.id)
    assert alert.last_seen_at > alert.opened_at


def test_checks_that_wait_together_are_looked_at_in_the_order_of_their_hours(history: History) -> None:
    history.ends(2, {"female": "fair"})
    history.ends(1, {"female": "unfair"})
    history.ends(0, {"female": "fair"})

    done = history.evaluate()

    assert done == 3
    assert history.told() == [("opened", "female"), ("resolved", "female")]


def test_a_group_that_is_fair_again_resolves_its_alert_and_a_relapse_opens_another(history: History) -> None:
    for hour, word in enumerate(["unfair", "fair", "unfair"]):
        history.ends(hour, {"female": word})
        history.evaluate()

    first, second = history.alerts()
    assert (first.state, first.resolution, second.state) == (AlertState.RESOLVED, Resolution.RECOVERED, AlertState.OPEN)
    assert first.facts["value"] == 0.3
    recovery = first.facts["recovery"]
    assert isinstance(recovery, dict)
    assert (recovery["value"], recovery["at"]) == (0.9, utc(2))
    assert first.facts["sentence"] == recovery["sentence"]
    assert [event for event, _ in history.told()] == ["opened", "resolved", "opened"]


@pytest.mark.parametrize("word", ["suspected", "undecided", "unwatched", "insufficient_data", "not_computable"])
def test_what_is_not_surely_unfair_opens_nothing_and_what_is_not_fair_resolves_nothing(history: History, word: str) -> None:
    history.ends(0, {"female": word, "other": "unfair"})
    history.evaluate()
    history.ends(1, {"female": word, "other": word})
    history.evaluate()

    assert (history.alert().group, history.alert().state) == ("other", AlertState.OPEN)
    assert history.alert().facts["checks_in_a_row"] == 1


def test_an_undecided_check_breaks_the_row_of_unfair_ones_and_only_a_fair_one_resolves(history: History) -> None:
    history.rule("unfair", VerdictCondition(checks_in_a_row=2))
    for hour, word in enumerate(["unfair", "undecided", "unfair"]):
        history.ends(hour, {"female": word})
        history.evaluate()
    assert not history.alerts()

    states = []
    for hour, word in enumerate(["unfair", "undecided", "unwatched", "fair"], 3):
        history.ends(hour, {"female": word})
        history.evaluate()
        states.append(history.alert().state)
    assert states == [AlertState.OPEN, AlertState.OPEN, AlertState.OPEN, AlertState.RESOLVED]


def test_a_suspected_verdict_opens_an_alert_where_the_rule_says_so(history: History) -> None:
    history.rule("unfair", VerdictCondition(verdicts=(AlertingVerdict.UNFAIR, AlertingVerdict.SUSPECTED)))
    history.ends(0, {"female": "suspected"})
    history.evaluate()

    assert history.alert().facts["verdict"] == "suspected"


def test_values_that_are_carried_forward_neither_open_nor_uphold_nor_resolve(history: History) -> None:
    history.ends(0, {"female": "unfair"})
    history.evaluate()
    seen = history.alert()
    history.ends(1, {"female": "unfair", "other": "unfair"}, carried=True)
    history.ends(2, {"female": "fair"}, carried=True)
    history.evaluate()

    assert history.alert() == seen


def test_checks_of_ranges_say_nothing(history: History) -> None:
    history.ends(0, {"female": "unfair"}, trigger=Trigger.RANGE)
    first = history.evaluate()
    history.ends(1, {"female": "unfair"})
    history.evaluate()
    history.ends(2, {"female": "fair"}, trigger=Trigger.RANGE)
    last = history.evaluate()

    assert (first, last) == (0, 0)
    assert history.alert().state is AlertState.OPEN


def test_three_in_a_row_means_three_that_were_judged_one_after_the_other(history: History) -> None:
    history.rule("unfair", VerdictCondition(checks_in_a_row=3))
    words = ["unfair", "unfair", "fair", "unfair", "not_computable", "unfair"]
    for hour, word in enumerate(words):
        history.ends(hour, {"female": word})
        history.evaluate()
    history.ends(6, {"female": "unfair"}, carried=True)
    history.ends(7, {"female": "unfair"}, trigger=Trigger.RANGE)
    history.is_idle(8)
    history.evaluate()
    before = history.alerts()
    history.ends(9, {"female": "unfair"})
    history.evaluate()

    assert before == []
    assert (history.alert().facts["checks_in_a_row"], history.alert().facts["since"]) == (3, utc(4))


def test_asking_again_and_again_within_an_hour_makes_no_row(history: History) -> None:
    history.rule("unfair", VerdictCondition(checks_in_a_row=2))
    for _ in range(3):
        history.ends(0, {"female": "unfair"}, trigger=Trigger.REQUEST)
        history.evaluate()
    before = history.alerts()
    for _ in range(2):
        history.ends(1, {"female": "unfair"}, trigger=Trigger.REQUEST)
        history.evaluate()

    assert before == []
    assert (history.alert().facts["checks_in_a_row"], history.alert().facts["since"]) == (2, utc(1))


def test_a_suspected_check_breaks_the_row_of_unfair_ones(history: History) -> None:
    history.rule("unfair", VerdictCondition(checks_in_a_row=2))
    for hour, word in enumerate(["unfair", "suspected", "unfair"]):
        history.ends(hour, {"female": word})
        history.evaluate()

    assert history.alerts() == []


def test_a_late_check_of_an_earlier_hour_changes_nothing(history: History) -> None:
    history.ends(1, {"female": "fair", "other": "unfair"})
    history.evaluate()
    history.ends(0, {"female": "unfair", "other": "fair"})
    done = history.evaluate()

    assert done == 1
    assert (history.alert().group, history.alert().state) == ("other", AlertState.OPEN)


def test_a_check_for_now_speaks_as_an_hourly_one_does(history: History) -> None:
    history.ends(0.5, {"female": "unfair"}, trigger=Trigger.REQUEST)
    history.evaluate()

    assert history.told() == [("opened", "female")]


def test_the_worst_group_has_one_alert_whichever_group_it_is(history: History) -> None:
    history.rule("unfair", VerdictCondition(scope=Scope.WORST))
    for hour in range(2):
        history.ends(hour, {"female": "unfair", "other": "unfair"})
        worst = ["female", "other"][hour]
        history.execute('UPDATE measurements SET worst_of = 2 WHERE "group" = %s AND check_no = (SELECT max(no) FROM checks)', worst)
        history.evaluate()

    assert (history.alert().group, history.alert().facts["checks_in_a_row"]) == (None, 2)


def test_a_rule_of_other_data_metrics_or_attributes_is_silent(history: History) -> None:
    history.rule("unfair", VerdictCondition(attributes=("age",)))
    history.rule("other", VerdictCondition(metrics=("statistical_parity_difference",)))
    history.ends(0, {"female": "unfair"})
    history.evaluate()

    assert history.alerts() == []


def test_two_evaluators_at_once_open_an_alert_once(history: History) -> None:
    for hour in range(4):
        history.ends(hour, {"female": "unfair", "other": "unfair"})
    start = Barrier(4)

    def evaluate() -> int:
        start.wait()
        return history.evaluate()

    with ThreadPoolExecutor(4) as pool:
        done = sum(future.result() for future in [pool.submit(evaluate) for _ in range(4)])
    done += history.evaluate()

    assert done == 4
    assert sorted(history.told()) == [("opened", "female"), ("opened", "other")]
    assert {alert.facts["checks_in_a_row"] for alert in history.alerts()} == {4}


def test_an_evaluator_that_dies_before_its_commit_leaves_the_check_for_the_next(history: History) -> None:
    history.ends(0, {"female": "unfair"})
    with pytest.raises(KeyboardInterrupt):
        _evaluate_and_die(history)
    before = (history.alerts(), history.told())

    done, again = history.evaluate(), history.evaluate()

    assert before == ([], [])
    assert (done, again) == (1, 0)
    assert history.told() == [("opened", "female")]


def test_a_rule_that_breaks_stops_neither_the_other_rules_nor_later_checks(history: History) -> None:
    history.rule("aaa", VerdictCondition())
    history.execute("UPDATE alert_rules SET config = %s WHERE id = 'unfair'", '{"name": 7}')
    history.ends(0, {"female": "unfair"})
    history.ends(1, {"other": "unfair"})

    done = history.evaluate()

    assert done == 2
    assert {alert.worst.rule_id for alert in history.alerts()} == {"aaa"}
    assert [group for _, group in history.told()] == ["female", "other"]


def test_figures_that_break_a_rule_are_left_behind_and_the_check_keeps_its_result(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = history.ends(0, {"female": "unfair"})
    with monkeypatch.context() as patched:
        patched.setattr("app.alerts.evaluate.build_figure_facts", _divide)
        done = history.evaluate()
    history.ends(1, {"female": "unfair"})
    history.evaluate()

    assert done == 1
    assert history.scene.result(check).run.state is CheckState.SUCCEEDED
    assert history.told() == [("opened", "female")]


def test_a_check_that_cannot_be_read_does_not_stop_those_behind_it(history: History) -> None:
    broken = history.ends(0, {"female": "unfair"})
    history.execute("UPDATE checks SET failure = %s", "no such word")
    history.ends(1, {"other": "unfair"})
    done = history.evaluate()

    assert done == 2
    assert [(alert.group, alert.facts["check_id"] == broken.id) for alert in history.alerts()] == [("other", False)]


def test_a_check_that_runs_again_by_now_is_looked_at_when_it_ends(history: History) -> None:
    check = history.fails(0)
    history.execute("UPDATE checks SET state = 'running', lease_token = %s", str(check.lease_token))
    early = history.evaluate()
    with history.database.transaction() as session:
        finish_check(session, check, state=CheckState.SUCCEEDED, window={}, alerts_due=True)
    late = history.evaluate()

    assert (early, late) == (1, 1)


def test_a_cancelled_check_says_nothing(history: History) -> None:
    check = history.queue(0)
    with history.database.transaction() as session:
        finish_check(
            session, check, state=CheckState.CANCELLED, window=None, alerts_due=CHECK_POLICY.alerts_follow(check, CheckState.CANCELLED)
        )

    assert history.evaluate() == 0


def _evaluate_and_die(history: History) -> None:
    with history.database.transaction() as session:
        assert try_lock_alerts(session, history.no)
        check_no = take_ended_check(session, history.no)
        assert check_no is not None
        apply_rule(session, get_rule(session, history.no, "unfair"), read_run(session, check_no))
        raise KeyboardInterrupt


def _divide(*_: object, **__: object) -> None:
    raise ZeroDivisionError
