"""Entries on disk until they are in the database.

Each process has a folder and locks it; once the process has ended, another one takes the folder over. An
entry is written before its call is answered, and durable (fsync) within a second. An entry that a crash cut
short is the newest of its file, and ignored.
"""

import fcntl
import os
import struct
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import structlog

_ENTRY_HEAD = struct.Struct("<II")
"""Length of an entry and its CRC-32, before it."""

_LOCK_FILE = "lock"

MAX_SEGMENT_BYTES = 16 * 1024 * 1024

MIN_FREE_BYTES = 256 * 1024 * 1024

log = structlog.get_logger("evenhand.spool")


@dataclass
class _Segment:
    """One file of entries; `size` and `read` (what `take` has returned) are in bytes."""

    path: Path
    size: int
    read: int = 0


class Spool:
    """Entries of this process and of ended ones, `max_bytes` together. Safe for several threads, with one
    reader.
    """

    def __init__(self, root: Path, *, max_bytes: int) -> None:
        self.root = root
        self.folder = root / str(uuid4())
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._segments: deque[_Segment] = deque()
        self._file: int | None = None
        self._finished: list[int] = []
        self._settled: dict[Path, int] = {}
        self._number = 0
        self._is_dirty = False
        self._locks: dict[Path, int] = {}

    @property
    def waiting_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def append(self, entry: bytes) -> bool:
        data = _ENTRY_HEAD.pack(len(entry), zlib.crc32(entry)) + entry
        with self._lock:
            if self.waiting_bytes + len(data) > self._max_bytes:
                return False
            try:
                segment, descriptor = self._open_segment()
                if os.write(descriptor, data) < len(data):
                    # What follows half an entry could not be read.
                    os.ftruncate(descriptor, segment.size)
                    return False
            except OSError as error:
                log.warning("the spool cannot be written", folder=str(self.folder), error=str(error))
                self._close_file()
                return False
            segment.size += len(data)
            self._is_dirty = True
        return True

    def take(self, max_bytes: int) -> list[bytes]:
        """Reads the next entries, oldest first: about `max_bytes`, at least one if there is any."""
        entries = []
        size = 0
        with self._lock:
            segments = [
                (segment, segment.read, segment.size)
                for segment in self._segments
                if segment.read < segment.size
            ]
        for segment, begin, end in segments:
            segment.read = begin
            for entry in _read_entries(segment.path, begin, end):
                entries.append(entry)
                size += len(entry) + _ENTRY_HEAD.size
                segment.read += len(entry) + _ENTRY_HEAD.size
                if size >= max_bytes:
                    return entries
            if segment.read < end:
                log.warning(
                    "the end of a spool file cannot be read", file=str(segment.path), byte=segment.read
                )
            segment.read = end
        return entries

    def settle(self) -> None:
        """Call it when the entries that `take` returned are stored."""
        with self._lock:
            self._settled = {segment.path: segment.read for segment in self._segments}
            while (
                self._segments
                and self._segments[0].read >= self._segments[0].size
                and not self._is_open(self._segments[0])
            ):
                self._segments.popleft().path.unlink(missing_ok=True)
            self._release_empty_folders()

    def sync(self) -> None:
        """Makes entries durable, and deletes the open file if all of it is stored. Raises OSError."""
        with self._lock:
            newest = self._segments[-1] if self._segments else None
            if newest is not None and self._is_open(newest) and self._settled.get(newest.path) == newest.size:
                # Personal data does not stay on disk longer than needed.
                self._segments.pop()
                newest.path.unlink(missing_ok=True)
                self._close_file()
                self._is_dirty = False
            files, self._finished = self._finished, []
            if self._is_dirty and self._file is not None:
                # A copy: a slow disk must not hold up those that write.
                files.append(os.dup(self._file))
            self._is_dirty = False
        while files:
            descriptor = files.pop()
            try:
                if os.fstat(descriptor).st_nlink:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def adopt(self) -> list[Path]:
        """Takes over the folders of ended processes, and returns them. Raises OSError."""
        folders: list[Path] = []
        if not self.root.is_dir():
            return folders
        for path in sorted(self.root.iterdir()):
            if not path.is_dir() or path.name.startswith(".") or path in self._locks:
                continue
            descriptor = _lock_ended(path / _LOCK_FILE)
            if descriptor is None:
                continue
            adopted = [_Segment(file, file.stat().st_size) for file in sorted(path.glob("*.spool"))]
            with self._lock:
                self._locks[path] = descriptor
                # To the front: they are older.
                self._segments.extendleft(reversed(adopted))
            folders.append(path)
        return folders

    def close(self) -> None:
        with self._lock:
            self._close_file()
        self.sync()
        with self._lock:
            self._release_empty_folders(of_all=True)
            for descriptor in self._locks.values():
                os.close(descriptor)
            self._locks.clear()

    def _open_segment(self) -> tuple[_Segment, int]:
        if self.folder not in self._locks:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Locked before it has its name: others take an unlocked folder for that of a dead process.
            hidden = self.root / f".{self.folder.name}"
            hidden.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(hidden / _LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            hidden.rename(self.folder)
            self._locks[self.folder] = lock
        if self._file is not None and self._segments[-1].size < MAX_SEGMENT_BYTES:
            return self._segments[-1], self._file
        free = os.statvfs(self.folder)
        if free.f_bavail * free.f_frsize < MIN_FREE_BYTES:
            raise OSError("too little free disk space")
        self._close_file()
        self._number += 1
        path = self.folder / f"{self._number:010d}.spool"
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._segments.append(_Segment(path, 0))
        return self._segments[-1], self._file

    def _is_open(self, segment: _Segment) -> bool:
        return self._file is not None and segment is self._segments[-1]

    def _close_file(self) -> None:
        """Ends the open file; `sync` closes it, because making it durable may take long."""
        if self._file is not None:
            self._finished.append(self._file)
            self._file = None

    def _release_empty_folders(self, *, of_all: bool = False) -> None:
        waiting = {segment.path.parent for segment in self._segments}
        for path in [path for path in self._locks if path not in waiting and (of_all or path != self.folder)]:
            # A folder with any other file stays.
            if [file.name for file in path.iterdir()] == [_LOCK_FILE]:
                (path / _LOCK_FILE).unlink()
                path.rmdir()
                os.close(self._locks.pop(path))


def _read_entries(path: Path, begin: int, end: int) -> Iterator[bytes]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        file.seek(begin)
        while begin + _ENTRY_HEAD.size <= end:
            length, checksum = _ENTRY_HEAD.unpack(file.read(_ENTRY_HEAD.size))
            if begin + _ENTRY_HEAD.size + length > end:
                return
            entry = file.read(length)
            if zlib.crc32(entry) != checksum:
                return
            yield entry
            begin += _ENTRY_HEAD.size + length


def _lock_ended(path: Path) -> int | None:
    """None where its process runs, or another has taken it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The process that deletes the file holds the lock, so a file that is still there is ours.
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None
