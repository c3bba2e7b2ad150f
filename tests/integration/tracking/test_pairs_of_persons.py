"""Counterfactual figures where a column says whose record each is: each person's first record counts, once."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import EvidenceSettings
from app.evidence.present_state import read_deployment_evidence
from app.sources.stored.window_queries import note_changed_hours
from app.statistics.e_values.state_words import State
from tests.builders.applicants import APPLICANT, monitor_of
from tests.builders.evidence_worlds import START, states, update
from tests.builders.row_server import RowServer, row_server
from tests.databases import Databases
from tests.scenes import HOUR, Scene, scene

Row = dict[str, Any]
PERSON = Column(name="person", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
BY_PERSON = EvidenceSettings(person="person")
ANOTHER_EACH = EvidenceSettings(each_record_another_person=True)


def approve(row: Row) -> Row:
    """Approves 425 of 1,000 women and 500 of 1,000 men with evenly spread incomes: a ratio of .85."""
    return {"prediction": int(row["income"] >= (500 if row["sex"] == "male" else 575)), "probability": 0.5}


def stage_of(database: Database, server: RowServer, evidence: EvidenceSettings) -> Scene:
    monitor = monitor_of(metrics=("disparate_impact",), evidence=evidence)
    return scene(database, APPLICANT, monitor, endpoint=Endpoint(url=server.url), meta=[PERSON])


def application(person: int, sex: str, income: int, number: int = 0) -> Row:
    row = {"sex": sex, "income": income, "age": 40, "person": f"p{person}", "id": f"{person}-{number}"}
    return row | {"prediction": approve(row)["prediction"]}


def check_hours(stage: Scene, hours: Iterable[tuple[int, Sequence[Row]]]) -> None:
    """Logs and checks each hour, and updates the evidence after it."""
    for hour, rows in hours:
        stage.log(rows, START + hour * HOUR)
        stage.check(START + hour * HOUR)
        update(stage, START + (hour + 1) * HOUR)


def state_of_pairs(stage: Scene) -> State:
    with stage.database.transaction() as session:
        evidence = read_deployment_evidence(session, stage.deployment.no)
    assert evidence is not None
    (lower,) = (each for each in evidence.comparisons if each.data is DataSet.COUNTERFACTUAL and each.metric == "disparate_impact")
    return lower.state


@pytest.mark.thorough
def test_evidence_is_that_of_the_first_records_alone(databases: Databases) -> None:
    rng = np.random.default_rng(3)
    people = [application(no, ("female", "male")[no % 2], int(rng.integers(1_000))) for no in range(120)]
    # In the second and third hour half of the former ones come again, with other incomes.
    again = [application(no, people[no]["sex"], int(rng.integers(1_000)), number=1) for no in range(80)]
    with databases.lent() as one, databases.lent() as other, row_server(approve) as server:
        by_person, of_firsts = (stage_of(Database(url), server, evidence) for url, evidence in ((one, BY_PERSON), (other, ANOTHER_EACH)))
        check_hours(by_person, [(0, people[:40]), (1, again[:20] + people[40:80]), (2, people[80:] + again[40:60])])
        # A record that arrives late is earlier than its person's first one in the third hour.
        by_person.log([people[80] | {"id": "late", "income": 999, "prediction": 1}], START)
        with by_person.database.transaction() as session:
            note_changed_hours(session, by_person.deployment.no, [START])
        by_person.check(START)
        update(by_person, START + 3 * HOUR)
        late = people[80] | {"income": 999, "prediction": 1}
        check_hours(of_firsts, [(0, [*people[:40], late]), (1, people[40:80]), (2, people[81:])])

        assert set(states(by_person)) == set(states(of_firsts))
        assert {key[0] for key in states(by_person)} == {DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL}
        assert states(by_person) == states(of_firsts)
        by_person.database.close()
        of_firsts.database.close()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [24, 45])
def test_ten_records_of_each_person_raise_no_alarm_on_a_fair_model(databases: Databases, seed: int) -> None:
    found = []
    for evidence in (ANOTHER_EACH, BY_PERSON):
        rng = np.random.default_rng(seed)
        hours = [
            [
                application(6 * hour + no, ("female", "male")[no % 2], income, number)
                for no, income in enumerate(rng.integers(1_000, size=6).tolist())
                for number in range(10)
            ]
            for hour in range(3)
        ]
        with databases.lent() as url, row_server(approve) as server:
            stage = stage_of(Database(url), server, evidence)
            check_hours(stage, enumerate(hours))
            found.append(state_of_pairs(stage))
            stage.database.close()

    assert found == [State.UNFAIR, State.UNDECIDED]
