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
"""Waiting records from which another write begins: fewer do better to share the next commit."""

MAX_WAIT_SECONDS = 0.05
"""Wait after which another write begins, too: the present one may be held up by another process."""

MAX_GROUP_RECORDS = 10_000
"""Max records of one transaction, unless a single batch is larger."""

MAX_PENDING_RECORDS = 200_000

log = structlog.get_logger()


@dataclass(slots=True)
class _Pending:
    batch: Batch
    done: "asyncio.Future[WriteOutcome]"


class GroupCommit:
    """Queue of batches and the writers that empty it. Belongs to one event loop."""

    def __init__(
        self, url: str, *, writers: int = WRITERS, pending_records: int = MAX_PENDING_RECORDS
    ) -> None:
        outages = OutageLog("database_unreachable", "database_reachable")
        self._idle = [Writer(url, outages) for _ in range(writers)]
        self._tasks: set[asyncio.Task[None]] = set()
        self._max_pending = pending_records
        self._queue: deque[_Pending] = deque()
        self._waiting_records = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_closing = False

    async def stop(self) -> None:
        self._is_closing = True
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        for writer in self._idle:
            await writer.close()

    @property
    def is_saturated(self) -> bool:
        return self._waiting_records >= self._max_pending

    async def write(self, batch: Batch) -> WriteOutcome:
        """Returns after the durable commit. Raises Unavailable (too much waits, or Postgres does not answer:
        the outcome may be unknown), StaleTarget, RowsRefused.
        """
        count = len(batch.numbers)
        if self._is_closing:
            raise Unavailable("The service is stopping. Send the records again in a moment.")
        if self._waiting_records and self._waiting_records + count > self._max_pending:
            raise Unavailable(
                f"{self._waiting_records:,} records are waiting to be written already. Send these again in "
                "a moment."
            )
        pending = _Pending(batch, asyncio.get_running_loop().create_future())
        self._queue.append(pending)
        self._waiting_records += count
        # Without another write, waiting for further batches would only cost time.
        if not self._tasks or self._waiting_records >= PARALLEL_RECORDS:
            self._begin_write()
        else:
            self._start_timer()
        return await pending.done

    def _begin_write(self) -> None:
        if self._queue and self._idle:
            writer = self._idle.pop()
            task = asyncio.create_task(self._write_group(writer))
            self._tasks.add(task)
            task.add_done_callback(lambda ended: self._end_write(writer, ended))

    def _end_write(self, writer: Writer, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._idle.append(writer)
        if task.cancelled():
            return
        if task.exception() is not None:
            log.error("writer_died", exc_info=task.exception())
        self._begin_write()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(MAX_WAIT_SECONDS, self._end_wait)

    def _end_wait(self) -> None:
        self._timer = None
        self._begin_write()

    async def _write_group(self, writer: Writer) -> None:
        group: list[_Pending] = []
        records = 0
        waiting = []
        while self._queue and records < MAX_GROUP_RECORDS:
            pending = self._queue.popleft()
            count = len(pending.batch.numbers)
            if not group or (
                _get_kind(pending.batch) == _get_kind(group[0].batch) and records + count <= MAX_GROUP_RECORDS
            ):
                group.append(pending)
                records += count
            else:
                waiting.append(pending)
        self._queue.extendleft(reversed(waiting))
        self._waiting_records -= records
        if self._waiting_records >= PARALLEL_RECORDS:
            self._begin_write()
        elif self._queue:
            self._start_timer()
        try:
            if group:
                await self._flush(writer, group)
        finally:
            # Has an effect only if something unforeseen was raised: else all have an outcome.
            _fail_all(group, Unavailable("The write failed. Send the records again in a moment."))

    async def _flush(self, writer: Writer, group: list[_Pending]) -> None:
        try:
            outcomes = await writer.write([pending.batch for pending in group])
        except StaleTarget as stale:
            _fail_all([pending for pending in group if pending.batch in stale.batches], stale)
            fresh = [pending for pending in group if pending.batch not in stale.batches]
            if fresh:
                await self._flush(writer, fresh)
        except RowsRefused as error:
            if len(group) == 1:
                _fail_all(group, error)
            else:
                for pending in group:
                    await self._flush(writer, [pending])
        except Unavailable as error:
            _fail_all(group, error)
        else:
            for pending, outcome in zip(group, outcomes, strict=True):
                if not pending.done.done():  # its request may have gone away
                    pending.done.set_result(outcome)


def _get_kind(batch: Batch) -> tuple[type[Batch], bool]:
    return type(batch), batch.historical


def _fail_all(group: Sequence[_Pending], error: Exception) -> None:
    for pending in group:
        if not pending.done.done():
            pending.done.set_exception(error)
