import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.base.errors import SetupError
from app.cli.service.supervisor import MAX_DELAY_SECONDS, MIN_STEADY_SECONDS, Backoff, Child, ChildSpec, Supervisor
from app.database.embedded.embedded_server import EmbeddedPostgres
from tests.progress import wait_until

REPOSITORY = Path(__file__).resolve().parents[3]
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"

SUPERVISE_TWO = """
import sys, threading
from app.cli.service.supervisor import ChildSpec, Supervisor
from app.base.telemetry.json_logs import configure_logging
from tests.progress import wait_until
configure_logging("ERROR")
# One write, with its end of line: two children share the pipe, and print() writes the end by itself.
sleeper = (sys.executable, "-c", "import os, time; os.write(1, (str(os.getpid()) + chr(10)).encode()); time.sleep(60)")
Supervisor([ChildSpec(name=name, command=sleeper) for name in ("one", "two")]).run(threading.Event())
"""


class Ground(EmbeddedPostgres):
    """A foundation that remembers what was done to it."""

    def __init__(self, *, failures: int = 0) -> None:
        super().__init__(Path("unused"))
        self.up = True
        self.deeds: list[str] = []
        self._failures = failures

    def start(self, *, creates: bool = True) -> str:  # noqa: ARG002 - the signature of the class
        """Comes up, after as many failures as it was made with."""
        self.deeds.append("start")
        if self._failures:
            self._failures -= 1
            raise SetupError("not yet")
        self.up = True
        return ""

    def is_running(self) -> bool:
        """Whether it is up."""
        return self.up


@pytest.mark.thorough
def test_a_child_that_is_killed_is_started_again() -> None:
    with _running([_sleeper("one"), _sleeper("two")]) as supervisor:
        first = supervisor.list_pids()
        os.kill(first["one"], signal.SIGKILL)

        wait_until(lambda: supervisor.list_pids().get("one", first["one"]) != first["one"])
        assert supervisor.list_pids()["two"] == first["two"]


def test_stopping_ends_every_child() -> None:
    with _running([_sleeper("one"), _sleeper("two")]) as supervisor:
        pids = supervisor.list_pids().values()

    assert not any(_lives(pid) for pid in pids)


def test_a_child_deaf_to_a_polite_request_is_killed_with_what_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    # Deaf before it says that it runs.
    grandchild = (
        "import signal, subprocess, sys; from pathlib import Path; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"Path({str(pid_file)!r}).write_text(str(subprocess.Popen([sys.executable, '-c', {DEAF!r}]).pid)); {DEAF}"
    )
    child = Child(_python("deaf", grandchild, stop_seconds=0.2))
    wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")

    child.terminate()
    child.wait_for_end()

    assert child.poll() == -signal.SIGKILL
    wait_until(lambda: not _lives(int(pid_file.read_text())))


@pytest.mark.nightly
def test_a_dead_foundation_is_brought_back_before_any_child() -> None:
    ground = Ground(failures=1)
    with _running([_sleeper("one")], ground) as supervisor:
        ground.up = False
        pid = supervisor.list_pids()["one"]
        os.kill(pid, signal.SIGKILL)

        wait_until(lambda: supervisor.list_pids().get("one", pid) != pid)
        assert ground.deeds == ["start", "start"]


def test_children_end_when_their_supervisor_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SUPERVISE_TWO], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as supervisor:
        assert supervisor.stdout is not None
        pids = [int(supervisor.stdout.readline()) for _ in range(2)]
        supervisor.kill()

    wait_until(lambda: not any(_lives(pid) for pid in pids))


def test_what_keeps_dying_waits_longer_each_time_up_to_a_limit() -> None:
    backoff = Backoff()
    now, waits = 1000.0, []
    for _ in range(12):
        backoff.note_start(now)
        died = now = now + 1
        while not backoff.is_due(now):
            now += 0.1
        waits.append(now - died)

    assert waits == sorted(waits)
    assert MAX_DELAY_SECONDS <= waits[-1] <= MAX_DELAY_SECONDS + 0.2


def test_what_ran_steadily_before_it_died_starts_again_soon() -> None:
    backoff = Backoff()
    for moment in (0.0, 1.0, 2.0):
        backoff.note_start(moment)
        backoff.is_due(moment + 0.5)
    backoff.note_start(100.0)

    assert not backoff.is_due(100.0 + MIN_STEADY_SECONDS)
    assert backoff.is_due(100.0 + MIN_STEADY_SECONDS + 0.5)


def _python(name: str, code: str, *, stop_seconds: float = 5.0) -> ChildSpec:
    return ChildSpec(name=name, command=(sys.executable, "-c", code), stop_seconds=stop_seconds)


def _sleeper(name: str) -> ChildSpec:
    return _python(name, "import time; time.sleep(60)")


@contextmanager
def _running(specs: list[ChildSpec], ground: Ground | None = None) -> Iterator[Supervisor]:
    stop = threading.Event()
    supervisor = Supervisor(specs, foundation=ground)
    thread = threading.Thread(target=supervisor.run, args=[stop])
    thread.start()
    wait_until(lambda: len(supervisor.list_pids()) == len(specs))
    try:
        yield supervisor
    finally:
        stop.set()
        thread.join()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False
