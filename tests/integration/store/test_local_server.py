"""Sessions of Postgres that work for a worker on the same machine have its priority; other processes keep theirs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.store.database.engine import Database, parse_url

PROGRAM = """
import json, os, subprocess, sys
from sqlalchemy import text
from app.priority import lower_priority
from app.store.database.engine import Database
from app.store.database.local_server import LocalServer

url = sys.argv[1]
lower_priority(5)
lower = LocalServer(url).lower_session
database = Database(url, on_open=lower)
untouched = Database(url)

def niceness(process):
    session = open(f"/proc/{process}/autogroup").read().split()[-1:] if os.path.exists("/proc/self/autogroup") else []
    return [os.getpriority(os.PRIO_PROCESS, process), *map(int, session)]

with database.transaction() as session, untouched.transaction() as other, database.arrow.transaction() as reader:
    with reader.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        ((reading,),) = cursor.fetchall()
    ask = text("SELECT pg_backend_pid()")
    found = {"own": niceness(session.scalar(ask)), "readers": niceness(reading), "others": niceness(other.scalar(ask))}
    # A process of this machine that is no session of that server, as a server elsewhere may number one.
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    os.setpriority(os.PRIO_PROCESS, stranger.pid, 7)
    lower(stranger.pid)
    found["strangers"] = niceness(stranger.pid)
    stranger.communicate(b"x")
print(json.dumps(found))
"""


@pytest.fixture
def found(database: Database) -> dict[str, Any]:
    url = parse_url(database.url)
    if not str(url.normalized_query.get("host", (url.host,))[0]).startswith("/"):
        pytest.skip("the tests' Postgres is not reached by a socket in a folder")
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    done = subprocess.run([sys.executable, "-c", PROGRAM, database.url], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_sessions_of_a_worker_have_its_priority_and_no_others(found: dict[str, Any]) -> None:
    niceness = os.nice(0) + 5

    assert (found["own"][0], found["readers"][0], found["others"][0], found["strangers"][0]) == (niceness, niceness, os.nice(0), 7)
    # Each session of Postgres is one of Linux, too.
    assert (found["own"][1:], found["readers"][1:]) in (([niceness], [niceness]), ([], []))
    assert found["strangers"][1:] in ([0], [])
