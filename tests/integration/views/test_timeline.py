"""A timeline equals the series it is joined from, whatever the step, with the same number of statements however long the time is."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from syrupy.assertion import SnapshotAssertion

from app.charts.series import SeriesQuery, build_series
from app.charts.time_ranges import EarlierKind
from app.charts.timeline import Timeline, read_timeline
from app.checks.days.day_queries import DAY, FigureSelection, join_day
from app.database.engine import Database
from app.domain.check import DataSet, Span, Trigger
from app.domain.deployment import Endpoint
from app.domain.groups import GroupWords
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene

HOURS = 14
"""From noon on: the checks of two days."""


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Hourly checks: three hours with records of their own, the others carried forward."""

    def make() -> Scene:
        watched = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))
        for hour in range(HOURS):
            if hour in (0, 5, 13):
                watched.log(applicants(20, 20, 2 + hour, prefix=f"{hour}-"), NOON + hour * HOUR)
            watched.check(NOON + hour * HOUR, trigger=Trigger.SCHEDULE)
        return watched

    return memory.recall(database, make)


def timeline(stage: Scene, span: Span, earlier: EarlierKind | None = None) -> Timeline:
    wanted = FigureSelection(metric="disparate_impact", data=DataSet.AS_LOGGED)
    with stage.database.transaction() as session:
        return read_timeline(session, stage.deployment.no, span, wanted, words=GroupWords(), compared=earlier)


def values(session: Session, stage: Scene) -> dict[object, float | None]:
    (group,) = build_series(
        session, stage.deployment.no, SeriesQuery(metric="disparate_impact", data=DataSet.AS_LOGGED, attribute="sex")
    ).groups
    return {point.at: point.value for point in group.points}


def around(stage: Scene, length: timedelta) -> Span:
    """A time of that length that ends with the last check."""
    assert stage.deployment.no
    end = NOON + HOURS * HOUR
    return Span(start=end - length, end=end)


@pytest.mark.thorough
@pytest.mark.parametrize("length", [timedelta(hours=15), timedelta(days=30), timedelta(days=300), timedelta(days=3000)])
def test_every_figure_is_in_a_step_whatever_the_length(stage: Scene, length: timedelta) -> None:
    found = timeline(stage, around(stage, length))
    (panel,) = found.panels
    with stage.database.transaction() as session:
        known = values(session, stage)

    assert len(known) == HOURS
    assert sum(step.figures + step.carried for step in panel.steps) == HOURS
    assert panel.figures == 3
    assert min(step.lowest or 9 for step in panel.steps) == min(value for value in known.values() if value is not None)
    assert max(step.highest or 0 for step in panel.steps) == max(value for value in known.values() if value is not None)
    assert all(step.check_no is not None for step in panel.steps)
    assert sum(step.logged or 0 for step in found.checks) == 120


def test_parts_of_days_at_the_ends_of_a_long_time_are_cut_exactly(stage: Scene) -> None:
    # From the second check of the first day up to the first check of the second.
    span = Span(start=NOON + HOUR - timedelta(days=400), end=NOON + 13 * HOUR)
    (panel,) = timeline(stage, span).panels
    (late,) = timeline(stage, Span(start=NOON + HOUR, end=NOON + HOUR + timedelta(days=400))).panels

    assert sum(step.figures + step.carried for step in panel.steps) == 13
    assert sum(step.figures + step.carried for step in late.steps) == HOURS - 1


def test_the_number_of_statements_does_not_depend_on_the_time(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []
    for length in (timedelta(hours=3), timedelta(days=365), timedelta(days=3650)):
        with counted(monkeypatch) as sent:
            timeline(stage, around(stage, length), EarlierKind.PERIOD)
        numbers.append(len([statement for statement in sent if "SELECT" in statement]))

    assert max(numbers) <= 16
    assert numbers[1] == numbers[2]


def test_of_two_checks_of_one_hour_the_later_counts_in_every_step(stage: Scene) -> None:
    stage.log(applicants(20, 20, 20, prefix="more-"), NOON + 5 * HOUR)
    again = stage.check(NOON + 5 * HOUR)
    hours, days = (timeline(stage, around(stage, length)).panels[0] for length in (timedelta(hours=15), timedelta(days=400)))

    assert sum(step.figures + step.carried for step in hours.steps) == sum(step.figures + step.carried for step in days.steps) == HOURS
    assert again.run.no in {step.check_no for step in hours.steps}
    assert max(step.highest or 0 for step in days.steps) == max(step.highest or 0 for step in hours.steps)


def test_days_that_are_joined_again_stay_as_they_are(stage: Scene) -> None:
    columns = 'deployment_no, day, metric, data, scope, attribute, "group", definition, figures, carried, unfair, lowest, highest, lower, n'
    rows = text(f"SELECT {columns} FROM figure_days ORDER BY 2, 3, 4, 5, 6, 7")  # noqa: S608 - a test's own
    with stage.database.transaction() as session:
        before = session.execute(rows).all()
        for day in (NOON, NOON + DAY):
            join_day(session, stage.deployment.no, day)
        after = session.execute(rows).all()

    assert before == after
    assert {one.day.hour for one in after} == {0}


def test_a_failed_check_is_a_gap_and_a_change_of_the_monitor_is_marked(stage: Scene) -> None:
    stage.watch(monitor_of(SEX, min_records=11))
    stage.check(NOON + HOURS * HOUR)
    stage.queue(Span(start=NOON + 15 * HOUR, end=NOON + 16 * HOUR))
    stage.stop_running()
    found = timeline(stage, Span(start=NOON, end=NOON + 17 * HOUR))

    assert [(change.monitor_before, change.monitor) for change in found.changes] == [(1, 2)]
    assert [check.failed for check in found.checks if check.failed] == [1]


def test_the_period_before_is_drawn_later_and_a_revision_that_was_never_there_is_not(stage: Scene, snapshot: SnapshotAssertion) -> None:
    span = Span(start=NOON + 7 * HOUR, end=NOON + 14 * HOUR)
    before, revision = timeline(stage, span, EarlierKind.PERIOD), timeline(stage, span, EarlierKind.REVISION)

    assert before.earlier is not None
    assert before.earlier.span == Span(start=NOON, end=NOON + 7 * HOUR)
    assert sum(step.figures + step.carried for step in before.panels[0].earlier) == 7
    assert revision.earlier is None
    assert revision.no_earlier == snapshot


def test_the_revision_before_is_that_of_its_last_checks(stage: Scene) -> None:
    with stage.database.transaction() as session:
        change = text("UPDATE checks SET model_revision = :revision WHERE span_end > :after AND span_end <= :until")
        for revision, first in (("1", 0), ("2", 4), ("3", 8)):
            session.execute(change, {"revision": revision, "after": NOON + first * HOUR, "until": NOON + HOURS * HOUR})
    found = timeline(stage, Span(start=NOON + 8 * HOUR, end=NOON + 14 * HOUR), EarlierKind.REVISION)

    assert found.earlier is not None
    assert (found.earlier.revision, found.earlier.span) == ("2", Span(start=NOON + 4 * HOUR, end=NOON + 8 * HOUR))
    assert found.earlier.shift == 6 * HOUR
    assert sum(step.figures + step.carried for step in found.panels[0].earlier) == 4
    assert [one.revision for one in timeline(stage, Span(start=NOON, end=NOON + 14 * HOUR)).changes] == ["2", "3"]
