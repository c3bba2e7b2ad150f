"""Hours are counted once, whatever the order in which their records arrive."""

import random
from datetime import datetime

import pytest

from app.database.engine import Database
from app.domain.check import DataSet, Span
from app.domain.monitor import EvidenceSettings
from app.evidence.queries.eras import find_era
from app.evidence.queries.hour_counts import CountedPlace, read_hours_between
from tests.builders.evidence_worlds import START, Logged, log, states, update, watched, world
from tests.databases import Databases
from tests.scenes import HOUR, Scene

HOURS = 36
LATER = EvidenceSettings(label_horizon_hours=5)


def counted(stage: Scene, data: DataSet = DataSet.AS_LOGGED) -> dict[int, list[list[object]]]:
    """The counts by sex of each hour after START."""
    with stage.database.transaction() as session:
        era = find_era(session, stage.deployment.no, stage.deployment.model_revision)
        assert era is not None
        found = read_hours_between(
            session, era.no, CountedPlace(data, "sex"), Span(start=datetime.min.replace(tzinfo=START.tzinfo), end=START + 9_000 * HOUR)
        )
    return {(hour - START) // HOUR: sorted(cells) for hour, cells in found.items()}


def test_every_record_of_an_hour_counts_and_only_there(database: Database) -> None:
    stage = watched(database, max_records=10, min_records=1)
    men, women = Logged(START, "male", 1), Logged(START + HOUR, "female", 0)
    log(stage, [men] * 30 + [women] * 20 + [Logged(START + HOUR, "male", 0)] * 5, first_no=1)
    update(stage, START + 3 * HOUR)

    assert counted(stage) == {0: [["male", "reference", 30, 30]], 1: [["female", "monitored", 0, 20], ["male", "reference", 0, 5]]}


def test_labels_count_in_the_hour_of_their_record_once_the_horizon_has_passed(database: Database) -> None:
    stage = watched(database, evidence=LATER)
    log(
        stage,
        [Logged(START, "female", 1, 1), Logged(START, "female", 0, 1), Logged(START, "male", 1, 0), Logged(START, "male", 0)],
        first_no=1,
    )
    update(stage, START + 5 * HOUR)
    assert counted(stage, DataSet.LABELLED) == {}

    update(stage, START + 6 * HOUR)
    assert counted(stage, DataSet.LABELLED) == {
        0: [["female", "monitored", 1, 2, 0, 0, 1, 2], ["male", "reference", 0, 0, 1, 1, 0, 1]],
    }


def test_a_label_that_comes_too_late_is_left_out_and_told(database: Database) -> None:
    stage = watched(database, evidence=LATER)
    log(stage, [Logged(START, "female", 1), Logged(START, "male", 1, 1)], first_no=1)
    stage.label([("1-0", 1)], START + 7 * HOUR)
    update(stage, START + 8 * HOUR)
    update(stage, START + 9 * HOUR)

    assert counted(stage, DataSet.LABELLED) == {0: [["male", "reference", 1, 1, 0, 0, 1, 1]]}
    with database.transaction() as session:
        era = find_era(session, stage.deployment.no, "1")
        assert era is not None
        assert era.late_labels == 1


def test_only_the_first_record_of_a_person_counts(database: Database) -> None:
    stage = watched(database, evidence=EvidenceSettings(person="person"))
    records = [
        Logged(START + HOUR, "male", 1, person="a", minute=5),
        Logged(START + HOUR, "male", 0, person="a", minute=6),
        Logged(START + 2 * HOUR, "male", 1, person="a"),
        Logged(START + 2 * HOUR, "male", 1, person="b"),
        Logged(START + 2 * HOUR, "male", 1),
    ]
    log(stage, records, first_no=1)
    update(stage, START + 4 * HOUR)
    of_hour_2 = [["male", "reference", 2, 2], ["male", "reference repeated_person", 1, 1]]
    assert counted(stage) == {1: [["male", "reference", 1, 1], ["male", "reference repeated_person", 0, 1]], 2: of_hour_2}

    # An earlier record is imported: the person's record of hour 1 counts no more.
    log(stage, [Logged(START, "male", 0, person="a")], first_no=100, noted=True)
    update(stage, START + 4 * HOUR)
    assert counted(stage) == {0: [["male", "reference", 0, 1]], 1: [["male", "reference repeated_person", 1, 2]], 2: of_hour_2}


@pytest.mark.nightly
@pytest.mark.parametrize("person", [None, "person"])
@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_arrival_gives_the_same_states_as_all_at_once(databases: Databases, seed: int, person: str | None) -> None:
    settings = EvidenceSettings(label_horizon_hours=5, person=person, false_alarm_hours=200)
    rng = random.Random(seed)
    records = [
        Logged(record.hour, record.sex, record.approved, record.label, f"p{rng.randrange(2_000)}", record.minute)
        for record in world([0.95] * HOURS, seed)
    ]
    with databases.lent() as first, databases.lent() as second:
        whole, parts = (watched(Database(url), evidence=settings) for url in (first, second))
        log(whole, records, first_no=1)
        update(whole, START + HOURS * HOUR)

        now, number = START, 1
        late: list[Logged] = []
        for hour in range(HOURS):
            now = START + (hour + 1) * HOUR
            present = [record for record in records if record.hour == START + hour * HOUR]
            kept_back = [one for one in present if rng.random() < 0.1]
            log(parts, [one for one in present if one not in kept_back], first_no=number)
            number, late = number + 1_000, late + kept_back
            if rng.random() < 0.6:
                update(parts, now)
            if late and rng.random() < 0.2:
                rng.shuffle(late)
                some, late = late[: len(late) // 2 + 1], late[len(late) // 2 + 1 :]
                log(parts, some, first_no=number, noted=True)
                number += 1_000
        if late:
            log(parts, late, first_no=number, noted=True)
        update(parts, now)

        assert counted(parts) == counted(whole)
        assert counted(parts, DataSet.LABELLED) == counted(whole, DataSet.LABELLED)
        assert states(parts) == states(whole)
        whole.database.close()
        parts.database.close()
