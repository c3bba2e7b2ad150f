"""Keeps processes running on top of a foundation (the database) until asked to stop."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import structlog

from ...base.errors import SetupError
from ...base.values import frozen_by_name
from ...database.embedded.embedded_server import EmbeddedPostgres
from ...database.embedded.system_account import build_tied_command

POLL_SECONDS = 0.1
FIRST_DELAY_SECONDS = 0.2
MAX_DELAY_SECONDS = 5.0
MIN_STEADY_SECONDS = 30.0
"""Life of a process after which its death is a first one again."""

log = structlog.get_logger()


@frozen_by_name
class ChildSpec:
    """Process to run: its command, and what it inherits. It has `stop_seconds` to end after SIGTERM."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    inherited_files: tuple[int, ...] = ()
    stop_seconds: float = 15.0


class Child(subprocess.Popen[bytes]):
    """A process with a session of its own, so that Ctrl-C reaches only the supervisor; its id is its group's."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        # A supervisor that is killed outright takes Postgres along, so there is nothing left to finish in
        # good order.
        super().__init__(
            build_tied_command(spec.command, signal.SIGKILL),
            stdin=subprocess.DEVNULL,
            env={**os.environ, **spec.environment},
            pass_fds=spec.inherited_files,
            start_new_session=True,
        )

    def wait_for_end(self) -> None:
        """After `stop_seconds` kills it with its group."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(self.spec.stop_seconds)
        # macOS answers "not permitted" for a group of zombies.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()


class Backoff:
    """Time of the next start of a process: at once, then after growing delays while it keeps dying."""

    def __init__(self) -> None:
        self._delay = 0.0
        self._started_at = 0.0
        self._due_at = 0.0

    def note_start(self, now: float) -> None:
        self._started_at = now
        self._due_at = 0.0

    def is_due(self, now: float) -> bool:
        """True if a process that is dead at `now` may start; the first call begins the delay."""
        if not self._due_at:
            is_steady = now - self._started_at >= MIN_STEADY_SECONDS
            self._delay = (
                FIRST_DELAY_SECONDS
                if is_steady or not self._delay
                else min(2 * self._delay, MAX_DELAY_SECONDS)
            )
            self._due_at = now + self._delay
        return now >= self._due_at


class Supervisor:
    """Starts a process for each spec, and again when it dies; while the foundation is down, only that."""

    def __init__(
        self,
        specs: Sequence[ChildSpec],
        *,
        foundation: EmbeddedPostgres | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._foundation = foundation
        self._clock = clock
        self._children = dict[str, Child]()
        self._backoffs = {name: Backoff() for name in self._specs}
        self._foundation_backoff = Backoff()

    def run(self, stop: threading.Event) -> None:
        """Call it from the main thread: the children end with the thread that starts them."""
        try:
            for spec in self._specs.values():
                self._start(spec)
            while not stop.wait(POLL_SECONDS):
                self.tend()
        finally:
            for child in self._children.values():
                child.terminate()
            for child in self._children.values():
                child.wait_for_end()
            self._children.clear()

    def tend(self) -> None:
        if not self._tend_foundation():
            return
        for name, spec in self._specs.items():
            child = self._children.get(name)
            if not child:
                if self._backoffs[name].is_due(self._clock()):
                    self._start(spec)
                continue
            if child.poll() is not None:
                child.wait_for_end()
                del self._children[name]
                log.warning("child_died", child=name, status=child.returncode)

    def list_pids(self) -> dict[str, int]:
        return {name: child.pid for name, child in self._children.items()}

    def _start(self, spec: ChildSpec) -> None:
        self._children[spec.name] = Child(spec)
        self._backoffs[spec.name].note_start(self._clock())
        log.info("child_started", child=spec.name, pid=self._children[spec.name].pid)

    def _tend_foundation(self) -> bool:
        """True if it ran already."""
        if self._foundation is None or self._foundation.is_running():
            return True
        if self._foundation_backoff.is_due(self._clock()):
            log.warning("database_died")
            try:
                self._foundation.start()
            except SetupError as error:
                log.error("database_not_restarted", reason=str(error))  # noqa: TRY400 - the message says it all
            self._foundation_backoff.note_start(self._clock())
        return False
