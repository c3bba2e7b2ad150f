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
STEADY_SECONDS = 30.0

log = structlog.get_logger()


@frozen_by_name
class ChildSpec:
    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    inherited_files: tuple[int, ...] = ()
    stop_seconds: float = 15.0


class Child(subprocess.Popen[bytes]):
    """Has a session of its own, so that Ctrl-C reaches only the supervisor; its id is also
    that of its group.
    """

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
        """Kills those that do not end by themselves within `stop_seconds`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(self.spec.stop_seconds)
        with contextlib.suppress(
            ProcessLookupError, PermissionError
        ):  # macOS answers "not permitted" for a group of zombies
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()


class Backoff:
    """A process starts at once, then after growing delays while it keeps dying."""

    def __init__(self) -> None:
        self._delay = 0.0
        self._started_at = 0.0
        self._due_at = 0.0

    def started(self, now: float) -> None:
        self._started_at = now
        self._due_at = 0.0

    def is_due(self, now: float) -> bool:
        """Found dead at `now`; the first call after a death begins the wait."""
        if not self._due_at:
            steady = now - self._started_at >= STEADY_SECONDS
            self._delay = (
                FIRST_DELAY_SECONDS if steady or not self._delay else min(2 * self._delay, MAX_DELAY_SECONDS)
            )
            self._due_at = now + self._delay
        return now >= self._due_at


class Supervisor:
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
        self._backoffs = {name: Backoff() for name in ["", *self._specs]}

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

    def pids(self) -> dict[str, int]:
        return {name: child.pid for name, child in self._children.items()}

    def _start(self, spec: ChildSpec) -> None:
        self._children[spec.name] = Child(spec)
        self._backoffs[spec.name].started(self._clock())
        log.info("child_started", child=spec.name, pid=self._children[spec.name].pid)

    def _tend_foundation(self) -> bool:
        if self._foundation is None or self._foundation.is_running():
            return True
        if self._backoffs[""].is_due(self._clock()):
            log.warning("database_died")
            try:
                self._foundation.start()
            except SetupError as error:
                log.error("database_not_restarted", reason=str(error))  # noqa: TRY400 - the message says it all
            self._backoffs[""].started(self._clock())
        return False
