"""Stores calls as payload records, none twice."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog
from msgspec import structs

from ...access.column_keys import open_body, seal_body
from ...base.clock import floor_to_hour, monotonic_seconds, utc_now
from ...base.errors import InvalidInput, NotFound, ScoringFailed, TooLarge, UnsupportedMediaType
from ...base.frozen import frozen
from ...database.binary_rows import read_row
from ...database.engine import Database, Sealer
from ...deployments.queries import Deployments
from ...domain.arrival import LogKind, RecordSource, RejectionReason
from ..logging.model_call import CapturedBody, Exchange
from ..logging.rejection_counts import RejectedPart
from ..logging.service import Ingestion
from ..volume.arrival_queries import add_counts
from .call_plans import CallPlans
from .half_queries import CallKey, StoredHalf, add_halves, expire_halves, find_halves, remove_halves
from .spool_entries import CallHalf, CallSide, CallSource, CompleteCall, Entry, IntakeCount, IntakeOutcome

MAX_REASON_CHARACTERS = 300


class IntakeCounts:
    """Counts that are not stored yet. Belongs to one event loop."""

    def __init__(self) -> None:
        self._totals: dict[IntakeCount, IntakeCount] = {}

    def add(self, added: IntakeCount) -> None:
        """Adds to the hour that the `hour`, any time, lies in."""
        if not added.count:
            return
        key = replace(added, hour=floor_to_hour(added.hour), count=0, reason=None)
        total = self._totals.get(key, key)
        reason = total.reason if added.reason is None else added.reason[:MAX_REASON_CHARACTERS]
        self._totals[key] = replace(total, count=total.count + added.count, reason=reason)

    def collected(self) -> list[IntakeCount]:
        return list(self._totals.values())


LANES = 16
"""Entries at once, which share commits."""

HALF_LIFE = timedelta(hours=1)

SWEEP_HALVES = 5_000
"""After so many new halves the bounds of a deployment are enforced at once."""

_SEALED = "sealed "
"""Begins the content encoding of an encrypted half; no real one has a blank."""

log = structlog.get_logger("evenhand.intake")


@frozen
class _PairedCalls:
    calls: list[CompleteCall]
    keys: list[CallKey]
    waiting: int


@dataclass
class CallStore:
    """Stores entries, and counts what became of them. Belongs to one event loop."""

    database: Database
    ingestion: Ingestion
    plans: CallPlans
    counts: IntakeCounts = field(default_factory=IntakeCounts)
    _started_at: datetime = field(default_factory=utc_now)
    _started: float = field(default_factory=monotonic_seconds)
    _new_halves: int = 0

    async def store(self, entries: Sequence[Entry]) -> None:
        """Stores entries durably; after an error all of them may be given again.

        Raises:
            Unavailable: the database does not answer.
        """
        calls = deque(entry for entry in entries if isinstance(entry, CompleteCall))
        halves = [entry for entry in entries if isinstance(entry, CallHalf)]
        paired = []
        if halves:
            pairing = await asyncio.to_thread(_pair_halves, self.database, self.plans.sealer, halves)
            self._new_halves += pairing.waiting
            paired = pairing.keys
            calls.extend(pairing.calls)

        turn = asyncio.Lock()

        async def work() -> None:
            while calls:
                # One call in each pass of the event loop: callers of models never wait for several.
                async with turn:
                    await asyncio.sleep(0)
                if calls:
                    await self._store_call(calls.popleft())

        ended = await asyncio.gather(*(work() for _ in range(min(LANES, len(calls)))), return_exceptions=True)
        if fault := next((failure for failure in ended if failure is not None), None):
            raise fault
        if paired:
            await asyncio.to_thread(remove_halves, self.database, paired)
        if self._new_halves >= SWEEP_HALVES:
            await self.sweep()

    async def sweep(self) -> None:
        """Expires halves, and stores the counts.

        Raises:
            Unavailable: the database does not answer.
        """
        self._new_halves = 0
        # Counts that come meanwhile, on the event loop, belong to the next time.
        counts, self.counts = self.counts.collected(), IntakeCounts()

        def sweep_database() -> list[IntakeCount]:
            with self.database.transaction() as session:
                running = timedelta(seconds=monotonic_seconds() - self._started)
                # A clock that was ahead at the start, or is ahead since, expires nothing early.
                limit = (
                    None if running < HALF_LIFE else min(utc_now(), self._started_at + running) - HALF_LIFE
                )
                unpaired = expire_halves(session, before=limit)
                add_counts(session, [*counts, *unpaired])
                return unpaired

        try:
            expired = await asyncio.to_thread(sweep_database)
        except BaseException:
            for total in counts:
                self.counts.add(total)
            raise
        for total in expired:
            orphans = {RejectedPart(RejectionReason.ORPHAN): total.count}
            source, kind = RecordSource.EVENT, LogKind.PAYLOAD
            self.ingestion.rejections.note(
                total.deployment_no, orphans, source=source, kind=kind, now=total.hour
            )

    async def _store_call(self, call: CompleteCall) -> None:
        def count(outcome: IntakeOutcome, records: int, reason: str | None = None) -> None:
            further = {"hour": call.received_at, "outcome": outcome, "count": records, "reason": reason}
            self.counts.add(read_row(IntakeCount, call, **further))

        try:
            plan = await self.plans.current(call.deployment_id)
            if plan.deployment.no != call.deployment_no:
                log.warning(
                    "the deployment of a call was deleted, and another one has its id",
                    deployment=call.deployment_id,
                )
                return
            source = RecordSource.GATEWAY if call.source is CallSource.GATEWAY else RecordSource.EVENT
            receipt = await self.ingestion.log_exchange(
                call.deployment_id, call.exchange, plan.codec, source=source, now=utc_now()
            )
        except NotFound:
            log.warning("the deployment of a call was deleted", deployment=call.deployment_id)
        except (InvalidInput, ScoringFailed, TooLarge, UnsupportedMediaType) as error:
            first = error.problems[0] if isinstance(error, InvalidInput) else None
            count(
                IntakeOutcome.REJECTED, 1, str(error) if first is None else f"{first.field}: {first.message}"
            )
        else:
            count(IntakeOutcome.STORED, receipt.accepted)
            count(IntakeOutcome.DUPLICATE, receipt.duplicate)
            count(IntakeOutcome.ROUNDED, receipt.rounded)
            reason = None
            if receipt.rejections:
                reason = f"{receipt.rejections[-1].field}: {receipt.rejections[-1].reason}"
            elif receipt.conflicts:
                reason = f"id: {receipt.conflicts[-1].reason}"
            count(IntakeOutcome.REJECTED, receipt.rejected, reason)


def _pair_halves(database: Database, sealer: Sealer, halves: Sequence[CallHalf]) -> _PairedCalls:
    """Calls that these halves complete; the others are stored to wait. Blocks.

    Of a deployment with protected columns they wait encrypted: a body holds values that must not be stored.

    Raises:
        SetupError: the key of protected columns was stored with another secret key.
        Unavailable: the database does not answer.
    """
    halves_of: defaultdict[CallKey, dict[str, StoredHalf]] = defaultdict(dict)
    names = {half.deployment_no: half.deployment_id for half in halves}
    for new_half in halves:
        stored = read_row(StoredHalf, new_half, **structs.asdict(new_half.body))
        halves_of[read_row(CallKey, new_half)].setdefault(new_half.side, stored)
    alone = [key for key, sides in halves_of.items() if len(sides) < len(CallSide)]
    if alone:
        # Committed first: of two processes that get one half each, one sees both.
        with database.transaction() as session:
            keys = Deployments(session, sealer).column_keys({key.deployment_no for key in alone})
            add_halves(
                session,
                [
                    _seal(half, keys.get(half.deployment_no))
                    for key in alone
                    for half in halves_of[key].values()
                ],
            )
        with database.transaction() as session:
            for half in find_halves(session, alone):
                halves_of[read_row(CallKey, half)][half.side] = _open(half, keys.get(half.deployment_no))
    complete = {key: sides for key, sides in halves_of.items() if len(sides) == len(CallSide)}
    calls = [
        _join(names[key.deployment_no], sides[CallSide.REQUEST], sides[CallSide.RESPONSE])
        for key, sides in complete.items()
    ]
    return _PairedCalls(calls, list(complete), len(halves_of) - len(complete))


def _seal(half: StoredHalf, key: bytes | None) -> StoredHalf:
    return (
        half
        if key is None
        else replace(half, body=seal_body(key, half.body), encoding=_SEALED + half.encoding)
    )


def _open(half: StoredHalf, key: bytes | None) -> StoredHalf:
    # One that came before a column was protected is not sealed.
    if key is None or not half.encoding.startswith(_SEALED):
        return half
    return replace(half, body=open_body(key, half.body), encoding=half.encoding.removeprefix(_SEALED))


def _join(deployment_id: str, request: StoredHalf, response: StoredHalf) -> CompleteCall:
    exchange = Exchange(
        call_id=response.call_id,
        scored_at=response.stated_at or response.received_at,
        request=read_row(CapturedBody, request),
        answer=read_row(CapturedBody, response),
    )
    return read_row(CompleteCall, response, deployment_id=deployment_id, exchange=exchange)
