"""Labels that arrive later than their horizon do not count; their number is shown, however they arrive."""

import pytest
from syrupy.assertion import SnapshotAssertion

from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.monitor import EvidenceSettings
from app.evidence.present_state import read_deployment_evidence
from app.evidence.words import list_remarks
from app.sources.stored.window_queries import note_changed_hours
from tests.builders.evidence_worlds import START, Logged, import_labels, log, present_era, states, update, watched
from tests.builders.page_words import says
from tests.scenes import HOUR, Scene

LATER = EvidenceSettings(label_horizon_hours=5)
RECORDS = [Logged(START + hour * HOUR, sex, 1) for hour in range(3) for sex in ("female", "male")]


@pytest.fixture
def stage(database: Database) -> Scene:
    """A deployment with six records without a label in three hours, of which hours and labels are counted up to hour 20."""
    stage = watched(database, evidence=LATER)
    log(stage, RECORDS, first_no=1)
    update(stage, START + 20 * HOUR)
    return stage


def test_labels_that_are_imported_as_too_late_are_counted_as_too_late(stage: Scene) -> None:
    import_labels(stage, [("1-0", 1), ("1-2", 1)], START + 9 * HOUR)
    update(stage, START + 20 * HOUR)
    assert present_era(stage).late_labels == 2

    # In time: a label that is known by then counts, and is not late.
    import_labels(stage, [("1-4", 1)], START + 3 * HOUR)
    update(stage, START + 20 * HOUR)
    assert present_era(stage).late_labels == 2
    assert {place for place, *_ in states(stage)} == {DataSet.AS_LOGGED, DataSet.LABELLED}
    line = "sex, on labelled records: 1 of 6 records counted; left out: no label that counts 5 (female 2, male 3)."
    with stage.database.transaction() as session:
        evidence = read_deployment_evidence(session, stage.deployment.no)
    assert evidence is not None
    assert line in list_remarks(evidence)

    # A label in no list does not count either; nor does a record whose horizon has not passed count as one without a label.
    import_labels(stage, [("1-3", "?")], START + 3 * HOUR)
    log(stage, [Logged(START + 18 * HOUR, "male", 1)], first_no=50)
    update(stage, START + 20 * HOUR)
    with stage.database.transaction() as session:
        assert line in list_remarks(read_deployment_evidence(session, stage.deployment.no) or evidence)


def test_an_hour_that_is_counted_again_does_not_count_its_late_labels_twice(stage: Scene) -> None:
    import_labels(stage, [("1-0", 1)], START + 9 * HOUR)
    # Too late as well, but in an hour that has not been counted yet.
    import_labels(stage, [("1-1", 1)], START + 22 * HOUR)
    update(stage, START + 20 * HOUR)
    assert present_era(stage).late_labels == 1

    for until in (21, 23, 24, 24):
        with stage.database.transaction() as session:
            note_changed_hours(session, stage.deployment.no, [START, START + HOUR])
        update(stage, START + until * HOUR)
    assert present_era(stage).late_labels == 2


def test_labels_that_waited_for_their_record_and_live_ones_are_counted_as_too_late(stage: Scene) -> None:
    stage.number_from(500)
    stage.label([("1-0", 1), ("9-0", 1)], START + 20 * HOUR)
    update(stage, START + 21 * HOUR)
    assert present_era(stage).late_labels == 1

    log(stage, [Logged(START + HOUR, "female", 1)], first_no=9, noted=True)
    update(stage, START + 21 * HOUR)
    assert present_era(stage).late_labels == 2


def test_late_labels_are_those_of_the_era_s_own_records(stage: Scene) -> None:
    import_labels(stage, [("1-0", 1)], START + 9 * HOUR)
    update(stage, START + 20 * HOUR)
    stage.revise("2")
    log(stage, [Logged(START + 21 * HOUR, "female", 1)], first_no=50, revision="2")
    import_labels(stage, [("1-2", 1), ("50-0", 1)], START + 30 * HOUR)
    update(stage, START + 40 * HOUR)

    assert present_era(stage).late_labels == 1
    assert present_era(stage, revision="1").late_labels == 1


def test_the_number_of_late_labels_is_said_next_to_the_figures(stage: Scene, snapshot: SnapshotAssertion) -> None:
    import_labels(stage, [("1-0", 1), ("1-1", 0)], START + 9 * HOUR)
    update(stage, START + 20 * HOUR)
    with stage.database.transaction() as session:
        evidence = read_deployment_evidence(session, stage.deployment.no)

    assert evidence is not None
    remarks = list(list_remarks(evidence))
    assert any(says(remark, "2", "5 hours") for remark in remarks)
    assert remarks == snapshot
