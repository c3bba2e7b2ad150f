"""A model that is away: figures as logged go on; missed hours are scored once it answers, and evidence is as if it had answered always."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select, text

from app.base.errors import ScoringFailed
from app.calls.scoring import ask_page as pacing
from app.checks.lease_queries import CHECK_POLICY, claim_check, finish_check
from app.checks.schedule.missed_hours import queue_missed_hours
from app.database.engine import Database
from app.database.tables import CheckRow
from app.domain.check import CheckRun, CheckState, DataSet, Failure
from app.domain.deployment import Endpoint
from app.domain.monitor import EvidenceSettings
from app.evidence.present_state import read_deployment_evidence
from app.evidence.words import list_remarks
from tests.builders.applicants import APPLICANT, monitor_of
from tests.builders.evidence_worlds import START, states, update
from tests.builders.row_server import Outputs, RowServer
from tests.databases import Databases
from tests.models.serving import Reply, running
from tests.scenes import HOUR, Scene, scene

AWAY = range(12, 18)
HOURS = 24
Row = dict[str, Any]


class LeavingModel(RowServer):
    """A model that approves women from an income of 60, men from 20. While it `is_away` it answers 503."""

    is_away = False
    is_poisoned_at: int | None = None

    def answer(self, path: str, body: bytes) -> Reply:
        poison = f"[{self.is_poisoned_at}".encode()
        if self.is_away or (self.is_poisoned_at is not None and poison in body):
            return Reply(503, b"away")
        return super().answer(path, body)


def approve(row: Row) -> Row:
    return {"prediction": int(row["income"] >= (20 if row["sex"] == "male" else 60)), "probability": 0.5}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LeavingModel]:
    monkeypatch.setattr(pacing, "_FIRST_PAUSE_SECONDS", 0.001)
    outputs: Outputs = approve
    server = LeavingModel(outputs)
    with running(server):
        yield server


def stage_of(database: Database, model: LeavingModel) -> Scene:
    evidence = EvidenceSettings(each_record_another_person=True)
    return scene(database, APPLICANT, monitor_of(metrics=("disparate_impact",), evidence=evidence), endpoint=Endpoint(url=model.url))


def hour_of(number: int) -> datetime:
    return START + number * HOUR


def log(stage: Scene, hour: int) -> None:
    """Forty people; women are as often approved as men in the first ten hours, because they earn more, and then half as often."""
    rows = []
    for number in range(40):
        sex = ("female", "male")[number % 2]
        income = (7 * hour + 13 * number) % 100
        if hour < 10 and sex == "female":
            income = 60 + income // 3
        row = {"sex": sex, "income": income, "age": 40}
        rows.append(row | {"prediction": approve(row)["prediction"], "id": f"{hour}-{number}"})
    stage.log(rows, hour_of(hour))


def work(stage: Scene) -> list[CheckRun]:
    """Does what the ticker and a worker do in a minute: the missed hours that were queued, in order."""
    done = []
    with stage.database.transaction() as session:
        session.execute(text("UPDATE checks SET claimable_at = now() WHERE claimable_at IS NOT NULL"))
        queue_missed_hours(session)
    while True:
        with stage.database.transaction() as session:
            check = claim_check(session, token=str(len(done)), policy=CHECK_POLICY)
        if check is None:
            return done
        try:
            stage.perform(check)
        except ScoringFailed as error:
            with stage.database.transaction() as session:
                pause = CHECK_POLICY.retry_after(check)
                values = {"reason": str(error), "failure": Failure.SCORING_FAILED, "retry_after": pause}
                finish_check(session, check, state=CheckState.FAILED, alerts_due=False, **values)
        done.append(check)


def remarks(stage: Scene) -> list[str]:
    with stage.database.transaction() as session:
        evidence = read_deployment_evidence(session, stage.deployment.no)
    assert evidence is not None
    return [line for line in list_remarks(evidence) if line.startswith("Counterfactual figures")]


def untils(stage: Scene) -> dict[DataSet, int]:
    """Hours that the states of each data set contain."""
    return {data: (until - START) // HOUR for (data, *_), (_, until, _, _) in states(stage).items()}


@pytest.mark.thorough
def test_the_evidence_after_six_hours_without_the_model_is_that_of_a_run_with_it(databases: Databases, model: LeavingModel) -> None:
    with databases.lent() as first, databases.lent() as second:
        whole, away = stage_of(Database(first), model), stage_of(Database(second), model)
        for hour in range(HOURS):
            for stage in (whole, away):
                model.is_away = stage is away and hour in AWAY
                log(stage, hour)
                stage.check(hour_of(hour))
                update(stage, hour_of(hour + 1))
            if hour in AWAY:
                model.is_away = True
                tried = work(away)
                update(away, hour_of(hour + 1))
                assert [check.span.start for check in tried] == [hour_of(AWAY[0])]
                logged = {key: state for key, state in states(whole).items() if key[0] is DataSet.AS_LOGGED}
                assert {key: states(away)[key] for key in logged} == logged
                assert untils(away) == {DataSet.AS_LOGGED: hour + 1, DataSet.COUNTERFACTUAL: AWAY[0]}
                number = hour - AWAY[0] + 1
                waits = f"{number} hour{'s' if number > 1 else ''}"
                assert remarks(away) == [f"Counterfactual figures wait for the model since 2026-03-03 00:00 UTC: {waits}."]
            if hour == AWAY[-1] + 1:
                # Later hours wait for earlier ones, though the model answers again.
                assert untils(away)[DataSet.COUNTERFACTUAL] == AWAY[0]
                filled = [check.span.start for _ in range(2) for check in work(away)]
                assert filled == [hour_of(missed) for missed in AWAY]
                update(away, hour_of(hour + 1))
                assert states(away) == states(whole)
                assert remarks(away) == []

        assert states(away) == states(whole)
        assert work(away) == []
        whole.database.close()
        away.database.close()


@pytest.mark.thorough
def test_once_the_oldest_missed_hour_is_scored_all_others_follow_at_once(database: Database, model: LeavingModel) -> None:
    stage = stage_of(database, model)
    model.is_away = True
    for hour in range(4):
        log(stage, hour)
        stage.check(hour_of(hour))
    assert [check.span.start for check in work(stage)] == [hour_of(0)]
    model.is_away = False

    # No later hour is checked in between.
    assert [[check.span.start for check in work(stage)] for _ in range(3)] == [[hour_of(0)], [hour_of(1), hour_of(2), hour_of(3)], []]


def test_missed_hours_of_a_revision_that_was_changed_stay_missing(database: Database, model: LeavingModel) -> None:
    stage = stage_of(database, model)
    for hour in range(3):
        model.is_away = hour == 1
        log(stage, hour)
        stage.check(hour_of(hour))
    update(stage, hour_of(3))
    with database.transaction() as session:
        queue_missed_hours(session)

    stage.revise("2")
    update(stage, hour_of(3))
    assert work(stage) == []
    assert remarks(stage) == ["Counterfactual figures of 1 hour are missing: revision 1 no longer answers."]
    with database.transaction() as session:
        cancelled = session.scalars(select(CheckRow.state).where(CheckRow.trigger == "model")).all()
    assert cancelled == [CheckState.CANCELLED]


@pytest.mark.thorough
def test_an_hour_that_the_model_refuses_while_it_answers_others_is_given_up(database: Database, model: LeavingModel) -> None:
    stage = stage_of(database, model)
    log(stage, 0)
    model.is_away = True
    stage.check(hour_of(0))
    for _ in range(2):
        work(stage)
    model.is_away = False
    for hour in range(1, 4):
        update(stage, hour_of(hour))
        assert DataSet.COUNTERFACTUAL not in untils(stage) or untils(stage)[DataSet.COUNTERFACTUAL] <= 1
        log(stage, hour)
        stage.check(hour_of(hour))
    update(stage, hour_of(4))

    assert untils(stage)[DataSet.COUNTERFACTUAL] == 4
