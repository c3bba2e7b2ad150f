"""Evidence begins again with a model revision and with a monitor version: alerts of the one before are over, and its states stay."""

from dataclasses import replace

import pytest

from app.alerts.accumulated import evaluate_evidence
from app.domain.alerts import Resolution, RuleKind
from app.domain.checks import DataSet, Span
from app.evidence.nulls import UnfairSide
from app.evidence.sentences import State
from app.store.alerts.alerts import AlertFilter, alerts_page
from app.store.database.engine import Database
from app.store.evidence.eras import Era, deployments_to_follow
from app.store.evidence.figures import StoredFigure, figures_of
from app.store.evidence.hours import Cells, CountedPlace, hours_between
from app.tracking.looking import ComparisonState, look_at_evidence
from tests.builders.evidence_worlds import START, log, present_era, states, update, watched, world
from tests.databases import Databases
from tests.scenes import HOUR, Scene

UNFAIR, FAIR = [0.3] * 30, [1.0] * 30


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
        found = look_at_evidence(session, stage.deployment.no)
    assert found is not None
    return next(one for one in found.comparisons if (one.data, one.direction) == (DataSet.PAYLOAD, UnfairSide.BELOW))


def resolutions(stage: Scene) -> list[Resolution | None]:
    """How the alerts of evidence ended, oldest first; None for an open one."""
    with stage.database.transaction() as session:
        found = alerts_page(session, AlertFilter(deployment_no=stage.deployment.no), limit=100)
    return [one.resolution for one in reversed(found) if one.kind is RuleKind.EVIDENCE]


def figures(stage: Scene, era: Era) -> list[StoredFigure]:
    """All that is stored of the era's figures."""
    with stage.database.transaction() as session:
        return figures_of(session, era.no)


def counted(stage: Scene, era: Era) -> dict[int, Cells]:
    """The era's counts by sex of each hour after START."""
    with stage.database.transaction() as session:
        found = hours_between(session, era.no, CountedPlace(DataSet.PAYLOAD, "sex"), Span(start=START, end=START + 9_000 * HOUR))
    return {(hour - START) // HOUR: sorted(cells) for hour, cells in found.items()}


@pytest.mark.thorough
def test_a_model_revision_supersedes_the_alert_and_begins_at_zero(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 30)
    before = present_era(stage), figures(stage, present_era(stage))
    assert resolutions(stage) == [None]

    stage.revise("2")
    follow(stage, 31)
    assert resolutions(stage) == [Resolution.SUPERSEDED]
    assert below(stage).state is State.UNDECIDED
    assert (below(stage).log_evidence, below(stage).interval, states(stage)) == (0.0, (None, None), {})

    later = [replace(one, hour=one.hour + 31 * HOUR) for one in world([0.3, 0.3], seed=2, records=120)]
    log(stage, later, first_no=100_000, revision="2")
    # No bet is possible in the first hour: no rate is known yet.
    follow(stage, 33)
    assert below(stage).hours == 2
    assert below(stage).state is State.UNDECIDED
    assert 0 < below(stage).log_evidence < (below(stage).log_threshold or 0)
    assert (before[0], figures(stage, before[0])) == (present_era(stage, "1"), before[1])


@pytest.mark.thorough
def test_a_monitor_version_supersedes_the_alert_and_counts_only_hours_that_begin_later(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(UNFAIR, seed=1, records=120), first_no=1)
    follow(stage, 30)
    old = present_era(stage)
    before = figures(stage, old)

    stage.watch(replace(stage.monitor(), min_records=7))
    follow(stage, 31)
    begins = present_era(stage).starts_at
    assert begins is not None
    assert resolutions(stage) == [Resolution.SUPERSEDED]

    # The hour before is the one in which the monitor was changed.
    hour = (begins - START) // HOUR
    records = [replace(one, hour=one.hour + (hour - 1) * HOUR) for one in world([0.3, 0.3], seed=2, records=120)]
    log(stage, records, first_no=100_000, noted=True)
    follow(stage, hour + 1)
    assert sorted(counted(stage, present_era(stage))) == [hour]
    assert [one.first_hour for one in figures(stage, present_era(stage))] == [begins]
    assert below(stage).state is State.UNDECIDED
    assert resolutions(stage) == [Resolution.SUPERSEDED]
    assert figures(stage, old) == before


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
    records = world(UNFAIR, seed=1)
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
            assert deployments_to_follow(session, latest=START + 30 * HOUR) == []

        again.revise("1")
        update(again, START + 31 * HOUR)
        assert counted(again, present_era(again)) == counted(whole, present_era(whole))
        assert states(again) == states(whole)
        whole.database.close()
        again.database.close()
