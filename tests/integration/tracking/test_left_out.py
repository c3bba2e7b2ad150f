"""The evidence of a deployment says which records of its hours it counts, and why the others are left out."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from app.database.engine import Database
from app.domain import groups
from app.domain.check import DataSet
from app.domain.monitor import EvidenceSettings, MonitoredAttribute
from app.evidence.present_state import DeploymentEvidence, read_deployment_evidence
from app.evidence.words import list_remarks
from tests.builders.evidence_worlds import SEX, START, Logged, log, update, watched
from tests.scenes import HOUR, Scene

PLACE = MonitoredAttribute(feature="place", monitored=("there",), reference=("here",))


def look(stage: Scene) -> DeploymentEvidence:
    update(stage, START + 4 * HOUR)
    with stage.database.transaction() as session:
        found = read_deployment_evidence(session, stage.deployment.no)
    assert found is not None
    return found


def test_records_of_all_hours_are_counted_or_left_out_for_one_reason(database: Database) -> None:
    stage = watched(database, evidence=EvidenceSettings(person="person"), attributes=(SEX, PLACE))
    people = [Logged(START + hour * HOUR, sex, hour % 2, person=f"{sex}{hour % 2}") for hour in range(3) for sex in ("female", "male")]
    others = [Logged(START, "", 1), Logged(START, "other", 0), Logged(START, "female", 7), Logged(START, "male", 1)]
    log(stage, [*people, *others], first_no=1)
    with database.transaction() as session:
        session.execute(text("UPDATE payload_records SET features = '[null, \"here\"]' WHERE features->>0 = ''"))

    found = look(stage)

    sex, place = found.records[DataSet.AS_LOGGED]
    assert sex.text == (
        "5 of 10 records counted; left out: later record of a person 2 (female 1, male 1), prediction in neither outcome list 1 (female 1),"
        " sex unknown 1, sex in no group 1."
    )
    assert place.text.startswith("7 of 10 records counted;")
    assert [f"sex: {sex.text}", f"place: {place.text}"] == [remark for remark in list_remarks(found) if "counted;" in remark]


def test_a_group_that_loses_another_share_of_its_records_gets_a_caution(database: Database) -> None:
    stage = watched(database)
    log(
        stage,
        [Logged(START, sex, 7 if no < lost else no % 2) for sex, lost in (("female", 40), ("male", 2)) for no in range(100)],
        first_no=1,
    )

    (caution,) = look(stage).records[DataSet.AS_LOGGED][0].cautions()
    assert caution["text"].startswith("Caution: 40.0 of 100 female are left out and 2.0 of 100 male.")


@pytest.mark.parametrize("problem", ["a column is gone", "there are too many groups"])
def test_a_comparison_that_cannot_be_made_says_so_and_the_others_are_measured(
    database: Database, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    other = PLACE
    if problem == "a column is gone":
        other = replace(SEX, feature="postcode")
    else:
        monkeypatch.setattr(groups, "MAX_GROUPS_TOGETHER", 3)
    stage = watched(database, attributes=(SEX, other), intersections=(("sex", other.feature),), metrics=("disparate_impact",))
    log(stage, [Logged(START, sex, 1) for sex in ("female", "male", "")], first_no=1)

    found = look(stage)

    together = f"sex × {other.feature}"
    reasons = {comparison.attribute: comparison.reason for comparison in found.comparisons if comparison.data is DataSet.AS_LOGGED}
    measured = {"sex"} if problem == "a column is gone" else {"sex", "place"}
    assert found.era is not None
    assert (found.era.problem, found.problems.keys()) == (None, reasons.keys() - measured)
    for name, reason in reasons.items():
        assert reason == found.problems.get(name) or (name, str(reason)[:9]) == ("place", "no record")
    assert {record.attribute: (record.of, record.counted) for record in found.records[DataSet.AS_LOGGED]}[together] == (3, 0)
    assert next(record for record in found.records[DataSet.AS_LOGGED] if record.attribute == "sex").counted == 2
    assert [remark for remark in list_remarks(found) if remark.startswith(f"Of {together}, not every hour is counted: ")]
