"""How soon an unfairness would be found: the counts that it is computed from, and a true sentence where there is no answer."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from app.database.engine import Database, arrow_reader
from app.domain.monitor import EvidenceSettings, Monitor
from app.evidence.plan import NO_RECORDS, EvidencePlan, WantedDetection, plan_from_counts, plan_from_records
from app.evidence.watched_figures import list_watched_metrics
from app.statistics.e_values.nulls import UnfairSide
from tests.builders.evidence_worlds import SEX, START, Logged, log, update, watched, world
from tests.builders.page_words import says
from tests.scenes import HOUR, Scene

WANTED = WantedDetection(ratio=0.7, chance=0.9)


def before(stage: Scene, hours: int, monitor: Monitor | None = None, wanted: WantedDetection = WANTED) -> EvidencePlan:
    """The plan for a monitor that is not set."""
    with stage.database.transaction() as session, arrow_reader(stage.database) as reader:
        found = monitor or stage.monitor()
        return plan_from_records(session, reader, stage.deployment.no, found, detection=wanted, until=START + hours * HOUR)


def after(stage: Scene, wanted: WantedDetection = WANTED) -> EvidencePlan | None:
    """The plan for the monitor that is set."""
    with stage.database.transaction() as session:
        return plan_from_counts(session, stage.deployment.no, stage.monitor(), wanted)


@pytest.mark.parametrize("person", [None, "person"])
def test_before_and_after_a_monitor_is_set_the_plan_is_the_same(
    database: Database, person: str | None, snapshot: SnapshotAssertion
) -> None:
    stage = watched(database, evidence=EvidenceSettings(person=person))
    records = world([0.9] * 30, seed=1)
    log(stage, [replace(record, person=f"p{place % 900}") for place, record in enumerate(records)], first_no=1)
    assert after(stage) is None
    planned = before(stage, 30)
    update(stage, START + 30 * HOUR)

    assert after(stage) == planned
    (one,) = planned.comparisons
    assert (one.group, one.direction, one.limit, planned.hours) == ("female", UnfairSide.BELOW, 0.8, 30)
    assert one.monitored.records + one.reference.records == (len(records) if person is None else 900)
    assert one.hours is not None
    assert one.records is not None
    assert says(one.words, "0.7", "90", f"{one.records:,}", f"{one.hours:,}")
    assert one.words == snapshot
    assert planned.shared_by == sum(len(metric.limits) for metric in list_watched_metrics(stage.monitor()))


def test_without_traffic_it_says_so(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database)
    assert says(text := before(stage, 30).comparisons[0].words, "168")
    assert text == snapshot
    update(stage, START + 30 * HOUR)
    found = after(stage)
    assert found is not None
    assert (found.span, found.comparisons[0].monitored) == (None, NO_RECORDS)


def test_no_time_is_given_where_there_is_none(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database)
    men = [Logged(START, "male", int(no < 45)) for no in range(50)]
    women = [Logged(START, "female", 0) for _ in range(5)]
    log(stage, women, first_no=1)
    assert before(stage, 1).comparisons[0].words == snapshot
    log(stage, men, first_no=100)
    assert says(text := before(stage, 1, wanted=WantedDetection(0.9, 0.9)).comparisons[0].words, "0.9")
    assert text == snapshot
    assert says(text := before(stage, 1, wanted=WantedDetection(1.26, 0.9)).comparisons[0].words, "1.26", "89", "reference")
    assert text == snapshot
    assert says(text := before(stage, 1, wanted=WantedDetection(0.7999, 0.9)).comparisons[0].words, "0.8")
    assert text == snapshot
    one_sided = replace(stage.monitor(), attributes=(replace(SEX, upper_threshold=None),))
    assert "is not beyond a limit that is set" in before(stage, 1, one_sided, WantedDetection(1.1, 0.9)).comparisons[0].words
    assert "is not beyond a limit" not in before(stage, 1, one_sided, WantedDetection(0.7, 0.9)).comparisons[0].words


def test_a_favoured_group_is_planned_on_the_other_side(database: Database) -> None:
    stage = watched(database)
    log(stage, world([1.0] * 20, seed=2, base=0.4), first_no=1)

    (one,) = before(stage, 20, wanted=WantedDetection(1.5, 0.9)).comparisons
    assert (one.direction, one.limit) == (UnfairSide.ABOVE, 1.25)
    assert one.hours is not None


def test_a_reference_without_favourable_records_has_no_ratio(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database)
    log(stage, [Logged(START, sex, 0) for sex in ("male", "female") for _ in range(40)], first_no=1)

    assert before(stage, 1).comparisons[0].words == snapshot


@pytest.mark.thorough
def test_four_hundred_records_a_month_need_about_six_months(database: Database) -> None:
    stage = watched(database, metrics=("disparate_impact",), attributes=(replace(SEX, upper_threshold=None),))
    for month in range(12):
        batch = world([1.0], seed=month, records=400, share=0.3, base=0.5)
        log(stage, [replace(one, hour=START + month * 730 * HOUR) for one in batch], first_no=1 + month * 1_000)
    update(stage, START + 12 * 730 * HOUR)
    planned = after(stage, WantedDetection(ratio=0.6, chance=0.5))

    assert planned is not None
    assert planned.comparisons[0].hours is not None
    assert 5 <= planned.comparisons[0].hours / 730 <= 8
