"""`evenhand serve` as a person starts it: a program on a folder and a port of its own, whose processes can be found and killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from app.database.embedded.embedded_server import find_postmaster
from tests.crashes.processes import command_line, descendants, lives, processes_about
from tests.ports import free_port
from tests.progress import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
EVENHAND = (sys.executable, "-m", "app.cli")


@contextmanager
def folder() -> Iterator[Path]:
    """An empty folder that every account can reach: as root, Postgres runs as another. What runs in it at the end is killed."""
    with TemporaryDirectory(prefix="evenhand-crash-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        try:
            yield Path(name)
        finally:
            for pid in processes_about(Path(name)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


class Service:
    """One `evenhand serve`, on an embedded Postgres in `home`, or on the database of `environment`."""

    def __init__(self, home: Path, *, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self.log = home / f"serve-{self.port}.log"
        self._home = home
        self._arguments = arguments
        kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL" and not name.startswith("EVENHAND_")}
        own = {"EVENHAND_DATA_DIR": str(home / "data"), "EVENHAND_PORT": str(self.port), "TMPDIR": str(home)}
        self.environment = {**kept, **own, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and returns when it is ready."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                (*EVENHAND, "serve", *self._arguments), env=self.environment, cwd=REPOSITORY, stdout=output, stderr=output
            )
        wait_until(self._is_ready_or_gone, "the service is ready")
        if self._process.poll() is not None:
            raise RuntimeError(f"evenhand serve ended: {self.log.read_text()[-2000:]}")

    def stop(self) -> int:
        """Asks it to end; the exit status."""
        if self._process is None:
            return 0
        self._process.terminate()
        return self._process.wait()

    def end(self) -> None:
        """Ends it however it is, with everything under it."""
        self.stop()
        self.kill(self.pids())

    @property
    def pid(self) -> int:
        """The supervisor."""
        if self._process is None:
            raise RuntimeError("the service was never started")
        return self._process.pid

    @property
    def base_url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def database_url(self) -> str:
        """Where its database answers.

        Raises:
            RuntimeError: its Postgres does not run now.
        """
        if url := self.environment.get("DATABASE_URL"):
            return url
        running = find_postmaster(self._home / "data" / "postgres")
        if running is None:
            raise RuntimeError("Postgres does not run now")
        return f"postgresql://evenhand@/evenhand?host={running.socket_dir}"

    def connect(self) -> psycopg.Connection[Any]:
        """A connection to its database, once that answers."""
        while True:
            with suppress(psycopg.OperationalError, RuntimeError):
                return psycopg.connect(self.database_url, autocommit=True, application_name="crash harness")
            time.sleep(0.05)

    def new_key(self) -> str:
        """A new admin key."""
        command = (*EVENHAND, "keys", "create", "--role", "admin")
        made = subprocess.run(command, env=self.environment, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        return made.stdout.strip()

    def pids(self) -> set[int]:
        """All its living processes: the supervisor and everything under it."""
        return {self.pid, *descendants(self.pid)} if lives(self.pid) else set()

    def api_pid(self) -> int | None:
        """The process that answers HTTP."""
        return self._child("app.cli.service.api_process")

    def worker_pid(self) -> int | None:
        """The process that runs checks."""
        return self._child("app.cli worker")

    def postmaster_pid(self) -> int | None:
        """The head of its Postgres."""
        running = find_postmaster(self._home / "data" / "postgres")
        return running.pid if running and running.pid in self.pids() else None

    def backend_pids(self) -> list[int]:
        """The Postgres processes that serve connections."""
        return sorted(pid for pid in self.pids() if command_line(pid).startswith("postgres: evenhand evenhand"))

    def kill(self, pids: set[int]) -> None:
        """Sends SIGKILL to processes of ours; those that are gone already are passed over."""
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None and self._process.pid in pids:
            self._process.wait()

    def is_ready(self) -> bool:
        """Whether it and its database answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)  # an httpx client would cost more than the answer
        try:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def _is_ready_or_gone(self) -> bool:
        return self._process is None or self._process.poll() is not None or self.is_ready()

    def _child(self, words: str) -> int | None:
        return next((pid for pid in self.pids() if words in command_line(pid) and "launch.py" not in command_line(pid)), None)
