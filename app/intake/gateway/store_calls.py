"""Stores calls as payload records, none twice; halves wait for the other half."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog
from msgspec import structs
from sqlalchemy import ColumnElement, delete, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...access.column_keys import open_body, seal_body
from ...base.clock import floor_to_hour, monotonic_seconds, utc_now
from ...base.errors import InvalidInput, NotFound, ScoringFailed, TooLarge, UnsupportedMediaType
from ...base.values import frozen
from ...database.binary_rows import read_row
from ...database.engine import Database, Sealer
from ...database.tables import CallHalfRow, ErasedIdRow
from ...deployments.queries import Deployments, find_existing_numbers
from ...domain.record import digest_id
from ...domain.record_times import LogKind, RecordSource, RejectionReason
from ..logging.model_call import CapturedBody, Exchange
from ..logging.rejection_counts import RejectionCause
from ..logging.service import Ingestion
from ..volume.arrival_queries import add_counts
from .call_events import CallHalf, CallSide, CallSource, CompleteCall, IntakeCount, IntakeOutcome, SpoolEntry
from .forward import CallPlans

MAX_HALVES = 50_000
MAX_HALVES_BYTES = 256 * 1024 * 1024
"""Limits of the halves of one deployment that wait for the other half; older ones expire."""


@frozen
class CallKey:
    deployment_no: int
    call_id: str


_UNPAIRED_OUTCOMES = {
    CallSide.REQUEST: IntakeOutcome.UNPAIRED_REQUEST,
    CallSide.RESPONSE: IntakeOutcome.UNPAIRED_RESPONSE,
}
_UNPAIRED_REASONS = {
    CallSide.REQUEST: "no answer of the model came in time: the model may have failed, or its answer was "
    "not reported",
    CallSide.RESPONSE: "the request of this answer did not come in time",
}

# A half of a stored call is a repetition, and no loss.
_EXPIRE_HALVES = text("""
WITH ranked AS (
    SELECT deployment_no, call_id, side,
        row_number() OVER newest AS place, sum(octet_length(body)) OVER newest AS bytes
    FROM call_halves
    WINDOW newest AS (PARTITION BY deployment_no ORDER BY received_at DESC, call_id, side)
), expired AS (
    DELETE FROM call_halves h USING ranked r
    WHERE h.deployment_no = r.deployment_no AND h.call_id = r.call_id AND h.side = r.side
        AND (h.received_at < :before OR r.place > :max_halves OR r.bytes > :max_bytes)
    RETURNING h.deployment_no, h.call_id, h.side, h.source, h.received_at
)
SELECT e.deployment_no, date_trunc('hour', e.received_at, 'UTC'), e.source, e.side, count(*)
FROM expired e
WHERE NOT EXISTS (
    SELECT FROM payload_keys k
    WHERE k.deployment_no = e.deployment_no AND k.record_id IN (e.call_id, e.call_id || '-1')
)
GROUP BY 1, 2, 3, 4
""")


def add_halves(session: Session, halves: Sequence[CallHalf], keys: Mapping[int, bytes]) -> None:
    """Leaves out those of deleted deployments and of erased records.

    `keys` encrypt the bodies, by number of the deployment; bodies of other deployments are stored as they
    are.
    """
    present_numbers = find_existing_numbers(session, {half.deployment_no for half in halves})
    digests = [(half.deployment_no, digest_id(half.call_id)) for half in halves]
    columns = (ErasedIdRow.deployment_no, ErasedIdRow.digest)
    erased = {
        (no, digest) for no, digest in session.execute(select(*columns).where(tuple_(*columns).in_(digests)))
    }
    stored = [
        half
        for half, digest in zip(halves, digests, strict=True)
        if half.deployment_no in present_numbers and digest not in erased
    ]
    rows = [
        structs.asdict(half) | structs.asdict(half.body)
        for half in sorted(stored, key=lambda half: (half.deployment_no, half.call_id, half.side))
    ]
    for row in rows:
        del row["deployment_id"]
        key = keys.get(row["deployment_no"])
        if key is not None:
            row |= {"body": seal_body(key, row["body"]), "encoding": _SEALED + row["encoding"]}
    if rows:
        session.execute(insert(CallHalfRow).on_conflict_do_nothing(), rows)


def remove_halves(database: Database, keys: Sequence[CallKey]) -> None:
    with database.transaction() as session:
        session.execute(delete(CallHalfRow).where(_match_calls(keys)))


def expire_halves(session: Session, *, before: datetime | None) -> list[IntakeCount]:
    """Includes those beyond the limits of a deployment.

    Returns their numbers by the hour of receipt, without those of stored records.
    """
    rows = session.execute(
        _EXPIRE_HALVES, {"before": before, "max_halves": MAX_HALVES, "max_bytes": MAX_HALVES_BYTES}
    )
    return [
        IntakeCount(
            deployment_no=no,
            hour=hour,
            source=source,
            outcome=_UNPAIRED_OUTCOMES[side],
            count=count,
            reason=_UNPAIRED_REASONS[side],
        )
        for no, hour, source, side, count in rows
    ]


def _match_calls(keys: Sequence[CallKey]) -> ColumnElement[bool]:
    return tuple_(CallHalfRow.deployment_no, CallHalfRow.call_id).in_(
        [(key.deployment_no, key.call_id) for key in keys]
    )


MAX_REASON_CHARACTERS = 300


class IntakeCounts:
    """Counts by hour, source and outcome that wait to be stored. Belongs to one event loop."""

    def __init__(self) -> None:
        self._totals: dict[IntakeCount, IntakeCount] = {}

    def add(self, added: IntakeCount) -> None:
        if not added.count:
            return
        key = replace(added, hour=floor_to_hour(added.hour), count=0, reason=None)
        total = self._totals.get(key, key)
        reason = total.reason if added.reason is None else added.reason[:MAX_REASON_CHARACTERS]
        self._totals[key] = replace(total, count=total.count + added.count, reason=reason)

    def list_totals(self) -> list[IntakeCount]:
        return list(self._totals.values())


MAX_CALLS_AT_ONCE = 16

MAX_HALF_AGE = timedelta(hours=1)

SWEEP_HALVES = 5_000
"""New halves after which old ones are expired at once."""

_SEALED = "sealed "

log = structlog.get_logger("evenhand.intake")


@frozen
class _PairedCalls:
    calls: list[CompleteCall]
    keys: list[CallKey]
    waiting: int


@dataclass
class CallStore:
    database: Database
    ingestion: Ingestion
    plans: CallPlans
    counts: IntakeCounts = field(default_factory=IntakeCounts)
    _started_at: datetime = field(default_factory=utc_now)
    _started_seconds: float = field(default_factory=monotonic_seconds)
    _new_halves: int = 0

    async def store(self, entries: Sequence[SpoolEntry]) -> None:
        calls = [entry for entry in entries if isinstance(entry, CompleteCall)]
        halves = [entry for entry in entries if isinstance(entry, CallHalf)]
        paired_keys = []
        if halves:
            paired = await asyncio.to_thread(_pair_halves, self.database, self.plans.sealer, halves)
            self._new_halves += paired.waiting
            paired_keys = paired.keys
            calls += paired.calls

        slots = asyncio.Semaphore(MAX_CALLS_AT_ONCE)
        turn = asyncio.Lock()

        async def store_call(call: CompleteCall) -> None:
            async with slots:
                # One call in each pass of the event loop: callers of models never wait for several.
                async with turn:
                    await asyncio.sleep(0)
                await self._store_call(call)

        for failure in await asyncio.gather(*map(store_call, calls), return_exceptions=True):
            if failure is not None:
                raise failure
        if paired_keys:
            await asyncio.to_thread(remove_halves, self.database, paired_keys)
        if self._new_halves >= SWEEP_HALVES:
            await self.sweep()

    async def sweep(self) -> None:
        self._new_halves = 0
        # Counts that come meanwhile, on the event loop, belong to the next sweep.
        counts, self.counts = self.counts.list_totals(), IntakeCounts()

        def sweep_database() -> list[IntakeCount]:
            with self.database.transaction() as session:
                uptime = timedelta(seconds=monotonic_seconds() - self._started_seconds)
                # A clock that was ahead at the start, or is ahead since, expires nothing early.
                before = None
                if uptime >= MAX_HALF_AGE:
                    before = min(utc_now(), self._started_at + uptime) - MAX_HALF_AGE
                unpaired = expire_halves(session, before=before)
                add_counts(session, [*counts, *unpaired])
                return unpaired

        try:
            expired = await asyncio.to_thread(sweep_database)
        except BaseException:
            for total in counts:
                self.counts.add(total)
            raise
        for total in expired:
            orphans = {RejectionCause(RejectionReason.ORPHAN): total.count}
            source, kind = RecordSource.EVENT, LogKind.PAYLOAD
            self.ingestion.rejections.note(
                total.deployment_no, orphans, source=source, kind=kind, now=total.hour
            )

    async def _store_call(self, call: CompleteCall) -> None:
        def add_count(outcome: IntakeOutcome, records: int, reason: str | None = None) -> None:
            members = {"hour": call.received_at, "outcome": outcome, "count": records, "reason": reason}
            self.counts.add(read_row(IntakeCount, call, **members))

        try:
            plan = await self.plans.read_plan(call.deployment_id)
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
            reason = str(error)
            if isinstance(error, InvalidInput):
                reason = f"{error.problems[0].field}: {error.problems[0].message}"
            add_count(IntakeOutcome.REJECTED, 1, reason)
        else:
            add_count(IntakeOutcome.STORED, receipt.accepted)
            add_count(IntakeOutcome.DUPLICATE, receipt.duplicate)
            add_count(IntakeOutcome.ROUNDED, receipt.rounded)
            reason = ""
            if receipt.rejections:
                reason = f"{receipt.rejections[-1].field}: {receipt.rejections[-1].reason}"
            elif receipt.conflicts:
                reason = f"id: {receipt.conflicts[-1].reason}"
            add_count(IntakeOutcome.REJECTED, receipt.rejected, reason or None)


def _pair_halves(database: Database, sealer: Sealer, halves: Sequence[CallHalf]) -> _PairedCalls:
    """Joins halves to calls. The others wait, encrypted if the deployment has protected columns.

    Raises SetupError if their key was stored with another secret key, and Unavailable.
    """
    pairs: defaultdict[CallKey, dict[CallSide, CallHalf]] = defaultdict(dict)
    names = {half.deployment_no: half.deployment_id for half in halves}
    for half in halves:
        pairs[read_row(CallKey, half)].setdefault(half.side, half)
    unpaired = [key for key, sides in pairs.items() if len(sides) < len(CallSide)]
    if unpaired:
        # Committed before the others are read: of two processes that get one half each, one sees both.
        with database.transaction() as session:
            keys = Deployments(session, sealer).column_keys({key.deployment_no for key in unpaired})
            add_halves(session, [half for key in unpaired for half in pairs[key].values()], keys)
        with database.transaction() as session:
            for row in session.scalars(select(CallHalfRow).where(_match_calls(unpaired))):
                content = row.body
                encoding = row.encoding
                column_key = keys.get(row.deployment_no)
                # A half that came before a column was protected is not sealed.
                if column_key is not None and encoding.startswith(_SEALED):
                    content = open_body(column_key, content)
                    encoding = encoding.removeprefix(_SEALED)
                body = CapturedBody(content, row.content_type, encoding)
                half = read_row(CallHalf, row, deployment_id=names[row.deployment_no], body=body)
                pairs[read_row(CallKey, half)][half.side] = half
    complete = {key: sides for key, sides in pairs.items() if len(sides) == len(CallSide)}
    calls = []
    for sides in complete.values():
        request = sides[CallSide.REQUEST]
        response = sides[CallSide.RESPONSE]
        exchange = Exchange(
            call_id=response.call_id,
            scored_at=response.stated_at or response.received_at,
            request=request.body,
            answer=response.body,
        )
        calls.append(read_row(CompleteCall, response, exchange=exchange))
    return _PairedCalls(calls, list(complete), len(pairs) - len(complete))
