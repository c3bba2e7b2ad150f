"""The embedded server: one per data folder, shared by the processes that use it, stopped by the last."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import structlog

from ...base.errors import SetupError
from .data_folder import PORT, Place, has_data, make_folder, settle
from .folder_locks import Users, one_at_a_time
from .postgres_programs import programs_for
from .postmaster import Postmaster, find_postmaster
from .server_processes import POLL_SECONDS, START_SECONDS, hand_over, make_cluster, shut_down, start_server

SYSTEM_DIR = Path("/var/lib/evenhand")
NAME = "evenhand"

log = structlog.get_logger()


class EmbeddedPostgres:
    """A Postgres for the data in `data_dir`, on a socket that only its owner may use.

    Start it from a thread that lives as long as the server is needed: on Linux the server shuts down when that thread ends.
    """

    def __init__(self, data_dir: Path, *, system_dir: Path = SYSTEM_DIR) -> None:
        self._data_dir = data_dir.absolute()
        self._system_dir = system_dir
        self._users = Users(self._data_dir)
        self._place: Place | None = None
        self._socket_dir: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """URL of the server, the same after every restart."""
        if self._socket_dir is None:
            raise SetupError("The embedded database is not started.")
        return _url(self._socket_dir, NAME)

    def start(self, *, creates: bool = True) -> str:
        """Returns the URL of a running or new server; without data an empty database if `creates` is set. May be called again."""
        if not creates and not has_data(self._data_dir):
            raise SetupError(
                f"There is no database in {self._data_dir}. Set EVENHAND_DATA_DIR to the data folder of the service, which it prints at "
                "its start (or DATABASE_URL, if it has that), or start the service first: evenhand serve."
            )
        make_folder(self._data_dir)
        with one_at_a_time(self._data_dir):
            self._forget_ended()
            place = settle(self._data_dir, self._system_dir)
            running = _find_running(place)
            if running is None:
                self._wait_for_exit()
                programs = programs_for(place.account, self._system_dir)
                if place.is_initialised:
                    hand_over(place)
                else:
                    make_cluster(programs, place, NAME)
                self._process = start_server(programs, place)
                log.info("postgres_started", data=str(place.data), account=place.account.name, pid=self._process.pid)
            self._place = place
            self._socket_dir = running.socket_dir if running else place.socket_dir
            self._users.join()
            _ensure_database(self._socket_dir)
        return self.url

    def is_running(self) -> bool:
        """Returns whether the server's process lives; it may still be starting."""
        self._forget_ended()
        return self._place is not None and find_postmaster(self._place.data) is not None

    def stop(self) -> None:
        """Shuts the server down, unless another process uses it too."""
        if self._place is None:
            return
        with one_at_a_time(self._data_dir):
            if self._users.leave():
                shut_down(self._place.data)
                self._wait_for_exit()
                if self._socket_dir != self._place.data:
                    with contextlib.suppress(OSError):
                        self._place.socket_dir.rmdir()
                log.info("postgres_stopped", data=str(self._place.data))
        self._leave_to_others()
        self._place = self._socket_dir = None

    def _wait_for_exit(self) -> None:
        """Our ended process has freed its memory but not yet its process id."""
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _leave_to_others(self) -> None:
        """Collects the exit status once the last user, maybe here, has ended our process."""
        if self._process is not None:
            threading.Thread(target=self._process.wait, name="evenhand-postgres-exit", daemon=True).start()
            self._process = None

    def _forget_ended(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self._process = None


@contextlib.contextmanager
def embedded_postgres(data_dir: Path, *, system_dir: Path = SYSTEM_DIR, creates: bool = True) -> Iterator[str]:
    """Yields the URL of the server, which runs for the length of the block."""
    server = EmbeddedPostgres(data_dir, system_dir=system_dir)
    try:
        yield server.start(creates=creates)
    finally:
        server.stop()


def _url(socket_dir: Path, database: str) -> str:
    return f"postgresql://{NAME}@/{database}?host={quote(str(socket_dir), safe='')}&port={PORT}"


def _find_running(place: Place) -> Postmaster | None:
    deadline = time.monotonic() + START_SECONDS
    while running := find_postmaster(place.data):
        if running.is_ready:
            with (
                contextlib.suppress(psycopg.OperationalError),
                psycopg.connect(_url(running.socket_dir, "postgres"), connect_timeout=5, autocommit=True) as connection,
            ):
                if connection.execute("SELECT 1").fetchone() == (1,):
                    return running
        if time.monotonic() > deadline:
            raise SetupError(f"A Postgres (process {running.pid}) runs on {place.data} but does not answer; see {place.log}.")
        time.sleep(POLL_SECONDS)
    return None


def _ensure_database(socket_dir: Path) -> None:
    """Separate from making the cluster: the next start completes an interrupted one."""
    try:
        with psycopg.connect(_url(socket_dir, "postgres"), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME]).fetchone() is None:
                connection.execute(f"CREATE DATABASE {NAME}")
    except psycopg.Error as error:
        raise SetupError(f"The embedded database started but could not be prepared: {error}") from error
