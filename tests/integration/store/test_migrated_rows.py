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


def test_a_figure_is_stored_once(bare: Database) -> None:
    """Worst is a mark, rows of a role of one group and pairs with the reference are gone, and what else repeats."""
    migrate_to(bare, "0050")
    pair = {"monitored": "b", "reference": "c", "monitored_n": 20, "reference_n": 30}
    other = pair | {"monitored": "a", "monitored_n": 10}
    everybody = pair | {"monitored": "a, b", "monitored_n": 30}
    chosen = {"worst_group": "b", "chosen_from": 2, "chosen_lower": 0.2, "chosen_upper": 0.9}
    rate = {"whom": "c", "n": 30}
    flips = {"whom": "a", "n": 10}
    rows: list[tuple[str, str, str, str | None, float | None, dict[str, Any]]] = [
        ("disparate_impact", "payload", "group", "a", 0.9, other),
        ("disparate_impact", "payload", "group", "b", 0.5, pair),
        ("disparate_impact", "payload", "pooled", None, 0.7, everybody),
        ("disparate_impact", "payload", "worst", None, 0.5, pair | chosen),
        ("disparate_impact", "payload", "worst_pair", None, 2.0, {**pair, "monitored": "c", "reference": "b"}),
        ("disparate_impact", "feedback", "worst_pair", None, 0.6, {**pair, "monitored": "b", "reference": "a"}),
        ("disparate_impact", "feedback", "worst", None, None, {}),
        ("favourable_rate", "payload", "group", "c", 0.4, rate),
        ("favourable_rate", "payload", "reference", None, 0.4, rate),
        ("base_rate", "feedback", "group", "a", None, {}),
        ("base_rate", "feedback", "worst", None, None, {}),
        ("flip_rate", "balanced", "group", "a", 0.3, flips | {"flipped": 3}),
        ("flip_rate_gained", "balanced", "group", "a", 0.2, flips | {"flipped": 2}),
        ("flip_rate_lost", "balanced", "group", "a", 0.1, flips | {"flipped": 1}),
        ("accuracy_after", "debiased_feedback", "group", "a", 0.8, {}),
        ("accuracy_change", "debiased_feedback", "group", "a", 0.1, {}),
    ]
    with bare.engine.begin() as connection:
        no = insert(connection, "deployments", id="a-model", name="A model", problem_type="binary")
        picked = {
            "metrics": ["flip_rate_gained", "accuracy", "flip_rate"],
            "attributes": [{"metric_limits": {"flip_rate_lost": [None, 0.1]}}],
        }
        connection.execute(
            text("INSERT INTO monitors (deployment_no, version, schedule, config) VALUES (:no, 1, 'off', :config)"),
            {"no": no, "config": json.dumps(picked)},
        )
        check = insert(connection, "checks", deployment_no=no, id="c", state="succeeded", trigger="request")
        for metric, data, scope, group, value, details in rows:
            figure = {"metric": metric, "data": data, "scope": scope, "group": group, "value": value, "details": json.dumps(details)}
            insert(connection, "measurements", check_no=check, deployment_no=no, at=NOON, attribute="sex", **figure)

    upgrade(bare)

    with bare.engine.begin() as connection:
        columns = 'metric, data, scope, "group", worst_of, chosen_lower, chosen_upper, details'
        found = connection.execute(text(f"SELECT {columns} FROM measurements ORDER BY no")).all()  # noqa: S608 - ours
        config = connection.execute(text("SELECT config FROM monitors")).scalar_one()
    assert [tuple(row[:7]) for row in found] == [
        ("disparate_impact", "payload", "group", "a", None, None, None),
        ("disparate_impact", "payload", "group", "b", 2, 0.2, 0.9),
        ("disparate_impact", "payload", "pooled", None, None, None, None),
        ("disparate_impact", "feedback", "worst_pair", None, None, None, None),
        ("disparate_impact", "feedback", "pooled", None, 0, None, None),
        ("favourable_rate", "payload", "group", "c", None, None, None),
        ("base_rate", "feedback", "group", "a", 0, None, None),
        ("flip_rate", "balanced", "group", "a", None, None, None),
        ("accuracy_after", "debiased_feedback", "group", "a", None, None, None),
    ]
    assert next(row.details for row in found if row.metric == "flip_rate") == flips | {"flipped": 3, "gained": 2, "lost": 1}
    assert config == {"metrics": ["flip_rate", "accuracy"], "attributes": [{"metric_limits": {}}]}


@pytest.mark.thorough
def test_facts_of_the_openscale_sdk_are_moved_into_one_table(bare: Database) -> None:
    migrate_to(bare, "0050")
    statements = (
        "INSERT INTO openscale_providers (id, entity, secrets, created_by) VALUES ('ours', '{\"name\": \"Ours\"}', 'sealed', 'ada')",
        """INSERT INTO openscale_subscriptions (deployment_no, data_mart_id, provider_id, entity, created_by)
           SELECT no, '00000000-0000-0000-0000-000000000000', 'ours', '{"asset": {"asset_id": "a"}}', 'ada'
           FROM deployments WHERE id = 'one'""",
        """INSERT INTO openscale_instances (deployment_no, definition_id, entity, created_by)
           SELECT no, kind, '{"parameters": {}}', 'eve' FROM deployments, unnest(ARRAY['fairness', 'custom']) kind""",
    )
    with bare.engine.begin() as connection:
        for name in ("one", "two"):
            insert(connection, "deployments", id=name, name=name, problem_type="binary")
        for statement in statements:
            connection.execute(text(statement))

    upgrade(bare)

    with bare.engine.begin() as connection:
        rows = connection.execute(text("SELECT kind, id, entity, secrets, created_by FROM openscale_facts ORDER BY kind, id")).all()
    assert [tuple(row[:2]) for row in rows] == [("provider", "ours"), ("subscription", "one"), ("subscription", "two")]
    provider, one, two = rows
    assert (provider.entity, bytes(provider.secrets), provider.created_by) == ({"name": "Ours"}, b"sealed", "ada")
    assert (one.entity["asset"], one.entity["provider_id"], one.created_by) == ({"asset_id": "a"}, "ours", "ada")
    assert one.entity["instances"].keys() == {"fairness"}
    assert one.entity["instances"]["fairness"]["created_by"] == two.created_by == "eve"
