"""Slows down clients that try passwords."""

import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from ..base.clock import monotonic_seconds
from ..base.errors import TooManyTries

MAX_FAILURES_OF_NAME = 10

MAX_FAILURES_OF_ADDRESS = 100
"""Many people may share an address."""

FAILURE_WINDOW_SECONDS = 300.0

_MAX_COUNTED_KEYS = 10_000


class Throttle:
    """Counts by name and address, and by address. Safe to share between threads.

    A restart forgets failures.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._lock = threading.Lock()
        self._of_names = _FailureTimes(MAX_FAILURES_OF_NAME, clock)
        self._of_addresses = _FailureTimes(MAX_FAILURES_OF_ADDRESS, clock)

    def admit(self, name: str, address: str) -> None:
        with self._lock:
            wait = self._of_names.find_wait_seconds((name, address))
            if wait:
                raise TooManyTries(f"Too many failed log-ins. Try again in {_say_minutes(wait)}.")
            wait = self._of_addresses.find_wait_seconds(address)
            if wait:
                raise TooManyTries(
                    f"Too many failed log-ins from your address. Try again in {_say_minutes(wait)}."
                )

    def note_failure(self, name: str, address: str) -> None:
        with self._lock:
            self._of_names.add((name, address))
            self._of_addresses.add(address)

    def note_success(self, name: str, address: str) -> None:
        """Failures of the address stay, or one good password would open it to all names."""
        with self._lock:
            self._of_names.forget((name, address))


@dataclass
class _FailureTimes:
    """Times of the newest failures, at most `limit` for each key."""

    limit: int
    clock: Callable[[], float]
    _moments: dict[Hashable, deque[float]] = field(default_factory=dict)

    def find_wait_seconds(self, key: Hashable) -> float:
        moments = self._moments.get(key, deque())
        while moments and moments[0] <= self.clock() - FAILURE_WINDOW_SECONDS:
            moments.popleft()
        return moments[0] + FAILURE_WINDOW_SECONDS - self.clock() if len(moments) >= self.limit else 0.0

    def add(self, key: Hashable) -> None:
        if len(self._moments) >= _MAX_COUNTED_KEYS:
            # Forgets the half that failed least, so that made-up names cannot hide the one that is tried
            # again and again.
            by_count = sorted(self._moments.items(), key=lambda item: len(item[1]))
            self._moments = dict(by_count[len(by_count) // 2 :])
        self._moments.setdefault(key, deque(maxlen=self.limit)).append(self.clock())

    def forget(self, key: Hashable) -> None:
        self._moments.pop(key, None)


def _say_minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
