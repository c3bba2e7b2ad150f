"""Looks at the checks all the time, while things are killed, and keeps what was ever wrong."""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import psycopg

from tests.crashes.truth import CheckTruth, look_at_checks

PAUSE_SECONDS = 0.25


class Watch(threading.Thread):
    """A thread that looks at the checks until it is stopped; a database that is away is waited for."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        super().__init__(name="watch", daemon=True)
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self._stopping = threading.Event()
        self._turn = threading.Lock()
        self._ended: dict[str, tuple[int, datetime | None]] = {}
        self.looks = 0
        self.wrong: list[str] = []
        self.moments: dict[str, list[int]] = {}
        """Of each check: the next transaction's number at each look at which it waited or ran."""

    def run(self) -> None:
        """Looks again and again."""
        while not self._stopping.is_set():
            self.look()
            self._stopping.wait(PAUSE_SECONDS)

    def stop(self) -> None:
        """No more looks."""
        self._stopping.set()
        self.join()
        if self._connection is not None:
            self._connection.close()

    def look(self) -> CheckTruth:
        """One look, now, by whichever thread asks; once the database answers."""
        with self._turn:
            while True:
                try:
                    if self._connection is None or self._connection.closed:
                        self._connection = self._connect()
                    truth = look_at_checks(self._connection)
                    break
                except psycopg.OperationalError:
                    if self._connection is not None:
                        self._connection.close()
            self._note(truth)
            return truth

    def _note(self, truth: CheckTruth) -> None:
        self.looks += 1
        self.wrong += [text for text in truth.half_written if text not in self.wrong]
        for check in truth.in_state("queued", "running"):
            self.moments.setdefault(check.id, []).append(truth.next_transaction)
        now = {check.id: (check.attempts, check.finished_at) for check in truth.in_state("succeeded")}
        for check_id, end in self._ended.items():
            if now.get(check_id) != end:
                self.wrong.append(f"check {check_id} had succeeded {end} and now is {now.get(check_id)}")
        self._ended |= now
