"""Evidence begins again with a model revision; a monitor version keeps that of each comparison which it does not change."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from app.alerts.evaluate import evaluate_evidence
from app.alerts.queries import AlertFilter, page_alerts
from app.base.clock import utc_now
from app.database.engine import Database
from app.deployments.monitor.queries import delete_monitor, read_time_of_change
from app.domain.alert import Resolution, RuleKind
from app.domain.check import DataSet, Span
from app.domain.monitor import EvidenceSettings, MonitoredAttribute, Schedule
from app.domain.paging import Paging
from app.evidence.figure_state import number_hour
from app.evidence.present_state import ComparisonState, read_deployment_evidence
from app.evidence.queries.eras import Era, find_deployments_to_follow
from app.evidence.queries.hour_counts import Cells, CountedPlace, read_hours_between
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import State
from tests.builders.evidence_worlds import SEX, START, log, present_era, read_figures, states, update, watched, world
from tests.databases import Databases
from tests.scenes import HOUR, Scene

UNFAIR, FAIR = [0.3] * 30, [1.0] * 30
EVER = Span(start=START, end=START + 9_000 * HOUR)


def stage_of(database: Database) -> Scene:
    """A deployment without records."""
    return watched(database, metrics=("disparate_impact",))


def follow(stage: Scene, until: int) -> None:
    """Counts the hours before that one and decides the alerts."""
    update(stage, START + until * HOUR)
    evaluate_evidence(stage.database)


def below(stage: Scene) -> ComparisonState:
    """The state of the ratio as logged below its limit."""
    with stage.database.transaction() as session:
        found = read_deployment_evidence(session, stage.deployment.no)
    assert found is not None
    return next(
        comparison for comparison in found.comparisons if (comparison.data, comparison.direction) == (DataSet.AS_LOGGED, UnfairSide.BELOW)
    )


def resolutions(stage: Scene) -> list[Resolution | None]:
    """How the alerts of evidence ended, oldest first; None for an open one."""
    with stage.database.transaction() as session:
        found = page_alerts(session, AlertFilter(deployment_no=stage.deployment.no), Paging(100))
    return [one.resolution for one in reversed(found) if one.find(RuleKind.EVIDENCE) is not None]


def counted(stage: Scene, era: Era) -> dict[int, Cells]:
    """The era's counts by sex of each hour after START."""
    with stage.database.transaction() as session:
        found = read_hours_between(session, era.no, CountedPlace(DataSet.AS_LOGGED, "sex"), EVER)
    return {(hour - START) // HOUR: sorted(cells) for hour, cells in found.items()}


@pytest.mark.thorough
def test_a_model_revision_supersedes_the_alert_and_begins_at_zero(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 30)
    before = present_era(stage), read_figures(stage, present_era(stage))
    assert resolutions(stage) == [None]

    stage.revise("2")
    follow(stage, 31)
    assert resolutions(stage) == [Resolution.SUPERSEDED]
    assert below(stage).state is State.UNDECIDED
    assert (below(stage).log_evidence, below(stage).interval, states(stage)) == (0.0, (None, None), {})

    later = [replace(record, hour=record.hour + 31 * HOUR) for record in world([0.7, 0.7], seed=2, records=120)]
    log(stage, later, first_no=100_000, revision="2")
    follow(stage, 33)
    assert below(stage).hours == 2
    assert below(stage).state is State.UNDECIDED
    assert 0 < below(stage).log_evidence < (below(stage).log_threshold or 0)
    assert (before[0], read_figures(stage, before[0])) == (present_era(stage, "1"), before[1])


def next_hour(stage: Scene) -> int:
    """The first hour after START that begins after the last change of the monitor."""
    with stage.database.transaction() as session:
        changed = read_time_of_change(session, stage.deployment.no)
    assert changed is not None
    return (changed - START) // HOUR + 1


@pytest.mark.thorough
def test_a_monitor_version_that_changes_a_limit_supersedes_the_alert_and_counts_only_hours_that_begin_later(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 30)

    stage.watch(replace(stage.monitor(), attributes=(replace(SEX, threshold=0.85),)))
    follow(stage, 31)
    assert resolutions(stage) == [Resolution.SUPERSEDED]
    assert below(stage).figure_id is None

    # The hour before is the one in which the monitor was changed.
    hour = next_hour(stage)
    records = [replace(record, hour=record.hour + (hour - 1) * HOUR) for record in world([0.7, 0.7], seed=2, records=120)]
    log(stage, records, first_no=100_000, noted=True)
    follow(stage, hour + 1)
    assert sorted(counted(stage, present_era(stage))) == [hour]
    assert [figure.first_hour for figure in read_figures(stage, present_era(stage))] == [START + hour * HOUR]
    assert below(stage).starts_at == START + hour * HOUR
    assert below(stage).state is State.UNDECIDED
    assert resolutions(stage) == [Resolution.SUPERSEDED]


@pytest.mark.thorough
def test_a_monitor_version_keeps_the_evidence_and_the_alert_of_each_comparison_that_it_does_not_change(databases: Databases) -> None:
    with databases.lent() as first, databases.lent() as second:
        changed, unchanged = stage_of(Database(first)), stage_of(Database(second))
        records = world(UNFAIR, seed=1, records=120)
        for stage in (changed, unchanged):
            log(stage, records, first_no=1)
            follow(stage, 20)
        alert, since = resolutions(changed), below(changed).since

        changed.watch(replace(changed.monitor(), min_records=7, schedule=Schedule.OFF))
        for stage in (changed, unchanged):
            follow(stage, 30)
        assert (resolutions(changed), alert) == ([None], [None])
        assert below(changed).since == since
        assert present_era(changed).monitor_version == 2
        assert states(changed) == states(unchanged)
        assert counted(changed, present_era(changed)) == counted(unchanged, present_era(unchanged))

        # An import into an hour before the change counts as well.
        late = [replace(record, hour=record.hour + 3 * HOUR) for record in world([1.0], seed=3, records=40)]
        for stage in (changed, unchanged):
            log(stage, late, first_no=100_000, noted=True)
            follow(stage, 30)
        assert states(changed) == states(unchanged)
        changed.database.close()
        unchanged.database.close()


@pytest.mark.thorough
def test_an_attribute_that_is_added_counts_later_hours_only_and_leaves_the_others_as_they_are(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 30)
    before = states(stage)

    place = MonitoredAttribute(feature="place", monitored=("there",), reference=("here",))
    stage.watch(replace(stage.monitor(), attributes=(SEX, place)))
    follow(stage, 30)
    assert states(stage) == before
    assert resolutions(stage) == [None]

    # The new one is not counted in an hour before the change, even if that hour is counted again.
    hour, late = next_hour(stage), [replace(record, place="there") for record in world([0.3], seed=2, records=120)]
    at = [replace(record, hour=record.hour + hour * HOUR) for record in late]
    log(stage, [*late, *at], first_no=100_000, noted=True)
    follow(stage, hour + 1)
    with stage.database.transaction() as session:
        hours = read_hours_between(session, present_era(stage).no, CountedPlace(DataSet.AS_LOGGED, "place"), EVER)
    assert set(hours) == {START + hour * HOUR}
    firsts = {(figure.place.attribute, figure.group): figure.first_hour for figure in read_figures(stage, present_era(stage))}
    assert firsts["place", "there"] == START + hour * HOUR
    assert firsts["sex", "female"] == START


@pytest.mark.thorough
def test_a_monitored_value_that_is_added_leaves_the_others_as_they_are(database: Database) -> None:
    stage = watched(database, metrics=("disparate_impact",), attributes=(replace(SEX, monitored=("female",), reference=("male",)),))
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 30)
    before = states(stage)

    stage.watch(replace(stage.monitor(), attributes=(replace(SEX, monitored=("other", "female")),)))
    follow(stage, 30)
    assert states(stage) == before

    # All others are the reference where none is listed, and that is another comparison.
    stage.watch(replace(stage.monitor(), attributes=(replace(SEX, reference=None),)))
    follow(stage, 30)
    assert states(stage) == {}


@pytest.mark.thorough
def test_a_comparison_that_ended_shares_the_budget_until_its_end(databases: Databases) -> None:
    place = MonitoredAttribute(feature="place", monitored=("there",), reference=("here",))
    records = [replace(record, place="there" if index % 2 else "here") for index, record in enumerate(world(FAIR, seed=1))]
    with databases.lent() as first, databases.lent() as second:
        dropped, both = (watched(Database(url), metrics=("disparate_impact",), attributes=(SEX, place)) for url in (first, second))
        for stage in (dropped, both):
            log(stage, records, first_no=1)
            follow(stage, 30)
        dropped.watch(replace(dropped.monitor(), attributes=(SEX,)))
        # Counted again, every hour before the end has the threshold that it had.
        for stage in (dropped, both):
            log(stage, world([0.9], seed=4, records=5), first_no=200_000, noted=True)
            follow(stage, 30)
        kept = {key: state for key, state in states(both).items() if key[1] == "sex"}
        assert states(dropped) == kept
        dropped.database.close()
        both.database.close()


@pytest.mark.thorough
def test_evidence_begins_again_with_a_monitor_that_was_deleted(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 30)
    monitor = stage.monitor()

    with database.transaction() as session:
        delete_monitor(session, stage.deployment.no)
    stage.watch(monitor)
    follow(stage, 31)
    assert states(stage) == {}
    assert resolutions(stage) == [Resolution.SUPERSEDED]


@pytest.mark.thorough
def test_figures_that_were_stored_before_definitions_were_are_kept_as_well(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 20)
    with database.transaction() as session:
        session.execute(text("UPDATE evidence_figures SET definition = NULL"))
    follow(stage, 25)
    before = states(stage)

    stage.watch(replace(stage.monitor(), min_records=7))
    follow(stage, 25)
    assert states(stage) == before


@pytest.mark.nightly
def test_each_of_several_revisions_in_one_hour_counts_only_its_own_records(databases: Databases) -> None:
    worlds = {"1": world(FAIR, seed=1), "2": world(UNFAIR, seed=2), "3": world(FAIR, seed=3)}
    with databases.lent() as url:
        mixed = stage_of(Database(url))
        for place, (revision, records) in enumerate(worlds.items()):
            log(mixed, records, first_no=1 + 100_000 * place, revision=revision)
        for revision, records in worlds.items():
            mixed.revise(revision)
            update(mixed, START + 30 * HOUR)
            with databases.lent() as other:
                alone = stage_of(Database(other))
                log(alone, records, first_no=1)
                update(alone, START + 30 * HOUR)
                assert counted(mixed, present_era(mixed)) == counted(alone, present_era(alone))
                assert states(mixed) == states(alone)
                alone.database.close()
        mixed.database.close()


@pytest.mark.nightly
def test_an_import_into_the_hours_of_another_revision_is_there_when_that_one_is_used_again(databases: Databases) -> None:
    records = world([0.95] * 30, seed=1)
    kept, late = records[::2], records[1::2]
    with databases.lent() as first, databases.lent() as second:
        whole, again = stage_of(Database(first)), stage_of(Database(second))
        log(whole, records, first_no=1)
        update(whole, START + 31 * HOUR)

        log(again, kept, first_no=1)
        update(again, START + 30 * HOUR)
        again.revise("2")
        update(again, START + 30 * HOUR)
        log(again, late, first_no=100_000, noted=True)
        update(again, START + 30 * HOUR)
        assert counted(again, present_era(again)) == {}
        # What is kept for revision 1 is no work for revision 2.
        with again.database.transaction() as session:
            assert find_deployments_to_follow(session, latest=START + 30 * HOUR) == []

        again.revise("1")
        update(again, START + 31 * HOUR)
        assert counted(again, present_era(again)) == counted(whole, present_era(whole))
        assert states(again) == states(whole)
        whole.database.close()
        again.database.close()


@pytest.mark.thorough
def test_hours_counted_while_the_clock_was_ahead_are_counted_again_once_they_have_ended(database: Database) -> None:
    stage = stage_of(database)
    first = world([1.0] * 3, seed=1, records=20)
    log(stage, first, first_no=1)
    ahead = (utc_now() - START) // HOUR + 72
    follow(stage, ahead)
    log(stage, [replace(record, hour=record.hour + HOUR) for record in first], first_no=100_000)

    follow(stage, 2)
    assert present_era(stage).counted_until == START + 2 * HOUR
    assert below(stage).until == START + 2 * HOUR
    follow(stage, 4)
    follow(stage, 4)
    assert {hour: sum(cell[-1] for cell in cells) for hour, cells in counted(stage, present_era(stage)).items()} == {
        0: 20,
        1: 20,
        2: 40,
        3: 20,
    }


@pytest.mark.thorough
def test_a_column_of_persons_that_is_named_later_holds_from_the_next_block_on(database: Database) -> None:
    stage = stage_of(database)
    log(stage, [replace(one, person=f"p{number}") for number, one in enumerate(world(UNFAIR, seed=1, records=120))], first_no=1)
    follow(stage, 30)
    before, past = states(stage), counted(stage, present_era(stage))
    assert resolutions(stage) == [None]

    stage.watch(replace(stage.monitor(), evidence=EvidenceSettings(person="person")))
    hour = next_hour(stage)
    records = world([0.7], seed=2, records=40)
    # Ten people were seen before, and the first of the others comes twice.
    persons = [*(f"p{number}" for number in range(10)), "new-10", *(f"new-{number}" for number in range(10, 39))]
    later = [replace(one, hour=START + hour * HOUR, person=person) for one, person in zip(records, persons, strict=True)]
    log(stage, later, first_no=100_000)
    follow(stage, hour + 1)

    era = present_era(stage)
    assert era.persons == [(0, None), (number_hour(START + hour * HOUR), "person")]
    counts = counted(stage, era)
    assert sum(cell[-1] for cell in counts.pop(hour) if not cell[1].endswith("repeated_person")) == 29
    assert counts == past
    assert {key: first for key, (first, *_) in states(stage).items()} == {key: first for key, (first, *_) in before.items()}
    assert resolutions(stage) == [None]

    # An import into a past hour changes that hour as it was counted, and whose first record later ones are.
    log(stage, [replace(later[-1], hour=START)], first_no=200_000, noted=True)
    follow(stage, hour + 1)
    counts = counted(stage, present_era(stage))
    assert sum(cell[-1] for cell in counts[0]) == 121
    assert sum(cell[-1] for cell in counts[hour] if not cell[1].endswith("repeated_person")) == 28
