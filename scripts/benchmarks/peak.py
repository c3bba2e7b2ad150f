"""Peak of a figure that is read again and again, in a thread."""

import threading
from collections.abc import Callable
from typing import Self

SECONDS_BETWEEN_LOOKS = 0.05


class Peak:
    """Follows a figure: `before` the block, and its `peak` until the block ends."""

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self.before = self.peak = read()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._is_over.wait(SECONDS_BETWEEN_LOOKS):
            self.peak = max(self.peak, self._read())
