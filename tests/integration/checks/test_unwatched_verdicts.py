"""Verdicts that release 0.1 stored as `fair` beyond a side without a limit: migration 0007 names them as a check would today."""

import importlib.util
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text

from app.metrics.catalogue import CATALOGUE
from app.metrics.sides import mirror_of
from app.metrics.values import Value
from app.metrics.verdicts import Limits, Verdict, verdict
from app.store.tables import MeasurementRow
from tests.builders.applicants import applicants
from tests.scenes import NOON, Scene

MIGRATION = Path("migrations/versions/0007_unwatched_verdicts.py")
LIMITS: tuple[Limits, ...] = (
    (0.8, None),
    (None, 1.25),
    (0.8, 1.25),
    (1.5, None),
    (-0.1, None),
    (None, 0.1),
    (-0.1, 0.1),
    (0.2, None),
    (0, None),
)
VALUES = (-1.5, -0.2, -0.1, 0.0, 0.1, 0.2, 0.5, 0.7999, 0.8, 1.0, 1.25, 1.2501, 1.6, 40.0)


def stored() -> Iterator[tuple[str, float, Limits, Verdict | None]]:
    """Returns every metric with each value and limits, and the verdict of release 0.1, which knew no mirror image.

    Release 0.1 had neither OpenScale fairness, which gets no verdict today, nor odds ratios, nor gaps in scores of the payload.
    """
    later = ("openscale_fairness", "odds_ratio", "standardized_mean_difference", "_q20", "_q50", "_q80")
    metrics = (metric for metric in CATALOGUE.values() if not metric.key.endswith(later))
    for metric, value, (lower, upper) in product(metrics, VALUES, LIMITS):
        found = verdict(Value(value, value, value, "none", 50), lower_limit=lower, upper_limit=upper, smallest_group=50)
        yield metric.key, value, (lower, upper), found


@pytest.mark.nightly
def test_stored_verdicts_become_those_that_a_check_gives_today(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    same = {"check_no": check.no, "deployment_no": stage.deployment.no, "at": NOON, "data": "payload", "scope": "group", "attribute": "sex"}
    same |= {"n": 50, "carried_forward": False, "details": {}}
    rows = [
        same | {"metric": name, "value": value, "lower_limit": lower, "upper_limit": upper, "verdict": word}
        for name, value, (lower, upper), word in stored()
    ]
    with stage.database.transaction() as session:
        session.execute(text("DELETE FROM measurements"))
        session.execute(insert(MeasurementRow), rows)

    spec = importlib.util.spec_from_file_location("migration", MIGRATION)
    assert spec is not None
    assert spec.loader is not None
    migration = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(migration)
    with stage.database.engine.begin() as connection:
        for statement in migration.STATEMENTS:
            connection.execute(text(statement))

    wrong = []
    with stage.database.transaction() as session:
        for row in session.scalars(select(MeasurementRow)):
            limits = (row.lower_limit, row.upper_limit)
            mirror = mirror_of(CATALOGUE[row.metric], limits)
            assert row.value is not None
            number = Value(row.value, row.value, row.value, "none", 50)
            expected = verdict(number, lower_limit=limits[0], upper_limit=limits[1], smallest_group=50, mirror=mirror)
            if row.verdict != expected:
                wrong.append((row.metric, row.value, limits, row.verdict, expected))
    assert not wrong
    assert any(row["verdict"] == "fair" for row in rows)
