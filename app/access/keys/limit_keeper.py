"""Enforces the limits of API keys in one process, and counts what keys use.

Both are exchanged with the database every few seconds, never in a request. Each process enforces its share of
a rate; several services on one database each allow the whole rate. The storage quota is one for all, and may
be exceeded by what a key sends within `SYNC_SECONDS`.
"""

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Callable

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ...base.clock import monotonic_seconds
from ...base.errors import QuotaReached, RateReached, Unavailable
from ...base.telemetry.prometheus import refused_requests
from ...database.engine import Database
from .queries import BURST_SECONDS, KeyLimit, KeyLimits, add_use, find_key_use, read_all_limits

SYNC_SECONDS = 5.0
"""Between two exchanges with the database."""

_MAX_KEYS = 10_000

log = structlog.get_logger("evenhand.limits")


class TokenBucket:
    """Units that a key may use now; they fill up at the rate, to `BURST_SECONDS` of it."""

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._capacity = max(rate * BURST_SECONDS, 1.0)
        self._left = self._capacity
        self._filled_at = now

    def find_wait_seconds(self, count: float, now: float) -> float:
        self._left = min(self._capacity, self._left + max(0.0, now - self._filled_at) * self.rate)
        self._filled_at = now
        return max(0.0, (count - self._left) / self.rate)

    def take(self, count: float) -> None:
        """Takes `count`, also if less is there: later demands wait until the debt is paid."""
        self._left -= count


class LimitKeeper:
    """Limits and use of the keys in one process. Belongs to one event loop."""

    def __init__(
        self, database: Database, *, processes: int, clock: Callable[[], float] = monotonic_seconds
    ) -> None:
        self._database = database
        self._share = 1 / processes
        self._clock = clock
        self._limits: dict[str, KeyLimits] = {}
        self._stored: dict[str, int] = {}
        self._buckets: dict[tuple[str, KeyLimit], TokenBucket] = {}
        self._tallies: dict[str, Counter[str]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.sync()

    def admit_request(self, key_id: str, size: int) -> None:
        """Admits a request as soon as the records of earlier ones are within the rate: the number of its own
        is known afterwards.

        Raises RateReached and QuotaReached.
        """
        self.admit_storage(key_id, size)
        self.admit_rate(key_id)

    def admit_storage(self, key_id: str, size: int) -> None:
        limits = self._limits.get(key_id)
        if limits is not None and limits.max_bytes is not None:
            used = self._stored.get(key_id, 0) + self._tallies.get(key_id, Counter())["bytes"]
            if used + size > limits.max_bytes:
                self._refuse(key_id, KeyLimit.STORAGE)
                raise QuotaReached(
                    f"This key may store {limits.max_bytes:,} bytes of records and has stored {used:,}; "
                    f"this request has {size:,}. "
                    "Nothing was stored. An admin can raise the limit storage of the key."
                )

    def admit_rate(self, key_id: str) -> None:
        """Raises RateReached."""
        limits = self._limits.get(key_id)
        if limits is None:
            return
        now = self._clock()
        bucket = None
        for kind, rate, count in (
            (KeyLimit.RECORDS, limits.records_per_second, 0),
            (KeyLimit.REQUESTS, limits.requests_per_second, 1),
        ):
            bucket = self._find_bucket(key_id, kind, rate, now)
            wait = 0.0 if bucket is None else bucket.find_wait_seconds(count, now)
            if wait > 0:
                self._refuse(key_id, kind)
                raise RateReached(
                    f"This key may send {rate:g} {kind.value} a second and sends more. Nothing was stored; "
                    "send it again after the pause.",
                    retry_after_seconds=math.ceil(wait),
                )
        if bucket is not None:
            bucket.take(1)

    def note_stored(self, key_id: str, *, sent: int, records: int, size: int) -> None:
        limits = self._limits.get(key_id)
        if limits is not None:
            bucket = self._find_bucket(key_id, KeyLimit.RECORDS, limits.records_per_second, self._clock())
            if bucket is not None:
                bucket.take(sent)
        tally = self._tallies.get(key_id)
        if tally is None:
            if len(self._tallies) >= _MAX_KEYS:
                return
            tally = self._tallies[key_id] = Counter()
        tally.update(requests=1, records=records, bytes=size)

    async def sync(self) -> None:
        tallies, self._tallies = self._tallies, {}
        try:
            self._limits, self._stored = await asyncio.to_thread(self._exchange, tallies)
        except (Unavailable, SQLAlchemyError) as error:
            for key_id, tally in tallies.items():
                self._tallies.setdefault(key_id, Counter()).update(tally)
            log.info("key_use_delayed", reason=str(error))
        self._buckets = {
            bucket_key: bucket
            for bucket_key, bucket in self._buckets.items()
            if bucket_key[0] in self._limits
        }

    async def _run(self) -> None:
        while True:
            await self.sync()
            await asyncio.sleep(SYNC_SECONDS)

    def _exchange(self, tallies: dict[str, Counter[str]]) -> tuple[dict[str, KeyLimits], dict[str, int]]:
        with self._database.transaction() as session:
            add_use(session, tallies)
            limits = read_all_limits(session)
            used = find_key_use(session) if limits else {}
        return limits, {key_id: use.bytes for key_id, use in used.items()}

    def _find_bucket(self, key_id: str, kind: KeyLimit, rate: float | None, now: float) -> TokenBucket | None:
        if rate is None:
            return None
        share = rate * self._share
        bucket = self._buckets.get((key_id, kind))
        if bucket is None or bucket.rate != share:
            bucket = self._buckets[key_id, kind] = TokenBucket(share, now)
        return bucket

    def _refuse(self, key_id: str, kind: KeyLimit) -> None:
        refused_requests.labels(kind.value).inc()
        self._tallies.setdefault(key_id, Counter())["refused"] += 1
