"""Stores calls as payload records, none twice."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog

from ..domain.arrivals import LogKind, RecordSource, RejectionReason
from ..domain.intake import IntakeOutcome
from ..errors import InvalidInput, NotFound, ScoringFailed, TooLarge, UnsupportedMediaType
from ..ingest import Ingestion
from ..store.database.engine import Database
from ..store.records.call_halves import CallKey, expire_halves
from ..store.records.intake_counts import add_counts
from .counting import IntakeCounts
from .entries import CallHalf, CallSide, CallSource, CompleteCall, Entry
from .pairing import forget_calls, pair_halves
from .plans import CallPlans

LANES = 16
"""Entries at once, which share commits."""

HALF_LIFE = timedelta(hours=1)

MAX_HALVES, MAX_HALVES_BYTES = 50_000, 256 * 1024 * 1024
"""Of one deployment; the oldest expire."""

SWEEP_HALVES = 5_000
"""After so many new halves these bounds are enforced at once."""

_EXPIRED = {CallSide.REQUEST: IntakeOutcome.UNPAIRED_REQUEST, CallSide.RESPONSE: IntakeOutcome.UNPAIRED_RESPONSE}
_MISSING = {
    CallSide.REQUEST: "no answer of the model came in time: the model may have failed, or its answer was not reported",
    CallSide.RESPONSE: "the request of this answer did not come in time",
}

log = structlog.get_logger("evenhand.intake")


class CallStore:
    """Stores entries, and counts what became of them. Belongs to one event loop."""

    def __init__(self, database: Database, ingestion: Ingestion, plans: CallPlans, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._ingestion = ingestion
        self._plans = plans
        self._clock = clock
        self._new_halves = 0
        self.counts = IntakeCounts()

    async def store(self, entries: Sequence[Entry]) -> None:
        """Stores entries durably; after an error all of them may be given again.

        Raises:
            Unavailable: the database does not answer.
        """
        calls = deque(one for one in entries if isinstance(one, CompleteCall))
        halves = [one for one in entries if isinstance(one, CallHalf)]
        paired: list[CallKey] = []
        if halves:
            found = await asyncio.to_thread(pair_halves, self._database, self._plans.sealer, halves)
            self._new_halves += found.waiting
            paired = found.keys
            calls.extend(found.calls)

        turn = asyncio.Lock()

        async def work() -> None:
            while calls:
                # One call in each pass of the event loop: callers of models never wait for several.
                async with turn:
                    await asyncio.sleep(0)
                if calls:
                    await self._store_call(calls.popleft())

        ended = await asyncio.gather(*(work() for _ in range(min(LANES, len(calls)))), return_exceptions=True)
        if fault := next((one for one in ended if one is not None), None):
            raise fault
        if paired:
            await asyncio.to_thread(forget_calls, self._database, paired)
        if self._new_halves >= SWEEP_HALVES:
            await self.sweep()

    async def sweep(self) -> None:
        """Expires halves, and stores the counts.

        Raises:
            Unavailable: the database does not answer.
        """
        self._new_halves = 0
        counts = self.counts.collected()
        # Counts that come meanwhile, on the event loop, belong to the next time.
        self.counts.clear()

        expired = IntakeCounts()

        def sweep_database() -> None:
            with self._database.transaction() as session:
                limit = self._clock() - HALF_LIFE
                for one in expire_halves(session, before=limit, most=MAX_HALVES, most_bytes=MAX_HALVES_BYTES):
                    side, at = CallSide(one.side), one.hour
                    expired.add(one.deployment_no, one.source, _EXPIRED[side], one.count, received_at=at, reason=_MISSING[side])
                add_counts(session, [*counts, *expired.collected()])

        try:
            await asyncio.to_thread(sweep_database)
        except BaseException:
            for one in counts:
                self.counts.add(one.deployment_no, one.source, one.outcome, one.count, received_at=one.hour, reason=one.reason)
            raise
        for one in expired.collected():
            self._ingestion.rejections.note(
                one.deployment_no,
                RejectionReason.ORPHAN,
                source=RecordSource.EVENT,
                kind=LogKind.PAYLOAD,
                now=one.hour,
                records=one.count,
            )

    async def _store_call(self, call: CompleteCall) -> None:
        def count(outcome: IntakeOutcome, records: int, reason: str | None = None) -> None:
            self.counts.add(call.deployment_no, call.source, outcome, records, received_at=call.received_at, reason=reason)

        try:
            plan = await self._plans.current(call.deployment_id)
            if plan.deployment.no != call.deployment_no:
                log.warning("the deployment of a call was deleted, and another one has its id", deployment=call.deployment_id)
                return
            source = RecordSource.GATEWAY if call.source is CallSource.GATEWAY else RecordSource.EVENT
            receipt = await self._ingestion.log_exchange(call.deployment_id, call.exchange, plan.codec, source=source, now=self._clock())
        except NotFound:
            log.warning("the deployment of a call was deleted", deployment=call.deployment_id)
        except (InvalidInput, ScoringFailed, TooLarge, UnsupportedMediaType) as error:
            first = error.problems[0] if isinstance(error, InvalidInput) else None
            count(IntakeOutcome.REJECTED, 1, str(error) if first is None else f"{first.field}: {first.message}")
        else:
            count(IntakeOutcome.STORED, receipt.accepted)
            count(IntakeOutcome.DUPLICATE, receipt.duplicate)
            reason = None
            if receipt.rejections:
                reason = f"{receipt.rejections[-1].field}: {receipt.rejections[-1].reason}"
            elif receipt.conflicts:
                reason = f"id: {receipt.conflicts[-1].reason}"
            count(IntakeOutcome.REJECTED, receipt.rejected, reason)
