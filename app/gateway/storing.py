"""Entries become payload records: complete calls at once, halves when their call is complete. Nothing is stored twice."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog

from ..domain.intake import IntakeCount, IntakeOutcome
from ..errors import EvenhandError, InvalidInput, NotFound, ScoringFailed, TooLarge, UnsupportedMediaType
from ..ingest import Ingestion
from ..ingest.exchanges import CapturedBody, Exchange
from ..store.database.engine import Database
from ..store.records.call_halves import CallKey, StoredHalf, add_halves, expire_halves, find_halves, remove_halves
from ..store.records.intake_counts import add_counts
from .counting import IntakeCounts
from .entries import CallHalf, CompleteCall, Entry, Side, Source
from .plans import CallPlans

LANES = 16
"""Entries that are read and written at the same time; they share commits."""

HALF_LIFE = timedelta(hours=1)
"""Time for which a half waits for the other one."""

MAX_HALVES, MAX_HALVES_BYTES = 50_000, 256 * 1024 * 1024
"""Max halves of one deployment that wait, and max bytes of their bodies; the oldest expire."""

SWEEP_HALVES = 5_000
"""Number of new halves after which these bounds are enforced; they are, too, every few seconds."""

_EXPIRED = {Side.REQUEST: IntakeOutcome.UNPAIRED_REQUEST, Side.RESPONSE: IntakeOutcome.UNPAIRED_RESPONSE}
_MISSING = {
    Side.REQUEST: "no answer of the model came in time: the model may have failed, or its answer was not reported",
    Side.RESPONSE: "the request of this answer did not come in time",
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
        """Stores entries, after whose durable commit it returns; after an error all of them may be given again.

        Raises:
            Unavailable: the database does not answer.
        """
        calls = deque(one for one in entries if isinstance(one, CompleteCall))
        halves = [one for one in entries if isinstance(one, CallHalf)]
        paired: list[CallKey] = []
        if halves:
            found, paired = await asyncio.to_thread(self._pair, halves)
            calls.extend(found)
        ended = await asyncio.gather(*(self._work(calls) for _ in range(min(LANES, len(calls)))), return_exceptions=True)
        if fault := next((one for one in ended if one is not None), None):
            raise fault
        if paired:
            await asyncio.to_thread(self._remove, paired)
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
        try:
            await asyncio.to_thread(self._sweep, counts)
        except BaseException:
            for one in counts:
                self.counts.add(one.deployment_no, one.source, one.outcome, one.count, received_at=one.hour, reason=one.reason)
            raise

    async def _work(self, calls: deque[CompleteCall]) -> None:
        """Stores calls until none is left."""
        while calls:
            await self._store_call(calls.popleft())

    async def _store_call(self, call: CompleteCall) -> None:
        def count(outcome: IntakeOutcome, records: int, reason: str | None = None) -> None:
            self.counts.add(call.deployment_no, call.source, outcome, records, received_at=call.received_at, reason=reason)

        try:
            plan = await self._plans.current(call.deployment_id)
            if plan.deployment.no != call.deployment_no:
                log.warning("the deployment of a call was deleted, and another one has its id", deployment=call.deployment_id)
                return
            receipt = await self._ingestion.log_exchange(call.deployment_id, call.exchange, plan.codec, now=self._clock())
        except NotFound:
            log.warning("the deployment of a call was deleted", deployment=call.deployment_id)
        except (InvalidInput, ScoringFailed, TooLarge, UnsupportedMediaType) as error:
            count(IntakeOutcome.REJECTED, 1, _describe(error))
        else:
            count(IntakeOutcome.STORED, receipt.accepted)
            count(IntakeOutcome.DUPLICATE, receipt.duplicate)
            reason = None
            if receipt.rejections:
                reason = f"{receipt.rejections[-1].field}: {receipt.rejections[-1].reason}"
            elif receipt.conflicts:
                reason = f"id: {receipt.conflicts[-1].reason}"
            count(IntakeOutcome.REJECTED, receipt.rejected, reason)

    def _pair(self, halves: Sequence[CallHalf]) -> tuple[list[CompleteCall], list[CallKey]]:
        """Returns the calls that these halves complete, and their keys; the others are stored to wait. Blocks."""
        found: defaultdict[CallKey, dict[str, StoredHalf]] = defaultdict(dict)
        names = {one.deployment_no: one.deployment_id for one in halves}
        for one in halves:
            found[CallKey(one.deployment_no, one.call_id)].setdefault(one.side, _to_stored(one))
        alone = [key for key, sides in found.items() if len(sides) < len(Side)]
        if alone:
            # Committed before it is looked for the other half: of two processes that get one each, one sees both.
            with self._database.transaction() as session:
                add_halves(session, [half for key in alone for half in found[key].values()])
            with self._database.transaction() as session:
                for half in find_halves(session, alone):
                    found[CallKey(half.deployment_no, half.call_id)][half.side] = half
        complete = {key: sides for key, sides in found.items() if len(sides) == len(Side)}
        self._new_halves += len(found) - len(complete)
        calls = [_join(names[key.deployment_no], sides[Side.REQUEST], sides[Side.RESPONSE]) for key, sides in complete.items()]
        return calls, list(complete)

    def _remove(self, keys: Sequence[CallKey]) -> None:
        with self._database.transaction() as session:
            remove_halves(session, keys)

    def _sweep(self, counts: Sequence[IntakeCount]) -> None:
        expired = IntakeCounts()
        with self._database.transaction() as session:
            limit = self._clock() - HALF_LIFE
            for one in expire_halves(session, before=limit, most=MAX_HALVES, most_bytes=MAX_HALVES_BYTES):
                side = Side(one.side)
                expired.add(one.deployment_no, one.source, _EXPIRED[side], one.count, received_at=one.hour, reason=_MISSING[side])
            add_counts(session, [*counts, *expired.collected()])


def _to_stored(half: CallHalf) -> StoredHalf:
    return StoredHalf(
        deployment_no=half.deployment_no,
        call_id=half.call_id,
        side=half.side.value,
        source=half.source.value,
        received_at=half.received_at,
        stated_at=half.stated_at,
        content_type=half.body.content_type,
        encoding=half.body.encoding,
        body=half.body.body,
    )


def _join(deployment_id: str, request: StoredHalf, response: StoredHalf) -> CompleteCall:
    exchange = Exchange(
        call_id=response.call_id,
        scored_at=response.stated_at or response.received_at,
        request=CapturedBody(request.body, request.content_type, request.encoding),
        answer=CapturedBody(response.body, response.content_type, response.encoding),
    )
    return CompleteCall(
        deployment_id=deployment_id,
        deployment_no=response.deployment_no,
        source=Source(response.source),
        received_at=response.received_at,
        exchange=exchange,
    )


def _describe(error: EvenhandError) -> str:
    """Returns why a call could not be read, the first of several reasons."""
    return f"{error.problems[0].field}: {error.problems[0].message}" if isinstance(error, InvalidInput) else str(error)
