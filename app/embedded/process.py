"""Runs the server's programs: makes a cluster, starts a server on it, shuts one down."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from app.embedded.configuration import initdb_arguments, server_arguments
from app.embedded.place import PORT, Place
from app.embedded.postmaster import forget_dead, postmaster_of
from app.embedded.spawn import tied_command
from app.errors import SetupError

START_SECONDS = 120.0  # replaying two gigabytes of log after a crash
SHUTDOWN = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
POLL_SECONDS = 0.01
LOG_BYTES = 16 * 1024 * 1024
LAST_WORDS_BYTES = 2000
STILL_IN_USE = "pre-existing shared memory block"
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def make_cluster(programs: Path, place: Place, superuser: str) -> None:
    """An empty cluster in `place.data`; made beside it and then renamed, so that it is there whole or not at all.

    Raises:
        SetupError: initdb failed, or the folder cannot be written or handed to the account.
    """
    fresh = place.data.with_name(f"{place.data.name}.new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        os.chown(fresh, place.account.uid, place.account.gid)
        command = [str(programs / "initdb"), *initdb_arguments(fresh, superuser)]
        tied = tied_command(command, signal.SIGKILL, place.other_account)
        made = subprocess.run(tied, capture_output=True, text=True, check=False, cwd="/", env=_environment(), start_new_session=True)  # noqa: S603
        if made.returncode != 0:
            raise SetupError(f"No database could be made in {place.data}: {(made.stderr or made.stdout).strip()}")
        fresh.rename(place.data)
    except OSError as error:
        raise SetupError(f"No database could be made in {place.data}: {error}") from error


def start_server(programs: Path, place: Place) -> subprocess.Popen[bytes]:
    """A new server on `place`, ready for connections. Call only when none lives there.

    Raises:
        SetupError: it ended, or was not ready in time; its last words are in the message.
    """
    _rotate(place.log)
    deadline = time.monotonic() + START_SECONDS
    while True:
        forget_dead(place.data, place.socket_dir, PORT)
        said_before = place.log.stat().st_size if place.log.exists() else 0
        process = _spawn(programs, place)
        if _becomes_ready(process, place, deadline):
            return process
        last_words = _last_words(place.log, said_before)
        # After a kill -9 a query of the dead server may still run; Postgres rightly waits for its end.
        if STILL_IN_USE not in last_words or time.monotonic() > deadline:
            raise SetupError(f"Postgres did not start on {place.data}: {last_words or 'it said nothing'}")
        time.sleep(0.2)


def shut_down(data: Path) -> None:
    """End the server of `data`, ours or not: open transactions are rolled back, everything is written to disk."""
    for request, seconds in SHUTDOWN:
        running = postmaster_of(data)
        if running is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, request)
        deadline = time.monotonic() + seconds
        while postmaster_of(data) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


def _spawn(programs: Path, place: Place) -> subprocess.Popen[bytes]:
    command = [str(programs / "postgres"), *server_arguments(place.data, place.socket_dir, PORT)]
    with place.log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own program and arguments
            tied_command(command, signal.SIGINT, place.other_account),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=_environment(),
            start_new_session=True,  # Ctrl-C in a terminal must reach us alone: the service is stopped before its database
        )


def _becomes_ready(process: subprocess.Popen[bytes], place: Place, deadline: float) -> bool:
    """Whether it accepts connections now; otherwise it has ended, by itself or because its time was over."""
    ready = False
    try:
        while not ready and process.poll() is None and time.monotonic() < deadline:
            running = postmaster_of(place.data)
            ready = running is not None and running.pid == process.pid and running.is_ready
            time.sleep(0 if ready else POLL_SECONDS)
    finally:
        if not ready:
            process.send_signal(signal.SIGQUIT)
            process.wait()
    return ready


def _environment() -> Mapping[str, str]:
    # Nothing else: the account can read the server's environment, and PG* variables would change the server's settings.
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C"}


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def _last_words(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")[-LAST_WORDS_BYTES:].strip()
