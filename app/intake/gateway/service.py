"""The gateway of one process."""

import asyncio
import contextlib
from datetime import datetime
from pathlib import Path

import structlog

from ...base.clock import monotonic_seconds, utc_now
from ...base.errors import EvenhandError, Unavailable
from ...base.telemetry.outage_lines import OutageLog
from ...base.telemetry.prometheus import spool_entries
from ...calls.egress_policy import EgressPolicy
from ...database.engine import Database, Sealer
from ..logging.service import Ingestion
from .call_events import (
    CallSource,
    CompleteCall,
    Entry,
    IntakeCount,
    IntakeOutcome,
    decode_entry,
    encode_entry,
)
from .forward import CallPlan, CallPlans
from .lost_records import Losses
from .spool import Spool
from .store_calls import CallStore

BATCH_BYTES = 1024 * 1024

GATHER_SECONDS = 0.25

HOUSEKEEPING_SECONDS = 1.0

SWEEP_SECONDS = 10.0

STOP_SECONDS = 5.0

_PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)

log = structlog.get_logger("evenhand.spool")


class Gateway:
    """Belongs to one event loop."""

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
            if self._store.counts.collected():
                await self._store.sweep()
            await asyncio.to_thread(self._losses.send, self._database, now=utc_now())
        except (Unavailable, OSError) as error:
            log.warning("what waits in the spool is stored after the next start", error=str(error))
        try:
            await asyncio.to_thread(self._spool.close)
        except OSError as error:
            log.warning("the spool cannot be written", folder=str(self._spool.folder), error=str(error))
        await self.plans.stop()

    async def keep(self, entry: Entry, plan: CallPlan) -> bool:
        """False, and counted as lost, where there is no room."""
        if self._spool.append(encode_entry(entry)):
            spool_entries.labels("kept").inc()
            self._wake.set()
            return True
        await self.lose(entry, plan)
        return False

    async def lose(self, entry: Entry, plan: CallPlan) -> None:
        spool_entries.labels("dropped").inc()
        # Of an event's call only the answer, or the call would count twice.
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

    def ignore(self, deployment_no: int, reason: str, *, now: datetime) -> None:
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
        entries: list[Entry] = []
        while True:
            if self._closing.is_set() and monotonic_seconds() > self._stop_by:
                log.info(
                    "what waits in the spool is stored after the next start",
                    waiting_bytes=self._spool.waiting_bytes,
                )
                return
            entries = entries or [
                entry for data in self._spool.take(BATCH_BYTES) if (entry := decode_entry(data)) is not None
            ]
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
                    log.warning(
                        "records wait in the spool",
                        waiting_bytes=self._spool.waiting_bytes,
                        error=str(error),
                        exc_info=error,
                    )
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
                if await asyncio.to_thread(self._spool.adopt):
                    self._wake.set()
                if monotonic_seconds() - swept_at >= SWEEP_SECONDS:
                    swept_at = monotonic_seconds()
                    await self._store.sweep()
                    await asyncio.to_thread(self._losses.send, self._database, now=utc_now())
                # Last: while the disk is full, the database may take the counts all the same.
                await asyncio.to_thread(self._spool.sync)
            except Unavailable:
                pass
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
