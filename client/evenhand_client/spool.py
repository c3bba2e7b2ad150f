"""Records on disk until the service has them: append-only files of one process, which another one takes over once it is dead.

An owner holds a lock on `<owner>.lock` as long as it lives, however it dies. Its segments are `<owner>-<number>.jsonl`, one record a line:
written while records come in, made durable (fsync) and closed, sent, and deleted when the service has every record. A line that a crash cut
short is the last of its segment, and is skipped.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from .counting import Losses
from .entries import Entries, Entry

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

CAN_SPOOL = fcntl is not None


_MOST_HELD_BYTES = 4 * 1024 * 1024
_MOST_HELD = 2
"""Segments whose records stay in memory as well, so that they are not read again."""


@dataclass
class Segment:
    """One file of records. `held` are the same records in memory, if this process wrote them and they are few."""

    path: Path
    records: int
    size: int
    held: Entries | None = None

    def entries(self) -> Entries:
        """Returns its records; lines that a crash cut short are left out."""
        if self.held is not None:
            return self.held
        try:
            with self.path.open("rb") as file:
                return [entry for line in file if (entry := Entry.of_line(line)) is not None]
        except FileNotFoundError:
            return []


class Spool:
    """The files of this process in a folder, and of the dead ones that it has taken over. Safe for several threads.

    `closed` and `removed` count the segments that were ever ready to be sent, and those that have left.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.owner = f"{os.getpid()}-{uuid4().hex[:12]}"
        self._max_bytes = max_bytes
        self._lock = threading.RLock()
        self._closed: deque[Segment] = deque()
        self._sending: Segment | None = None
        self._number = 0
        self.closed = 0
        self.removed = 0
        self._open: Segment | None = None
        self._file: int | None = None
        self._locks: dict[Path, int] = {}

    def start(self) -> None:
        """Makes the folder and the lock of this owner. Raises OSError if the folder cannot be written."""
        with self._lock:
            name = self.folder / f"{self.owner}.lock"
            if name in self._locks:
                return
            if not self.folder.is_dir():
                self.folder.mkdir(parents=True, exist_ok=True)
                _sync(self.folder.parent)
            # Locked before it has its name: others take an unlocked one for a dead owner's.
            hidden = self.folder / f".{self.owner}.tmp"
            while True:
                descriptor = os.open(hidden, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                try:
                    hidden.rename(name)
                    break
                except FileNotFoundError:  # another process took it for a dead owner's, before it was locked
                    os.close(descriptor)
            self._locks[name] = descriptor

    def append(self, entries: Iterable[Entry]) -> None:
        """Writes records to the open segment: they survive the death of this process, and with `rotate` that of the machine.

        Raises:
        OSError: they could not be written. Some may have been.
        """
        entries = list(entries)
        lines = [entry.line() for entry in entries]
        if not lines:
            return
        with self._lock:
            self.start()
            if self._file is None or self._open is None:
                self._number += 1
                path = self.folder / f"{self.owner}-{self._number:010d}.jsonl"
                self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
                self._open = Segment(path, 0, 0, held=[])
            data = memoryview(b"".join(lines))
            try:
                while data:
                    data = data[os.write(self._file, data) :]
            except OSError:
                # The last line may be cut short, so nothing may follow it in this file.
                self.rotate()
                raise
            self._open.records += len(lines)
            self._open.size += sum(map(len, lines))
            if self._open.held is not None and self._open.size <= _MOST_HELD_BYTES:
                self._open.held += entries
            else:
                self._open.held = None

    def rotate(self) -> None:
        """Makes the open segment durable and closes it; it is then to be sent.

        Raises:
        OSError: it could not be made durable; it is to be sent all the same.
        """
        with self._lock:
            if self._file is None or self._open is None:
                return
            descriptor, segment = self._file, self._open
            self._file = self._open = None
            self._close_segment(segment)
            try:
                os.fsync(descriptor)
                _sync(self.folder)
            finally:
                os.close(descriptor)

    @property
    def open_records(self) -> int:
        open_ = self._open
        return 0 if open_ is None else open_.records

    def next(self) -> Segment | None:
        with self._lock:
            if self._sending is None and self._closed:
                self._sending = self._closed.popleft()
            return self._sending

    def done(self) -> None:
        with self._lock:
            if self._sending is not None:
                self._sending.path.unlink(missing_ok=True)
                self._sending = None
                self.removed += 1
            self._release_emptied()

    def drop_beyond_cap(self) -> Entries:
        """Deletes the oldest segments while all together are larger than the cap, and returns their records."""
        dropped: Entries = []
        with self._lock:
            while self.totals()[1] > self._max_bytes and (self._closed or self._open):
                if not self._closed:
                    self.rotate()
                segment = self._closed.popleft()
                dropped += segment.entries()
                segment.path.unlink(missing_ok=True)
                self.removed += 1
        return dropped

    def totals(self) -> tuple[int, int]:
        with self._lock:
            every = [*self._closed, *(one for one in (self._sending, self._open) if one is not None)]
            return sum(one.records for one in every), sum(one.size for one in every)

    def adopt(self) -> dict[str, Losses]:
        """Takes over the segments of dead owners, and returns the totals of losses that they left, by owner. Raises OSError."""
        found = {}
        self._delete_unnamed_locks()
        for path in sorted(self.folder.glob("*.lock")):
            with self._lock:
                descriptor = None if path in self._locks else _lock_of_dead(path)
                if descriptor is None:
                    continue
                self._locks[path] = descriptor
                owner = path.name[: -len(".lock")]
                for segment in sorted(self.folder.glob(f"{owner}-*.jsonl")):
                    data = segment.read_bytes()
                    self._close_segment(Segment(segment, data.count(b"\n"), len(data)))
                losses = _read_losses(self._losses_path(owner))
                if losses is not None:
                    found[owner] = losses
                self._release_emptied()
        return found

    def keep_losses(self, losses: Losses, owner: str | None = None) -> None:
        """Writes the totals of an owner, or its own, that the service has not got. Raises OSError."""
        with self._lock:
            path = self._losses_path(owner or self.owner)
            document = losses.document()
            if not document["hours"]:
                path.unlink(missing_ok=True)
                self._release_emptied()
                return
            self.start()
            new = path.with_suffix(".tmp")
            with new.open("w", encoding="ascii") as file:
                json.dump(document, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)

    def close(self) -> None:
        """Makes everything durable and releases the locks: another process may send it."""
        with self._lock:
            try:
                self.rotate()
            finally:
                self._release_emptied(of_all=True)
                for descriptor in self._locks.values():
                    os.close(descriptor)
                self._locks.clear()

    def forget(self) -> None:
        """Leaves everything to the process that this one was forked from."""
        # Closing does not unlock: the lock is held while the parent has its own copy open.
        for descriptor in [*self._locks.values(), *([] if self._file is None else [self._file])]:
            os.close(descriptor)

    def _close_segment(self, segment: Segment) -> None:
        if len(self._closed) >= _MOST_HELD:
            segment.held = None
        self._closed.append(segment)
        self.closed += 1

    def _losses_path(self, owner: str) -> Path:
        return self.folder / f"{owner}.losses"

    def _delete_unnamed_locks(self) -> None:
        """Deletes the locks of owners that were killed before they named them."""
        for path in self.folder.glob(".*.tmp"):
            descriptor = _lock_of_dead(path)
            if descriptor is not None:
                path.unlink(missing_ok=True)
                os.close(descriptor)

    def _release_emptied(self, *, of_all: bool = False) -> None:
        """Deletes the locks of owners that left nothing more; that of this process only at its end."""
        own = self.folder / f"{self.owner}.lock"
        for path in [path for path in self._locks if of_all or path != own]:
            owner = path.name[: -len(".lock")]
            if not any(self.folder.glob(f"{owner}-*.jsonl")) and not self._losses_path(owner).exists():
                # Left by an owner that was killed while it wrote its losses.
                self._losses_path(owner).with_suffix(".tmp").unlink(missing_ok=True)
                path.unlink(missing_ok=True)
                os.close(self._locks.pop(path))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock_of_dead(path: Path) -> int | None:
    """Returns the lock of an owner that is dead, now held by this process; None if it lives or another process was faster."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who deletes it holds the lock, so a file that is still there is ours.
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def _read_losses(path: Path) -> Losses | None:
    try:
        return Losses.of_document(json.loads(path.read_text(encoding="ascii")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        path.unlink(missing_ok=True)
        return None
