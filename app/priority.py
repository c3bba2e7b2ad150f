"""Priority of work that nobody waits for, a worker's above all, on the processors: who logs records comes first.

Outside control groups, as containers and many units of systemd are, Linux gives every session the same share of the processors (autogroup),
and a niceness counts only among processes of one session. So each session that belongs to a worker gets its niceness, too.
"""

import os
import time
from pathlib import Path

NICENESS = 5
"""Niceness of a worker, and of commands that go through many records: next to an API process they get a quarter of a processor."""

_TRIES = 5
_PAUSE_SECONDS = 0.15


def lower_priority(niceness: int) -> None:
    """Adds to the niceness of this process, so that it gives way to others, as far as the system has and allows it.

    `evenhand serve` starts its worker in a session of its own, which gets the niceness as well.
    """
    os.nice(niceness)
    # Only a session that this process began: in another one, the shell that started us or the service would give way as well.
    if os.getsid(0) == os.getpid():
        lower_session(os.getpid())


def lower_session(leader: int) -> None:
    """Gives the session that a process began, this one or a child, the niceness of this process, as far as the system has and allows it."""
    niceness = os.nice(0)
    for _ in range(_TRIES):
        try:
            Path(f"/proc/{leader}/autogroup").write_text(str(niceness))
        except BlockingIOError:  # from those who are not root, the system takes one in a tenth of a second
            time.sleep(_PAUSE_SECONDS)
        except OSError:
            return
        else:
            return
