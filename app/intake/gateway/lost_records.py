"""Records that were answered and could not be kept, counted on disk until the database has the counts.

The file has its final size from the start, and is written in place: a full disk takes the counts, too.
"""

import errno
import fcntl
import json
import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from uuid import uuid4

from ...base.clock import floor_to_hour
from ...base.durable_files import allocate
from ...base.values import frozen
from ...database.engine import Database
from ...deployments.queries import find_numbers
from ..volume.arrival_queries import MissingTotals, put_missing

FILE = "losses"

SLOT_BYTES = 256 * 1024
"""A write goes to the older of two slots: a crash may cut it short."""

_HEAD = struct.Struct("<QII")
"""Number of a write, length and CRC-32 of its bytes, before them."""

_KEPT = timedelta(hours=2)


@frozen
class _Place:
    deployment_no: int
    hour: datetime


@dataclass
class _Written:
    number: int = 0
    sender: str = field(default_factory=lambda: str(uuid4()))
    totals: Counter[_Place] = field(default_factory=Counter)


class Losses:
    """Totals of the processes that share a folder. Safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()  # never held while the disk or the database is asked
        self._added: Counter[_Place] = Counter()
        self._sent = 0

    def add(self, deployment_no: int, now: datetime, records: int) -> None:
        with self._lock:
            self._added[_Place(deployment_no, floor_to_hour(now))] += records

    def write(self) -> _Written:
        """Returns the durable totals; the first call reserves the disk space. Raises OSError."""
        with self._open_file() as file:
            written = _read(file)
            # Of threads that wait here, the first writes for all.
            with self._lock:
                added = self._added.copy()
            if added:
                written.totals.update(added)
                _write(file, written)
                with self._lock:
                    self._added -= added
            return written

    def send(self, database: Database, *, now: datetime) -> None:
        """Raises OSError of the disk, Unavailable of the database."""
        sent = self.write()
        if sent.number == self._sent:
            return
        _store(database, sent)
        self._sent = sent.number
        with self._open_file() as file:
            # Totals of one sender only grow, also of an hour that a corrected clock shows again.
            if any(key.hour <= now - _KEPT for key in sent.totals) and _read(file).number == sent.number:
                _write(file, _Written(sent.number))

    @contextmanager
    def _open_file(self) -> Iterator[int]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            allocate(file, 2 * SLOT_BYTES)
            yield file
        finally:
            os.close(file)


def _read(file: int) -> _Written:
    newest = _Written()
    for slot in (0, SLOT_BYTES):
        number, length, checksum = _HEAD.unpack(os.pread(file, _HEAD.size, slot))
        data = os.pread(file, length, slot + _HEAD.size)
        if number > newest.number and zlib.crc32(data) == checksum:
            sender, rows = json.loads(data)
            totals = Counter({_Place(no, datetime.fromisoformat(hour)): count for no, hour, count in rows})
            newest = _Written(number, sender, totals)
    return newest


def _write(file: int, written: _Written) -> None:
    rows = [[key.deployment_no, key.hour.isoformat(), count] for key, count in written.totals.items()]
    data = json.dumps([written.sender, rows]).encode("ascii")
    if _HEAD.size + len(data) > SLOT_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    written.number += 1
    head = _HEAD.pack(written.number, len(data), zlib.crc32(data))
    os.pwrite(file, head + data, written.number % 2 * SLOT_BYTES)
    os.fdatasync(file)


def _store(database: Database, written: _Written) -> None:
    with database.transaction() as session:
        for no in sorted(find_numbers(session, {key.deployment_no for key in written.totals})):
            totals = [
                MissingTotals(hour=key.hour, not_received=count, left_out=0)
                for key, count in written.totals.items()
                if key.deployment_no == no
            ]
            put_missing(session, no, written.sender, 1.0, totals)
