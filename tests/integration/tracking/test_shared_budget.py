"""First blocks, whose records they are, some group, and corrections of what was announced."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from app.alerts.evaluate import evaluate_evidence
from app.alerts.lifecycle import close_by_hand
from app.alerts.queries import AlertFilter, page_alerts
from app.database.engine import Database
from app.domain.alert import Alert, AlertKind, Resolution, RuleKind
from app.domain.check import DataSet
from app.domain.monitor import POOLED_GROUP, EvidenceSettings, MonitoredAttribute
from app.domain.paging import Paging
from app.evidence.present_state import ComparisonState, DeploymentEvidence, read_deployment_evidence
from app.evidence.queries.eras import find_deployments_to_follow
from app.evidence.queries.figure_states import count_figures
from app.evidence.words import list_figure_notes, list_remarks
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import EvidenceState, State
from tests.builders.evidence_worlds import SEX, START, Logged, log, states, update, watched, world
from tests.connections import connect
from tests.golden import golden
from tests.scenes import HOUR, Scene

pytestmark = pytest.mark.thorough

IMPACT = ("disparate_impact",)


def look(stage: Scene) -> DeploymentEvidence:
    with stage.database.transaction() as session:
        evidence = read_deployment_evidence(session, stage.deployment.no)
    assert evidence is not None
    return evidence


def below(stage: Scene, group: str = "female") -> ComparisonState:
    """The ratio as logged of the group, at its lower limit."""
    return next(
        comparison
        for comparison in look(stage).comparisons
        if (comparison.data, comparison.direction, comparison.group) == (DataSet.AS_LOGGED, UnfairSide.BELOW, group)
    )


def alerts(stage: Scene) -> list[Alert]:
    with stage.database.transaction() as session:
        page = page_alerts(session, AlertFilter(deployment_no=stage.deployment.no), Paging(100))
    return [alert for alert in reversed(page) if alert.find(RuleKind.EVIDENCE) is not None]


def declare(stage: Scene, *, is_another: bool) -> None:
    """Says whether each record is another person."""
    settings = EvidenceSettings(each_record_another_person=is_another)
    stage.watch(replace(stage.monitor(), evidence=settings))


def records_of(counts: dict[str, tuple[int, int]], hour: int = 0) -> list[Logged]:
    """Favourable and all records of each group in an hour."""
    return [
        Logged(START + hour * HOUR, group, int(number < favourable), minute=number % 60)
        for group, (favourable, total) in counts.items()
        for number in range(total)
    ]


FIRST = {"female": (20, 2000), "male": (2000, 8000)}
"""1 % against 25 %."""


@pytest.mark.parametrize("is_said", [False, True])
def test_the_first_hour_counts_and_opens_the_alert_at_the_first_look(database: Database, *, is_said: bool) -> None:
    stage = watched(database, metrics=IMPACT)
    declare(stage, is_another=is_said)
    # A version that is not the first counts whole hours after it; this one counts from the start.
    with connect(database.url) as connection:
        connection.execute("UPDATE monitors SET version = 1")
    log(stage, records_of(FIRST), first_no=1)
    update(stage, START + HOUR)
    evaluate_evidence(database)

    comparison = below(stage)
    (alert,) = alerts(stage)
    statement = comparison.statement
    assert statement is not None
    assert (statement.row, statement.state, statement.interval_kind) == (1, "Unfair", "since the onset")
    assert (comparison.since, comparison.alarm_at) == (START, START + HOUR)
    assert statement.sentence.startswith(
        "Records with sex female get the favourable outcome 96 % less often than records with sex male (1.0 against 25 of 100) since"
    )
    assert f"{START:%Y-%m-%d %H:%M} or before" in statement.sentence
    assert statement.sentence in str(alert.facts["sentence"])
    evidence = look(stage)
    assert ("counts at a tenth" in evidence.guarantee) is not is_said
    assert ("as declared by" in evidence.guarantee) is is_said


def test_what_is_declared_later_holds_from_the_next_block_on(database: Database) -> None:
    stage = watched(database, metrics=IMPACT)
    declare(stage, is_another=False)
    with connect(database.url) as connection:
        connection.execute("UPDATE monitors SET version = 1")
    log(stage, world([0.9] * 4, seed=1), first_no=1)
    update(stage, START + 2 * HOUR)
    before = below(stage)
    declare(stage, is_another=True)
    update(stage, START + 4 * HOUR)

    comparison, era = below(stage), look(stage).era
    assert comparison.figure_id == before.figure_id
    assert [divisor for _, divisor in era.divisors] == [10, 1]
    start = era.divisors[0][0]
    assert era.divisors_at(np.array([start, era.divisors[1][0] - 1, era.divisors[1][0]])).tolist() == [10, 10, 1]


ETHNICITY = MonitoredAttribute(feature="sex", monitored=("a", "b", "c"), reference=("male",), threshold=0.8)


def hours_of(shares: Sequence[float], hours: int, first: int, records: int = 40) -> list[Logged]:
    """Groups a, b, c with these shares of the reference's rate of one half."""
    rng = np.random.default_rng(first)
    logged = []
    for hour in range(first, first + hours):
        counts = {"male": (int(rng.binomial(100, 0.5)), 100)}
        counts |= {name: (int(rng.binomial(records, 0.5 * share)), records) for name, share in zip("abc", shares, strict=True)}
        logged += records_of(counts, hour)
    return logged


def test_monitored_groups_together_are_one_more_comparison_and_may_be_named(database: Database) -> None:
    stage = watched(database, metrics=IMPACT, attributes=(ETHNICITY,))
    log(stage, hours_of((0.6, 0.6, 0.6), 12, 0), first_no=1)
    for hour in range(1, 13):
        update(stage, START + hour * HOUR)
    evaluate_evidence(database)

    pooled = below(stage, POOLED_GROUP)
    assert pooled.state is State.UNFAIR
    assert pooled.statement is not None
    assert pooled.statement.sentence.startswith("The monitored groups of sex together get the favourable outcome")
    assert POOLED_GROUP in {alert.group for alert in alerts(stage)}
    assert look(stage).shared_by == 4


@dataclass(frozen=True)
class Unclear:
    """A deployment in which some group is unfair, the hour in which it is named, and the golden case."""

    stage: Scene
    case: dict[str, Any]
    named: int


def log_unclear(database: Database) -> Unclear:
    case = json.loads(golden("A10_evidence.json").read_text())["some_group"]["cases"][1]
    attribute = replace(ETHNICITY, monitored=("a", "b", "c", "d"))
    stage = watched(database, metrics=IMPACT, attributes=(attribute,))
    hours = len(case["counts"][0])
    records = [
        record
        for hour in range(hours)
        for record in records_of(
            {name: tuple(case["counts"][place][hour][:2]) for place, name in enumerate("abcd")}
            | {"male": tuple(case["counts"][0][hour][2:])},
            hour,
        )
    ]
    log(stage, records, first_no=1)
    return Unclear(stage, case, min(at for at in case["named_at"] if at is not None))


def test_some_group_is_unfair_before_it_is_clear_which(database: Database) -> None:
    unclear = log_unclear(database)
    stage, case, named = unclear.stage, unclear.case, unclear.named
    hours = len(case["counts"][0])
    update(stage, START + named * HOUR)
    evidence = look(stage)
    alarm, first = evidence.era.open_alarm, evidence.era.counted_until

    assert alarm is not None
    assert first == START + named * HOUR
    assert (alarm.opened - int(START.timestamp()) // 3600, alarm.comparisons) == (case["some_group_at"], 5)
    assert alarm.log_evidence == pytest.approx(case["path"][case["some_group_at"]]["ln_G"])
    assert {comparison.evidence for comparison in evidence.comparisons if comparison.figure_id} == {EvidenceState.SOME_GROUP}
    assert {comparison.statement.row for comparison in evidence.comparisons if comparison.statement and comparison.figure_id} <= {7, 8}
    assert "At least one of 5 comparisons is outside its limit" in " ".join(list_remarks(evidence))
    with stage.database.transaction() as session:
        counts = count_figures(session, [stage.deployment.no])[stage.deployment.no]
    assert (counts.unfair, counts.confirmed_fair, counts.undecided) == (0, 0, 5)
    assert counts.leading is not None
    assert counts.leading.state in {one.statement.state for one in evidence.comparisons}

    update(stage, START + (named + 1) * HOUR)
    (alarm,) = look(stage).era.alarms
    assert (alarm.end, alarm.ended) == ("named", alarm.opened + named - case["some_group_at"])
    assert below(stage, "c").state is State.UNFAIR
    update(stage, START + hours * HOUR)
    alarms = {comparison.group: comparison.alarm_at for comparison in look(stage).comparisons if comparison.figure_id}
    expected = {
        name: None if at is None else START + (at + 1) * HOUR for name, at in zip([*"abcd", POOLED_GROUP], case["named_at"], strict=True)
    }
    assert alarms == expected


def follow(stage: Scene, hour: int) -> Alert:
    """Counts the hours before that one; the newest alert."""
    update(stage, START + hour * HOUR)
    evaluate_evidence(stage.database)
    return alerts(stage)[-1]


def notify(stage: Scene) -> None:
    with connect(stage.database.url) as connection:
        connection.execute("INSERT INTO alert_channels (id, name, kind, config) VALUES ('risk', 'Risk', 'webhook', '{}')")
        connection.execute("INSERT INTO alert_rule_channels SELECT r.no, c.no FROM alert_rules r, alert_channels c WHERE r.id = 'unfair'")


def sent(stage: Scene) -> list[tuple[object, ...]]:
    """Event, kind and group of each message, oldest first."""
    with connect(stage.database.url) as connection:
        rows = connection.execute("SELECT event, body FROM notifications ORDER BY no").fetchall()
    return [(event, body["alerts"][0]["kind"], body["alerts"][0]["group"]) for event, body in rows]


def test_some_group_is_an_alert_that_becomes_the_first_named_one_with_its_opening(database: Database) -> None:
    unclear = log_unclear(database)
    stage = unclear.stage
    notify(stage)
    opened = follow(stage, unclear.named)
    again = follow(stage, unclear.named)
    named = follow(stage, unclear.named + 1)

    assert (opened.kind, opened.group, len(opened.facts["leading"])) == (AlertKind.SOME_GROUP, None, 3)  # type: ignore[arg-type]
    assert opened.facts["log_evidence"] == pytest.approx(unclear.case["path"][unclear.case["some_group_at"]]["ln_G"])
    assert "At least one of 5 comparisons is outside its limit; not yet clear which." in opened.sentence
    assert (again.id, len(again.figures)) == (opened.id, 1)
    assert (named.id, named.opened_at, named.kind, named.group) == (opened.id, opened.opened_at, AlertKind.UNFAIR, "c")
    assert [figure.resolution for figure in named.figures] == [None, Resolution.NAMED]
    assert len(alerts(stage)) == 1
    assert sent(stage) == [("opened", "some_group", None), ("opened", "unfair", "c")]


def test_some_group_that_is_closed_by_hand_begins_all_evidence_again(database: Database) -> None:
    unclear = log_unclear(database)
    stage = unclear.stage
    opened = follow(stage, unclear.named)
    with database.transaction() as session:
        (closed,) = close_by_hand(session, [opened], by="user:ada", note="Known.")
    evidence = look(stage)

    assert (closed.resolution, closed.closed_by) == (Resolution.CLOSED, "user:ada")
    assert evidence.era.alarms[-1].end == "closed"
    assert {comparison.log_evidence for comparison in evidence.comparisons} == {0.0}
    assert follow(stage, unclear.named).resolution is Resolution.CLOSED


def test_some_group_ends_with_the_comparisons_that_another_monitor_has(database: Database) -> None:
    unclear = log_unclear(database)
    stage = unclear.stage
    follow(stage, unclear.named)
    stage.watch(replace(stage.monitor(), attributes=(replace(ETHNICITY, monitored=("a", "b", "c", "d"), threshold=0.7),)))
    ended = follow(stage, unclear.named)

    assert (ended.kind, ended.resolution) == (AlertKind.SOME_GROUP, Resolution.SUPERSEDED)


def correct(stage: Scene, group: str, approved: int, hours: int) -> None:
    """Replaces the decisions on a group in the first hours, and notes them as changed."""
    with connect(stage.database.url) as connection:
        connection.execute(
            "UPDATE payload_records SET prediction = to_jsonb(%s) WHERE features->>0 = %s AND logged_at < %s",
            (approved, group, START + hours * HOUR),
        )
        for hour in range(hours):
            connection.execute(
                "INSERT INTO changed_hours (deployment_no, hour) VALUES (%s, %s)", (stage.deployment.no, START + hour * HOUR)
            )


def test_corrections_do_not_withdraw_an_alert_and_it_is_under_review(database: Database) -> None:
    stage = watched(database, metrics=IMPACT)
    log(stage, records_of(FIRST), first_no=1)
    update(stage, START + HOUR)
    evaluate_evidence(database)
    opened = below(stage)

    correct(stage, "male", 0, 1)
    update(stage, START + HOUR)
    evaluate_evidence(database)
    comparison = below(stage)

    assert (comparison.since, comparison.alarm_at, comparison.log_evidence) == (opened.since, opened.alarm_at, opened.log_evidence)
    assert comparison.statement is not None
    assert (comparison.statement.row, comparison.statement.state) == (2, "Unfair, under review")
    assert comparison.statement.sentence.startswith(f"The alert of {START:%Y-%m-%d} is open; past hours have changed since")
    assert comparison.log_evidence_now == 0.0
    assert [alert.resolved_at for alert in alerts(stage)] == [None]


def test_an_alarm_that_only_corrections_raise_opens_now_and_says_so(database: Database) -> None:
    stage = watched(database, metrics=IMPACT)
    log(stage, [record for hour in range(3) for record in records_of({"female": (100, 400), "male": (400, 1600)}, hour)], first_no=1)
    update(stage, START + 3 * HOUR)
    evaluate_evidence(database)
    assert alerts(stage) == []

    correct(stage, "female", 0, 2)
    update(stage, START + 3 * HOUR)
    evaluate_evidence(database)
    comparison = below(stage)

    assert (comparison.state, comparison.since) == (State.UNFAIR, START)
    assert comparison.found_at == START + 3 * HOUR
    assert comparison.found_corrections == 0
    with connect(database.url) as connection:
        for number in range(3):
            connection.execute(
                "INSERT INTO corrections (deployment_no, id, record_id, what, number, made_by, logged_at)"
                " VALUES (%s, %s, %s, 'prediction', 1, 'somebody', %s)",
                (stage.deployment.no, str(number), f"1-{number}", START),
            )
    assert below(stage).found_corrections == 3
    assert any(note.startswith("Found after 3 corrections;") for note in list_figure_notes(below(stage)))
    assert "Found after hours before" in str(alerts(stage)[0].facts["sentence"])


def test_computing_again_without_corrections_changes_nothing(database: Database) -> None:
    stage = watched(database, metrics=IMPACT, attributes=(SEX,))
    log(stage, world([0.95] * 10 + [0.3] * 8 + [1.0] * 30, seed=1, records=120), first_no=1)
    for hour in range(2, 49, 2):
        update(stage, START + hour * HOUR)
    by_hour = states(stage)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE evidence_figures SET is_stale = true")
    update(stage, START + 48 * HOUR)

    assert states(stage) == by_hour


def test_hours_without_records_are_over_too(database: Database) -> None:
    stage = watched(database, metrics=IMPACT)
    log(stage, world([0.95] * 3, seed=1), first_no=1)
    update(stage, START + 3 * HOUR)
    update(stage, START + 9 * HOUR)

    assert below(stage).until == START + 9 * HOUR
    with database.transaction() as session:
        assert find_deployments_to_follow(session, latest=START + 9 * HOUR) == []
