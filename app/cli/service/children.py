"""Child processes that cannot outlive us."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import field

from ...base.values import frozen_by_name
from ...database.embedded.spawn import tied_command


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
            tied_command(spec.command, signal.SIGKILL),
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
