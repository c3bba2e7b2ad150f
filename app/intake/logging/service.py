"""Reads a batch, checks it, writes it durably, and returns a receipt for each record."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ...base.errors import Conflict, InvalidInput, NotFound, ScoringFailed, Unavailable
from ...base.telemetry.prometheus import ingest_records
from ...base.turns import Turns
from ...base.values import frozen_by_name
from ...database.engine import Database, Sealer
from ...database.partitions import ensure_coming_months, ensure_months
from ...domain.record import Receipt, RecordConflict, digest_id
from ...domain.record_times import LogKind, RecordSource, RejectionReason
from ...payloads.codec import Codec
from ..writing.group_commit import GroupCommit
from ..writing.record_numbers import RecordNumbers
from ..writing.write_batches import (
    ALL_STORED,
    Batch,
    NoPartition,
    PayloadBatch,
    RowsRefused,
    StaleTarget,
    WriteOutcome,
)
from ..writing.write_target import Target, read_target
from .decode_body import INLINE_BYTES, read_bounded
from .encode_lines import encode_feedback, encode_payload, find_too_large, reject_records
from .ingest_plan import CheckedPayload, CheckedRecords, IngestPlan, StatedTimes, build_plan
from .log_request import LogRequest, find_warnings, read_feedback, read_payload
from .model_call import Exchange, read_exchange
from .rejection_counts import RejectionCause, RejectionLog, classify_rejection

_ATTEMPTS = 5

_PAUSE_SECONDS = 0.05

_MAX_PLANS = 1000
"""Plans in memory; with more deployments all are forgotten."""

_INLINE_CALL_BYTES = 64 * 1024
"""Larger bodies of a call are read in a thread."""

_MAX_LARGE_BODIES = 2


@frozen_by_name
class _RecordKind:
    """Steps in which payload and feedback records differ; `conflict` is the reason of a conflict."""

    name: LogKind
    read: Callable[..., Any]
    encode: Callable[..., Batch]
    conflict: str
    inline_bytes: int = INLINE_BYTES


_PAYLOAD = _RecordKind(
    name=LogKind.PAYLOAD,
    read=read_payload,
    encode=encode_payload,
    conflict="a record of this id is stored already, with other content",
)
_FEEDBACK = _RecordKind(
    name=LogKind.FEEDBACK,
    read=read_feedback,
    encode=encode_feedback,
    conflict="feedback of this id is stored already, with another label; correct it at POST …/corrections",
)


class Ingestion:
    """Logs records in one process. Belongs to one event loop."""

    def __init__(self, database: Database, *, sealer: Sealer | None = None) -> None:
        self._database = database
        self._sealer = sealer
        self._commits = GroupCommit(database.url)
        self._numbers = RecordNumbers(database)
        self.rejections = RejectionLog(database)
        self._plans: dict[str, IngestPlan] = {}
        self._large = Turns(
            _MAX_LARGE_BODIES,
            busy="Too many large bodies are waiting to be read. Send the records again in a moment.",
        )

    async def stop(self) -> None:
        await self._commits.stop()
        await self._numbers.stop()
        await self.rejections.stop()

    async def plan(self, deployment_id: str) -> IngestPlan:
        return self._plans.get(deployment_id) or await self.read_current_plan(deployment_id)

    async def log_payload(self, deployment_id: str, request: LogRequest, *, now: datetime) -> Receipt:
        """Raises InvalidInput, TooLarge, UnsupportedMediaType of the body, NotFound, and Unavailable if they
        could not be stored now, or the outcome is unknown: send the same records again.
        """
        return await self._log(_PAYLOAD, deployment_id, request, now)

    async def log_feedback(self, deployment_id: str, request: LogRequest, *, now: datetime) -> Receipt:
        """Raises as `log_payload`."""
        return await self._log(_FEEDBACK, deployment_id, request, now)

    async def try_payload(self, deployment_id: str, request: LogRequest, *, now: datetime) -> Receipt:
        """Stores nothing, and looks up no ids. Raises as `log_payload`."""
        plan = await self.read_current_plan(deployment_id)
        moments = StatedTimes(now, historical=False, earliest=plan.target.earliest)
        checked = read_payload(request, plan, moments)
        if checked.indexes:
            batch = encode_payload(
                checked, plan, moments, _fill_in_ids(checked.ids, now), range(len(checked.indexes))
            )
            reject_records(checked, find_too_large(checked, batch.lines))
        return _build_receipt(_PAYLOAD, checked, ALL_STORED, plan)

    async def log_exchange(
        self,
        deployment_id: str,
        exchange: Exchange,
        codec: Codec | None,
        *,
        source: RecordSource,
        now: datetime,
    ) -> Receipt:
        """Stores the records of a call; stored again, they are duplicates. Raises as `log_payload`, and
        ScoringFailed for an answer without a usable prediction for each record.
        """
        # Only size and encoding of this body count: if it is or may become large, it is read in a thread.
        bodies = (exchange.request, exchange.answer)
        request = LogRequest(
            body=max((content.body for content in bodies), key=len),
            encoding=next((content.encoding for content in bodies if content.encoding), ""),
            actor=deployment_id,
            source=source,
        )

        def read(_: LogRequest, plan: IngestPlan, __: StatedTimes, *max_bytes: int) -> CheckedPayload:
            return read_exchange(exchange, plan, codec, *max_bytes)

        kind = replace(_PAYLOAD, read=read, inline_bytes=_INLINE_CALL_BYTES)
        return await self._log(kind, deployment_id, request, now)

    async def store(
        self, checked: CheckedPayload, plan: IngestPlan, *, now: datetime
    ) -> tuple[list[str], WriteOutcome]:
        """Returns their ids, too. Raises StaleTarget, InvalidInput for records that were erased or that the
        database cannot hold, and Unavailable as `log_payload`.
        """
        moments = StatedTimes(now, historical=False)
        for position, problem in _find_erased(checked.ids, plan.target).items():
            raise InvalidInput(f"records[{position}].id", problem)
        ids = _fill_in_ids(checked.ids, now)
        batch = encode_payload(checked, plan, moments, ids, await self._numbers.take(len(ids)))
        outcome = await self._write(batch, plan, now)
        _count_outcomes(_PAYLOAD, _build_receipt(_PAYLOAD, checked, outcome, plan))
        return ids, outcome

    async def _log(
        self, kind: _RecordKind, deployment_id: str, request: LogRequest, now: datetime
    ) -> Receipt:
        if self._commits.is_saturated:
            raise Unavailable("Too many records are waiting to be written. Send these again in a moment.")
        for _ in range(_ATTEMPTS):
            if request.is_csv:
                # Text is read by the monitor, and a plan in memory may have an older one.
                plan = await self.read_current_plan(deployment_id)
            else:
                plan = await self.plan(deployment_id)
            moments = StatedTimes(
                now,
                historical=request.historical,
                first_counts=request.first_time_counts,
                without_offset_is_utc=request.assume_utc,
                earliest=plan.target.earliest,
            )
            try:
                return await self._check_and_store(kind, request, plan, moments)
            except StaleTarget:
                await asyncio.sleep(_PAUSE_SECONDS)
        raise Unavailable("The deployment is being changed or deleted. Send the records again in a moment.")

    async def _check_and_store(
        self, kind: _RecordKind, request: LogRequest, plan: IngestPlan, moments: StatedTimes
    ) -> Receipt:
        try:
            if len(request.body) < kind.inline_bytes and not request.encoding:
                checked = kind.read(request, plan, moments)
            else:
                async with self._large.turn(request.actor):
                    checked = await asyncio.to_thread(
                        read_bounded, partial(kind.read, request, plan, moments)
                    )
        except (InvalidInput, ScoringFailed):
            await self._require_current(plan)
            unread = {RejectionCause(RejectionReason.UNREADABLE, "body"): 1}
            self.rejections.note(
                plan.target.no, unread, source=request.source, kind=kind.name, now=moments.now
            )
            raise
        checked.source = request.source
        # Records that were sent before their erasure may come later, for example from a client's spool.
        erased = _find_erased(checked.ids, plan.target)
        if erased:
            reject_records(checked, erased, field="id")
        outcome = ALL_STORED
        batch = await self._build_batch(kind, checked, plan, moments)
        if batch is not None:
            outcome = await self._write(batch, plan, moments.now)
        else:
            await self._require_current(plan)  # nothing is written, so no write would notice
        receipt = _build_receipt(kind, checked, outcome, plan)
        _count_outcomes(kind, receipt)
        if receipt.rejected:
            target = plan.target
            rejected = Counter(
                classify_rejection(rejection.field, rejection.reason, target)
                for rejection in receipt.rejections
            )
            rejected.update(
                classify_rejection("id", conflict.reason, target) for conflict in receipt.conflicts
            )
            self.rejections.note(target.no, rejected, source=checked.source, kind=kind.name, now=moments.now)
        return receipt

    async def _write(self, batch: Batch, plan: IngestPlan, now: datetime) -> WriteOutcome:
        for _ in range(_ATTEMPTS):
            try:
                return await self._commits.write(batch)
            except StaleTarget:
                self._plans.pop(plan.target.id, None)
                raise
            except NoPartition:
                await asyncio.to_thread(_make_partitions, self._database, batch, now)
            except RowsRefused as error:
                raise InvalidInput("records", f"the database cannot hold one of them ({error})") from error
        raise Unavailable("The months of the records are being deleted. Send the records again in a moment.")

    async def _build_batch(
        self, kind: _RecordKind, checked: CheckedRecords, plan: IngestPlan, moments: StatedTimes
    ) -> Batch | None:
        """Encodes the records, and rejects those that are too large then; None if none is left."""
        if not checked.indexes:
            return None
        ids = _fill_in_ids(checked.ids, moments.now)
        batch = kind.encode(checked, plan, moments, ids, await self._numbers.take(len(ids)))
        large = find_too_large(checked, batch.lines)
        if not large:
            return batch
        reject_records(checked, large)
        return await self._build_batch(kind, checked, plan, moments)

    async def read_current_plan(self, deployment_id: str) -> IngestPlan:
        """Raises NotFound, Unavailable, Conflict if it logs nothing."""
        target = await asyncio.to_thread(read_target, self._database, deployment_id, self._sealer)
        if target is None:
            self._plans.pop(deployment_id, None)
            raise NotFound("deployment", deployment_id)
        if not target.is_logged:
            self._plans.pop(deployment_id, None)
            raise Conflict(
                f"The records of {deployment_id} lie in your own tables, so none are logged: write them "
                "there instead."
            )
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        cached = self._plans.get(deployment_id)
        if cached is not None and cached.target == target:
            return cached
        plan = self._plans[deployment_id] = build_plan(target)
        return plan

    async def _require_current(self, plan: IngestPlan) -> None:
        """Raises StaleTarget if the deployment has changed: an old schema must not refuse records."""
        fresh = await self.read_current_plan(plan.target.id)
        if (fresh.target.no, fresh.target.row_version) != (plan.target.no, plan.target.row_version):
            raise StaleTarget([])


def _find_erased(ids: Sequence[str | None], target: Target) -> Mapping[int, str]:
    if not target.erased:
        return {}
    problem = "is of a record that was erased on request; it is not stored again"
    return {
        position: problem
        for position, record_id in enumerate(ids)
        if record_id is not None and digest_id(record_id) in target.erased
    }


def _fill_in_ids(ids: Sequence[str | None], now: datetime) -> list[str]:
    """Fills in None: 48 bits of time, so that ids fill an index from one side, and 80 random bits."""
    prefix = f"{int(now.timestamp() * 1000):012x}"
    return [prefix + os.urandom(10).hex() if record_id is None else record_id for record_id in ids]


def _make_partitions(database: Database, batch: Batch, now: datetime) -> None:
    hours = [hour.astimezone(UTC) for hour in batch.hours] if isinstance(batch, PayloadBatch) else ()
    with database.transaction() as session:
        ensure_coming_months(session, now)
        ensure_months(session, {(hour.year, hour.month) for hour in hours})


def _build_receipt(
    kind: _RecordKind, checked: CheckedRecords, outcome: WriteOutcome, plan: IngestPlan
) -> Receipt:
    conflicts = tuple(
        RecordConflict(checked.indexes[position], checked.ids[position] or "", kind.conflict)
        for position in outcome.conflicts
    )
    duplicate = len(outcome.duplicates)
    return Receipt(
        accepted=len(checked.indexes) - duplicate - len(conflicts),
        duplicate=duplicate,
        rejected=len(checked.rejections) + len(conflicts),
        rejections=tuple(checked.rejections),
        conflicts=conflicts,
        rounded=checked.rounded,
        warnings=find_warnings(checked, plan),
    )


_COUNTERS = {
    kind: {outcome: ingest_records.labels(kind, outcome) for outcome in ("accepted", "duplicate", "rejected")}
    for kind in LogKind
}


def _count_outcomes(kind: _RecordKind, receipt: Receipt) -> None:
    for outcome, counter in _COUNTERS[kind.name].items():
        counter.inc(getattr(receipt, outcome))
