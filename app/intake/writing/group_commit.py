"""Group commit: concurrent requests share transactions; each is answered after its own commit."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from ...base.errors import Unavailable
from ...base.telemetry.outage_lines import OutageLog
from .write_batches import Batch, RowsRefused, StaleTarget, WriteOutcome
from .writer import Writer

WRITERS = 3

PARALLEL_RECORDS = 32
"""Records that must wait before another write begins: fewer do better to share the next commit."""

LONGEST_WAIT_SECONDS = 0.05
"""Wait after which another write begins, too: one may be held up by another process."""

FLUSH_RECORDS = 10_000

PENDING_RECORDS = 200_000

log = structlog.get_logger()


@dataclass(slots=True)
class _Pending:
    batch: Batch
    done: "asyncio.Future[WriteOutcome]"


class GroupCommit:
    """Belongs to one event loop."""

    def __init__(self, url: str, *, writers: int = WRITERS, pending_records: int = PENDING_RECORDS) -> None:
        outages = OutageLog("database_unreachable", "database_reachable")
        self._writers = [Writer(url, outages) for _ in range(writers)]
        self._tasks: set[asyncio.Task[None]] = set()
        self._limit = pending_records
        self._queue: deque[_Pending] = deque()
        self._waiting_records = 0
        self._busy = 0
        self._impatience: asyncio.TimerHandle | None = None
        self._idle: deque[asyncio.Future[None]] = deque()
        self._is_closing = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()  # a call to the system each time
        for writer in self._writers:
            self._employ(writer)

    async def stop(self) -> None:
        self._is_closing = True
        for idle in self._idle:
            _resolve(idle)
        if self._impatience is not None:
            self._impatience.cancel()
        await asyncio.gather(*self._tasks)
        for writer in self._writers:
            await writer.close()

    @property
    def is_saturated(self) -> bool:
        return self._waiting_records >= self._limit

    async def write(self, batch: Batch) -> WriteOutcome:
        """Returns after the durable commit. Raises Unavailable (too much waits, or Postgres does not answer:
        the outcome may be unknown), StaleTarget, RowsRefused.
        """
        count = len(batch.numbers)
        if self._is_closing:
            raise Unavailable("The service is stopping. Send the records again in a moment.")
        if self._waiting_records and self._waiting_records + count > self._limit:
            raise Unavailable(
                f"{self._waiting_records:,} records are waiting to be written already. Send these again in "
                "a moment."
            )
        pending = _Pending(batch, self._loop.create_future())
        self._queue.append(pending)
        self._waiting_records += count
        # Waiting for company would only cost time.
        if self._busy == 0:
            self._wake_one()
        else:
            self._call_for_help()
        return await pending.done

    def _employ(self, writer: Writer) -> None:
        task = asyncio.create_task(self._serve(writer))
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._replace(writer, ended))

    def _replace(self, writer: Writer, task: "asyncio.Task[None]") -> None:
        """A writer that died of a fault must not take its share of the work with it."""
        self._tasks.discard(task)
        if not self._is_closing and not task.cancelled():
            log.error("writer_died", exc_info=task.exception())
            self._employ(writer)

    async def _serve(self, writer: Writer) -> None:
        while True:
            while not self._queue:
                if self._is_closing:
                    return
                idle = self._loop.create_future()
                self._idle.append(idle)
                await idle
            first = self._queue.popleft()
            group = [first]
            records = len(first.batch.numbers)
            of_other_kinds = []
            while self._queue and records < FLUSH_RECORDS:
                pending = self._queue.popleft()
                count = len(pending.batch.numbers)
                if _kind(pending.batch) == _kind(first.batch) and records + count <= FLUSH_RECORDS:
                    group.append(pending)
                    records += count
                else:
                    of_other_kinds.append(pending)
            self._queue.extendleft(reversed(of_other_kinds))
            self._waiting_records -= records
            if self._queue:
                self._call_for_help()
            self._busy += 1
            try:
                await self._flush(writer, group)
            finally:
                self._busy -= 1
                # Only if something unforeseen was raised.
                _fail(group, Unavailable("The write failed. Send the records again in a moment."))

    def _call_for_help(self) -> None:
        if self._waiting_records >= PARALLEL_RECORDS:
            self._wake_one()
        elif self._impatience is None:
            self._impatience = self._loop.call_later(LONGEST_WAIT_SECONDS, self._lose_patience)

    def _lose_patience(self) -> None:
        self._impatience = None
        if self._queue:
            self._wake_one()

    def _wake_one(self) -> None:
        if self._idle:
            _resolve(self._idle.popleft())

    async def _flush(self, writer: Writer, group: list[_Pending]) -> None:
        try:
            outcomes = await writer.write([pending.batch for pending in group])
        except StaleTarget as stale:
            _fail([pending for pending in group if pending.batch in stale.batches], stale)
            fresh = [pending for pending in group if pending.batch not in stale.batches]
            if fresh:
                await self._flush(writer, fresh)
        except RowsRefused as error:
            if len(group) == 1:
                _fail(group, error)
            else:
                for pending in group:
                    await self._flush(writer, [pending])
        except Unavailable as error:
            _fail(group, error)
        else:
            for pending, outcome in zip(group, outcomes, strict=True):
                if not pending.done.done():  # its request may have gone away
                    pending.done.set_result(outcome)


def _kind(batch: Batch) -> tuple[type[Batch], bool]:
    return type(batch), batch.historical


def _fail(group: Sequence[_Pending], error: Exception) -> None:
    for pending in group:
        if not pending.done.done():
            pending.done.set_exception(error)


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
