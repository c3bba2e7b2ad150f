"""Record numbers: reserved in blocks, handed out from memory."""

import asyncio
from collections import deque

from sqlalchemy import func, select

from ...database.engine import Database
from ...database.tables.records import RECORD_NO_BLOCK, record_no_seq

BLOCKS_AT_ONCE = 20

_MIN_RESERVE = BLOCKS_AT_ONCE * RECORD_NO_BLOCK // 2


class RecordNumbers:
    """Hands out numbers that no other process has. Belongs to one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: deque[int] = deque()
        self._refill: asyncio.Task[None] | None = None

    async def take(self, count: int) -> list[int]:
        """Returns ascending numbers. Raises Unavailable."""
        while len(self._numbers) < count:
            # Shared: a caller that gives up must not take it from others.
            await asyncio.shield(self._start_refill())
        if len(self._numbers) - count < _MIN_RESERVE:
            self._start_refill()
        return [self._numbers.popleft() for _ in range(count)]

    async def stop(self) -> None:
        if self._refill is not None:
            await asyncio.gather(self._refill, return_exceptions=True)

    def _start_refill(self) -> "asyncio.Task[None]":
        if self._refill is None or self._refill.done():
            self._refill = asyncio.create_task(self._reserve())
            self._refill.add_done_callback(_note_error)
        return self._refill

    async def _reserve(self) -> None:
        for start in await asyncio.to_thread(_reserve_blocks, self._database):
            self._numbers.extend(range(start, start + RECORD_NO_BLOCK))


def _reserve_blocks(database: Database) -> list[int]:
    with database.transaction() as session:
        return sorted(
            session.scalars(
                select(record_no_seq.next_value()).select_from(func.generate_series(1, BLOCKS_AT_ONCE))
            )
        )


def _note_error(task: "asyncio.Task[None]") -> None:
    # A caller that needs the numbers asks again and gets the error.
    if not task.cancelled():
        task.exception()
