"""Databases of commit 7ba08965, from which the first migration starts, brought up to date."""

import json
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app.base.errors import SetupError
from app.database import migrations as migrate
from app.database.embedded.dumps import find_client_program
from app.database.engine import Database
from app.database.migrations import find_newest_revision, read_revision, upgrade
from app.statistics.catalogue import CATALOGUE
from tests.builders.commit_7ba08965 import create_filled, create_schema, read_fixture
from tests.progress import wait_until

pytestmark = pytest.mark.thorough

WENT = {
    *("archived_months", "audit_sinks", "subgroup_candidates", "subgroup_hours", "subgroup_settings"),
    *("openscale_data_marts", "openscale_definitions", "openscale_imports", "openscale_instances"),
    *("openscale_providers", "openscale_subscriptions"),
}

MITIGATED = {f"{figure}_{when}" for figure in ("selection_rate", "disparate_impact", "accuracy") for when in ("before", "after")}
"""Figures of mitigated data that a check stores."""

RENAMED = {
    "payload": "as_logged",
    "payload_perturbed": "openscale",
    "balanced": "counterfactual",
    "feedback": "labelled",
    "debiased": "mitigated",
    "debiased_feedback": "mitigated_labelled",
}

_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'alembic_version'
"""


def dump_schema(database: Database) -> str:
    """Returns pg_dump's statements that create the schema, without partitions by month."""
    options = ("--schema-only", "--no-owner", "--no-privileges", "--exclude-table=payload_records_*")
    dumped = subprocess.run([find_client_program("pg_dump"), *options, database.url], capture_output=True, text=True, check=True)
    of_session = r"SET |SELECT pg_catalog.set_config|\\(un)?restrict|--|$"
    return "".join(line for line in dumped.stdout.splitlines(keepends=True) if not re.match(of_session, line))


def read_rows(database: Database) -> Mapping[str, list[dict[str, Any]]]:
    """Returns the rows of every table, as JSON and in one order."""
    with psycopg.connect(database.url) as connection:
        tables = [name for (name,) in connection.execute(_TABLES)]
        rows = {table: connection.execute(f'SELECT to_jsonb(t) FROM "{table}" t'.encode()).fetchall() for table in tables}  # noqa: S608 - ours
    return {table: sorted((row for (row,) in found), key=repr) for table, found in rows.items()}


def read_renamed(database: Database) -> Mapping[str, list[dict[str, Any]]]:
    """Returns the rows of every table with the present names of the data of figures, and evidence to be computed again."""
    tables = read_rows(database)
    for rows in tables.values():
        for row in rows:
            if row.get("data") in RENAMED:
                row["data"] = RENAMED[row["data"]]
    for row in tables["payload_records"]:
        row["mitigated"] = row.pop("debiased")
    for row in tables["evidence_eras"]:
        row["figures_due"] = True
    for row in tables["evidence_figures"]:
        row |= {"state": r"\x", "is_stale": row["is_stale"] or row["state"] != r"\x"}
    return tables


def test_the_first_migration_creates_its_schema(bare: Database) -> None:
    create_schema(bare)

    assert dump_schema(bare) == read_fixture("schema.sql.gz")


def test_migrated_it_has_the_schema_of_a_new_database(bare: Database, database: Database) -> None:
    create_filled(bare)
    upgrade(bare)

    assert dump_schema(bare) == dump_schema(database)


def test_every_row_stays_but_those_of_what_went(bare: Database) -> None:
    create_filled(bare)
    before = read_renamed(bare)
    upgrade(bare)
    after = read_rows(bare)

    assert all(before.values())
    assert before.keys() - after.keys() == WENT
    assert after.keys() - before.keys() == {"openscale_facts", "corrections", "alert_figures"}
    columns = {table: before[table][0].keys() - rows[0].keys() for table, rows in after.items() if table in before}
    assert {table: names for table, names in columns.items() if names} == {
        "alerts": {"rule_no", "rule_id", "rule_name", "metric", "data", "facts"} | {"opened_check_no", "last_seen_at", "last_check_no"},
        "checks": {"narrow_failure"},
        "notifications": {"alert_no"},
        "subgroup_scans": {"candidate_no", "limit"},
    }
    for table in after.keys() - {
        "measurements",
        "figure_days",
        "mitigation_settings",
        "openscale_facts",
        "corrections",
        "alert_rules",
        "alert_figures",
    }:
        changed = {"alerts": {"subject", "kind"}, "notifications": {"body"}}.get(table, set())
        members = (before[table][0].keys() & after[table][0].keys()) - changed
        of_both = [sorted(({name: row[name] for name in members} for row in rows[table]), key=repr) for rows in (before, after)]
        assert [row for row in of_both[1] if row not in of_both[0]] == [
            {name: value for name, value in row.items() if name in members} for row in after[table] if row.get("actor") == "command line"
        ], table
        assert all(row in of_both[1] for row in of_both[0]), table


def test_rules_stay_of_the_present_kinds_and_each_deployment_has_those_on_failed_checks_and_missing_records(bare: Database) -> None:
    create_filled(bare)
    before = read_rows(bare)
    with psycopg.connect(bare.url) as connection:
        connection.execute("UPDATE alert_rules SET kind = 'endpoint_errors', id = 'mine' WHERE no = (SELECT min(no) FROM alert_rules)")
    upgrade(bare)
    after = read_rows(bare)

    kinds: dict[int, set[str]] = {row["no"]: set() for row in after["deployments"]}
    for rule in after["alert_rules"]:
        kinds[rule["deployment_no"]].add(rule["kind"])
    assert all(kinds[no] >= {"failed_checks", "stale_data"} for no in kinds)
    assert not [rule for rule in after["alert_rules"] if rule["kind"] == "endpoint_errors"]
    assert {rule["no"] for rule in before["alert_rules"]} <= {rule["no"] for rule in after["alert_rules"]}
    mine = next(rule for rule in after["alert_rules"] if rule["id"] == "mine")
    own = [rule["id"] for rule in after["alert_rules"] if rule["deployment_no"] == mine["deployment_no"]]
    assert "failed-checks" not in own


def test_mitigation_in_parity_mode_becomes_lift_only_and_is_in_the_audit(bare: Database) -> None:
    create_filled(bare)
    upgrade(bare)
    rows = read_rows(bare)

    assert [row["settings"] for row in rows["mitigation_settings"]] == [
        {"mode": "lift_only", "attributes": ["sex"], "bias_detector": "off"}
    ]
    noted = [row for table in ("activities", "audit_events") for row in rows[table] if row["actor"] == "command line"]
    assert [(row["action"], row["deployment_id"], row["details"]) for row in noted] == [
        ("mitigation.changed", "credit-risk", {"mode": ["parity", "lift_only"]}),
        ("mitigation.changed", "credit-risk", {"fields": ["mode"]}),
    ]


def test_figures_that_stay_are_the_same_and_others_are_in_a_row_that_stays(bare: Database) -> None:
    create_filled(bare)
    before = {row["no"]: row for row in read_renamed(bare)["measurements"]}
    days = {row["no"]: row for row in read_renamed(bare)["figure_days"]}
    upgrade(bare)
    after = {row["no"]: row for row in read_rows(bare)["measurements"]}
    left = {row["no"]: row for row in read_rows(bare)["figure_days"]}

    assert (len(before), len(after)) == (315, 95)
    added = {"worst_of", "chosen_lower", "chosen_upper"}
    for no, row in after.items():
        flips = {name: number for name, number in row["details"].items() if name.partition("_")[0] in {"gained", "lost"}}
        assert {name: value for name, value in row.items() if name not in added} == {
            **before[no],
            "details": before[no]["details"] | flips,
            "verdict": row["verdict"],
        }
        assert row["verdict"] == before[no]["verdict"] or (before[no]["verdict"], row["verdict"]) == ("fair", "undecided")
    for row in (before[no] for no in before.keys() - after.keys()):
        same = [
            figure for figure in after.values() if all(figure[name] == row[name] for name in ("check_no", "metric", "data", "attribute"))
        ]
        is_on_request = row["data"].startswith("mitigated") and row["metric"] not in MITIGATED
        if is_on_request or row["metric"] in {"flip_rate_gained", "flip_rate_lost"}:
            assert not same
        elif row["data"] == "labelled" and row["data"] not in CATALOGUE[row["metric"]].data:
            # Of predictions alone: it stays as measured on all records.
            assert not same
            assert any(figure["metric"] == row["metric"] and figure["data"] == "as_logged" for figure in after.values())
        elif row["scope"] == "worst":
            (marked,) = (figure for figure in same if figure["worst_of"] is not None)
            assert marked["value"] == row["value"]
        elif row["scope"] == "worst_pair":
            assert any(
                figure["value"] == row["value"] or figure["details"].get("monitored") == row["details"]["reference"] for figure in same
            )
        else:
            assert row["scope"] in {"pooled", "reference"}
            assert any(figure["value"] == row["value"] and figure["n"] == row["n"] for figure in same)
    for no, day in left.items():
        assert day == {**days[no], "undecided": day["undecided"], "fair": days[no]["fair"] - day["undecided"]}
    assert {row["data"] for row in left.values()} >= {"as_logged", "counterfactual", "labelled"}


def test_names_of_data_are_renamed_wherever_they_are_stored(bare: Database) -> None:
    create_filled(bare)
    with psycopg.connect(bare.url) as connection:
        connection.execute('UPDATE checks SET "window" = "window" || \'{"left_out": {"payload": {"sex": 1}, "balanced": {}}}\'')
        connection.execute('UPDATE payload_records SET debiased = \'{"changed": true, "debiasing": "changed"}\'')
        connection.execute(
            'UPDATE notifications SET alert_no = (SELECT min(no) FROM alerts), body = body || \'{"alert": {"data": "debiased"}}\''
        )
        connection.execute(
            """
            UPDATE monitors SET config = jsonb_set(
                config || '{"metrics": ["balanced_accuracy", "balanced_disparate_impact_after"]}', '{attributes,0,metric_limits}',
                '{"balanced_disparate_impact_after": [0.8, null]}')
            """
        )
        connection.execute("UPDATE check_days SET is_kept = true")
    upgrade(bare)
    rows = read_rows(bare)

    assert not {row.get("data") for table in rows.values() for row in table} & RENAMED.keys()
    left_out = [row["window"]["left_out"] for row in rows["checks"] if row["window"]]
    assert left_out == [{"as_logged": {"sex": 1}, "counterfactual": {}}] * len(left_out) != []
    assert all(row["is_kept"] for row in rows["check_days"])
    assert [row["mitigated"] for row in rows["payload_records"]] == [{"changed": True, "mitigation": "changed"}] * 16
    assert {row["body"]["alerts"][0]["data"] for row in rows["notifications"]} == {"mitigated"}
    (monitor,) = rows["monitors"]
    assert monitor["config"]["metrics"] == ["balanced_accuracy", "counterfactual_disparate_impact_after"]
    assert monitor["config"]["attributes"][0]["metric_limits"] == {"counterfactual_disparate_impact_after": [0.8, None]}
    listed = [row["config"]["condition"]["data"] for row in rows["alert_rules"] if "data" in row["config"]["condition"]]
    assert listed == [["as_logged", "counterfactual", "labelled"]]
    for alert in rows["alerts"]:
        names = [alert[name] for name in ("kind", "attribute", "group")]
        assert alert["subject"] == sha256(json.dumps(names).encode()).hexdigest()


def test_unresolved_alerts_on_one_group_become_one_with_what_people_did_and_resolved_ones_stay(bare: Database) -> None:
    create_filled(bare)
    insert = """
        INSERT INTO alerts (id, deployment_no, rule_no, rule_id, rule_name, subject, kind, attribute, "group", metric, data, facts,
            opened_at, last_seen_at, acknowledged_at, acknowledged_by, note, assignee, resolved_at, resolution)
        SELECT 'made-' || n, d.no, r.no, r.id, 'Made', 'subject-' || n, CASE WHEN n = 4 THEN 'stale_data' ELSE 'evidence' END,
            CASE WHEN n < 4 THEN 'region' END, CASE WHEN n < 4 THEN 'north' END, CASE WHEN n < 4 THEN 'metric-' || n END,
            CASE WHEN n < 4 THEN 'payload' END, '{"interval": [0.2, null]}', now(), now(), CASE WHEN n = 2 THEN now() END,
            CASE WHEN n = 2 THEN 'user:ada' END, CASE WHEN n = 2 THEN 'On it.' END, CASE WHEN n = 2 THEN 'user:eve' END,
            CASE WHEN n = 3 THEN now() END, CASE WHEN n = 3 THEN 'recovered' END
        FROM (SELECT min(no) AS no FROM deployments) d JOIN alert_rules r ON r.deployment_no = d.no, generate_series(1, 4) AS n
        WHERE r.no = (SELECT min(no) FROM alert_rules WHERE deployment_no = d.no)
        """
    with psycopg.connect(bare.url) as connection:
        connection.execute(insert)
        made = "SELECT no FROM alerts WHERE id = 'made-2'"
        connection.execute(f"INSERT INTO alert_comments (alert_no, id, author, text) SELECT ({made}), 'a', 'user:ada', 'Look.'".encode())
        connection.execute(f"UPDATE notifications SET alert_no = ({made})".encode())  # noqa: S608 - ours
    upgrade(bare)
    rows = read_rows(bare)
    alerts = {row["id"]: row for row in rows["alerts"]}
    figures = {alert: [row for row in rows["alert_figures"] if row["alert_no"] == alerts[alert]["no"]] for alert in alerts}

    assert alerts.keys() >= {"made-1", "made-3", "made-4"}
    assert "made-2" not in alerts
    joined = alerts["made-1"]
    assert (joined["kind"], joined["note"], joined["acknowledged_by"], joined["assignee"]) == ("unfair", "On it.", "user:ada", "user:eve")
    assert {alert: len(figures[alert]) for alert in ("made-1", "made-3", "made-4")} == {"made-1": 2, "made-3": 1, "made-4": 1}
    assert [row["facts"] for row in figures["made-1"]] == [{"lower": 0.2, "upper": None}] * 2
    assert [row["resolution"] for row in figures["made-3"]] == ["recovered"]
    assert joined["no"] in {row["alert_no"] for row in rows["alert_comments"]}
    assert {tuple(row["alert_nos"]) for row in rows["notifications"]} == {(joined["no"],)}


def test_a_migration_that_gave_way_after_its_figures_goes_on(bare: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "FIRST_PAUSE_SECONDS", 0.05)
    create_filled(bare)
    with psycopg.connect(bare.url) as reader, capture_logs() as logs, ThreadPoolExecutor(1) as pool:
        reader.execute("SELECT FROM evidence_figures")
        migrated = pool.submit(upgrade, bare)
        wait_until(lambda: logs)
        with psycopg.connect(bare.url) as other:
            assert other.execute("SELECT count(*) FROM measurements WHERE scope = 'worst'").fetchone() == (0,)
            assert other.execute("SELECT count(*) FROM archived_months").fetchone() == (2,)
        reader.rollback()
        migrated.result()

    assert len(read_rows(bare)["measurements"]) == 95


def test_metrics_that_went_are_taken_out_of_figures_and_settings(bare: Database) -> None:
    create_filled(bare)
    with psycopg.connect(bare.url) as connection:
        for table in ("measurements", "figure_days"):
            connection.execute(f"UPDATE {table} SET metric = 'r2' WHERE metric = 'accuracy'")  # noqa: S608 - ours
        connection.execute(
            """
            UPDATE monitors SET config = jsonb_set(
                config || '{"metrics": ["r2", "flip_rate_lost", "accuracy", "flip_rate_gained"]}', '{attributes,0,metric_limits}',
                '{"macro_f1": [0.5, null], "flip_rate_gained": [null, 0.2], "accuracy": [0.7, null]}')
            """
        )
        for rule_id, metrics in (("some", '["weighted_recall", "disparate_impact"]'), ("none", '["class_log_loss"]')):
            connection.execute(
                """
                INSERT INTO alert_rules (id, deployment_no, version, kind, config, enabled)
                SELECT %s, no, 1, 'evidence', jsonb_build_object('condition', jsonb_build_object('metrics', %s::jsonb)), true
                FROM deployments
                """,
                (rule_id, metrics),
            )
    upgrade(bare)
    rows = read_rows(bare)

    assert not [row for table in ("measurements", "figure_days") for row in rows[table] if row["metric"] == "r2"]
    (monitor,) = rows["monitors"]
    assert monitor["config"]["metrics"] == ["flip_rate", "accuracy"]
    assert monitor["config"]["attributes"][0]["metric_limits"] == {"accuracy": [0.7, None]}
    metrics = {row["id"]: row["config"]["condition"].get("metrics") for row in rows["alert_rules"]}
    assert (metrics["some"], metrics["none"]) == (["disparate_impact"], [])


def test_a_monitor_of_metrics_that_went_has_the_usual_ones(bare: Database) -> None:
    create_filled(bare)
    with psycopg.connect(bare.url) as connection:
        connection.execute("""UPDATE monitors SET config = config || '{"metrics": ["explained_variance"]}'""")
    upgrade(bare)

    assert [row["config"]["metrics"] for row in read_rows(bare)["monitors"]] == [None]


def test_comparisons_begin_with_their_era(bare: Database) -> None:
    create_filled(bare)
    upgrade(bare)

    with bare.transaction() as session:
        starts = session.execute(
            text(
                "SELECT f.starts_at = e.starts_at, f.definition, f.ended_at FROM evidence_figures f JOIN evidence_eras e ON e.no = f.era_no"
            )
        )
        assert set(map(tuple, starts)) == {(True, None, None)}


def test_a_database_of_before_is_refused_and_left_as_it_is(bare: Database) -> None:
    create_filled(bare)
    with psycopg.connect(bare.url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0048'")
    before = read_rows(bare)

    with pytest.raises(SetupError, match="has the schema 0048, of an early version of Evenhand: migrate it with commit 7ba08965 first"):
        upgrade(bare)

    assert read_rows(bare) == before


def test_a_month_in_files_is_refused_before_anything_is_dropped(bare: Database) -> None:
    create_filled(bare)
    with psycopg.connect(bare.url) as connection:
        connection.execute("UPDATE archived_months SET state = 'stored'")
    before = read_rows(bare)

    with pytest.raises(SetupError, match="records of 2026-03, 2026-04 of credit-risk, and this version does not read them"):
        upgrade(bare)

    assert read_rows(bare) == before


def test_migrating_ends_with_the_newest_revision(bare: Database) -> None:
    create_filled(bare)
    upgrade(bare)

    with bare.operator_connection() as connection:
        assert read_revision(connection) == find_newest_revision()


def test_facts_of_the_openscale_sdk_are_moved_into_one_table(bare: Database) -> None:
    create_schema(bare)
    statements = (
        "INSERT INTO openscale_providers (id, entity, secrets, created_by) VALUES ('ours', '{\"name\": \"Ours\"}', 'sealed', 'ada')",
        """INSERT INTO openscale_subscriptions (deployment_no, data_mart_id, provider_id, entity, created_by)
           SELECT no, '00000000-0000-0000-0000-000000000000', 'ours', '{"asset": {"asset_id": "a"}}', 'ada'
           FROM deployments WHERE id = 'one'""",
        """INSERT INTO openscale_instances (deployment_no, definition_id, entity, created_by)
           SELECT no, kind, '{"parameters": {}}', 'eve' FROM deployments, unnest(ARRAY['fairness', 'quality', 'custom']) kind""",
    )
    with psycopg.connect(bare.url) as connection:
        for name, problem_type in (("one", "binary"), ("two", "regression")):
            connection.execute(
                "INSERT INTO deployments (id, name, problem_type, outputs, schema_version, model_revision)"
                " VALUES (%s, %s, %s, '{}', 1, '1')",
                [name, name, problem_type],
            )
        for statement in statements:
            connection.execute(statement)

    upgrade(bare)

    with bare.transaction() as session:
        rows = session.execute(text("SELECT kind, id, entity, secrets, created_by FROM openscale_facts ORDER BY kind, id")).all()
    assert [tuple(row[:2]) for row in rows] == [("provider", "ours"), ("subscription", "one"), ("subscription", "two")]
    provider, one, two = rows
    assert (provider.entity, bytes(provider.secrets), provider.created_by) == ({"name": "Ours"}, b"sealed", "ada")
    assert (one.entity["asset"], one.entity["provider_id"], one.created_by) == ({"asset_id": "a"}, "ours", "ada")
    assert one.entity["instances"].keys() == {"fairness", "quality"}
    assert two.entity["instances"].keys() == {"fairness"}
    assert one.entity["instances"]["fairness"]["created_by"] == two.created_by == "eve"
