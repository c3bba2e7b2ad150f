"""A command that gives way has a worker's priority, and so have its sessions of a Postgres on the same machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.priority import NICENESS
from app.store.database.engine import Database, parse_url

PROGRAM = """
import os, sys
from sqlalchemy import text
from app.cli.database import ready_database
from app.cli.startup import command_settings

with ready_database(command_settings(), gives_way=sys.argv[1] == "yes") as database, database.transaction() as session:
    print(os.nice(0), os.getpriority(os.PRIO_PROCESS, session.scalar(text("SELECT pg_backend_pid()"))))
"""


@pytest.mark.parametrize(("gives_way", "added"), [("yes", NICENESS), ("no", 0)])
def test_a_command_and_its_sessions_have_the_same_priority(gives_way: str, added: int, database: Database, tmp_path: Path) -> None:
    url = parse_url(database.url)
    if not str(url.normalized_query.get("host", (url.host,))[0]).startswith("/"):
        pytest.skip("the tests' Postgres is not reached by a socket in a folder")
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    environment = {**os.environ, "DATABASE_URL": database.url, "EVENHAND_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM, gives_way]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)

    own = os.nice(0) + added
    assert done.stdout.split() == [str(own), str(own)]
