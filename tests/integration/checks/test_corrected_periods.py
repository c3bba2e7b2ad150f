"""Corrected records count in a period with their values at the cut-off, whenever their hours were checked."""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from app.checks.days import period as periods
from app.checks.days.corrected_hours import HourRecount
from app.checks.days.period import PeriodSums, read_period
from app.checks.result_queries import Corrected, Correction
from app.database.engine import Database, arrow_reader
from app.domain.check import DataSet, Span
from app.domain.deployment import Endpoint
from app.domain.monitor import Monitor, MonitoredAttribute
from app.intake.writing.write_target import read_target
from app.records.corrections.correct import store_correction
from app.retention.erase import perform_erasures
from app.retention.policy import RecordSelector
from app.retention.queries import request_erasure
from tests.builders.applicants import APPLICANT, SEX, monitor_of
from tests.models.serving import ModelServer
from tests.scenes import HOUR, Scene, SceneMemory, scene

EVENING = datetime(2026, 3, 2, 20, tzinfo=UTC)
MIDNIGHT = EVENING + 4 * HOUR
NEXT_MIDNIGHT = MIDNIGHT + timedelta(days=1)
PERIOD = Span(start=EVENING, end=EVENING + 8 * HOUR)
MINUTE = timedelta(minutes=1)

Value = int | None


@dataclass
class Person:
    """A logged record with its values, each since a moment."""

    id: str
    sex: str
    scored: datetime
    predictions: list[tuple[datetime, Value]]
    arrived: datetime | None = None
    labels: list[tuple[datetime, Value]] = field(default_factory=list)


def value_at(history: Sequence[tuple[datetime, Value]], cut_off: datetime) -> Value:
    return [value for since, value in history if since < cut_off or (since, value) == history[0]][-1]


def draw_people(random: Random) -> list[Person]:
    people = []
    for number in range(160):
        scored = EVENING + random.randrange(8) * HOUR
        person = Person(f"p{number}", random.choice(("female", "male")), scored, [(scored, random.randrange(2))])
        if random.random() < 0.8:
            person.arrived = scored + random.randrange(5) * HOUR
            person.labels = [(person.arrived, random.randrange(2))]
        people.append(person)
    return people


def log(stage: Scene, people: Sequence[Person]) -> None:
    for scored in sorted({person.scored for person in people}):
        rows = [
            {"id": person.id, "sex": person.sex, "income": 50_000, "age": 30, "prediction": person.predictions[0][1]}
            for person in people
            if person.scored == scored
        ]
        stage.log(rows, scored)
    for arrived in sorted({person.arrived for person in people if person.arrived is not None}):
        stage.label([(person.id, person.labels[0][1]) for person in people if person.arrived == arrived], arrived)


def check(stage: Scene, hour: datetime, *, started: datetime | None = None) -> None:
    """Checks an hour, as if a worker had done it at that moment."""
    result = stage.check(hour)
    moment = started or hour + HOUR + MINUTE
    with stage.database.transaction() as session:
        session.execute(
            text("UPDATE checks SET started_at = :start, finished_at = :finish WHERE no = :no"),
            {"start": moment, "finish": moment + MINUTE, "no": result.run.no},
        )


def correct(stage: Scene, person: Person, what: Corrected, new: Value, at: datetime) -> None:
    history = person.labels if what is Corrected.LABEL else person.predictions
    if history[-1][1] == new:
        return
    history.append((at, new))
    target = read_target(stage.database, stage.deployment.id)
    assert target is not None
    correction = Correction(id=None, record_id=person.id, what=what, old=None, new=new, reason="mixed up")
    with stage.database.transaction() as session:
        assert store_correction(session, target, correction, by="test").outcome == "corrected"
        session.execute(text("UPDATE corrections SET made_at = :at WHERE no = (SELECT max(no) FROM corrections)"), {"at": at})


def read(stage: Scene, cut_off: datetime, monitor: Monitor | None = None) -> PeriodSums:
    with stage.database.transaction() as session, arrow_reader(stage.database) as reader:
        recount = HourRecount(reader=reader, deployment=stage.deployment, monitor=monitor or stage.monitor())
        return read_period(session, recount, PERIOD, zone=ZoneInfo("UTC"), labels_until=cut_off, logged=None)


def figures_of(period: PeriodSums) -> tuple[object, ...]:
    (part,) = period.parts
    (of,) = part.comparisons
    return of.figures, of.labelled, [(figure.data, figure.metric, figure.value) for figure in of.further]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
def test_a_period_counts_as_if_the_values_of_the_cut_off_were_logged_at_first(database: Database, server: ModelServer, seed: int) -> None:
    """Random corrections before and after the checks, some of which are made again after the cut-off."""
    random = Random(seed)
    endpoint = Endpoint(url=server.url)
    monitor = monitor_of(SEX, min_records=5, max_records=12)
    stage = scene(database, APPLICANT, monitor, endpoint=endpoint)
    people = draw_people(random)
    log(stage, people)
    moments = sorted(EVENING + random.randrange(3 * 24 * 60) * MINUTE for _ in range(60))
    checks = [(EVENING + hour * HOUR, EVENING + (hour + 1) * HOUR + MINUTE) for hour in range(12)]
    checks += [(EVENING + random.randrange(8) * HOUR, NEXT_MIDNIGHT + random.randrange(600) * MINUTE) for _ in range(3)]
    events = sorted([*((moment, None) for moment in moments), *((started, hour) for hour, started in checks)], key=lambda event: event[0])
    for moment, hour in events:
        if hour is not None:
            check(stage, hour, started=moment)
            continue
        labelled = [person for person in people if person.arrived and person.arrived < moment]
        scored = [person for person in people if person.scored < moment]
        if labelled and random.random() < 0.6:
            correct(stage, random.choice(labelled), Corrected.LABEL, random.choice((0, 1, None)), moment)
        elif scored:
            correct(stage, random.choice(scored), Corrected.PREDICTION, random.randrange(2), moment)

    for number, cut_off in zip(count(), (MIDNIGHT, NEXT_MIDNIGHT), strict=False):
        found = read(stage, cut_off)
        assert found.stale == {}
        truth = scene(database, APPLICANT, monitor, endpoint=endpoint, deployment_id=f"truth-{number}")
        truth.number_from(1 + 1000 * (number + 1))
        log(
            truth,
            [
                Person(
                    person.id,
                    person.sex,
                    person.scored,
                    [(person.scored, value_at(person.predictions, cut_off))],
                    person.arrived,
                    [(at, value_at(person.labels, cut_off)) for at, _ in person.labels[:1]],
                )
                for person in people
            ],
        )
        for hour, started in dict(checks).items():
            check(truth, hour, started=started)
        assert figures_of(found) == figures_of(read(truth, cut_off))
        ((of,),) = (part.comparisons for part in found.parts)
        assert {figure.data for figure in of.further} == {DataSet.COUNTERFACTUAL, DataSet.LABELLED}


@dataclass
class CorrectedHours:
    """A scene and the people of its records, of whom two were corrected."""

    stage: Scene
    people: list[Person]

    def __post_init__(self) -> None:
        self.database = self.stage.database
        self._as_made = deepcopy(self.people)  # tests correct further people

    def moved_to(self, database: Database) -> "CorrectedHours":
        """Returns the same for a copy of its database, without rows."""
        return CorrectedHours(self.stage.moved_to(database), deepcopy(self._as_made))


@pytest.fixture
def corrected(database: Database, memory: SceneMemory) -> tuple[Scene, list[Person]]:
    """Eight checked hours; then the label of one record is corrected, and the prediction of another."""

    def make() -> CorrectedHours:
        stage = scene(database, APPLICANT, monitor_of(SEX, min_records=5), endpoint=None)
        people = draw_people(Random(1))
        log(stage, people)
        for hour in range(12):
            check(stage, EVENING + hour * HOUR)
        labelled = next(person for person in people if person.arrived == EVENING + HOUR)
        predicted = next(person for person in people if person.scored == EVENING + HOUR and person.arrived is None)
        correct(stage, labelled, Corrected.LABEL, 1 - (labelled.labels[0][1] or 0), NEXT_MIDNIGHT - HOUR)
        correct(stage, predicted, Corrected.PREDICTION, 1 - (predicted.predictions[0][1] or 0), NEXT_MIDNIGHT - HOUR)
        return CorrectedHours(stage, people)

    made = memory.recall(database, make)
    return made.stage, made.people


def count_favourable(period: PeriodSums) -> int:
    ((of,),) = (part.comparisons for part in period.parts)
    return sum(figure.monitored.favourable + figure.reference.favourable for figure in of.figures)


@pytest.mark.thorough
def test_a_named_cut_off_gives_the_same_figures_again(corrected: tuple[Scene, list[Person]]) -> None:
    stage, people = corrected
    first = figures_of(read(stage, NEXT_MIDNIGHT))
    before = figures_of(read(stage, NEXT_MIDNIGHT - timedelta(days=1)))
    for person in people[:40]:
        correct(stage, person, Corrected.PREDICTION, 1, NEXT_MIDNIGHT + HOUR)
    for hour in range(8):
        check(stage, EVENING + hour * HOUR, started=NEXT_MIDNIGHT + 2 * HOUR)

    assert figures_of(read(stage, NEXT_MIDNIGHT)) == first
    assert figures_of(read(stage, NEXT_MIDNIGHT - timedelta(days=1))) == before
    assert figures_of(read(stage, NEXT_MIDNIGHT + timedelta(days=1))) != first


def test_limits_may_change_but_not_groups(corrected: tuple[Scene, list[Person]]) -> None:
    stage, people = corrected
    expected = Counter(value_at(person.predictions, NEXT_MIDNIGHT) for person in people)[1]
    stage.watch(monitor_of(SEX, min_records=6, metrics=("disparate_impact",)))
    assert (count_favourable(read(stage, NEXT_MIDNIGHT)), read(stage, NEXT_MIDNIGHT).stale) == (expected, {})

    others = monitor_of(MonitoredAttribute(feature="sex", monitored=("male",), reference=("female",)))
    found = read(stage, NEXT_MIDNIGHT, others)
    assert found.stale == {DataSet.AS_LOGGED: 1, DataSet.LABELLED: 1}
    assert abs(count_favourable(found) - expected) == 1


def test_hours_whose_records_are_gone_or_came_later_keep_their_tables(corrected: tuple[Scene, list[Person]]) -> None:
    stage, people = corrected
    in_hour = next(person for person in people if person.scored == EVENING + HOUR and len(person.predictions) == 1)
    with stage.database.transaction() as session:
        selector = RecordSelector(record_ids=(in_hour.id,))
        request_erasure(session, stage.deployment.no, "a-model", erasure_id="e", selector=selector, by="test")
    perform_erasures(stage.database, settled_after=timedelta(0))
    expected = Counter(person.predictions[0][1] for person in people)[1]
    assert (count_favourable(read(stage, NEXT_MIDNIGHT)), read(stage, NEXT_MIDNIGHT).stale[DataSet.AS_LOGGED]) == (expected, 1)


def test_records_that_came_after_the_check_are_not_mixed_in(corrected: tuple[Scene, list[Person]]) -> None:
    stage, people = corrected
    log(stage, [Person("late", "male", EVENING + HOUR, [(EVENING + HOUR, 1)])])
    expected = Counter(person.predictions[0][1] for person in people)[1]
    found = read(stage, NEXT_MIDNIGHT)
    assert (count_favourable(found), found.stale) == (expected, {DataSet.AS_LOGGED: 1})

    check(stage, EVENING + HOUR, started=NEXT_MIDNIGHT + HOUR)  # as the report asks for
    found = read(stage, NEXT_MIDNIGHT)
    expected = Counter(value_at(person.predictions, NEXT_MIDNIGHT) for person in people)[1]
    assert (count_favourable(found), found.stale) == (expected + 1, {})


def test_beyond_the_budget_of_hours_the_newest_are_counted_again(
    corrected: tuple[Scene, list[Person]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, people = corrected
    later = next(person for person in people if person.scored == EVENING + 5 * HOUR and len(person.predictions) == 1)
    correct(stage, later, Corrected.PREDICTION, 1 - (later.predictions[0][1] or 0), NEXT_MIDNIGHT - HOUR)
    monkeypatch.setattr(periods, "MAX_RECOUNTED_HOURS", 1 if later.arrived is None else 2)
    found = read(stage, NEXT_MIDNIGHT)
    assert found.stale == {DataSet.AS_LOGGED: 1, DataSet.LABELLED: 1}
