"""Slows down whoever tries passwords: so many failures, and the next try has to wait."""

import threading
from collections import deque
from collections.abc import Callable

from app.clock import monotonic_seconds
from app.errors import TooManyTries

FAILURES = 10
WINDOW_SECONDS = 300.0
"""Of one name from one address, in this process."""

_MOST = 10_000


class Throttle:
    """Counts failures by name and address. Safe to share between threads. A restart forgets them, which costs an attacker more than us."""

    def __init__(self, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[tuple[str, str], deque[float]] = {}

    def admit(self, name: str, address: str) -> None:
        """Returns if another try may be made.

        Raises:
            TooManyTries: there were too many failures of late.
        """
        with self._lock:
            failures = self._recent((name, address))
            if len(failures) >= FAILURES:
                raise TooManyTries(f"Too many failed log-ins. Try again in {_minutes(failures[0] + WINDOW_SECONDS - self._clock())}.")

    def failed(self, name: str, address: str) -> None:
        """Remembers a failure."""
        with self._lock:
            if len(self._failures) >= _MOST:
                self._make_room()
            self._failures.setdefault((name, address), deque(maxlen=FAILURES)).append(self._clock())

    def succeeded(self, name: str, address: str) -> None:
        """Forgets the failures before."""
        with self._lock:
            self._failures.pop((name, address), None)

    def _make_room(self) -> None:
        """Forgets the half that failed least, so that made-up names cannot hide the one that is tried again and again."""
        by_count = sorted(self._failures.items(), key=lambda one: len(one[1]))
        self._failures = dict(by_count[len(by_count) // 2 :])

    def _recent(self, who: tuple[str, str]) -> deque[float]:
        failures = self._failures.get(who, deque())
        while failures and failures[0] <= self._clock() - WINDOW_SECONDS:
            failures.popleft()
        return failures


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
