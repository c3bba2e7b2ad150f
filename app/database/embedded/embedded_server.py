"""The embedded server: one per data folder, shared by the processes that use it, stopped by the last."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import psycopg
import structlog

from ...base.errors import SetupError
from ...base.values import frozen
from .data_folder import PORT, ServerPlace, choose_place, has_data, make_folder
from .dumps import ServerUsers, find_programs, hold_start_lock
from .system_account import build_tied_command

PID_LINES = 8  # written in steps; the last one is the state


@frozen
class Postmaster:
    """Main process of a running server."""

    pid: int
    socket_dir: Path
    is_ready: bool


def find_postmaster(data: Path) -> Postmaster | None:
    lines = _read_pid_file(data)
    pid = int(lines[0]) if lines and lines[0].isdigit() else 0
    if pid == 0 or f"/postgres -D {data} -c " not in _read_command_line(pid):
        return None
    is_complete = len(lines) >= PID_LINES
    return Postmaster(
        pid, Path(lines[4]) if is_complete else data, is_complete and lines[7].strip() == "ready"
    )


def release_dead_server(data: Path, socket_dir: Path) -> None:
    """Call only when `find_postmaster(data)` is None.

    Postgres refuses to start while the process id in the file exists, though it may be another's. The file
    must stay: by its shared-memory key the next server notices a query that still runs. So our id is written
    into it, which the server ignores as its parent's.
    """
    lines = _read_pid_file(data)
    if lines:
        content = "\n".join([str(os.getpid()), *lines[1:]]) + "\n"
        with (data / "postmaster.pid").open(
            "r+", encoding="utf-8"
        ) as file:  # the server's account stays the owner
            file.write(content)
            file.truncate()
    socket = socket_dir / f".s.PGSQL.{PORT}"
    socket.unlink(missing_ok=True)
    socket.with_name(f"{socket.name}.lock").unlink(missing_ok=True)


def _read_pid_file(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def _read_command_line(pid: int) -> str:
    if Path("/proc/self").exists():
        try:
            return (
                Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="surrogateescape").replace("\0", " ")
            )
        except (FileNotFoundError, ProcessLookupError):
            return ""
    answer = subprocess.run(  # noqa: S603
        ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout


TUNING = {
    # An answer to an ingestion request promises that the rows survive a power cut.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Only the socket.
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    # Statements are short: compiling costs more than running.
    "jit": "off",
    # A check's big read must not take every core from ingestion.
    "max_parallel_workers_per_gather": "0",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "random_page_cost": "1.1",
    # Fewer checkpoints under bulk COPY; 2 GB of log replays in seconds.
    "max_wal_size": "2GB",
    "wal_compression": "on",
    # Statements and rows stay out of the log: they are personal data.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


NAME = "evenhand"

log = structlog.get_logger()

START_SECONDS = 120.0  # replaying two gigabytes of log after a crash
SHUTDOWN_STEPS = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
POLL_SECONDS = 0.01
MAX_LOG_BYTES = 16 * 1024 * 1024
MAX_QUOTED_BYTES = 2000
IN_USE_MESSAGE = "pre-existing shared memory block"
PASSED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def make_cluster(programs: Path, place: ServerPlace) -> None:
    new_folder = place.data.with_name(f"{place.data.name}.new")
    try:
        shutil.rmtree(new_folder, ignore_errors=True)
        new_folder.mkdir(mode=0o700)
        os.chown(new_folder, place.account.uid, place.account.gid)
        command = [
            str(programs / "initdb"),
            f"--pgdata={new_folder}",
            f"--username={NAME}",
            "--encoding=UTF8",
            # Text sorts by code point.
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            # The socket's folder is closed to all but its owner.
            "--auth-local=trust",
            "--auth-host=reject",
        ]
        tied_command = build_tied_command(command, signal.SIGKILL, place.other_account)
        result = subprocess.run(  # noqa: S603
            tied_command,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=_build_environment(),
            start_new_session=True,
        )
        if result.returncode != 0:
            raise SetupError(
                f"No database could be created in {place.data}: {(result.stderr or result.stdout).strip()}"
            )
        new_folder.rename(place.data)
    except OSError as error:
        raise SetupError(f"No database could be created in {place.data}: {error}") from error


def hand_over(place: ServerPlace) -> None:
    """Older versions ran as `nobody`. Call only when no server runs on the data."""
    if place.data.stat().st_uid == place.account.uid:
        return
    log.warning("postgres_data_handed_over", data=str(place.data), account=place.account.name)
    try:
        for folder, folders, files in os.walk(place.data):
            for name in [*folders, *files]:
                os.chown(Path(folder) / name, place.account.uid, place.account.gid, follow_symlinks=False)
        os.chown(
            place.data, place.account.uid, place.account.gid
        )  # last: until then the next start begins from scratch
    except OSError as error:
        raise SetupError(
            f"{place.data} cannot be given to the account {place.account.name}: {error}"
        ) from error


def start_server(programs: Path, place: ServerPlace) -> subprocess.Popen[bytes]:
    if place.log.exists() and place.log.stat().st_size > MAX_LOG_BYTES:
        place.log.replace(place.log.with_name(f"{place.log.name}.1"))

    deadline = time.monotonic() + START_SECONDS
    while True:
        release_dead_server(place.data, place.socket_dir)
        log_start = place.log.stat().st_size if place.log.exists() else 0
        process = _spawn(programs, place)
        is_ready = False
        try:
            while not is_ready and process.poll() is None and time.monotonic() < deadline:
                postmaster = find_postmaster(place.data)
                is_ready = postmaster is not None and postmaster.pid == process.pid and postmaster.is_ready
                time.sleep(0 if is_ready else POLL_SECONDS)
        finally:
            if not is_ready:
                process.send_signal(signal.SIGQUIT)
                process.wait()
        if is_ready:
            return process

        with place.log.open("rb") as file:
            file.seek(log_start)
            log_end = file.read().decode(errors="replace")[-MAX_QUOTED_BYTES:].strip()
        # After a kill -9 a query of the dead server may still run.
        if IN_USE_MESSAGE not in log_end or time.monotonic() > deadline:
            raise SetupError(f"Postgres did not start on {place.data}: {log_end or 'its log is empty'}")
        time.sleep(0.2)


def shut_down(data: Path) -> None:
    for request, seconds in SHUTDOWN_STEPS:
        postmaster = find_postmaster(data)
        if postmaster is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(postmaster.pid, request)
        deadline = time.monotonic() + seconds
        while find_postmaster(data) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


def _spawn(programs: Path, place: ServerPlace) -> subprocess.Popen[bytes]:
    quoted = str(place.socket_dir).replace('"', '""')  # a comma or blank in a path would split the list
    settings = TUNING | {"unix_socket_directories": f'"{quoted}"', "port": str(PORT)}
    options = (option for name, value in settings.items() for option in ("-c", f"{name}={value}"))
    command = [str(programs / "postgres"), "-D", str(place.data), *options]
    descriptor = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)  # older versions left logs open to others
    with os.fdopen(descriptor, "ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own program and arguments
            build_tied_command(command, signal.SIGINT, place.other_account),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=_build_environment(),
            start_new_session=True,  # Ctrl-C must reach only us: the service stops before its database
        )


def _build_environment() -> Mapping[str, str]:
    # The account can read the server's environment, and PG* variables would change its settings.
    return {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ} | {"LC_ALL": "C"}


SYSTEM_DIR = Path("/var/lib/evenhand")


class EmbeddedPostgres:
    """Postgres server of a data folder, on a socket that only its owner may use.

    Start it from a thread that lives as long as the server is needed: on Linux the server ends with that
    thread.
    """

    def __init__(self, data_dir: Path, *, system_dir: Path = SYSTEM_DIR) -> None:
        self._data_dir = data_dir.absolute()
        self._system_dir = system_dir
        self._users = ServerUsers(self._data_dir)
        self._place: ServerPlace | None = None
        self._socket_dir: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        if self._socket_dir is None:
            raise SetupError("The embedded database is not started.")
        return _build_url(self._socket_dir, NAME)

    def start(self, *, creates: bool = True) -> str:
        """Returns the URL; may be called again. Without data an empty database if `creates`."""
        if not creates and not has_data(self._data_dir):
            raise SetupError(
                f"There is no database in {self._data_dir}. Set EVENHAND_DATA_DIR to the data folder of the "
                "service, which it prints at "
                "its start (or DATABASE_URL, if it has that), or start the service first: evenhand serve."
            )
        make_folder(self._data_dir)
        with hold_start_lock(self._data_dir):
            self._forget_ended()
            place = choose_place(self._data_dir, self._system_dir)
            postmaster = _find_running(place)
            if postmaster is None:
                self._wait_for_exit()
                programs = find_programs(place.account, self._system_dir)
                if (place.data / "PG_VERSION").exists():
                    hand_over(place)
                else:
                    make_cluster(programs, place)
                self._process = start_server(programs, place)
                log.info(
                    "postgres_started",
                    data=str(place.data),
                    account=place.account.name,
                    pid=self._process.pid,
                )
            self._place = place
            self._socket_dir = postmaster.socket_dir if postmaster else place.socket_dir
            self._users.join()
            # Separate from making the cluster: the next start completes an interrupted one.
            try:
                with psycopg.connect(_build_url(self._socket_dir, "postgres"), autocommit=True) as connection:
                    if (
                        connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME]).fetchone()
                        is None
                    ):
                        connection.execute(f"CREATE DATABASE {NAME}")
            except psycopg.Error as error:
                raise SetupError(
                    f"The embedded database started but could not be prepared: {error}"
                ) from error
        return self.url

    def is_running(self) -> bool:
        self._forget_ended()
        return self._place is not None and find_postmaster(self._place.data) is not None

    def stop(self) -> None:
        if self._place is None:
            return
        with hold_start_lock(self._data_dir):
            if self._users.leave():
                shut_down(self._place.data)
                self._wait_for_exit()
                if self._socket_dir != self._place.data:
                    with contextlib.suppress(OSError):
                        self._place.socket_dir.rmdir()
                log.info("postgres_stopped", data=str(self._place.data))
        if self._process is not None:
            # Collects the exit status once the last user, maybe here, has ended our process.
            threading.Thread(target=self._process.wait, name="evenhand-postgres-exit", daemon=True).start()
            self._process = None
        self._place = self._socket_dir = None

    def _wait_for_exit(self) -> None:
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _forget_ended(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self._process = None


@contextlib.contextmanager
def embedded_postgres(
    data_dir: Path, *, system_dir: Path = SYSTEM_DIR, creates: bool = True
) -> Iterator[str]:
    server = EmbeddedPostgres(data_dir, system_dir=system_dir)
    try:
        yield server.start(creates=creates)
    finally:
        server.stop()


def _build_url(socket_dir: Path, database: str) -> str:
    return f"postgresql://{NAME}@/{database}?host={quote(str(socket_dir), safe='')}&port={PORT}"


def _find_running(place: ServerPlace) -> Postmaster | None:
    deadline = time.monotonic() + START_SECONDS
    while postmaster := find_postmaster(place.data):
        if postmaster.is_ready:
            with (
                contextlib.suppress(psycopg.OperationalError),
                psycopg.connect(
                    _build_url(postmaster.socket_dir, "postgres"), connect_timeout=5, autocommit=True
                ) as connection,
            ):
                if connection.execute("SELECT 1").fetchone() == (1,):
                    return postmaster
        if time.monotonic() > deadline:
            raise SetupError(
                f"A Postgres (process {postmaster.pid}) runs on {place.data} but does not answer; see "
                f"{place.log}."
            )
        time.sleep(POLL_SECONDS)
    return None
