"""Writes batches of payload and feedback, each record id once, on a connection that comes back by itself."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
import structlog

from ...base.clock import monotonic_seconds
from ...base.errors import Unavailable
from ...base.telemetry.outage_lines import OutageLog
from ...base.telemetry.prometheus import flush_records, flush_seconds
from ...database.tables.records import PayloadRecordRow
from ...domain.record_times import LogKind
from ...sources.stored.window_queries import KEPT
from .write_batches import (
    ALL_STORED,
    Batch,
    NoPartition,
    PayloadBatch,
    RowsRefused,
    WriteOutcome,
    find_write_outcome,
)
from .write_session import WriteSession

PATIENCE_SECONDS = 5.0
"""Max seconds that a write waits for Postgres (a restart takes less)."""

_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8)
_ATTEMPTS = 4

_REPEATABLE_SQLSTATES = {"40P01", "40001", "55P03"}
"""Deadlock, failed serialization, lock not available."""

_DATA_SQLSTATE_PREFIXES = ("22", "54", "23502")
"""Errors of the rows themselves: invalid data, a limit of Postgres, a null."""

_NO_PARTITION_SQLSTATE = "23514"

log = structlog.get_logger()


@dataclass(eq=False)
class Writer:
    """Connection of one writer, opened again where it broke."""

    url: str
    outages: OutageLog
    _session: WriteSession | None = None
    _is_down: bool = False

    async def write(self, batches: Sequence[Batch]) -> list[WriteOutcome]:
        """Writes batches of one kind; returns after their durable commit. A write whose connection broke is
        repeated, even if its commit may have taken place: record numbers show that.

        Raises Unavailable (after a broken connection the outcome is unknown), StaleTarget, RowsRefused.
        """
        started = monotonic_seconds()
        for attempt in range(_ATTEMPTS):
            session = await self._connect()
            try:
                payload = [batch for batch in batches if isinstance(batch, PayloadBatch)]
                outcomes = await (
                    write_payload(session, payload) if payload else write_feedback(session, batches)
                )
            except TimeoutError as error:
                log.warning("write_too_slow", attempt=attempt)
                raise Unavailable(
                    "The database could not take the write in time. Send the records again in a moment."
                ) from error
            except psycopg.Error as error:
                # The server's other lines quote the rows.
                reason = error.diag.message_primary or str(error)
                sqlstate = error.sqlstate or ""
                if session.is_lost:
                    log.warning("write_connection_lost", reason=reason, attempt=attempt)
                elif sqlstate in _REPEATABLE_SQLSTATES:
                    log.info("write_repeated", reason=reason, attempt=attempt)
                elif sqlstate == _NO_PARTITION_SQLSTATE:
                    raise NoPartition(reason) from error
                elif sqlstate.startswith(_DATA_SQLSTATE_PREFIXES):
                    raise RowsRefused(reason) from error
                else:
                    log.error("write_failed", sqlstate=sqlstate, reason=reason)  # noqa: TRY400 - a traceback would quote the rows
                    raise Unavailable(
                        "The database could not take the write now. Send the records again in a moment."
                    ) from error
            else:
                flush_records.observe(sum(len(batch.numbers) for batch in batches))
                flush_seconds.observe(monotonic_seconds() - started)
                return outcomes
        raise Unavailable("The database could not finish the write. Send the records again in a moment.")

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _connect(self) -> WriteSession:
        """Raises Unavailable after PATIENCE_SECONDS, and at once if that happened before."""
        if self._session is not None and not self._session.is_lost:
            return self._session
        give_up = monotonic_seconds() + (0 if self._is_down else PATIENCE_SECONDS)
        pauses = iter(_PAUSES_SECONDS)
        while True:
            try:
                self._session = await WriteSession.open(self.url)
            except psycopg.Error as error:
                if monotonic_seconds() >= give_up:
                    self._is_down = True
                    self.outages.fail(reason=str(error))
                    raise Unavailable(
                        "The database does not answer. Send the records again in a moment."
                    ) from error
                await asyncio.sleep(next(pauses, _PAUSES_SECONDS[-1]))
            else:
                self._is_down = False
                self.outages.end()
                return self._session


_SOURCES = "(sources)"
"""Placeholder in a script for the source of each record number."""

_THIS_HOUR = "date_trunc('hour', now(), 'UTC')"

# `added` has the rows stored now: no duplicates, nor rows of an attempt whose commit was not confirmed.
_COUNT_ADDED = (
    "INSERT INTO arrivals (deployment_no, hour, source, kind, records) "  # noqa: S608 - nothing of it comes from outside
    f"SELECT a.deployment_no, {_THIS_HOUR}, s.source, '{{kind}}', count(*) "
    f"FROM added a JOIN {_SOURCES} s (source, no) ON s.no = a.{{number}} GROUP BY 1, 3;"
)
"""Counts the rows of `added`; `kind` and `number` (the column of record numbers) are to be filled in."""


def _count_all(batches: Sequence[Batch]) -> bytes:
    counts = Counter[tuple[int, str]]()
    for batch in batches:
        counts[batch.deployment_no, batch.source.value] += len(batch.numbers)
    values = ",".join(
        f"({no},{_THIS_HOUR},'{source}','{LogKind.PAYLOAD}',{records})"
        for (no, source), records in counts.items()
    )
    return f"INSERT INTO arrivals (deployment_no, hour, source, kind, records) VALUES {values};".encode()  # noqa: S608 - our own words


def _fill_in_sources(script: bytes, batches: Sequence[Batch]) -> bytes:
    values = ",".join(
        f"('{batch.source.value}','{{{','.join(map(str, batch.numbers))}}}'::bigint[])" for batch in batches
    )
    relation = f"(SELECT b.source, unnest(b.numbers) FROM (VALUES {values}) AS b (source, numbers))"  # noqa: S608 - words and numbers of ours
    return script.replace(_SOURCES.encode(), relation.encode())


def _create_staging_table(kind: LogKind) -> bytes:
    return (
        f"CREATE TEMP TABLE IF NOT EXISTS {kind}_staged (LIKE {kind}_records INCLUDING DEFAULTS) "
        "ON COMMIT DELETE ROWS;"
    ).encode()


def _select_staged(columns: str) -> str:
    return ", ".join(f"s.{column}" for column in columns.split(", "))


KEY_COLUMNS = ("deployment_no", "record_id", "record_no")
RECORD_COLUMNS = tuple(
    column.name for column in PayloadRecordRow.__table__.columns if column.name != "logged_at"
)

_KEY_COLUMNS = ", ".join(KEY_COLUMNS)
_PAYLOAD_COLUMNS = ", ".join(RECORD_COLUMNS)

_CLASH_SQLSTATES = {"23505", "40P01"}

# Mitigation depends on settings of the moment, so a repeated request may differ in it. Another sample rate is
# another weight, and so a conflict.
_MAY_DIFFER = {*KEY_COLUMNS, "schema_version", "model_revision", "scored_at", "mitigated"}
_IS_SAME = " AND ".join(
    f"r.{column} IS NOT DISTINCT FROM s.{column}" for column in RECORD_COLUMNS if column not in _MAY_DIFFER
)

# Ordered by ids, so that writes do not deadlock; of an id that comes twice the first is taken. A stored
# number is ours, from an attempt whose commit was not confirmed: it is not counted again. The record of a
# taken id may be past its retention.
_MERGE_PAYLOAD = f"""
INSERT INTO payload_keys (deployment_no, record_id, record_no, logged_at)
SELECT DISTINCT ON (deployment_no, record_id) deployment_no, record_id, record_no, logged_at
FROM payload_staged ORDER BY deployment_no, record_id, record_no
ON CONFLICT DO NOTHING;
WITH added AS (INSERT INTO payload_records ({_PAYLOAD_COLUMNS}, logged_at)
SELECT {_select_staged(_PAYLOAD_COLUMNS)}, s.logged_at
FROM payload_staged s JOIN payload_keys k USING (deployment_no, record_id)
WHERE k.record_no = s.record_no AND k.logged_at = s.logged_at
ON CONFLICT DO NOTHING
RETURNING deployment_no, logged_at, record_no),
minutes AS (INSERT INTO record_counts (minute, deployment_no, records)
SELECT date_trunc('minute', logged_at), deployment_no, count(*) FROM added
WHERE logged_at >= date_trunc('minute', now()) - interval '{int(KEPT.total_seconds())} seconds' GROUP BY 1, 2)
{_COUNT_ADDED.format(kind=LogKind.PAYLOAD, number="record_no")}
SELECT s.record_no, r.record_no IS NULL OR ({_IS_SAME}), r.record_no IS NULL OR r.scored_at = s.scored_at
FROM payload_staged s
JOIN payload_keys k USING (deployment_no, record_id)
LEFT JOIN payload_records r
    ON (r.deployment_no, r.logged_at, r.record_no) = (k.deployment_no, k.logged_at, k.record_no)
WHERE k.record_no <> s.record_no;
""".encode()  # noqa: S608 - nothing of it comes from outside


async def write_payload(session: WriteSession, batches: Sequence[PayloadBatch]) -> list[WriteOutcome]:
    """Writes batches in one durable commit: by plain COPY, or by a staging table when an id is taken. All are
    historical, or none.

    Raises StaleTarget; TimeoutError, after which nothing was written unless the commit was under way; and
    psycopg.Error. If the connection broke, write the same again: record numbers show what was stored.
    """
    extra = ", logged_at" if batches[0].historical else ""
    lines = b"".join([batch.lines for batch in batches])
    try:
        async with session.transaction(batches):
            await session.copy(
                "payload_keys", _KEY_COLUMNS + extra, b"".join([batch.keys for batch in batches])
            )
            await session.copy("payload_records", _PAYLOAD_COLUMNS + extra, lines)
            await session.commit(_note_hours(batches) + _count_minutes(batches) + _count_all(batches))
    except psycopg.Error as error:
        if error.sqlstate not in _CLASH_SQLSTATES:
            raise
    else:
        return [ALL_STORED] * len(batches)

    await session.run(_create_staging_table(LogKind.PAYLOAD))
    async with session.transaction(batches):
        await session.copy("payload_staged", _PAYLOAD_COLUMNS + extra, lines)
        repeated = await session.commit(_note_hours(batches) + _fill_in_sources(_MERGE_PAYLOAD, batches))

    clashes = {number: (is_equal, same_time) for number, is_equal, same_time in repeated}
    outcomes = []
    for batch in batches:
        # A record without a time got that of its first arrival.
        is_same = {
            number: clashes[number][0] and (clashes[number][1] or not is_sent)
            for number, is_sent in zip(batch.numbers, batch.scored_at_sent, strict=True)
            if number in clashes
        }
        outcomes.append(find_write_outcome(batch, is_same))
    return outcomes


def _note_hours(batches: Sequence[PayloadBatch]) -> bytes:
    """Script that notes hours as changed: those of historical records may have been counted, and others where
    the clock of the database was set back.
    """
    rows = sorted({(batch.deployment_no, hour) for batch in batches for hour in batch.hours})
    if rows:
        hours = "VALUES " + ",".join(f"({no},'{hour.isoformat()}')" for no, hour in rows)
    else:
        numbers = ",".join(str(batch.deployment_no) for batch in batches)
        hours = f"""SELECT deployment_no, date_trunc('hour', now(), 'UTC') FROM evidence_eras
            WHERE deployment_no IN ({numbers}) AND counted_until > now()"""  # noqa: S608 - numbers
    return f"INSERT INTO changed_hours (deployment_no, hour) {hours};".encode()


def _count_minutes(batches: Sequence[PayloadBatch]) -> bytes:
    counts = Counter[tuple[int, str]]()
    for batch in batches:
        for minute, records in batch.minutes.items():
            counts[batch.deployment_no, f"'{minute.isoformat()}'"] += records
        if not batch.historical:
            # The transaction's time, as their column's default.
            counts[batch.deployment_no, "now()"] += len(batch.numbers)
    if not counts:
        return b""
    values = ",".join(
        f"(date_trunc('minute', {minute}::timestamptz),{no},{records})"
        for (no, minute), records in counts.items()
    )
    return f"INSERT INTO record_counts (minute, deployment_no, records) VALUES {values};".encode()  # noqa: S608 - numbers and times


FEEDBACK_COLUMNS = (
    *("deployment_no", "feedback_no", "feedback_id", "schema_version", "features", "meta", "label"),
    *("predicted", "predicted_probability", "predicted_revision"),
)
_FEEDBACK_COLUMNS = ", ".join(FEEDBACK_COLUMNS)

# A stored number is ours, from an attempt whose commit was not confirmed.
_MERGE_FEEDBACK = f"""
WITH added AS (INSERT INTO feedback_records ({_FEEDBACK_COLUMNS}, logged_at, record_no, record_logged_at, usable_at)
SELECT {_select_staged(_FEEDBACK_COLUMNS)}, s.logged_at, k.record_no, k.logged_at,
    CASE WHEN k.record_no IS NOT NULL THEN greatest(s.logged_at, k.logged_at)
        WHEN s.features IS NOT NULL THEN s.logged_at END
FROM (
    SELECT DISTINCT ON (deployment_no, feedback_id) * FROM feedback_staged
    ORDER BY deployment_no, feedback_id, feedback_no
) s
LEFT JOIN payload_keys k ON (k.deployment_no, k.record_id) = (s.deployment_no, s.feedback_id)
ORDER BY s.deployment_no, s.feedback_id
ON CONFLICT DO NOTHING
RETURNING deployment_no, feedback_no)
{_COUNT_ADDED.format(kind=LogKind.FEEDBACK, number="feedback_no")}
SELECT s.feedback_no, f.label = s.label
FROM feedback_staged s JOIN feedback_records f USING (deployment_no, feedback_id)
WHERE f.feedback_no <> s.feedback_no;
""".encode()  # noqa: S608 - nothing of it comes from outside


# Hours of records with historical labels may have been counted.
_NOTE_HOURS = b"""
INSERT INTO changed_hours (deployment_no, hour)
SELECT DISTINCT f.deployment_no, date_trunc('hour', f.record_logged_at, 'UTC')
FROM feedback_staged s JOIN feedback_records f USING (deployment_no, feedback_id)
WHERE f.feedback_no = s.feedback_no AND f.record_logged_at IS NOT NULL;
"""


async def write_feedback(session: WriteSession, batches: Sequence[Batch]) -> list[WriteOutcome]:
    is_historical = batches[0].historical
    extra = ", logged_at" if is_historical else ""
    note_hours = _NOTE_HOURS if is_historical else b""
    await session.run(_create_staging_table(LogKind.FEEDBACK))
    async with session.transaction(batches):
        lines = b"".join([batch.lines for batch in batches])
        await session.copy("feedback_staged", _FEEDBACK_COLUMNS + extra, lines)
        merged = await session.commit(_fill_in_sources(_MERGE_FEEDBACK, batches) + note_hours)
    is_same: dict[int, bool] = dict(merged)
    return [find_write_outcome(batch, is_same) for batch in batches]
