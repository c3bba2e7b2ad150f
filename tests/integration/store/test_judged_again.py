"""Stored figures are judged by their whole interval, and the counts of their days follow."""

import runpy
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import product
from pathlib import Path

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.checks.days.day_queries import join_day
from app.database.engine import Database
from app.database.migrations import upgrade
from app.statistics.catalogue import CATALOGUE
from app.statistics.intervals.verdicts import Limits, Measured, Value, Verdict, is_inside
from app.statistics.measures.worst_group import judge
from tests.builders.commit_7ba08965 import create_filled

MIGRATIONS = Path(__file__).resolve().parents[3] / "migrations" / "versions"

HAIR = 1e-12
VALUES = (0.5, 0.8 - HAIR, 0.9, 1.25, 2.0)
LIMITS: tuple[Limits, ...] = ((0.8, 1.25), (0.8, None), (None, 1.25))
LOWER_ENDS = (None, 0.4, 0.8 - HAIR, 0.8, 0.85)
UPPER_ENDS = (None, 0.95, 1.25, 1.25 + HAIR, 3.0)

COPY = text("""
    INSERT INTO measurements (check_no, deployment_no, at, metric, data, scope, attribute, "group", value, lower, upper,
                              chosen_lower, chosen_upper, interval_method,
                              n, verdict, lower_limit, upper_limit, carried_forward, details, definition)
    SELECT :check_no, deployment_no, at, :metric, data, scope, attribute, :group, :value, :lower, :upper,
           :chosen_lower, :chosen_upper, interval_method,
           n, :verdict, :lower_limit, :upper_limit, :carried, details, definition
    FROM measurements WHERE metric = 'disparate_impact' AND data = 'as_logged' AND scope = 'group' ORDER BY no LIMIT 1
""")
LATER_CHECK = text("""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, attempts, cancel_requested, created_by)
    SELECT 'later', c.deployment_no, 'request', c.state, c.span_start, c.span_end, 1, false, c.created_by
    FROM checks c JOIN measurements m ON m.check_no = c.no ORDER BY m.no LIMIT 1 RETURNING no
""")
FIGURES = text("""SELECT * FROM measurements WHERE "group" LIKE 'copy %' ORDER BY no""")
DAYS = text('SELECT * FROM figure_days ORDER BY deployment_no, day, metric, data, scope, attribute, "group", definition')


def numbers_and_limits() -> Iterator[tuple[str, Value, Limits, Value | None]]:
    """Figures, their limits, and with another interval one that was chosen among several groups."""
    for metric, value, lower, upper, limits in product(("disparate_impact", "openscale_fairness"), VALUES, LOWER_ENDS, UPPER_ENDS, LIMITS):
        if (lower is None or lower <= value) and (upper is None or value <= upper):
            number = Value(value, lower, upper, "by hand", 100)
            for low, high in ((None, None), (lower, 3.5), (0.1, upper), (0.1, None)):
                chosen = None if low is None and high is None else replace(number, lower=low, upper=high)
                yield metric, number, limits, chosen


def judge_now(metric: str, number: Value, limits: Limits, chosen: Value | None = None) -> Verdict | None:
    measured = Measured(metric=metric, scope="group", group="b", number=number, smallest_group=100, interval_of_choice=chosen)
    return judge(measured, CATALOGUE[metric], limits)


def judge_before(metric: str, number: Value, limits: Limits) -> Verdict | None:
    """Inside the limits the interval did not count; outside it did, for OpenScale's fairness as well."""
    value = number.value
    if is_inside(value, limits):
        return judge_now(metric, Value(value, value, value, "by hand", 100), limits)
    return judge_now("disparate_impact", number, limits)


@pytest.fixture
def filled(bare: Database) -> Database:
    create_filled(bare)
    upgrade(bare)
    return bare


def store_copies(session: Session) -> tuple[int, datetime]:
    """Stores figures as they were judged before, each twice for one moment, and joins their day."""
    later = session.execute(LATER_CHECK).scalar_one()
    check_no, deployment_no, at = session.execute(text("SELECT check_no, deployment_no, at FROM measurements ORDER BY no LIMIT 1")).one()
    for place, (metric, number, (lower, upper), chosen) in enumerate(numbers_and_limits()):
        ends = {"chosen_lower": chosen and chosen.lower, "chosen_upper": chosen and chosen.upper}
        limits = ends | {"lower_limit": lower, "upper_limit": upper}
        figure = {"metric": metric, "value": number.value, "lower": number.lower, "upper": number.upper, **limits}
        judged = judge_before(metric, number, (lower, upper))
        copy = {"group": f"copy {place}", "verdict": judged, "carried": place % 7 == 0, **figure}
        session.execute(COPY, [{**copy, "check_no": no} for no in (check_no, later)])
    join_day(session, deployment_no, at)
    return deployment_no, at


def judge_again(database: Database) -> None:
    """Runs that migration alone: later ones have changed other tables."""
    migration = runpy.run_path(str(next(MIGRATIONS.glob("0056_*.py"))))
    with database.engine.connect() as connection, Operations.context(MigrationContext.configure(connection)):
        migration["upgrade"]()
        connection.commit()


@pytest.mark.thorough
def test_a_stored_figure_has_the_verdict_that_a_check_would_give_it_now(filled: Database) -> None:
    with filled.transaction() as session:
        deployment_no, at = store_copies(session)
        others = session.execute(text("""SELECT no, verdict FROM measurements WHERE coalesce("group", '') NOT LIKE 'copy %'""")).all()
    judge_again(filled)

    with filled.transaction() as session:
        figures = session.execute(FIGURES).all()
        for figure in figures:
            number = Value(figure.value, figure.lower, figure.upper, "by hand", 100)
            ends = (figure.chosen_lower, figure.chosen_upper)
            chosen = None if ends == (None, None) else replace(number, lower=ends[0], upper=ends[1])
            assert figure.verdict == judge_now(figure.metric, number, (figure.lower_limit, figure.upper_limit), chosen), figure
        assert {figure.verdict for figure in figures} == {"unfair", "suspected", "unwatched", "undecided", "fair"}
        assert dict(session.execute(text("SELECT no, verdict FROM measurements")).all()).items() >= dict(others).items()

        days = session.execute(DAYS).mappings().all()
        join_day(session, deployment_no, at)
        joined = session.execute(DAYS).mappings().all()
    assert [{**row, "no": None} for row in days] == [{**row, "no": None} for row in joined]
    assert sum(row["undecided"] for row in days) > 0


def test_figures_without_a_number_or_a_limit_and_few_records_stay_as_they_are(filled: Database) -> None:
    kept = ["insufficient_data", "not_computable", None]
    with filled.transaction() as session:
        check_no = session.execute(text("SELECT check_no FROM measurements ORDER BY no LIMIT 1")).scalar_one()
        bounds = {"metric": "disparate_impact", "value": 0.9, "lower": 0.1, "upper": 2.0, "lower_limit": 0.8, "upper_limit": None}
        bounds |= {"chosen_lower": None, "chosen_upper": None}
        for verdict in kept:
            session.execute(COPY, {**bounds, "check_no": check_no, "group": f"copy {verdict}", "verdict": verdict, "carried": False})
    judge_again(filled)

    with filled.transaction() as session:
        assert [figure.verdict for figure in session.execute(FIGURES)] == kept
