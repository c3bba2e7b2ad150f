"""Priority of a worker's process on the processors: who logs records comes first."""

import os
import time
from pathlib import Path

_SESSION_NICENESS = Path("/proc/self/autogroup")

_TRIES = 5
_PAUSE_SECONDS = 0.15


def lower_priority(niceness: int) -> None:
    """Adds to the niceness of this process, so that it gives way to others, as far as the system has and allows it.

    Outside control groups, as containers and many units of systemd are, Linux gives every session the same share of the processors
    (autogroup), and a niceness counts only among processes of one session. `evenhand serve` starts its worker in a session of its own,
    so the session gets its niceness, too.
    """
    reached = os.nice(niceness)
    # Only a session that this process began: in another one, the shell that started us or the service would give way as well.
    if os.getsid(0) == os.getpid():
        _lower_session(reached)


def _lower_session(niceness: int) -> None:
    for _ in range(_TRIES):
        try:
            _SESSION_NICENESS.write_text(str(niceness))
        except BlockingIOError:  # from those who are not root, the system takes one in a tenth of a second
            time.sleep(_PAUSE_SECONDS)
        except OSError:
            return
        else:
            return
