"""The service in its own process, for measurements."""

import contextlib
import http.client
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import psycopg
from sqlalchemy import text

from app.cli.service.serve import list_api_specs, open_listeners
from app.database.engine import Database

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120
IDLE_SECONDS = 0.05


@contextlib.contextmanager
def service(url: str, folder: Path) -> Iterator[int]:
    environment = {**os.environ, "DATABASE_URL": url, "EVENHAND_DATA_DIR": str(folder), "EVENHAND_LOG_LEVEL": "WARNING"}
    with open_listeners("127.0.0.1", 0, processes=1) as listeners:
        port = int(listeners[0].getsockname()[1])
        started = [
            subprocess.Popen(spec.command, cwd=ROOT, env=spec.environment, pass_fds=spec.inherited_files)
            for spec in list_api_specs(listeners, environment=environment)
        ]
    try:
        await_answer(port)
        _await_idle([psutil.Process(process.pid) for process in started])
        yield port
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(START_SECONDS)


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Checkout:
    """Code in a folder with an interpreter that has its packages, a database and a data folder."""

    code: Path
    python: Path
    url: str
    data: Path
    port: int = field(default_factory=find_free_port)

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            self._command(arguments), cwd=self.code, env=self._environment(), check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    @contextlib.contextmanager
    def running(self, *arguments: str, output: Path = Path(os.devnull)) -> Iterator[psutil.Process]:
        with output.open("wb") as printed:
            command = self._command(arguments)
            process = subprocess.Popen(command, cwd=self.code, env=self._environment(), stdout=printed, start_new_session=True)
        try:
            await_answer(self.port)
            yield psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(START_SECONDS)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [str(self.python), "-m", "app.cli", *arguments]

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EVENHAND_")}
        return inherited | {
            "DATABASE_URL": self.url,
            "EVENHAND_DATA_DIR": str(self.data),
            "EVENHAND_PORT": str(self.port),
            "EVENHAND_LOG_LEVEL": "WARNING",
            "PYTHONPATH": str(self.code),
        }


def take_turns(rounds: int, names: Iterable[str]) -> Iterator[str]:
    """Yields the names in each round, and says so."""
    for number in range(rounds):
        for name in names:
            print(f"round {number + 1} of {rounds}: {name} …", file=sys.stderr, flush=True)
            yield name


@dataclass(frozen=True)
class Spent:
    """Milliseconds of one call: of processors on average, and by the clock."""

    processor: float
    median: float
    slowest: float


def measure_calls(database: Database, call: Callable[[], object], rounds: int) -> Spent:
    """Returns what a call takes after a first one. Its processor time is that of `processor_seconds`."""
    call()
    milliseconds = []
    before = processor_seconds(database)
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        milliseconds.append((time.perf_counter() - began) * 1000)
    processor = (processor_seconds(database) - before) * 1000 / rounds
    return Spent(processor, statistics.median(milliseconds), max(milliseconds))


class Caller:
    """Calls a service with a key over one connection."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def read(self, path: str) -> bytes:
        return self._call("GET", path)

    def post(self, path: str, body: bytes) -> bytes:
        return self._call("POST", path, body)

    def _call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != http.HTTPStatus.OK or not content:
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {content[:500]!r}")
        return content


def count_statements(call: Callable[[], object]) -> int:
    """Returns the statements of one call, also of those that go past SQLAlchemy."""
    sent = 0
    execute = psycopg.Cursor.execute

    def count(cursor: psycopg.Cursor[Any], *arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is called
        nonlocal sent
        sent += 1
        return execute(cursor, *arguments, **more)

    with patch.object(psycopg.Cursor, "execute", count):
        call()
    return sent


def install(lock: Path, folder: Path) -> Path:
    """Makes an environment with the packages of a lock file; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    options = ("--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:", "--require-hashes")
    subprocess.run([python, "-m", "pip", "install", *options, "-r", lock], check=True, stdout=sys.stderr)
    return python


def idle_megabytes(service: psutil.Process) -> float:
    """Returns the proportional memory of the service's processes in MB, once they have nothing to do, without Postgres."""
    processes = _await_idle([service])
    return float(sum(process.memory_full_info().pss for process in processes)) / 1e6


def process_seconds(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


def processor_seconds(database: Database) -> float:
    """Returns the processor time so far of this process, those that it started and the sessions of the database.

    Ticks are 10 ms long: measure many rounds.
    """
    with database.transaction() as session:
        servers = session.scalars(text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")).all()
    own = psutil.Process()
    counted = {process.pid: process for process in (own, *own.children(recursive=True))}
    seconds = 0.0
    for pid in {*counted, *servers}:
        with contextlib.suppress(psutil.Error):
            seconds += process_seconds(counted.get(pid) or psutil.Process(pid))
    return seconds


def find_postgres(url: str) -> psutil.Process:
    with psycopg.connect(url) as connection:
        server = psutil.Process(connection.info.backend_pid).parent()
    if server is None:
        raise RuntimeError("the server of Postgres cannot be found")
    return server


def postgres_seconds(server: psutil.Process) -> float:
    """Returns the processor time so far of a Postgres server and of all sessions that it has had."""
    # What a session used goes to its server's children when it ends.
    seconds = float(sum(server.cpu_times()[:4]))
    for session in server.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds += process_seconds(session)
    return seconds


def time_processors(postgres: psutil.Process, call: Callable[[], object]) -> float:
    """Returns the processor seconds of a call, in this process and in a Postgres server."""
    before = time.process_time() + postgres_seconds(postgres)
    call()
    return time.process_time() + postgres_seconds(postgres) - before


def await_answer(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=2).close()
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _await_idle(started: list[psutil.Process]) -> list[psutil.Process]:
    """Returns the processes and their children once they rest: those for reports load libraries for seconds after the start."""
    deadline = time.monotonic() + START_SECONDS
    used, before = 0.0, -1.0
    while used - before > IDLE_SECONDS and time.monotonic() < deadline:
        time.sleep(2)
        every = [process for first in started for process in (first, *first.children(recursive=True))]
        used, before = sum(map(process_seconds, every)), used
    return every
