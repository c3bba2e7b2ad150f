"""A service whose gateway is under load while its process, or its Postgres, is killed: what was answered must be stored, once."""

import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psycopg

from app.access.keys.queries import create_key
from app.access.principals import Role
from app.access.secret_box import open_secret_box
from app.base.settings import Settings
from app.database.embedded.embedded_server import EmbeddedPostgres
from app.database.engine import Database
from app.database.migrations import upgrade
from app.database.partitions import ensure_coming_months
from app.deployments.queries import Definition, Deployments
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType, OutputFields, ProblemType
from tests.builders.disks import BALLAST, fill_disk, mounted_disk
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.progress import wait_until

DISK_BYTES = 512 * 2**20
"""Above what the spool leaves free."""

BODY = {"fields": ["sex", "income"], "values": [["female", 20_000]]}


@dataclass
class KilledGateway:
    """Postgres, a model, the socket that outlives the service's processes, and the ids of calls that were answered."""

    server: EmbeddedPostgres
    data: Path
    listener: socket.socket
    key: str
    model: ModelServer
    answered: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    patience: float = 3.0
    """Seconds that a caller waits for an answer."""
    unanswered: int = 0
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def service(self) -> Iterator["subprocess.Popen[bytes]"]:
        """The process that answers HTTP, until the block ends."""
        descriptor = self.listener.fileno()
        environment = {
            **os.environ,
            "DATABASE_URL": self.server.url,
            "EVENHAND_DATA_DIR": str(self.data),
            "EVENHAND_LOG_LEVEL": "CRITICAL",
        }
        command = [sys.executable, "-m", "app.cli.service.api_process", str(descriptor)]
        process = subprocess.Popen(command, env=environment, pass_fds=(descriptor,), cwd=Path(__file__).parents[2])
        try:
            yield process
        finally:
            process.terminate()
            process.wait()

    @contextmanager
    def load(self, callers: int) -> Iterator[None]:
        """Callers that call the model again and again, until the block ends."""
        stop = threading.Event()
        threads = [threading.Thread(target=self._call_often, args=(number, stop)) for number in range(callers)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def call(self, client: httpx.Client, record_id: str) -> bool:
        """Calls the model once; returns whether it was answered."""
        url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/deployments/d/predictions"
        try:
            answer = client.post(url, json=BODY, headers={"Evenhand-Record-Id": record_id})
        except httpx.TransportError:
            self.unanswered += 1
            return False
        self.statuses.add(answer.status_code)
        if answer.status_code == 200:
            assert answer.json()["values"] == [[0, 0.1]]
            self.answered.append(record_id)
        return answer.status_code == 200

    def client(self) -> httpx.Client:
        """A client with the key."""
        return httpx.Client(headers={"Authorization": f"Bearer {self.key}"}, timeout=self.patience)

    def await_more(self, count: int) -> None:
        """Waits until so many more calls are answered."""
        enough = len(self.answered) + count
        wait_until(lambda: len(self.answered) >= enough, f"{count} more calls are answered")

    def stored(self) -> list[str]:
        """The ids of all stored records."""
        with psycopg.connect(self.server.url.replace("+psycopg", "")) as connection:
            return [row[0] for row in connection.execute("SELECT record_id FROM payload_records")]

    def await_all_stored(self) -> None:
        """Waits until each answered call is stored, and asserts that none is stored twice."""
        wait_until(lambda: set(self.answered) <= set(self.stored()), "every answered call is stored")
        stored = self.stored()
        assert len(stored) == len(set(stored))
        wait_until(lambda: not list((self.data / "spool").glob("*/*.spool")), "the spool is empty")

    def dropped(self) -> int:
        """The number of records that the service says it could not keep."""
        with psycopg.connect(self.server.url.replace("+psycopg", "")) as connection:
            row = connection.execute("SELECT coalesce(sum(not_received), 0)::int FROM missing_records").fetchone()
        assert row is not None
        return int(row[0])

    def _call_often(self, number: int, stop: threading.Event) -> None:
        with self.client() as client:
            while not stop.is_set():
                if not self.call(client, f"{number}-{next(self.numbers)}"):
                    time.sleep(0.02)


@contextmanager
def killed_gateway() -> Iterator[KilledGateway]:
    """A migrated database on a Postgres of its own, with the deployment `d` and its model."""
    with tempfile.TemporaryDirectory(prefix="evenhand-test-", ignore_cleanup_errors=True) as folder, serve(RuleScorer()) as model:
        Path(folder).chmod(0o711)
        data = Path(folder) / "data"
        server = EmbeddedPostgres(data, system_dir=Path(folder) / "system")
        database = Database(server.start())
        upgrade(database)
        columns = tuple(
            Column(name=name, type=kind, kind=FieldKind.CATEGORICAL)
            for name, kind in (("sex", FieldType.STRING), ("income", FieldType.NUMBER))
        )
        definition = Definition(
            name="d",
            problem_type=ProblemType.BINARY,
            features=columns,
            meta=(),
            outputs=OutputFields(probability="probability"),
            model_revision="1",
            endpoint=Endpoint(url=model.url),
        )
        with database.transaction() as session:
            ensure_coming_months(session, datetime.now(UTC))
            Deployments(session, open_secret_box(Settings(data_dir=data))).create("d", definition)
            key = create_key(session, role=Role.INGEST, name="e2e")
        database.close()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield KilledGateway(server, data, listener, key, model)
        server.stop()


def kill_under_load(kills: int, *, callers: int, calls: int, notice: Callable[[str], None] = lambda _: None) -> int:
    """Kills the service so often, each time after so many calls; returns the number of answered calls, each stored once.

    `notice` is called with a line about each step: a start of the service is most of the time, and takes long on a busy machine.
    """
    with killed_gateway() as scene:
        with scene.load(callers):
            for number in range(1, kills + 1):
                with scene.service() as process:
                    scene.await_more(calls)
                    process.kill()
                notice(f"killed {number} of {kills} times; {len(scene.answered):,} calls are answered")
        notice(f"the load has ended; {len(scene.stored()):,} records are stored, the next process stores the rest")
        with scene.service():
            scene.await_all_stored()
        assert scene.statuses <= {200, 503}, scene.statuses
        return len(scene.answered)


@dataclass(frozen=True, kw_only=True)
class FullDisk:
    """Calls that were answered, those of them that are not stored, and the calls that are counted as not received."""

    answered: int
    not_stored: int
    counted: int


def kill_with_full_disk(kills: int, *, callers: int, calls: int) -> FullDisk:
    """Kills the service so often while the spool's disk is full, each time right after the last of so many answers."""
    with killed_gateway() as scene, mounted_disk(scene.data.parent / "image", scene.data / "spool", DISK_BYTES):
        scene.patience = 60.0
        for number in range(kills):
            with scene.service() as process:
                with scene.load(callers):
                    scene.await_more(calls)
                    if number == 0:
                        fill_disk(scene.data / "spool")
                        scene.await_more(calls)
                process.kill()
        (scene.data / "spool" / BALLAST).unlink()
        with scene.service():
            wait_until(lambda: not list((scene.data / "spool").glob("*/*.spool")), "the spool is empty")
            with scene.client() as client:
                while not scene.call(client, "last"):
                    pass
            wait_until(lambda: "last" in scene.stored(), "the last call is stored")
        stored = scene.stored()
        assert len(stored) == len(set(stored))
        return FullDisk(
            answered=len(scene.answered),
            not_stored=len(set(scene.answered) - set(stored)),
            counted=scene.dropped(),
        )


def stop_database_under_load(stops: int, *, callers: int, calls: int, notice: Callable[[str], None] = lambda _: None) -> int:
    """Stops Postgres so often while callers call, each time for so many calls; returns the number of calls.

    Every call has to be answered with the model's own answer, and afterwards be stored once or be counted as dropped.
    """
    with killed_gateway() as scene, scene.service() as process:
        scene.patience = 60.0
        with scene.client() as client:
            while not scene.call(client, "first"):
                assert process.poll() is None
        scene.statuses, scene.unanswered = set(), 0
        with scene.load(callers):
            for number in range(1, stops + 1):
                scene.await_more(calls)
                scene.server.stop()
                scene.await_more(calls)
                scene.server.start()
                notice(f"Postgres was stopped {number} of {stops} times; {len(scene.answered):,} calls are answered")
            scene.await_more(calls)
        assert (scene.statuses, scene.unanswered) == ({200}, 0)
        notice(f"the load has ended; {len(scene.stored()):,} records are stored")
        wait_until(lambda: len(scene.stored()) + scene.dropped() >= len(scene.answered), "every answered call is stored or counted")
        stored, dropped = scene.stored(), scene.dropped()
        assert len(stored) == len(set(stored))
        assert set(stored) <= set(scene.answered)
        assert len(stored) + dropped == len(scene.answered)
        notice(f"{len(stored):,} are stored once, {dropped:,} are counted as dropped")
        return len(scene.answered)
