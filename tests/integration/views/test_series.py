"""Series as charts read them: points by group, gaps, ties, roll-ups, and how much was logged."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.base.values import Range
from app.charts.series import Series, SeriesQuery, Volume, build_series, count_volume
from app.checks.days.roll_up import Period
from app.database.engine import Database
from app.deployments.monitor.queries import delete_monitor
from app.domain.check import CheckState, DataSet, Scope, Span, Trigger
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene

AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 34), Range(35, 39)), reference=(Range(40, 69),), upper_threshold=1.25)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Two hours with records, one without, one with too few for a check of a new monitor."""

    def make() -> Scene:
        watched = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url))
        for hour in range(2):
            watched.log(applicants(20, 20, 2 + hour, prefix=f"{hour}-"), NOON + hour * HOUR)
        for hour in range(3):
            watched.check(NOON + hour * HOUR, trigger=Trigger.SCHEDULE)
        return watched

    return memory.recall(database, make)


def read(stage: Scene, **wanted: Any) -> Series:  # noqa: ANN401
    given: dict[str, Any] = {"metric": "disparate_impact", "data": DataSet.AS_LOGGED, "attribute": "sex", **wanted}
    with stage.database.transaction() as session:
        return build_series(session, stage.deployment.no, SeriesQuery(**given))


def volumes(stage: Scene, rollup: Period | None = None) -> tuple[Volume, ...]:
    with stage.database.transaction() as session:
        return count_volume(session, stage.deployment.no, None, None, rollup)


def test_every_group_of_the_attribute_has_its_points_oldest_first(stage: Scene) -> None:
    series = read(stage, attribute="age")

    assert [(group.group, group.scope) for group in series.groups] == [("30-34", Scope.GROUP), ("35-39", Scope.GROUP)]
    assert [[point.at for point in group.points] for group in series.groups] == [[NOON + hour * HOUR for hour in (1, 2, 3)]] * 2
    assert {(point.lower_limit, point.upper_limit) for group in series.groups for point in group.points} == {(0.8, 1.25)}
    assert (series.rollup, series.gaps) == (None, ())


def test_each_point_has_the_limits_it_was_held_against(stage: Scene) -> None:
    stricter = replace(SEX, threshold=0.9, upper_threshold=1.1)
    stage.watch(monitor_of(stricter, AGE))
    stage.log(applicants(20, 20, 3, prefix="later-"), NOON + 3 * HOUR)
    stage.check(NOON + 3 * HOUR, trigger=Trigger.SCHEDULE)

    series = read(stage)

    (females,) = series.groups
    assert [(point.lower_limit, point.upper_limit) for point in females.points] == [(0.8, None)] * 3 + [(0.9, 1.1)]


@pytest.mark.thorough
def test_a_point_says_what_its_measurement_says(stage: Scene) -> None:
    (females,) = read(stage).groups
    check = stage.result(stage.queue(stage.check(NOON + HOUR).run.span)).run
    stage.stop_running()
    measured = stage.check(NOON)
    wanted = measured.get("disparate_impact", "as_logged", "sex", "female")

    (again,) = read(stage, until=NOON + 2 * HOUR).groups

    assert [point.value for point in females.points] == pytest.approx([0.1, 0.15, 0.15])
    assert [point.carried_forward for point in females.points] == [False, False, True]
    (point,) = again.points
    assert (point.value, point.lower, point.upper, point.n) == (wanted.value, wanted.lower, wanted.upper, wanted.n)
    assert (point.verdict, point.reason, point.check_id) == (wanted.verdict, wanted.reason, measured.run.id)
    assert check.id != point.check_id


def test_what_cannot_be_computed_is_a_point_with_its_reason(stage: Scene) -> None:
    series = read(stage, metric="accuracy", data=DataSet.LABELLED, attribute=None)

    assert [group.scope for group in series.groups] == [Scope.OVERALL]
    assert {(point.value, point.reason is None) for point in series.groups[0].points} == {(None, False)}


def test_checks_without_measurements_are_gaps_with_their_reason(stage: Scene) -> None:
    stage.watch(monitor_of(SEX, min_records=100))
    short = stage.check(NOON + 3 * HOUR, trigger=Trigger.SCHEDULE)
    stage.queue(Span(start=NOON + 9 * HOUR, end=NOON + 10 * HOUR))
    stage.stop_running()

    gaps = read(stage).gaps

    assert short.run.state is CheckState.INSUFFICIENT_DATA
    assert [(gap.at, gap.state, gap.reason) for gap in gaps] == [
        (NOON + 4 * HOUR, CheckState.INSUFFICIENT_DATA, short.run.reason),
        (NOON + 10 * HOUR, CheckState.FAILED, None),
    ]


def test_a_failed_check_that_succeeded_later_is_no_gap(stage: Scene) -> None:
    stage.queue(stage.check(NOON + 5 * HOUR).run.span)
    stage.stop_running()

    assert read(stage).gaps == ()


@pytest.mark.nightly
def test_of_checks_that_end_at_one_moment_the_one_of_an_hour_counts_and_then_the_newest(stage: Scene) -> None:
    hourly = stage.check(NOON + HOUR)
    longer = stage.check(NOON - 20 * HOUR, NOON + 2 * HOUR)
    other_end = stage.check(NOON - 20 * HOUR, NOON + 30 * timedelta(minutes=1))

    (females,) = read(stage).groups

    shown = [point.check_id for point in females.points]
    assert hourly.run.id in shown
    assert longer.run.id not in shown
    assert other_end.run.id in shown
    assert len(shown) == 4


def test_times_are_half_open(stage: Scene) -> None:
    (females,) = read(stage, since=NOON + HOUR, until=NOON + 3 * HOUR).groups

    assert [point.at for point in females.points] == [NOON + HOUR, NOON + 2 * HOUR]


def test_a_roll_up_adds_up_the_hours(stage: Scene) -> None:
    day = read(stage, rollup=Period.DAY)

    ((point,),) = (group.points for group in day.groups)
    assert (point.at, point.n, point.check_id, point.carried_forward) == (NOON.replace(hour=0), 80, None, False)
    assert point.value == pytest.approx(0.125)
    assert (point.lower_limit, point.upper_limit, day.rollup) == (0.8, None, Period.DAY)


def test_a_roll_up_without_a_monitor_is_empty(stage: Scene) -> None:
    with stage.database.transaction() as session:
        delete_monitor(session, stage.deployment.no)

    assert read(stage, rollup=Period.MONTH).groups == ()


@pytest.mark.parametrize("wanted", [{"metric": "'; DROP TABLE checks; --"}, {"attribute": "%(data)s {whom} \\"}, {"attribute": ""}])
def test_nothing_is_found_under_names_that_do_not_exist(stage: Scene, wanted: dict[str, str]) -> None:
    assert read(stage, **wanted).groups == ()


@pytest.mark.thorough
def test_the_volume_is_what_was_logged_and_no_hour_counts_twice(stage: Scene) -> None:
    stage.check(NOON, NOON + HOUR / 2, trigger=Trigger.REQUEST)
    stage.check(NOON, NOON + 5 * HOUR)

    assert [(volume.at, volume.records, volume.additional) for volume in volumes(stage)] == [
        (NOON + HOUR, 40, 0),
        (NOON + 2 * HOUR, 40, 0),
        (NOON + 3 * HOUR, 0, 0),
    ]
    assert volumes(stage, Period.WEEK) == (Volume(at=NOON.replace(hour=0), records=80, additional=0),)


def test_no_record_is_counted_twice_where_a_check_began_within_an_hour(stage: Scene) -> None:
    before = volumes(stage)

    stage.check(NOON - HOUR / 2, NOON + HOUR / 2)

    assert volumes(stage) == before
    assert [volume.records for volume in volumes(stage, Period.DAY)] == [80]


def test_the_number_of_statements_does_not_depend_on_how_long_the_series_is(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for rollup in (None, Period.DAY):
        with counted(monkeypatch) as few:
            read(stage, until=NOON + 2 * HOUR, rollup=rollup)
        with counted(monkeypatch) as many:
            read(stage, rollup=rollup)

        assert 0 < len(few) == len(many) <= 5
