"""Slots for the checks that a worker runs at once, lent to others while a check waits for its model."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ASKING_PER_SLOT = 8
"""Checks per slot that wait for their model. Each holds its window in memory."""

_LOOK_SECONDS = 1.0


class Slots:
    def __init__(self, count: int) -> None:
        self._free = count
        self._room = count * (1 + ASKING_PER_SLOT)
        self._returning = 0
        self._changed = threading.Condition()

    def take(self, seconds: float) -> "Slot | None":
        """None if none becomes free in time, or too many checks stay open."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._free > self._returning and self._room > 0, timeout=seconds
            ):
                return None
            self._free -= 1
            self._room -= 1
            return Slot(self)

    def give_back(self, *, is_over: bool, had_slot: bool) -> None:
        with self._changed:
            self._free += had_slot
            self._room += is_over
            self._changed.notify_all()

    def take_again(self, check_stop: Callable[[], None]) -> None:
        with self._changed:
            self._returning += 1
            try:
                while self._free == 0:
                    check_stop()
                    self._changed.wait(_LOOK_SECONDS)
                self._free -= 1
            finally:
                self._returning -= 1
                self._changed.notify_all()


class Slot:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._is_held = True

    @contextmanager
    def lend(self, check_stop: Callable[[], None]) -> Iterator[None]:
        """Lends the slot to other checks; `check_stop` raises if the check must stop."""
        self._is_held = False
        self._slots.give_back(is_over=False, had_slot=True)
        yield  # the check ends without a slot
        self._slots.take_again(check_stop)
        self._is_held = True

    def end(self) -> None:
        self._slots.give_back(is_over=True, had_slot=self._is_held)
