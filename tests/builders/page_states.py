"""Deployments in the states in which people find them, in one database: for tests of their pages and for pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import text

from app.base.clock import HOUR, floor_to_hour, utc_now
from app.base.values import Range
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Column, FieldKind, FieldType, ProblemType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.scenes import Scene, scene

RACES = ("White", "Black", "Asian", "Hispanic", "Native American", "Pacific Islander", "Mixed", "Other")
_RACE = Column(name="race", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
_COLUMNS = (*APPLICANT, _RACE)
_BETWEEN = 0.5
"""Prediction of a regression from which it is favourable."""


def build_states(database: Database) -> None:
    """Stores the deployments, whose ids name their states, and checks them."""
    last = floor_to_hour(utc_now()) - HOUR
    rejected = OutcomeRule(favourable=("granted",), unfavourable=("refused", "deferred"))
    regression = OutcomeRule(favourable=(Range(_BETWEEN, 1.0),), unfavourable=(Range(0.0, 0.49),))
    race = MonitoredAttribute(feature="race", monitored=RACES[1:], reference=(RACES[0],))
    many = replace(monitor_of(race, SEX, intersections=(("race", "sex"),), max_records=10_000), metrics=("disparate_impact",))

    _watch(database, "one-group", monitor_of(SEX), applicants(60, 60, 20), 1)
    _watch(database, "three-groups", monitor_of(SEX, AGE, intersections=(("sex", "age"),)), applicants(90, 90, 40), 6)
    _watch(database, "twenty-groups", many, _people(lambda place, low: int(place >= low)), 2)
    _watch(database, "one-check", monitor_of(SEX), applicants(60, 60, 55), 1)
    _watch(
        database,
        "regression",
        replace(monitor_of(SEX), outcomes=regression, metrics=("disparate_impact",)),
        [{**person, "probability": None} for person in _people(lambda place, low: 0.9 if place >= low else 0.2)],
        3,
        problem_type=ProblemType.REGRESSION,
    )
    _watch(
        database,
        "multi-class",
        replace(monitor_of(SEX), outcomes=rejected, metrics=("disparate_impact",)),
        _people(lambda place, low: "granted" if place >= low else ("deferred" if place % 2 else "refused")),
        3,
        problem_type=ProblemType.MULTICLASS,
    )
    failing = _watch(database, "failing", monitor_of(SEX), applicants(60, 60, 20), 2)
    failing.queue(failing.check(last, trigger=Trigger.RANGE).run.span)
    failing.stop_running()
    _watch(database, "stale", monitor_of(SEX), applicants(60, 60, 20), 1, hours_ago=60)
    scene(database, APPLICANT, monitor_of(SEX), endpoint=None, deployment_id="empty")
    with database.transaction() as session:
        session.execute(text("UPDATE deployments SET name = id"))
        reason = "The model's endpoint did not answer: connection refused."
        session.execute(text("UPDATE checks SET reason = :reason WHERE state = 'failed'"), {"reason": reason})


def _watch(
    database: Database,
    name: str,
    monitor: Monitor,
    records: Sequence[Mapping[str, Any]],
    checks: int,
    *,
    hours_ago: int = 0,
    problem_type: ProblemType = ProblemType.BINARY,
) -> Scene:
    """Logs the records in each of so many hours up to the last one, and checks every hour."""
    columns = _COLUMNS if "race" in records[0] else APPLICANT
    probability = None if problem_type is ProblemType.REGRESSION else "probability"
    stage = scene(database, columns, monitor, endpoint=None, deployment_id=name, problem_type=problem_type, probability=probability)
    last = floor_to_hour(utc_now()) - (1 + hours_ago) * HOUR
    for before in reversed(range(checks)):
        hour = last - before * HOUR
        stage.number_from(1 + (checks - before) * 10_000 + stage.deployment.no * 1_000_000)
        stage.log([{**record, "id": f"{name}-{before}-{no}"} for no, record in enumerate(records)], hour)
        stage.check(hour, trigger=Trigger.SCHEDULE)
    return stage


def _people(answer: Callable[[int, int], object]) -> list[dict[str, Any]]:
    """Forty people of each race and sex; women, and Black people more so, get the favourable answer less often.

    `answer` is given the place of a person in the group, and the first place that gets it.
    """
    return [
        {
            "sex": sex,
            "race": race,
            "income": 1,
            "age": 30,
            "probability": 0.5,
            "prediction": answer(place, (30 if race == RACES[1] else 12 + order) + (6 if sex == "female" else 0)),
        }
        for order, race in enumerate(RACES)
        for sex in ("female", "male")
        for place in range(40)
    ]
