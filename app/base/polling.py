"""Threads that poll the database for work."""

import random
import threading
from collections.abc import Callable, Sequence

import structlog
from sqlalchemy.exc import SQLAlchemyError

from .clock import monotonic_seconds
from .errors import LeaseLost, Unavailable

POLL_SECONDS = 1.0

MAX_PAUSE_SECONDS = 10.0


class Pauses:
    """Pauses of a thread that polls: even ones while there is no work, growing ones without the database."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self.next_try_seconds = POLL_SECONDS

    def end_outage(self) -> None:
        self.next_try_seconds = POLL_SECONDS

    def wait_for_work(self) -> None:
        self._stop.wait(random.uniform(POLL_SECONDS / 2, POLL_SECONDS))  # noqa: S311 - spreads the threads, no secret

    def wait_for_database(self) -> None:
        """Each time twice as long, up to `MAX_PAUSE_SECONDS`."""
        self._stop.wait(self.next_try_seconds)
        self.next_try_seconds = min(2 * self.next_try_seconds, MAX_PAUSE_SECONDS)


def work_until(stop: threading.Event, work: Callable[[], bool]) -> None:
    """`work` returns whether there was anything to do."""
    log = structlog.get_logger(__name__, thread=threading.current_thread().name)
    pauses = Pauses(stop)
    while not stop.is_set():
        try:
            has_worked = work()
        except LeaseLost as error:
            log.warning("work_left", reason=str(error))
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("work_interrupted", error=str(error), next_try_seconds=pauses.next_try_seconds)
            pauses.wait_for_database()
        except Exception:  # must not end the thread
            log.exception("work_broke")
            stop.wait(MAX_PAUSE_SECONDS)
        else:
            pauses.end_outage()
            if not has_worked:
                pauses.wait_for_work()


def join_threads(threads: Sequence[threading.Thread], seconds: float) -> None:
    deadline = monotonic_seconds() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic_seconds()))
