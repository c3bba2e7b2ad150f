"""Days that were added up equal what their checks say, whatever ends, ends again, changes or is deleted, and whoever writes it."""

import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, insert, text, update

from app.charts.series import SeriesQuery, build_series
from app.checks.days.day_queries import DAY, CheckStep, VersionChange, join_steps, list_version_changes, read_ended_checks
from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, add_up_next_day, roll_up
from app.database.engine import Database
from app.database.tables import CheckDayRow, CheckRow, CheckTableRow, TableDayRow
from app.deployments.queries import Deployments
from app.domain.check import CheckState, DataSet, Span
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import Monitor, MonitoredAttribute
from app.statistics.group_labels import ComparedGroup
from app.statistics.tables.count_table import GroupCounts
from app.statistics.tables.strata_counts import RecordStrata
from tests.builders.applicants import APPLICANT, SEX, monitor_of
from tests.builders.days import keep_days, keep_next
from tests.builders.statements import counted
from tests.connections import connect
from tests.scenes import HOUR, NOON, PlainSealer, Scene, SceneMemory, scene

FIRST = NOON - 12 * HOUR
DAYS = 40
AFTER = FIRST + (DAYS + 1) * DAY
OTHERS = MonitoredAttribute(feature="sex", monitored=("female", "diverse"), reference=("male",))
METRICS = ("disparate_impact", "favourable_rate", "conditional_demographic_disparity_in_predicted_labels", "standardized_mean_difference")
OUTCOMES = ({"favourable": ["1"], "unfavourable": ["0"]}, {"favourable": ["0"], "unfavourable": ["1"]})


@pytest.fixture
def stage(database: Database, memory: SceneMemory) -> Scene:
    """A deployment without a check; its scores and its strata are compared."""
    monitor = monitor_of(SEX, strata="age", metrics=METRICS)
    return memory.recall(database, lambda: scene(database, APPLICANT, monitor, endpoint=None))


def counts(rng: Random, groups: tuple[str, ...]) -> dict[str, Any]:
    """One hour of records as a check counts them: with or without weights, strata by one of two columns, and scores."""
    records, draws = rng.randint(0, 30), np.random.default_rng(rng.getrandbits(32))
    named = tuple(ComparedGroup(label, "reference" if label == "male" else "monitored") for label in groups)
    column = rng.choice([None, "age", "age", "income"])
    table = GroupCounts.from_records(
        named,
        draws.integers(-1, len(named), records),
        outcome=draws.integers(0, 3, records),
        weights=1 / draws.uniform(0.1, 1, records) if rng.random() < 0.4 else None,
        strata=None if column is None else RecordStrata(("30", "40"), draws.integers(-1, 2, records)),
        scores=draws.random(records) if rng.random() < 0.5 else None,
    )
    cells = table.to_json() | ({} if column is None else {"strata_of": column})
    if rng.random() < 0.3:
        cells["other_revisions"] = {"present": "2", "comparable": {"female": 3}, "others": {"male": {"1": rng.randint(0, 3)}}}
    return cells


def add_check(stage: Scene, rng: Random, hour: datetime) -> None:
    """Stores a check that ended: mostly of a whole hour, now and then of another span, without records, or failed."""
    length = rng.choice([HOUR] * 8 + [HOUR / 2, 30 * HOUR])
    succeeded = rng.random() < 0.8
    with stage.database.transaction() as session:
        no = session.execute(
            insert(CheckRow)
            .values(
                id=str(uuid.UUID(int=rng.getrandbits(128))),
                deployment_no=stage.deployment.no,
                trigger="range",
                state=CheckState.SUCCEEDED if succeeded else rng.choice([CheckState.FAILED, CheckState.INSUFFICIENT_DATA]),
                span_start=hour,
                span_end=hour + length,
                claimable_at=None,
                attempts=1,
                cancel_requested=False,
                created_by="test",
                reason=None if succeeded else rng.choice(["too few records", "the endpoint did not answer"]),
                window={"logged_in_span": rng.randint(0, 99), "additional_records": rng.choice([0, 5]), **rng.choice(OUTCOMES)},
                monitor_version=rng.choice([1, 1, 1, 2]),
                model_revision=rng.choice(["1", "1", "2"]),
            )
            .returning(CheckRow.no)
        ).scalar_one()
        if succeeded and rng.random() < 0.9:
            groups = rng.choice([("female", "male"), ("female", "male"), ("female", "diverse", "male")])
            table = {"check_no": no, "data": "as_logged", "attribute": "sex"}
            parts = [{**table, "part": part, "cells": counts(rng, groups)} for part in ("span", "additional")]
            session.execute(insert(CheckTableRow), parts)


def change_check(stage: Scene, rng: Random) -> None:
    """Changes or deletes a check, as an erasure, a second attempt or an operator would."""
    with stage.database.transaction() as session:
        nos = session.scalars(text("SELECT no FROM checks ORDER BY no")).all()
        if not nos:
            return
        one = CheckRow.no == rng.choice(nos)
        match rng.choice(["delete", "run again", "reason", "revision"]):
            case "delete":
                session.execute(delete(CheckRow).where(one))
            case "run again":
                session.execute(update(CheckRow).where(one).values(state=CheckState.RUNNING, lease_token="mine", window=None))  # noqa: S106 - of a lease
                session.execute(update(CheckRow).where(one).values(state=CheckState.FAILED, reason="interrupted", lease_token=None))
            case "reason":
                session.execute(update(CheckRow).where(one).values(reason="removed"))
            case "revision":
                session.execute(update(CheckRow).where(one).values(model_revision="3"))


def forget_days(stage: Scene) -> None:
    """Lets every day be read from its checks."""
    with stage.database.transaction() as session:
        session.execute(update(CheckDayRow).values(is_kept=False))


def read_checks(stage: Scene, span: Span, step: timedelta) -> tuple[list[CheckStep], list[VersionChange]]:
    with stage.database.transaction() as session:
        found = read_ended_checks(session, stage.deployment.no, span, step)
    return join_steps(found, step), list_version_changes(found)


def figures(stage: Scene, monitor: Monitor, wanted: SeriesFilter, *, kept: bool) -> list[Any]:
    """Every figure of every period; without kept days, from the hours of the checks."""
    with stage.database.transaction() as session, session.begin_nested() as savepoint:
        if not kept:
            session.execute(update(CheckDayRow).values(is_kept=False))
        tables = read_summed_tables(session, stage.deployment.no, wanted, outcomes=monitor.outcomes, limit=100_000)
        savepoint.rollback()
    return [roll_up(tables, period, monitor, MitigationSettings()) for period in Period]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_days_that_were_added_up_equal_their_checks_to_the_last_digit(stage: Scene, seed: int) -> None:
    rng, added = Random(seed), 0
    measured: set[str] = set()
    monitors = [stage.monitor(), monitor_of(OTHERS, strata="income", metrics=METRICS)]
    for _ in range(12):
        for _ in range(rng.randint(1, 25)):
            add_check(stage, rng, FIRST + rng.randrange(24 * DAYS) * HOUR)
        for _ in range(rng.randint(0, 4)):
            change_check(stage, rng)
        for _ in range(rng.randint(0, 15)):
            added += keep_next(stage.database, AFTER)

        start = FIRST + rng.uniform(0, 5) * DAY
        span, step = Span(start=start, end=start + rng.uniform(1, DAYS) * DAY), rng.choice([DAY, 3 * DAY])
        wanted = SeriesFilter(data=DataSet.AS_LOGGED, since=rng.choice([None, span.start]), until=rng.choice([None, span.end]))
        kept = (read_checks(stage, span, step), [figures(stage, monitor, wanted, kept=True) for monitor in monitors])
        plain = [figures(stage, monitor, wanted, kept=False) for monitor in monitors]
        with stage.database.transaction() as session:
            are_kept = session.scalars(text("SELECT day FROM check_days WHERE is_kept")).all()
        forget_days(stage)
        assert kept == (read_checks(stage, span, step), plain)
        measured |= {
            figure.measurement.metric for each in plain for found in each for figure in found if figure.measurement.value is not None
        }
        with stage.database.transaction() as session:
            session.execute(update(CheckDayRow).where(CheckDayRow.day.in_(are_kept)).values(is_kept=True))
    assert added
    assert measured == set(METRICS)


def test_a_day_that_is_added_up_is_read_from_its_sums_and_again_from_its_checks_when_one_ends(stage: Scene) -> None:
    rng = Random(1)
    for hour in range(24):
        add_check(stage, rng, FIRST + hour * HOUR)
    assert keep_days(stage.database, FIRST + DAY - HOUR) == 0
    keep_days(stage.database, AFTER)
    assert stage.count("table_days") > 0
    with stage.database.transaction() as session:
        session.execute(update(CheckDayRow).where(CheckDayRow.day == FIRST).values(logged=4711))
    span = Span(start=FIRST, end=FIRST + 36 * DAY)
    assert read_checks(stage, span, DAY)[0][0].logged == 4711

    add_check(stage, rng, FIRST + HOUR)

    assert read_checks(stage, span, DAY)[0][0].logged != 4711
    assert keep_next(stage.database, AFTER)


def test_days_wait_until_their_checks_have_settled(stage: Scene) -> None:
    add_check(stage, Random(1), FIRST)

    with stage.database.transaction() as session:
        changed_at = session.scalar(text("SELECT min(changed_at) FROM check_days"))
        assert changed_at is not None
        assert not add_up_next_day(session, now=changed_at)
        assert add_up_next_day(session, now=changed_at + timedelta(minutes=5))


def test_a_day_that_cannot_be_added_up_does_not_hold_up_the_next_one(stage: Scene) -> None:
    for hour in (0, 1, 24, 25):
        add_check(stage, Random(100 + hour), FIRST + hour * HOUR)
    with stage.database.transaction() as session:
        session.execute(text("UPDATE check_tables SET cells = '{}' WHERE check_no IN (SELECT no FROM checks ORDER BY no LIMIT 2)"))

    assert keep_next(stage.database, AFTER)
    assert keep_next(stage.database, AFTER)

    with stage.database.transaction() as session:
        assert session.scalars(text("SELECT day FROM check_days WHERE is_kept")).all() == [FIRST + DAY]


def test_a_check_that_is_being_stored_is_in_the_sums_or_takes_them_back(stage: Scene) -> None:
    add_check(stage, Random(1), FIRST)
    keep_days(stage.database, AFTER)
    with connect(stage.database.url) as storing:
        storing.execute("UPDATE checks SET state = 'failed', reason = 'late'")
        # The day is as it was for everybody else, and nobody adds it up meanwhile.
        assert keep_days(stage.database, AFTER) == 0
        storing.commit()

    assert read_checks(stage, Span(start=FIRST, end=FIRST + 2 * DAY), DAY)[0][0].reason == "late"
    assert keep_days(stage.database, AFTER) >= 1


def test_a_reason_is_forgotten_with_that_of_its_check(stage: Scene) -> None:
    add_check(stage, Random(1), FIRST)
    with stage.database.transaction() as session:
        session.execute(update(CheckRow).values(state=CheckState.FAILED, reason="It quotes a record."))
    keep_days(stage.database, AFTER)
    with stage.database.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM check_days WHERE reason IS NOT NULL")) == 1
        session.execute(update(CheckRow).values(reason="removed"))

    with stage.database.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM check_days WHERE reason IS NOT NULL")) == 0


def test_days_go_with_their_deployment(stage: Scene) -> None:
    for hour in range(30):
        add_check(stage, Random(hour), FIRST + hour * HOUR)
    keep_days(stage.database, AFTER)

    with stage.database.transaction() as session:
        Deployments(session, PlainSealer()).delete(stage.deployment.id)

    assert (stage.count(CheckDayRow.__tablename__), stage.count(TableDayRow.__tablename__)) == (0, 0)


@pytest.fixture
def long(stage: Scene) -> Scene:
    """Checks of many days, of which the first third is added up."""
    for day in range(DAYS):
        add_check(stage, Random(day), FIRST + day * DAY)
    keep_days(stage.database, FIRST + DAYS // 3 * DAY)
    return stage


def test_a_roll_up_takes_as_many_statements_whatever_is_added_up(long: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = SeriesQuery(metric="disparate_impact", data=DataSet.AS_LOGGED, attribute="sex", rollup=Period.DAY)
    numbers = []
    for until in (FIRST + DAY, FIRST + DAYS // 2 * DAY, None):
        with counted(monkeypatch) as sent, long.database.transaction() as session:
            build_series(session, long.deployment.no, replace(wanted, until=until))
        numbers.append(len([one for one in sent if "SELECT" in one]))

    assert len(set(numbers)) == 1
    assert numbers[0] <= 6
