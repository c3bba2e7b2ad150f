"""The embedded server as others see it: one per data folder, shared by the processes that use it, stopped by the last."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import structlog

from app.embedded.locks import Users, one_at_a_time
from app.embedded.place import PORT, Place, make_folder, settle
from app.embedded.postmaster import Postmaster, postmaster_of
from app.embedded.process import POLL_SECONDS, START_SECONDS, make_cluster, shut_down, start_server
from app.embedded.programs import programs_for
from app.errors import SetupError

SYSTEM_DIR = Path("/var/lib/evenhand")
NAME = "evenhand"  # of the superuser and of the database

log = structlog.get_logger()


class EmbeddedPostgres:
    """A Postgres for the data in `data_dir`, reached through a socket that only its owner may use.

    Start it from a thread that lives as long as the server is wanted: on Linux the server shuts down when that thread ends,
    so that nothing is left running after a `kill -9` of its starter.
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
        """Where the server answers (`postgresql://…`), the same after every restart.

        Raises:
            SetupError: it was never started, or was stopped.
        """
        if self._socket_dir is None:
            raise SetupError("The embedded database is not started.")
        return _url(self._socket_dir, NAME)

    def start(self) -> str:
        """The URL of a server that answers: the one that already runs on this data, else a new one. May be called again.

        Raises:
            SetupError: the folder, the account or the programs do not allow it, or the server does not come up.
        """
        make_folder(self._data_dir)
        with one_at_a_time(self._data_dir):
            self._reap()
            place = settle(self._data_dir, self._system_dir)
            running = _running_on(place)
            if running is None:
                self._launch(place)
            self._place = place
            self._socket_dir = running.socket_dir if running else place.socket_dir
            self._users.join()
            _ensure_database(self._socket_dir)
        return self.url

    def is_running(self) -> bool:
        """Whether the server's process lives; it may still be starting or recovering."""
        self._reap()
        return self._place is not None and postmaster_of(self._place.data) is not None

    def stop(self) -> None:
        """Shut the server down, unless another process uses it too. Open transactions are rolled back."""
        if self._place is None:
            return
        with one_at_a_time(self._data_dir):
            if self._users.leave():
                shut_down(self._place.data)
                self._bury()
                if self._socket_dir != self._place.data:
                    with contextlib.suppress(OSError):
                        self._place.socket_dir.rmdir()
                log.info("postgres_stopped", data=str(self._place.data))
        self._reap()
        self._place = self._socket_dir = None

    def _launch(self, place: Place) -> None:
        self._bury()
        programs = programs_for(place.account, self._system_dir)
        if not place.is_initialised:
            make_cluster(programs, place, NAME)
        self._process = start_server(programs, place)
        log.info("postgres_started", data=str(place.data), account=place.account.name, pid=self._process.pid)

    def _bury(self) -> None:
        """Our own process has ended, or is ending: it has given up its address space but not yet its number."""
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _reap(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self._process = None


@contextlib.contextmanager
def embedded_postgres(data_dir: Path, *, system_dir: Path = SYSTEM_DIR) -> Iterator[str]:
    """The URL of the server of `data_dir`, running for the length of the block.

    Raises:
        SetupError: as `EmbeddedPostgres.start`.
    """
    server = EmbeddedPostgres(data_dir, system_dir=system_dir)
    try:
        yield server.start()
    finally:
        server.stop()


def _url(socket_dir: Path, database: str) -> str:
    return f"postgresql://{NAME}@/{database}?host={quote(str(socket_dir), safe='')}&port={PORT}"


def _running_on(place: Place) -> Postmaster | None:
    """The server that lives on the data already, once it answers; None when there is none or it has just shut down."""
    deadline = time.monotonic() + START_SECONDS
    while running := postmaster_of(place.data):
        if running.is_ready and _answers(running.socket_dir):
            return running
        if time.monotonic() > deadline:
            raise SetupError(f"A Postgres (process {running.pid}) runs on {place.data} but does not answer; see {place.log}.")
        time.sleep(POLL_SECONDS)
    return None


def _answers(socket_dir: Path) -> bool:
    try:
        with psycopg.connect(_url(socket_dir, "postgres"), connect_timeout=5, autocommit=True) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def _ensure_database(socket_dir: Path) -> None:
    """Apart from making the cluster, so that a start that was cut between the two is mended by the next."""
    try:
        with psycopg.connect(_url(socket_dir, "postgres"), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME]).fetchone() is None:
                connection.execute(f"CREATE DATABASE {NAME}")
    except psycopg.Error as error:
        raise SetupError(f"The embedded database started but could not be prepared: {error}") from error
