"""`evenhand worker` and `evenhand check` as programs, on a Postgres that is restarted under them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.database.embedded.embedded_server import EmbeddedPostgres
from app.database.engine import Database
from app.database.migrations import upgrade
from app.database.partitions import ensure_coming_months
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import scene

COLUMNS = (
    Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
MONITOR = Monitor(
    outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
    attributes=(MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),),
    min_records=10,
)
APPLICANTS = [{"sex": sex, "income": 20_000, "prediction": int(sex == "male"), "probability": 0.5} for sex in ("male", "female") * 20]


@pytest.fixture
def postgres() -> Iterator[EmbeddedPostgres]:
    """A server of this test's own, to be restarted."""
    with tempfile.TemporaryDirectory(prefix="evenhand-test-") as folder:
        Path(folder).chmod(0o711)
        server = EmbeddedPostgres(Path(folder) / "data")
        server.start()
        try:
            yield server
        finally:
            server.stop()


def environment(url: str, data_dir: Path) -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": url, "EVENHAND_DATA_DIR": str(data_dir), "COLUMNS": "200"}


@contextmanager
def evenhand_worker(url: str, data_dir: Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen((sys.executable, "-m", "app.cli", "worker"), env=environment(url, data_dir), stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def evenhand_check(url: str, data_dir: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = (sys.executable, "-m", "app.cli", "check", "a-model", *options)
    return subprocess.run(command, env=environment(url, data_dir), capture_output=True, text=True, check=False)


@pytest.mark.nightly
def test_checks_are_done_before_and_after_a_restart_of_postgres(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    database = Database(postgres.url)
    upgrade(database)
    with database.transaction() as session:
        ensure_coming_months(session, datetime.now(UTC))

    with serve(RuleScorer()) as model, evenhand_worker(postgres.url, tmp_path) as worker:
        stage = scene(database, COLUMNS, MONITOR, endpoint=Endpoint(url=model.url))
        stage.log(APPLICANTS, datetime.now(UTC) - timedelta(seconds=1))
        before = evenhand_check(postgres.url, tmp_path, "--wait")
        database.close()
        postgres.stop()
        postgres.start()
        after = evenhand_check(
            postgres.url, tmp_path, "--wait", "--from", "2026-01-01T00:00Z", "--to", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        )
        worker.terminate()
        status = worker.wait()

    for result in (before, after):
        assert result.returncode == 0, result.stdout + result.stderr
        assert "succeeded" in result.stdout
        assert "perfect_equality" in result.stdout
    assert status == 0


@pytest.mark.nightly
def test_a_check_that_cannot_succeed_ends_with_status_1_and_its_reason(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    database = Database(postgres.url)
    upgrade(database)
    scene(database, COLUMNS, MONITOR, endpoint=None)
    database.close()

    with evenhand_worker(postgres.url, tmp_path):
        too_few = evenhand_check(postgres.url, tmp_path, "--wait")
    unreadable = evenhand_check(postgres.url, tmp_path, "--from", "yesterday", "--to", "today")

    assert too_few.returncode == 1
    assert "insufficient_data" in too_few.stdout
    assert unreadable.returncode == 1
    assert "--from" in unreadable.stderr
    assert "Traceback" not in unreadable.stderr
