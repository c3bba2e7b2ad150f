"""Deployments that were stored with a table of a database: they are shown and can be deleted, and their checks say what to do."""

import html
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from app.base.clock import HOUR, utc_now
from app.cli.database import warn_of_foreign_tables
from app.database.engine import Database
from app.deployments.listed_file_queries import find_deployments_with_jdbc_tables
from app.domain.deployment import NOT_READ
from app.evidence.update import update_evidence
from app.retention.expire import delete_left_files
from app.sources.tables.own_files import OwnPlaces
from app.worker.looks import look_for_late_files, queue_due_checks
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.bodies import deployment
from tests.builders.evidence_worlds import present_era
from tests.builders.lakes import Lake, lake_of
from tests.builders.openscale_bodies import added, read
from tests.builders.workers import ended, working
from tests.connections import connect
from tests.scenes import NOON, scene
from tests.service import RunningService, running_service

PLACE = "warehouse/public/scores"
SAID = f"payload.format: {PLACE} {NOT_READ}"
HTML: dict[str, Any] = {"headers": {"Accept": "text/html"}}

COLUMNS: dict[str, Any] = {
    "id": "id",
    "scored_at": "scored_at",
    "features": {},
    "meta": {},
    "prediction": "prediction",
    "probability": "probability",
    "label": None,
    "model_revision": "revision",
}
STORED: dict[str, dict[str, Any]] = {
    "payload": {"location": PLACE, "columns": COLUMNS, "format": "jdbc", "partition_by": None, "source": "table"},
    "feedback": {
        "location": "warehouse/public/labels",
        "columns": {"id": "id", "observed_at": "observed_at", "label": "label"},
        "format": "jdbc",
        "partition_by": None,
        "source": "table",
    },
}
"""`deployments.record_tables` as commit 7ba08965 wrote it."""


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, which may read that folder."""
    with running_service(database, tmp_path / "data", table_roots=str(tmp_path)) as service:
        yield service


@pytest.fixture
def foreign(database: Database, tmp_path: Path) -> Lake:
    """The deployment `foreign` with its listed hours, and the empty folders to which its tables may be exported."""
    lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=None), tmp_path, deployment_id="foreign")
    no, newest = lake.stage.deployment.no, NOON + HOUR / 2
    with connect(database.url) as connection:
        connection.execute("UPDATE deployments SET record_tables = %s WHERE no = %s", [Jsonb(STORED), no])
        for side in ("payload", "feedback"):
            connection.execute(
                "INSERT INTO listed_files (deployment_no, side, path, bytes, modified_ns, batch, oldest, newest)"
                " VALUES (%s, %s, %s, 40, %s, NULL, %s, %s)",
                [no, side, NOON.isoformat(), int(newest.timestamp()) * 10**9, NOON, newest],
            )
    return lake


def words(text: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


@pytest.mark.usefixtures("foreign")
def test_it_is_read_and_listed_as_it_was_stored(service: RunningService) -> None:
    found = service.client.get("/v1/deployments/foreign").raise_for_status().json()
    listed = service.client.get("/v1/deployments").raise_for_status().json()["deployments"]

    assert (found["payload"]["format"], found["payload"]["location"]) == ("jdbc", PLACE)
    assert found["feedback"]["format"] == "jdbc"
    assert found in listed


@pytest.mark.usefixtures("foreign")
def test_its_pages_say_that_its_checks_fail_and_what_to_do(service: RunningService) -> None:
    said = f"Checks of this deployment fail: {PLACE} {NOT_READ}; warehouse/public/labels {NOT_READ}."
    paths = ("", "/checks", "/ingestion", "/alerts", "/configure", "/configure/log", "/second-look")
    pages = {path: service.client.get(f"/deployments/foreign{path}", **HTML) for path in paths}
    overview = service.client.get("/", **HTML)

    assert {response.status_code for response in (overview, *pages.values())} == {200}
    assert [path for path, page in pages.items() if said not in words(page.text)] == []
    assert "Tables of files" not in pages["/ingestion"].text


@pytest.mark.usefixtures("foreign")
def test_a_check_that_is_asked_for_fails_by_name(service: RunningService, database: Database) -> None:
    address = "/v1/deployments/foreign"
    queued = service.client.post(f"{address}/checks", json={}).raise_for_status().json()

    with working(database):
        check = ended(service, address, queued)

    assert (check["state"], check["reason"]) == ("failed", SAID)
    assert check["headlines"] == []


@pytest.mark.usefixtures("foreign")
def test_a_scheduled_check_fails_by_name(service: RunningService, database: Database) -> None:
    with connect(database.url) as connection:
        connection.execute("UPDATE monitors SET scheduled_since = now() - interval '90 minutes'")
    with database.transaction() as session:
        assert queue_due_checks(session, utc_now()) >= 1
    queued = service.client.get("/v1/deployments/foreign/checks?limit=1").json()["checks"][0]

    with working(database):
        check = ended(service, "/v1/deployments/foreign", queued)

    assert (check["trigger"], check["state"], check["reason"]) == ("schedule", "failed", SAID)


@pytest.mark.usefixtures("foreign")
def test_a_run_of_the_openscale_face_fails_by_name(service: RunningService, database: Database) -> None:
    sources = read(service.client, "subscriptions/foreign")["entity"]["data_sources"]
    run = added(service.client, "monitor_instances/fairness.foreign/runs", {})["metadata"]["id"]

    with working(database):
        ended(service, "/v1/deployments/foreign", {"id": run})
    status = read(service.client, f"monitor_instances/fairness.foreign/runs/{run}")["entity"]["status"]

    assert (sources[0]["connection"]["type"], sources[0]["parameters"]["location"]) == ("jdbc", PLACE)
    assert (status["state"], SAID in str(status["failure"])) == ("error", True)


def test_the_listing_passes_it_over_and_its_evidence_says_why_it_is_not_counted(foreign: Lake, database: Database) -> None:
    with capture_logs() as logged:
        look_for_late_files(database, foreign.stage.places.roots)
    update_evidence(database, grace=timedelta(0), places=foreign.stage.places)

    assert logged == []
    assert present_era(foreign.stage).problem == SAID


@pytest.mark.parametrize("side", ["payload", "feedback"])
def test_a_new_one_is_refused_by_the_name_of_its_format(service: RunningService, tmp_path: Path, side: str) -> None:
    tables = {one: {"source": "table", "location": f"{tmp_path}/{one}"} for one in ("payload", "feedback")}
    tables[side] |= {"format": "jdbc", "location": f"warehouse/public/{side}"}

    answer = service.client.post("/v1/deployments", json=deployment(**tables))

    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert error["field"] == f"{side}.format"
    assert error["message"].startswith("must be one of parquet, delta, iceberg: export the rows of another table")


def test_it_is_changed_to_the_files_to_which_it_was_exported(foreign: Lake, service: RunningService) -> None:
    foreign.write(applicants(30, 30, 10), NOON)
    files = {side: table | {"format": "parquet", "location": f"{foreign.folder}/{side}"} for side, table in STORED.items()}

    renamed = service.client.patch("/v1/deployments/foreign", json={"name": "Renamed"})
    moved = service.client.patch("/v1/deployments/foreign", json=files)
    assert moved.status_code == 200, moved.text
    check = foreign.check(NOON)

    assert (renamed.status_code, [error["field"] for error in renamed.json()["errors"]]) == (422, ["payload.format", "feedback.format"])
    assert (check.run.state, (check.run.window or {})["records"]) == ("succeeded", 60)


def test_it_is_deleted_with_the_answers_that_evenhand_kept(foreign: Lake, service: RunningService, database: Database) -> None:
    answers = foreign.folder / "answers"
    kept = answers / "foreign" / ("0" * 32) / "one.parquet"
    kept.parent.mkdir(parents=True)
    kept.touch()

    deleted = service.client.delete("/v1/deployments/foreign")

    assert deleted.status_code == 204
    assert delete_left_files(database, OwnPlaces()) == 0
    assert delete_left_files(database, OwnPlaces(answers=answers)) == 1
    assert service.client.get("/v1/deployments/foreign").status_code == 404


def test_it_is_named_at_the_start_with_what_to_do(foreign: Lake, database: Database) -> None:
    with database.transaction() as session:
        found = find_deployments_with_jdbc_tables(session)
    with capture_logs() as logged:
        warn_of_foreign_tables(database)
    with connect(database.url) as connection:
        connection.execute("UPDATE deployments SET record_tables = NULL WHERE no = %s", [foreign.stage.deployment.no])
    with capture_logs() as later:
        warn_of_foreign_tables(database)

    assert found == ["foreign"]
    assert [(one["log_level"], one["deployments"], one["reason"]) for one in logged] == [
        ("warning", ["foreign"], f"the payload or feedback of each {NOT_READ}")
    ]
    assert later == []
