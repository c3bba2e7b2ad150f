"""The service's process and Postgres, killed under load: whatever was acknowledged is there, once."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psycopg
import pytest

from app.access.keys.queries import create_key
from app.access.principals import Role
from app.database.embedded.embedded_server import EmbeddedPostgres, find_postmaster
from app.database.engine import Database
from app.database.migrations import upgrade
from app.database.partitions import ensure_coming_months
from tests.builders.batches import make_target
from tests.progress import wait_until

KILLS = 3
CLIENTS = 8


@dataclass
class Scene:
    """A server, the socket that outlives the service's processes, and a key."""

    server: EmbeddedPostgres
    data: Path
    listener: socket.socket
    key: str
    acknowledged: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/deployments/d/payload-records"


@pytest.fixture
def scene() -> Iterator[Scene]:
    """A migrated database on a Postgres of this test's own, with the deployment `d`."""
    with tempfile.TemporaryDirectory(prefix="evenhand-test-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        server = EmbeddedPostgres(Path(folder) / "data", system_dir=Path(folder) / "system")
        database = Database(server.start())
        upgrade(database)
        with database.transaction() as session:
            ensure_coming_months(session, datetime.now(UTC))
            key = create_key(session, role=Role.INGEST, name="e2e")
        make_target(database)
        database.close()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield Scene(server, Path(folder) / "data", listener, key)
        server.stop()


@pytest.mark.nightly
def test_nothing_acknowledged_is_lost_or_doubled_when_postgres_is_killed(scene: Scene) -> None:
    with _service(scene), _load(scene):
        for _ in range(KILLS):
            _await_more(scene)
            running = next(filter(None, map(find_postmaster, scene.data.rglob("."))))
            os.kill(running.pid, signal.SIGKILL)
            wait_until(lambda: not scene.server.is_running())
            scene.server.start()
        _await_more(scene)

    assert scene.statuses <= {200, 503}
    _assert_stored_once(scene)


@pytest.mark.nightly
def test_nothing_acknowledged_is_lost_or_doubled_when_the_service_is_killed(scene: Scene) -> None:
    with _load(scene):
        for _ in range(KILLS):
            with _service(scene) as process:
                _await_more(scene)
                process.kill()
        with _service(scene):
            _await_more(scene)

    assert scene.statuses <= {200, 503}
    _assert_stored_once(scene)


@pytest.mark.nightly
def test_two_processes_on_one_socket_share_the_load_and_one_answers_while_the_other_is_dead(scene: Scene) -> None:
    with _service(scene), _load(scene):
        for _ in range(KILLS):
            with _service(scene) as other:
                _await_more(scene)
                other.kill()
                other.wait()
                _await_more(scene)

    assert scene.statuses <= {200, 503}
    _assert_stored_once(scene)


@contextmanager
def _service(scene: Scene) -> Iterator["subprocess.Popen[bytes]"]:
    descriptor = scene.listener.fileno()
    environment = {**os.environ, "DATABASE_URL": scene.server.url, "EVENHAND_DATA_DIR": str(scene.data), "EVENHAND_LOG_LEVEL": "CRITICAL"}
    command = [sys.executable, "-m", "app.cli.service.api_process", str(descriptor)]
    process = subprocess.Popen(command, env=environment, pass_fds=(descriptor,), cwd=Path(__file__).parents[3])
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _load(scene: Scene) -> Iterator[None]:
    """Clients that send one record at a time, each again until it is acknowledged; a repetition may be a duplicate."""
    stop = threading.Event()
    threads = [threading.Thread(target=_client, args=(scene, number, stop)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _client(scene: Scene, number: int, stop: threading.Event) -> None:
    with httpx.Client(headers={"Authorization": f"Bearer {scene.key}"}, timeout=3) as client:
        for n in itertools.count():
            body = {"records": [{"id": f"{number}-{n}", "features": {"x": n}, "prediction": 1}]}
            while not stop.is_set() and not _send(client, scene, body):
                time.sleep(0.02)
            if stop.is_set():
                return
            scene.acknowledged.append(f"{number}-{n}")


def _send(client: httpx.Client, scene: Scene, body: object) -> bool:
    try:
        answer = client.post(scene.url, json=body)
    except httpx.TransportError:
        return False
    scene.statuses.add(answer.status_code)
    return answer.status_code == 200


def _await_more(scene: Scene) -> None:
    enough = len(scene.acknowledged) + 50
    wait_until(lambda: len(scene.acknowledged) >= enough)


def _assert_stored_once(scene: Scene) -> None:
    with psycopg.connect(scene.server.url) as connection:
        records = connection.execute("SELECT record_id, count(*) FROM payload_records GROUP BY 1").fetchall()
        keys = connection.execute("SELECT count(*) FROM payload_keys").fetchone()
    assert {count for _, count in records} == {1}
    assert keys == (len(records),)
    assert set(scene.acknowledged) <= {record_id for record_id, _ in records}
