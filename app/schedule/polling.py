"""Pauses of a thread that polls the database."""

import random
import threading

POLL_SECONDS = 1.0

LONGEST_PAUSE_SECONDS = 10.0


class Pauses:
    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self.next_try_seconds = POLL_SECONDS

    def end_outage(self) -> None:
        self.next_try_seconds = POLL_SECONDS

    def wait_for_work(self) -> None:
        self._stop.wait(random.uniform(POLL_SECONDS / 2, POLL_SECONDS))  # noqa: S311 - spreads the threads, no secret

    def wait_for_database(self) -> None:
        """Waits because the database is away: twice as long each time."""
        self._stop.wait(self.next_try_seconds)
        self.next_try_seconds = min(2 * self.next_try_seconds, LONGEST_PAUSE_SECONDS)
