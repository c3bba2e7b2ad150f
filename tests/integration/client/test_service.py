"""The client with the real service: every record exactly once, whatever is killed or away."""

import os
import random
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from evenhand_client import Evenhand, Report
from sqlalchemy import text

from app.access.principals import Role
from tests.progress import wait_until
from tests.service import RunningService

from .stored import stored_ids

CLIENT = Path(__file__).resolve().parents[3] / "client"
ROW = {"sex": "female", "income": 42_000}
KILLS = 50

BEGIN = """
import os, sys, time
from evenhand_client import Evenhand
url, key, folder = sys.argv[1:]
row = {"sex": "female", "income": 42_000}
"""

LOGGING = """
client = Evenhand(url, key, "loans", spool_dir=folder, flush_at=50, flush_interval=0.05)
while True:
    ids = [client.log(row, 1) for _ in range(20)]
    client.flush(0)
    # They are durable now, so whatever happens next must not lose them.
    os.write(1, (" ".join(ids) + "\\n").encode())
"""

FORKING = """
client = Evenhand(url, key, "loans", spool_dir=folder)
client.log(row, 1)
for worker in range(8):
    if os.fork() == 0:
        for number in range(500):
            client.log(row, 1, id=f"{worker}-{number}")
        sys.exit()
for _ in range(8):
    assert os.wait()[1] == 0
"""


def start(service: RunningService, program: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(BEGIN + program), service.base_url, service.key(Role.INGEST), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(CLIENT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def make(service: RunningService, **options: object) -> Evenhand:
    return Evenhand(service.application.address, service.key(Role.INGEST), "loans", **options)  # type: ignore[arg-type]


def test_records_and_labels_arrive(service: RunningService) -> None:
    service.application.listen()
    with make(service) as client:
        ids = [client.log(ROW, 1, probability=0.9, meta={"region": "north"}) for _ in range(2500)]
        client.log_label(ids[0], 0)
        assert client.flush() == Report(sent=2501)
        client.log(ROW, 1, id=ids[0], scored_at="2026-01-01T00:00:00Z")  # a second record of that id, which differs
        client.log({"sex": "male"}, 1)
        assert client.flush() == Report(rejected=2)

    assert stored_ids(service.database) == dict.fromkeys(ids, 1)
    with service.database.transaction() as session:
        assert session.scalars(text("SELECT feedback_id FROM feedback_records")).all() == ids[:1]


def test_corrections_arrive_and_a_key_that_may_not_correct_still_logs(service: RunningService) -> None:
    service.application.listen()
    refused: list[str] = []

    def make_for(role: Role) -> Evenhand:
        return Evenhand(service.application.address, service.key(role), "loans", on_error=lambda _, reason: refused.append(reason))

    with make_for(Role.MANAGE) as client:
        record_id = client.log(ROW, 1)
        client.log_label(record_id, 0)
        client.correct(record_id, "label", 1, "mixed up", old=0, id="c-1")
        client.correct(record_id, "prediction", 1, "mixed up")
        assert client.flush() == Report(sent=3, rejected=1)
    with make_for(Role.INGEST) as client:
        client.correct(record_id, "label", 0, "again")
        client.log(ROW, 1)
        assert client.flush() == Report(sent=1, rejected=1)

    assert "new: is the stored value 1" in refused
    assert "; that needs the role manage." in refused[-1]
    with service.database.transaction() as session:
        assert session.scalars(text("SELECT label FROM feedback_records")).all() == [1]


def test_what_is_sent_twice_is_stored_once(service: RunningService) -> None:
    service.application.listen()
    with make(service) as client:
        for _ in range(2):
            client.log(ROW, 1, id="a", scored_at="2026-01-01T00:00:00+00:00")
        assert client.flush() == Report(sent=1, duplicate=1)

    assert stored_ids(service.database) == {"a": 1}


@pytest.mark.nightly
def test_a_process_killed_at_fifty_moments_loses_nothing_durable_and_stores_nothing_twice(service: RunningService, tmp_path: Path) -> None:
    folder, chosen = tmp_path / "spool", random.Random(20)
    durable: list[str] = []
    for _ in range(KILLS):
        with start(service, LOGGING, folder) as process:
            assert process.stdout is not None
            for _ in range(chosen.randrange(4)):
                durable += process.stdout.readline().split()
            threading.Event().wait(0.15 * chosen.random())
            process.kill()
            rest = process.stdout.read()
            durable += rest[: rest.rfind("\n") + 1].split()  # the last line may be cut short
    with make(service, spool_dir=folder) as client:
        client.flush(3600)
        assert client.stats().spooled == 0

    stored = stored_ids(service.database)
    assert len(durable) == len(set(durable)) > 1000
    assert set(durable) - set(stored) == set()
    assert set(stored.values()) == {1}
    assert list(folder.glob("loans/*")) == []


@pytest.mark.nightly
def test_while_the_service_is_away_records_wait_and_then_arrive_once(service: RunningService, tmp_path: Path) -> None:
    with make(service, spool_dir=tmp_path / "spool", flush_interval=0.02, max_queue=1000) as client:
        ids = []
        for _ in range(40):
            ids += [client.log(ROW, 1) for _ in range(200)]
            client.flush(0)
        assert client.stats().spooled == len(ids) == 8000
        assert client.stats().last_problem is not None

        service.application.listen()
        client.flush(3600)
        assert client.stats().sent + client.stats().duplicate == 8000

    assert stored_ids(service.database) == dict.fromkeys(ids, 1)


@pytest.mark.thorough
def test_workers_of_a_server_that_forks_store_their_records_once_each(service: RunningService, tmp_path: Path) -> None:
    with start(service, FORKING, tmp_path / "spool") as process:
        assert process.wait() == 0

    stored = stored_ids(service.database)
    assert {f"{worker}-{number}" for worker in range(8) for number in range(500)} <= set(stored)
    assert len(stored) == 4001
    assert set(stored.values()) == {1}


def test_the_service_knows_how_many_records_it_will_never_get(service: RunningService) -> None:
    client = make(service, max_queue=5, flush_at=5, sample_rate=0.5)
    ids = [client.log(ROW, 1) for _ in range(1000)]
    wait_until(lambda: client.stats().last_problem, "the first attempt fails")
    service.application.listen()
    client.flush(3600)
    client.close()

    stats = client.stats()
    (hour, *more) = service.client.get("/v1/deployments/loans/missing-records").json()["hours"]
    counted = [hour, *more]  # two where the test runs over a full hour
    assert sum(one["not_received"] for one in counted) == stats.dropped > 0
    assert sum(one["left_out"] for one in counted) == stats.left_out > 0
    assert hour["lowest_rate"] == 0.5
    assert len(ids) == stats.sent + stats.dropped + stats.left_out
