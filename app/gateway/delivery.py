"""Brings what waits in the spool to the database, in order."""

import asyncio
import contextlib
from pathlib import Path

import structlog

from ..clock import monotonic_seconds, utc_now
from ..errors import Unavailable
from ..store.database.engine import Database
from ..telemetry.outages import OutageLog
from .entries import Entry, decode_entry
from .losses import FILE, Losses, send_of_dead
from .spool import Spool
from .storing import CallStore

BATCH_BYTES = 1024 * 1024

GATHER_SECONDS = 0.25
"""Those that follow the first new entry share its commit."""

HOUSEKEEPING_SECONDS = 1.0

SWEEP_SECONDS = 10.0

STOP_SECONDS = 5.0

_PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)

log = structlog.get_logger("evenhand.spool")


class Delivery:
    """One reader of a spool. Belongs to one event loop."""

    def __init__(self, spool: Spool, store: CallStore, losses: Losses, database: Database) -> None:
        self._spool = spool
        self._store = store
        self._losses = losses
        self._database = database
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._of_dead: set[Path] = set()
        self._stop_by = 0.0
        self._outages = OutageLog("records wait in the spool", "records of the spool are stored again")

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._deliver()), asyncio.create_task(self._keep_house())]

    def wake(self) -> None:
        self._wake.set()

    async def stop(self) -> None:
        """Stores what it can in `STOP_SECONDS`; the next process stores the rest."""
        self._stop_by = monotonic_seconds() + STOP_SECONDS
        self._closing.set()
        self._wake.set()
        for task in self._tasks:
            await task
        try:
            if self._store.counts.collected():
                await self._store.sweep()
            await self._send_losses()
        except Unavailable:
            log.warning("the database does not answer; what waits in the spool is stored after the next start")
        try:
            await asyncio.to_thread(self._make_durable)
            await asyncio.to_thread(self._spool.close)
        except OSError as error:
            log.warning("the spool cannot be written", folder=str(self._spool.folder), error=str(error))

    async def _deliver(self) -> None:
        failures = 0
        entries: list[Entry] = []
        while True:
            if self._closing.is_set() and monotonic_seconds() > self._stop_by:
                log.info("what waits in the spool is stored after the next start", waiting_bytes=self._spool.waiting_bytes)
                return
            entries = entries or [one for data in self._spool.take(BATCH_BYTES) if (one := decode_entry(data)) is not None]
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
                if isinstance(error, Unavailable):
                    self._outages.fail(waiting_bytes=self._spool.waiting_bytes, error=str(error))
                else:
                    log.warning("records wait in the spool", waiting_bytes=self._spool.waiting_bytes, error=str(error), exc_info=error)
                if self._closing.is_set():
                    return
                await self._pause(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1
            else:
                entries, failures = [], 0
                self._outages.end()
                self._spool.settle()

    async def _keep_house(self) -> None:
        swept_at = monotonic_seconds()
        while not self._closing.is_set():
            try:
                # At the start, too: a process that was killed is followed by this one.
                found = await asyncio.to_thread(self._spool.adopt)
                if found:
                    self._of_dead.update(path for path in found if (path / FILE).exists())
                    self._wake.set()
                for path in list(self._of_dead):
                    await asyncio.to_thread(send_of_dead, self._database, path)
                    self._of_dead.discard(path)
                if monotonic_seconds() - swept_at >= SWEEP_SECONDS:
                    swept_at = monotonic_seconds()
                    await self._store.sweep()
                    await self._send_losses()
                # Last: while the disk is full, the database may take the counts all the same.
                await asyncio.to_thread(self._make_durable)
            except Unavailable:
                pass  # the counts are kept until it answers
            except OSError as error:
                log.warning("the spool cannot be written", folder=str(self._spool.folder), error=str(error))
            except Exception:  # must not end the housekeeping of a process that runs for months
                log.exception("the housekeeping of the spool failed; it is tried again", folder=str(self._spool.folder))
            await self._pause(HOUSEKEEPING_SECONDS)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)

    def _make_durable(self) -> None:
        self._spool.sync()
        self._losses.write(self._spool.folder)

    async def _send_losses(self) -> None:
        if self._losses.has_unsent:
            await asyncio.to_thread(self._losses.send, self._database, self._spool.folder, now=utc_now())
