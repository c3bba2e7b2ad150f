"""A worker has a lower priority than the programs that log records."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.database import NICENESS
from app.database.engine import Database
from tests.progress import wait_until


@pytest.mark.thorough
def test_a_worker_has_a_lower_priority_than_what_starts_it(database: Database, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": database.url, "EVENHAND_DATA_DIR": str(tmp_path)}
    command = (sys.executable, "-m", "app.cli", "worker")
    expected = min(os.nice(0) + NICENESS, 19)

    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: os.getpriority(os.PRIO_PROCESS, process.pid) == expected, "the worker gives way")
        finally:
            process.kill()
