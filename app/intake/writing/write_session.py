"""One asynchronous connection for writing: transactions that lock their deployments and end within a time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from ...database.engine import SESSION_SETTINGS
from .write_batches import Batch, StaleTarget
from .write_target import ROW_VERSION

WRITE_SECONDS = 10.0
"""Limit of a transaction. An hour's check waits 30 seconds for writes that began in the hour."""

_CONNECT_SECONDS = 5

Rows = list[tuple[Any, ...]]

# A deployment that is being deleted is skipped, not waited for: that may take long.
_PREPARATION = f"""
PREPARE lock_deployments (int[]) AS
SELECT no, {ROW_VERSION}::text FROM deployments WHERE no = ANY ($1) ORDER BY no FOR KEY SHARE SKIP LOCKED
"""  # noqa: S608 - nothing of it comes from outside


@dataclass(eq=False)
class WriteSession:
    _connection: psycopg.AsyncConnection[tuple[Any, ...]]
    _seconds: float
    _deadline: float = 0.0

    @classmethod
    async def open(cls, url: str, *, seconds: float = WRITE_SECONDS) -> "WriteSession":
        connection = await psycopg.AsyncConnection.connect(
            url,
            autocommit=True,
            application_name="evenhand ingest",
            connect_timeout=_CONNECT_SECONDS,
            # Otherwise a ROLLBACK deallocates all statements, also `lock_deployments`.
            prepare_threshold=None,
        )
        session = cls(connection, seconds)
        limits = (f"SET statement_timeout = {round(seconds * 1000)}", "SET client_min_messages = error")
        try:
            await session.run("; ".join((*SESSION_SETTINGS, *limits, _PREPARATION)).encode())
        except BaseException:
            await session.close()
            raise
        return session

    @property
    def is_lost(self) -> bool:
        return self._connection.closed

    @asynccontextmanager
    async def transaction(self, batches: Sequence[Batch]) -> AsyncIterator[None]:
        """The block ends with `commit`, else all is rolled back.

        Raises StaleTarget and TimeoutError.
        """
        self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                try:
                    await self._lock(batches)
                    yield
                except (StaleTarget, psycopg.Error):
                    if not self.is_lost:
                        await self.run(b"ROLLBACK")
                    raise
        finally:
            # The conversation may be half finished, and the server rolls back.
            if self._connection.info.transaction_status != TransactionStatus.IDLE:
                await self.close()

    async def _lock(self, batches: Sequence[Batch]) -> None:
        numbers = ",".join(str(no) for no in sorted({batch.deployment_no for batch in batches}))
        versions: dict[int, str] = dict(
            await self.run(f"BEGIN; EXECUTE lock_deployments ('{{{numbers}}}')".encode())
        )
        stale = [batch for batch in batches if versions.get(batch.deployment_no) != batch.row_version]
        if stale:
            raise StaleTarget(stale)

    async def copy(self, table: str, columns: str, lines: bytes) -> None:
        async with self._connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN".encode()) as copy:
            await copy.write(lines)

    async def commit(self, script: bytes) -> Rows:
        # After a pause of the whole process the limit has not been noticed yet.
        if asyncio.get_running_loop().time() > self._deadline:
            raise TimeoutError
        return await self.run(script + b"COMMIT")

    async def run(self, script: bytes) -> Rows:
        cursor = await self._connection.execute(script)
        rows = []
        async for _ in cursor.results():
            if cursor.description is not None:
                rows = await cursor.fetchall()
        return rows

    async def close(self) -> None:
        await self._connection.close()
