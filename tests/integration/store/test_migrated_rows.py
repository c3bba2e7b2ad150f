"""Rows that an earlier release stored, read after the migrations that change them."""

import json
from typing import Any

import pytest
from sqlalchemy import Connection, text

from app.domain.attributions import AttributionState
from app.domain.comparisons import Comparison
from app.store.attributions.attributions import get_attribution
from app.store.database.engine import Database
from app.store.database.migrate import upgrade
from tests.builders.earlier_schemas import migrate_to
from tests.scenes import HOUR, NOON

GAP = {
    "monitored": {"label": "female", "favourable": 10, "records": 40},
    "reference": {"label": None, "favourable": 30, "records": 60},
    "gap": -0.25,
    "hybrids": None,
    "cells": [],
}

PERIOD = {"monitored": GAP["monitored"], "reference": GAP["reference"], "first": None, "last": None, "revisions": {}, "gap": -0.25}
CHANGE: dict[str, Any] = {
    "attribute": "sex",
    "group": "female",
    "at": NOON.isoformat(),
    "before": PERIOD,
    "after": PERIOD,
    "boundary": None,
    "features": [],
}


def result(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - of any member
    counts = {"records": 100, "additional_records": 0, "other_revisions": 0, "unclassified": 0}
    return {"method": "kitagawa", "model_revision": "r1", "monitor_version": 1, **counts, "left_out": [], "change": None, **changes}


def insert(connection: Connection, table: str, **values: Any) -> int:  # noqa: ANN401 - any column's
    """Inserts a row, with an empty value of its type for each column that must not be NULL, and returns its number."""
    required = connection.execute(
        text(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = :table"
            " AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'"
        ),
        {"table": table},
    )
    empty = {"text": "''", "character varying": "''", "jsonb": "'{}'", "boolean": "false", "timestamp with time zone": "now()"}
    columns = {f'"{name}"': empty.get(kind, "0") for name, kind in required} | {f'"{name}"': f":{name}" for name in values}
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(columns.values())}) RETURNING no"  # noqa: S608 - ours
    return int(connection.execute(text(statement), values).scalar_one())


def test_stored_attributions_of_one_attribute_are_those_of_a_comparison(bare: Database) -> None:
    migrate_to(bare, "0021")
    with bare.engine.begin() as connection:
        no = insert(connection, "deployments", id="a-model", name="A model", problem_type="binary")
        common = {"deployment_no": no, "trigger": "manual", "state": "done", "span_start": NOON, "span_end": NOON + HOUR}
        results = {
            "two": result(gaps=[{"attribute": "sex × race", **GAP}, {"attribute": "age", **GAP, "gap": 0.5}]),
            "none": result(gaps=[]),
            "change": result(gaps=[], change=CHANGE),
        }
        for name, stored in results.items():
            insert(connection, "attributions", id=name, result=json.dumps(stored), **common)
        insert(connection, "attributions", id="failed", problem="The model did not answer.", **{**common, "state": "failed"})

    upgrade(bare)

    with bare.transaction() as session:
        two, none, change, failed = (get_attribution(session, no, name) for name in ("two", "none", "change", "failed"))
    assert two.result is not None
    assert [(gap.comparison, gap.gap, gap.monitored.favourable) for gap in two.result.gaps] == [
        (Comparison(("sex × race",)), -0.25, 10),  # one column may be called so: the name is not divided
        (Comparison(("age",)), 0.5, 10),
    ]
    assert two.limits.comparisons is None
    assert none.result is not None
    assert none.result.gaps == ()
    assert change.result is not None
    assert change.result.change is not None
    assert change.result.change.group == "female"
    assert (failed.state, failed.result) == (AttributionState.FAILED, None)


@pytest.mark.thorough
def test_scans_of_an_earlier_release_searched_for_groups_below_the_others(bare: Database) -> None:
    migrate_to(bare, "0021")
    with bare.engine.begin() as connection:
        no = insert(connection, "deployments", id="a-model", name="A model", problem_type="binary")
        insert(connection, "subgroup_scans", id="a-scan", deployment_no=no)

    upgrade(bare)

    with bare.engine.begin() as connection:
        assert connection.execute(text("SELECT direction FROM subgroup_scans")).scalars().all() == ["below"]
