"""Numbers of open connections of the API processes that accept from one socket, in memory that they share."""

import mmap
import os
import sys
import tempfile
from typing import BinaryIO, cast

_NOT_ACCEPTING = 2**62
"""Number of a process that accepts no connections: no other has more."""

SLACK = 1
"""Connections that a process may have more than another and still accept: where each serves one request, the numbers never stay even."""

_MEAN_SHARE = 8
"""A process has far more than its share if it has more than the mean by over 1, and by over an eighth of the mean."""

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


def note_end(file: int, place: int) -> None:
    """Notes that the process at that place has ended, in whatever way: none is left to it, or moved to it."""
    os.pwrite(file, _NOT_ACCEPTING.to_bytes(_BYTES, sys.byteorder), place * _BYTES)


class ConnectionCounts:
    """One process's view of the numbers. `own` is its place among them, from 0."""

    def __init__(self, file: int, own: int) -> None:
        # Kept as long as the process runs.
        self._counts = memoryview(mmap.mmap(file, 0)).cast("q")
        self._own = own
        self._others = [place for place in range(len(self._counts)) if place != own]
        self._count = 0
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

    def has_far_more_than_its_share(self, *, leaving: int) -> bool:
        """Returns whether this process has far more than the mean of those that accept, even after so many of its own have left."""
        counts = [count for count in self._counts if count != _NOT_ACCEPTING]
        mean = sum(counts) / max(1, len(counts))
        return self._is_accepting and self._count - leaving > mean + max(1.0, mean / _MEAN_SHARE)
