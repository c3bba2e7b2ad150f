"""Numbers of open connections of the API processes that accept from one socket, in memory that they share."""

import mmap
import tempfile
from typing import BinaryIO, cast

from ..clock import monotonic_seconds

_NOT_ACCEPTING = 2**62
"""Number of a process that accepts no connections: no other has more."""

SLACK = 1
"""Connections that a process may have more than another and still accept: where each serves one request, the numbers never stay even."""

MOVE_SECONDS = 0.1
"""Min seconds between two connections that a process gives up: moving one costs its client a new connection."""

_FAR, _FAR_SHARE = 2, 8
"""A process gives up connections while it has more than another by over 2, and by over an eighth of its own."""

_BYTES = 8
"""Bytes of a number. An aligned write of as many is never seen half done."""


def make_counts_file(processes: int) -> BinaryIO:
    """Returns an open file without a name for `ConnectionCounts` of as many processes, none of which accepts yet."""
    file = cast("BinaryIO", tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - the caller closes it
    memory = memoryview(bytearray(_BYTES * processes)).cast("q")
    for place in range(processes):
        memory[place] = _NOT_ACCEPTING
    file.write(memory.cast("B"))
    return file


class ConnectionCounts:
    """One process's view of the numbers. `own` is its place among them, from 0."""

    def __init__(self, file: int, own: int) -> None:
        # Kept as long as the process runs.
        self._counts = memoryview(mmap.mmap(file, 0)).cast("q")
        self._own = own
        self._others = [place for place in range(len(self._counts)) if place != own]
        self._count = 0
        self._next_move = 0.0
        self.is_accepting = False

    @property
    def is_accepting(self) -> bool:
        """Returns whether this process accepts connections. Others leave none to it while it does not."""
        return self._is_accepting

    @is_accepting.setter
    def is_accepting(self, value: bool) -> None:
        self._is_accepting = value
        self._counts[self._own] = self._count if value else _NOT_ACCEPTING

    def set(self, count: int) -> None:
        """Sets the number of this process. Others see it while it accepts connections."""
        self._count = count
        if self._is_accepting:
            self._counts[self._own] = count

    def has_more_than_another(self) -> bool:
        """Returns whether another process that accepts connections has fewer than this one, by more than `SLACK`."""
        own = self._counts[self._own]
        return any(self._counts[other] + SLACK < own for other in self._others)

    def is_one_to_move(self) -> bool:
        """Returns whether a connection of this process should end now, so that its client connects to a process that has far fewer.

        True at most once in `MOVE_SECONDS`: end one connection then.
        """
        surplus = self._count - min((self._counts[other] for other in self._others), default=self._count)
        if surplus <= max(_FAR, self._count // _FAR_SHARE) or not self._is_accepting:
            return False
        now = monotonic_seconds()
        if now < self._next_move:
            return False
        self._next_move = now + MOVE_SECONDS
        return True
