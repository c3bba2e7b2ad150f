"""Where deployments stand: the state of each, what is gravest about it, what to do next, and in which order they come."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.base.values import Range
from app.checks.advice.causes import Cause
from app.checks.views.headlines import word_figure
from app.database.engine import Database
from app.deployments.monitor.queries import delete_monitor
from app.deployments.queries import Deployments, build_definition
from app.domain.check import DataSet, Span, Trigger
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from app.overview.fleet import (
    DeploymentOverview,
    DeploymentState,
    Overview,
    OverviewSelection,
    OverviewSort,
    build_overview,
    rank_deployment,
)
from app.statistics.intervals.verdicts import Verdict
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.page_words import says
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene

AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 39),), reference=(Range(40, 69),))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    """A watched deployment, nothing logged; a worker answers."""
    let_a_worker_answer(database)
    return scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url))


def look(stage: Scene, now: datetime = NOON + HOUR, **wanted: Any) -> Overview:  # noqa: ANN401
    with stage.database.transaction() as session:
        return build_overview(session, OverviewSelection(**wanted), now=now)


def only(stage: Scene, now: datetime = NOON + HOUR) -> DeploymentOverview:
    (one,) = look(stage, now).deployments
    return one


def another(stage: Scene, deployment_id: str) -> Scene:
    """A copy of the deployment, with the same monitor."""
    with stage.database.transaction() as session:
        made, _ = Deployments(session, PlainSealer()).create(deployment_id, build_definition(stage.deployment))
        session.execute(
            text(
                "INSERT INTO monitors (deployment_no, version, schedule, config)"
                " SELECT :to, 1, schedule, config FROM monitors WHERE deployment_no = :no"
            ),
            {"to": made.no, "no": stage.deployment.no},
        )
    return Scene(stage.database, made)


def logged(stage: Scene, men: int, women: int, rich: int = 0, *, at: datetime = NOON, prefix: str = "") -> None:
    stage.log(applicants(men, women, rich, prefix=f"{prefix}{stage.deployment.no}-"), at)


def test_without_a_deployment_the_overview_says_what_to_do(database: Database) -> None:
    with database.transaction() as session:
        empty = build_overview(session, OverviewSelection(), now=NOON)

    assert empty.deployments == ()
    assert empty.next_step is not None
    assert empty.next_step.startswith("No deployment is registered yet")


def test_a_deployment_without_a_monitor_asks_for_one(stage: Scene) -> None:
    with stage.database.transaction() as session:
        delete_monitor(session, stage.deployment.no)

    one = only(stage)

    assert (one.state, one.worst, one.last_check) == (DeploymentState.NO_MONITOR, None, None)
    assert one.next_step is not None
    assert "fairness monitor" in one.next_step


def test_before_the_first_check_it_waits_for_records_and_then_for_the_check(stage: Scene, snapshot: SnapshotAssertion) -> None:
    before = only(stage)
    logged(stage, 1, 1)
    after = only(stage, NOON + HOUR / 2)

    assert (before.state, before.records, after.state, after.records) == (DeploymentState.WAITING, 0, DeploymentState.WAITING, 2)
    assert says(after.reason, "13:00 UTC")
    assert [(line.reason, line.next_step) for line in (before, after)] == snapshot


def test_too_few_records_are_told_with_how_many_there_are_and_how_many_are_needed(stage: Scene, snapshot: SnapshotAssertion) -> None:
    logged(stage, 2, 2)
    stage.check(NOON, trigger=Trigger.SCHEDULE)

    one = only(stage)

    assert (one.state, one.cause) == (DeploymentState.WAITING, Cause.TOO_FEW_RECORDS)
    assert says(one.reason, "4", "10")
    assert one.reason == snapshot
    assert one.next_step is not None
    assert says(one.next_step, "6 more records")
    assert one.next_step == snapshot


def test_the_worst_group_has_the_gravest_verdict_and_then_the_furthest_figure(stage: Scene) -> None:
    """Sex is unfair as logged and counterfactually; counterfactually nobody poor is approved as a woman, so it is worse there."""
    logged(stage, 40, 40, 4)
    check = stage.check(NOON, trigger=Trigger.SCHEDULE)

    one = only(stage)

    assert one.state is DeploymentState.UNFAIR
    assert one.worst is not None
    figures = [
        m for m in check.measurements if m.metric == "disparate_impact" and m.scope == "group" and m.data in ("as_logged", "counterfactual")
    ]
    lowest = min((m for m in figures if m.verdict == Verdict.UNFAIR), key=lambda m: m.value if m.value is not None else 9)
    assert (one.worst.data, one.worst.attribute, one.worst.group, one.worst.value) == (lowest.data, "sex", "female", lowest.value)
    assert (one.worst.lower, one.worst.upper, one.worst.n, one.worst.lower_limit) == (lowest.lower, lowest.upper, lowest.n, 0.8)
    assert (one.worst.check_id, one.worst.measured_at, one.worst.carried_forward) == (check.run.id, NOON + HOUR, False)
    assert (one.groups, one.judged) == (len(figures), sum(m.verdict in ("fair", "unwatched", "suspected", "unfair") for m in figures))
    assert [(point.at, point.value, point.verdict) for point in one.trend] == [(NOON + HOUR, lowest.value, "unfair")]


@pytest.mark.thorough
def test_the_trend_has_one_point_for_each_moment_the_one_of_the_newest_check(stage: Scene) -> None:
    logged(stage, 40, 40, 4)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    logged(stage, 0, 40, 40, prefix="late-")
    again = stage.check(NOON)

    one = only(stage)

    assert one.worst is not None
    newest = again.get("disparate_impact", one.worst.data, one.worst.attribute, one.worst.group)
    assert [(point.at, point.value) for point in one.trend] == [(NOON + HOUR, newest.value)]


def test_a_deployment_whose_groups_are_all_fair_as_far_as_they_can_be_judged_is_fair(stage: Scene, snapshot: SnapshotAssertion) -> None:
    logged(stage, 80, 0)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    fair = only(stage)
    stage.watch(monitor_of(SEX, metrics=("disparate_impact",)))

    assert (fair.state, fair.reason, fair.groups, fair.judged) == (DeploymentState.FAIR, None, 4, 2)
    assert only(stage).reason == snapshot


def test_groups_too_small_to_judge_leave_it_undecided(stage: Scene) -> None:
    stage.watch(monitor_of(SEX))
    logged(stage, 20, 4)
    stage.check(NOON, trigger=Trigger.SCHEDULE)

    one = only(stage)

    assert (one.state, one.judged) == (DeploymentState.UNDECIDED, 0)
    assert one.worst is not None
    assert one.worst.verdict == Verdict.INSUFFICIENT_DATA


def test_a_monitor_without_disparate_impact_is_judged_by_its_first_metric_with_limits(stage: Scene) -> None:
    stage.watch(monitor_of(SEX, metrics=("favourable_rate", "statistical_parity_difference")))
    logged(stage, 40, 40)
    stage.check(NOON, trigger=Trigger.SCHEDULE)

    one = only(stage)

    assert one.worst is not None
    assert (one.state, one.worst.metric, one.worst.data) == (DeploymentState.UNFAIR, "statistical_parity_difference", DataSet.AS_LOGGED)


def test_a_failing_deployment_says_why_and_keeps_its_last_figure(stage: Scene) -> None:
    logged(stage, 40, 40)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    stage.queue(Span(start=NOON + 8 * HOUR, end=NOON + 9 * HOUR))
    with stage.database.transaction() as session:
        session.execute(
            text("UPDATE checks SET state = 'failed', claimable_at = NULL, reason = 'The endpoint answered 500.' WHERE state = 'running'")
        )

    one = only(stage, NOON + 9 * HOUR)

    assert (one.state, one.reason) == (DeploymentState.FAILING, "The endpoint answered 500.")
    assert one.worst is not None
    assert one.worst.verdict == Verdict.UNFAIR


@pytest.mark.thorough
def test_a_figure_carried_forward_stays_for_a_day_and_is_then_stale(stage: Scene, snapshot: SnapshotAssertion) -> None:
    logged(stage, 40, 40)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    for hours in (1, 24):
        stage.check(NOON + hours * HOUR, trigger=Trigger.SCHEDULE)

    fresh, stale = only(stage, NOON + 25 * HOUR), only(stage, NOON + 25 * HOUR + timedelta(seconds=1))

    assert fresh.worst is not None
    assert (fresh.state, fresh.worst.carried_forward, fresh.worst.measured_at) == (DeploymentState.UNFAIR, True, NOON + HOUR)
    assert stale.state == DeploymentState.STALE
    assert says(stale.reason, "2026-03-02 12:00", "UTC", "2026-03-02 13:00", "UTC")
    assert stale.reason == snapshot


def test_without_a_check_for_a_day_it_is_stale_although_records_come_in(stage: Scene, snapshot: SnapshotAssertion) -> None:
    logged(stage, 40, 40)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    logged(stage, 3, 3, at=NOON + 48 * HOUR, prefix="x")

    one = only(stage, NOON + 49 * HOUR - timedelta(seconds=1))

    assert (one.state, one.records) == (DeploymentState.STALE, 6)
    assert says(one.reason, "2026-03-04 12:00", "UTC", "2026-03-02 13:00", "UTC", "13:00", "UTC")
    assert one.reason == snapshot


def test_checks_of_longer_ranges_are_no_part_of_it(stage: Scene) -> None:
    logged(stage, 40, 40)
    hourly = stage.check(NOON)
    stage.check(NOON - 30 * HOUR, NOON + HOUR)

    one = only(stage)

    assert one.last_check is not None
    assert one.last_check.id == hourly.run.id
    assert len(one.trend) == 1


def test_the_records_of_this_minute_and_the_sixty_before_it_are_counted(stage: Scene) -> None:
    now = NOON + HOUR + timedelta(seconds=30)
    for no, (at, records) in enumerate({NOON - timedelta(seconds=1): 1, NOON: 2, NOON + HOUR / 2: 4, now: 8, NOON + 2 * HOUR: 16}.items()):
        logged(stage, records, 0, at=at, prefix=f"{no}-")

    assert [only(stage, moment).records for moment in (now, NOON + HOUR, NOON + HOUR + timedelta(minutes=1))] == [14, 14, 12]


@pytest.fixture
def several(stage: Scene) -> Scene:
    """Deployments that are fair, unfair, waiting, and unfair but failing now."""
    logged(stage, 80, 0)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    for name, rich in (("unfair-1", 4), ("unfair-2", 0)):
        made = another(stage, name)
        logged(made, 40, 40, rich)
        made.check(NOON, trigger=Trigger.SCHEDULE)
    made.queue(Span(start=NOON + HOUR, end=NOON + 2 * HOUR))
    made.stop_running()
    another(stage, "waiting")
    return stage


def names(found: Overview) -> list[str]:
    return [deployment.id for deployment in found.deployments]


def test_each_sort_has_its_order_and_a_failure_does_not_hide_a_verdict(several: Scene) -> None:
    now = NOON + 3 * HOUR

    # The last check of unfair-2, which is further out, failed: what is unfair now comes before what was so earlier.
    assert look(several, now).deployments[1].state is DeploymentState.FAILING
    assert names(look(several, now)) == ["unfair-1", "unfair-2", "waiting", "a-model"]
    assert names(look(several, now, sort=OverviewSort.LAST_CHECK)) == ["unfair-2", "a-model", "unfair-1", "waiting"]
    assert names(look(several, now, sort=OverviewSort.NAME)) == ["a-model", "unfair-1", "unfair-2", "waiting"]


def test_filters_leave_what_they_say_and_counts_stay(several: Scene, snapshot: SnapshotAssertion) -> None:
    states = frozenset({DeploymentState.WAITING, DeploymentState.FAIR})

    assert names(look(several, states=states)) == ["waiting", "a-model"]
    assert names(look(several, text=" UNFAIR ")) == ["unfair-1", "unfair-2"]
    assert names(look(several, text="a MODEL", states=states)) == ["waiting", "a-model"]
    assert look(several, text="%").next_step == snapshot
    assert look(several, states=states).counts[DeploymentState.UNFAIR] == 1
    assert names(look(several, only_no=several.deployment.no)) == ["a-model"]


def test_pages_hold_every_deployment_once(several: Scene, subtests: pytest.Subtests) -> None:
    for sort in OverviewSort:
        with subtests.test(sort=sort):
            whole = look(several, sort=sort)

            listed, behind = [], None
            for _ in whole.deployments:
                (one,) = look(several, sort=sort, after=behind, limit=1).deployments
                listed.append(one.id)
                behind = rank_deployment(one, sort)

            assert listed == names(whole)
            assert look(several, sort=sort, after=behind).deployments == ()


def test_the_number_of_statements_does_not_depend_on_the_deployments(several: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as few:
        look(several, only_no=several.deployment.no)
    for no in range(5):
        another(several, f"more-{no}")
    with counted(monkeypatch) as many:
        look(several)

    assert 0 < len(few) == len(many) <= 7


def test_the_furthest_of_several_groups_has_an_interval_that_allows_for_the_choice(database: Database, snapshot: SnapshotAssertion) -> None:
    several = MonitoredAttribute(feature="sex", monitored=("a", "b", "c"), reference=("male",), threshold=0.8)
    stage = scene(database, APPLICANT, replace(monitor_of(several), metrics=("disparate_impact",)), endpoint=None)
    let_a_worker_answer(database)
    approvals = {"a": 10, "b": 25, "c": 28, "male": 30}
    decided = RuleScorer().predict(["sex", "income"], [("male", 90_000), ("female", 20_000)])
    (yes, chance), (no, _) = decided
    rows = [(who, yes if place < approved else no) for who, approved in approvals.items() for place in range(60)]
    stage.log([{"sex": who, "income": 1, "age": 30, "prediction": given, "probability": chance} for who, given in rows], NOON)
    check = stage.check(NOON, trigger=Trigger.SCHEDULE)

    worst = only(stage).worst
    headline = next(figure for figure in check.measurements if figure.metric == "disparate_impact" and figure.worst_of is not None)

    assert worst is not None
    assert (worst.group, worst.chosen_interval) == ("a", [headline.chosen_lower, headline.chosen_upper])
    assert headline.lower is not None
    assert headline.upper is not None
    assert headline.chosen_lower is not None
    assert headline.chosen_upper is not None
    assert headline.chosen_lower < headline.lower < headline.upper < headline.chosen_upper
    assert says(word_figure(headline).statements[-1], "3", "furthest beyond its limits")
    assert word_figure(headline).text == snapshot
