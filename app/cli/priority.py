"""Priority of a worker's process on the processors: who logs records comes first."""

import contextlib
import os
from pathlib import Path

_SESSION_NICENESS = Path("/proc/self/autogroup")


def lower_priority(niceness: int) -> None:
    """Adds to the niceness of this process, so that it gives way to others, as far as the system has and allows it.

    Without containers Linux gives every session the same share of the processors (autogroup), and a niceness counts only among processes
    of one session. `evenhand serve` starts its worker in a session of its own, so the session gets its niceness, too.
    """
    reached = os.nice(niceness)
    # Only a session that this process began: in another one, the shell that started us or the service would give way as well.
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            _SESSION_NICENESS.write_text(str(reached))
