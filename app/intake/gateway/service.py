"""The gateway of one process, and the totals of records that its spool could not hold."""

import asyncio
import contextlib
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

import structlog

from ...base.clock import floor_to_hour, monotonic_seconds, utc_now
from ...base.durable_files import allocate
from ...base.errors import EvenhandError, Unavailable
from ...base.telemetry.outage_lines import OutageLog
from ...base.telemetry.prometheus import spool_entries
from ...base.values import frozen
from ...calls.egress_policy import EgressPolicy
from ...database.engine import Database, Sealer
from ...deployments.queries import find_existing_numbers
from ..logging.service import Ingestion
from ..volume.arrival_queries import MissingTotals, put_missing
from .call_events import (
    CallSource,
    CompleteCall,
    IntakeCount,
    IntakeOutcome,
    SpoolEntry,
    decode_entry,
    encode_entry,
)
from .forward import CallPlan, CallPlans
from .spool import Spool
from .store_calls import CallStore

LOSSES_FILE = "losses"

SLOT_BYTES = 256 * 1024
"""Size of each of two slots: a write goes to the older one, because a crash may cut it short."""

_SLOT_HEAD = struct.Struct("<QII")
"""Number of a write, length and CRC-32 of its bytes, before them."""

_HOUR_OPEN_FOR = timedelta(hours=2)
"""Time from the start of an hour in which its totals may grow."""


@frozen
class _LossKey:
    deployment_no: int
    hour: datetime


@dataclass
class _LossTotals:
    """Content of a slot. `number` is that of the write; the database adds up the totals of all senders."""

    number: int = 0
    sender: str = field(default_factory=lambda: str(uuid4()))
    totals: Counter[_LossKey] = field(default_factory=Counter)


class Losses:
    """Totals of lost records, of all processes that share a folder. Safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()  # never held while the disk or the database is asked
        self._added: Counter[_LossKey] = Counter()
        self._sent = 0

    def add(self, deployment_no: int, now: datetime, records: int) -> None:
        with self._lock:
            self._added[_LossKey(deployment_no, floor_to_hour(now))] += records

    def write(self) -> _LossTotals:
        """Returns the durable totals. The first call reserves the disk space. Raises OSError."""
        with self._open_file() as file:
            written = _read_totals(file)
            # Of threads that wait here, the first writes for all.
            with self._lock:
                added = self._added.copy()
            if added:
                written.totals.update(added)
                _write_totals(file, written)
                with self._lock:
                    self._added -= added
            return written

    def send(self, database: Database, *, now: datetime) -> None:
        """Raises OSError of the disk, Unavailable of the database."""
        totals = self.write()
        if totals.number == self._sent:
            return
        _store_totals(database, totals)
        self._sent = totals.number
        with self._open_file() as file:
            # A new sender: totals of one sender only grow, even if a corrected clock shows an hour again.
            has_closed_hour = any(key.hour <= now - _HOUR_OPEN_FOR for key in totals.totals)
            if has_closed_hour and _read_totals(file).number == totals.number:
                _write_totals(file, _LossTotals(totals.number))

    @contextmanager
    def _open_file(self) -> Iterator[int]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._folder / LOSSES_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            allocate(file, 2 * SLOT_BYTES)
            yield file
        finally:
            os.close(file)


def _read_totals(file: int) -> _LossTotals:
    newest = _LossTotals()
    for slot in (0, SLOT_BYTES):
        number, length, checksum = _SLOT_HEAD.unpack(os.pread(file, _SLOT_HEAD.size, slot))
        data = os.pread(file, length, slot + _SLOT_HEAD.size)
        if number > newest.number and zlib.crc32(data) == checksum:
            sender, rows = json.loads(data)
            totals = Counter({_LossKey(no, datetime.fromisoformat(hour)): count for no, hour, count in rows})
            newest = _LossTotals(number, sender, totals)
    return newest


def _write_totals(file: int, written: _LossTotals) -> None:
    rows = [[key.deployment_no, key.hour.isoformat(), count] for key, count in written.totals.items()]
    data = json.dumps([written.sender, rows]).encode("ascii")
    if _SLOT_HEAD.size + len(data) > SLOT_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    written.number += 1
    head = _SLOT_HEAD.pack(written.number, len(data), zlib.crc32(data))
    os.pwrite(file, head + data, written.number % 2 * SLOT_BYTES)
    os.fdatasync(file)


def _store_totals(database: Database, written: _LossTotals) -> None:
    with database.transaction() as session:
        for no in sorted(find_existing_numbers(session, {key.deployment_no for key in written.totals})):
            totals = [
                MissingTotals(hour=key.hour, not_received=count, left_out=0)
                for key, count in written.totals.items()
                if key.deployment_no == no
            ]
            put_missing(session, no, written.sender, 1.0, totals)


BATCH_BYTES = 1024 * 1024
"""Bytes of entries that are stored together."""

GATHER_SECONDS = 0.25
"""Wait after the first entry, so that others are stored with it."""

HOUSEKEEPING_SECONDS = 1.0

SWEEP_SECONDS = 10.0

STOP_SECONDS = 5.0
"""Time to empty the spool before the process ends."""

_RETRY_PAUSES_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0)

log = structlog.get_logger("evenhand.spool")


class Gateway:
    """Keeps calls in the spool and stores them from there. Belongs to one event loop."""

    def __init__(
        self,
        database: Database,
        sealer: Sealer,
        ingestion: Ingestion,
        policy: EgressPolicy,
        *,
        data_dir: Path,
        spool_bytes: int,
    ) -> None:
        self.plans = CallPlans(database, sealer, policy)
        self._database = database
        self._spool = Spool(data_dir / "spool", max_bytes=spool_bytes)
        self._losses = Losses(self._spool.root)
        self._store = CallStore(database, ingestion, self.plans)
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._stop_by = 0.0
        self._outages = OutageLog("records wait in the spool", "records of the spool are stored again")

    async def start(self) -> None:
        await self._write_losses()
        self._tasks = [asyncio.create_task(self._deliver()), asyncio.create_task(self._keep_house())]

    async def stop(self) -> None:
        self._stop_by = monotonic_seconds() + STOP_SECONDS
        self._closing.set()
        self._wake.set()
        for task in self._tasks:
            await task
        try:
            if self._store.counts.list_totals():
                await self._store.sweep()
            await asyncio.to_thread(self._losses.send, self._database, now=utc_now())
        except (Unavailable, OSError) as error:
            log.warning("what waits in the spool is stored after the next start", error=str(error))
        try:
            await asyncio.to_thread(self._spool.close)
        except OSError as error:
            log.warning("the spool cannot be written", folder=str(self._spool.folder), error=str(error))
        await self.plans.stop()

    async def keep(self, entry: SpoolEntry, plan: CallPlan) -> bool:
        """Returns False, and counts the entry as lost, where there is no room."""
        if self._spool.append(encode_entry(entry)):
            spool_entries.labels("kept").inc()
            self._wake.set()
            return True
        await self.count_lost(entry, plan)
        return False

    async def count_lost(self, entry: SpoolEntry, plan: CallPlan) -> None:
        spool_entries.labels("dropped").inc()
        # Of halves only the answer counts: else the call would count twice.
        if isinstance(entry, CompleteCall):
            self._losses.add(entry.deployment_no, entry.received_at, count_rows(entry, plan))
        elif entry.side == "response":
            self._losses.add(entry.deployment_no, entry.received_at, 1)
        await self._write_losses()

    async def _write_losses(self) -> None:
        try:
            await asyncio.to_thread(self._losses.write)
        except OSError as error:
            folder = str(self._spool.root)
            log.warning("the counts of lost records cannot be written", folder=folder, error=str(error))

    def count_ignored(self, deployment_no: int, reason: str, *, now: datetime) -> None:
        self._store.counts.add(
            IntakeCount(
                deployment_no=deployment_no,
                hour=now,
                source=CallSource.EVENTS,
                outcome=IntakeOutcome.IGNORED,
                count=1,
                reason=reason,
            )
        )

    async def _deliver(self) -> None:
        failures = 0
        entries: list[SpoolEntry] = []
        while True:
            if self._closing.is_set() and monotonic_seconds() > self._stop_by:
                log.info(
                    "what waits in the spool is stored after the next start",
                    waiting_bytes=self._spool.waiting_bytes,
                )
                return
            if not entries:
                decoded = map(decode_entry, self._spool.take(BATCH_BYTES))
                entries = [entry for entry in decoded if entry is not None]
            if not entries:
                self._spool.settle()
                if self._closing.is_set():
                    return
                self._wake.clear()
                await self._wake.wait()
                await self._pause(GATHER_SECONDS)
                continue
            try:
                await self._store.store(entries)
            except Exception as error:  # the entries stay on disk, and the next attempt may succeed
                waiting_bytes = self._spool.waiting_bytes
                if isinstance(error, Unavailable):
                    self._outages.fail(waiting_bytes=waiting_bytes, error=str(error))
                else:
                    log.warning(
                        "records wait in the spool",
                        waiting_bytes=waiting_bytes,
                        error=str(error),
                        exc_info=error,
                    )
                if self._closing.is_set():
                    return
                await self._pause(_RETRY_PAUSES_SECONDS[min(failures, len(_RETRY_PAUSES_SECONDS) - 1)])
                failures += 1
            else:
                entries, failures = [], 0
                self._outages.end()
                self._spool.settle()

    async def _keep_house(self) -> None:
        swept_at = monotonic_seconds()
        while not self._closing.is_set():
            try:
                # At the start, too: this process may follow one that was killed.
                if await asyncio.to_thread(self._spool.adopt):
                    self._wake.set()
                if monotonic_seconds() - swept_at >= SWEEP_SECONDS:
                    swept_at = monotonic_seconds()
                    await self._store.sweep()
                    await asyncio.to_thread(self._losses.send, self._database, now=utc_now())
                # Last: while the disk is full, the database may still take the counts.
                await asyncio.to_thread(self._spool.sync)
            except Unavailable:
                pass  # the counts are kept until it answers
            except OSError as error:
                log.warning("the spool cannot be written", folder=str(self._spool.folder), error=str(error))
            except Exception:  # must not end the housekeeping of a process that runs for months
                log.exception(
                    "the housekeeping of the spool failed; it is tried again", folder=str(self._spool.folder)
                )
            await self._pause(HOUSEKEEPING_SECONDS)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)


def count_rows(call: CompleteCall, plan: CallPlan) -> int:
    if plan.codec is None:
        return 1
    columns = [column.name for column in plan.deployment.schema.features]
    try:
        return len(plan.codec.read_request(call.exchange.request.read(), columns).values)
    except EvenhandError:
        return 1
