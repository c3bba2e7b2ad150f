"""A worker that is killed shows in REST as silent, and another one as answering."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.database.engine import Database
from tests.builders.heartbeats import silence_workers
from tests.progress import wait_until
from tests.service import RunningService, running_service

SINCE = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    with running_service(database, tmp_path) as service:
        yield service


@pytest.mark.nightly
def test_a_worker_that_is_killed_is_seen_as_silent_and_the_next_one_answers(
    service: RunningService, database: Database, tmp_path: Path
) -> None:
    """Real processes: what a supervisor does is start another one."""
    environment = {**os.environ, "DATABASE_URL": database.url, "EVENHAND_DATA_DIR": str(tmp_path)}
    command = (sys.executable, "-m", "app.cli", "worker")

    def state() -> str:
        return str(service.client.get("/v1/workers").json()["state"])

    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as first:
        wait_until(lambda: state() == "answering")
        first.send_signal(signal.SIGKILL)
    killed_at = service.client.get("/v1/workers").json()["last_seen_at"]
    silence_workers(database, since=SINCE)  # the time that is waited for, gone by
    silent = state()
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as second:
        wait_until(lambda: state() == "answering")
        second.kill()

    assert killed_at is not None
    assert silent == "silent"
