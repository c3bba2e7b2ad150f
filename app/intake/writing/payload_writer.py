"""Writes payload batches, each record id once: by plain COPY, or by a staging table when an id is taken."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import psycopg

from ...database.tables.records import PayloadRecordRow
from ...domain.arrival import LogKind
from ...sources.stored.minute_counts import KEPT
from . import count_arrivals as arrivals
from .write_batches import NOTHING_SPECIAL, PayloadBatch, WriteOutcome, find_write_outcome
from .write_session import WriteSession

KEY_COLUMNS = ("deployment_no", "record_id", "record_no")
RECORD_COLUMNS = tuple(
    column.name for column in PayloadRecordRow.__table__.columns if column.name != "logged_at"
)
"""All in the order of their lines; historical ones end with `logged_at`."""

_CLASH = {"23505", "40P01"}
"""An id is taken, or two writes waited for each other."""

# Mitigation depends on settings of the moment, so a repeated request may differ in it. Another rate is
# another weight.
_MAY_DIFFER = {*KEY_COLUMNS, "schema_version", "model_revision", "scored_at", "mitigated"}
_SAME = " AND ".join(
    f"r.{column} IS NOT DISTINCT FROM s.{column}" for column in RECORD_COLUMNS if column not in _MAY_DIFFER
)

_STAGE = b"CREATE TEMP TABLE IF NOT EXISTS payload_staged (LIKE payload_records INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;"

_ALL_COLUMNS = ", ".join((*RECORD_COLUMNS, "logged_at"))

# By ids, so that writes never wait for each other; of an id that comes twice the first is taken. A stored
# number is ours, from an attempt
# whose commit was not confirmed: it is not counted again. The record of a taken id may be past its retention.
_MERGE = f"""
INSERT INTO payload_keys (deployment_no, record_id, record_no, logged_at)
SELECT DISTINCT ON (deployment_no, record_id) deployment_no, record_id, record_no, logged_at
FROM payload_staged ORDER BY deployment_no, record_id, record_no
ON CONFLICT DO NOTHING;
WITH added AS (INSERT INTO payload_records ({_ALL_COLUMNS})
SELECT {", ".join(f"s.{column}" for column in _ALL_COLUMNS.split(", "))}
FROM payload_staged s JOIN payload_keys k USING (deployment_no, record_id)
WHERE k.record_no = s.record_no AND k.logged_at = s.logged_at
ON CONFLICT DO NOTHING
RETURNING deployment_no, logged_at, record_no),
minutes AS (INSERT INTO record_counts (minute, deployment_no, records)
SELECT date_trunc('minute', logged_at), deployment_no, count(*) FROM added
WHERE logged_at >= date_trunc('minute', now()) - interval '{int(KEPT.total_seconds())} seconds' GROUP BY 1, 2)
{arrivals.COUNT_ADDED.format(kind=LogKind.PAYLOAD, number="record_no")}
SELECT s.record_no, r.record_no IS NULL OR ({_SAME}), r.record_no IS NULL OR r.scored_at = s.scored_at
FROM payload_staged s
JOIN payload_keys k USING (deployment_no, record_id)
LEFT JOIN payload_records r ON (r.deployment_no, r.logged_at, r.record_no) = (k.deployment_no, k.logged_at,
    k.record_no)
WHERE k.record_no <> s.record_no;
""".encode()  # noqa: S608 - nothing of it comes from outside


async def write_payload(session: WriteSession, batches: Sequence[PayloadBatch]) -> list[WriteOutcome]:
    """Returns one outcome per batch, after one durable commit. The batches are all historical, or none is.

    Raises:
        StaleTarget: some were checked against another state of their deployment; nothing was written.
        TimeoutError: it took too long; nothing was written, unless the commit was under way. psycopg.Error:
        Postgres refused, and nothing was written; or the connection broke: write the same batches again,
        their numbers
            show what was stored.
    """
    extra = ("logged_at",) if batches[0].historical else ()
    lines = b"".join([batch.lines for batch in batches])
    try:
        async with session.transaction(batches):
            await session.copy(
                "payload_keys", (*KEY_COLUMNS, *extra), b"".join([batch.keys for batch in batches])
            )
            await session.copy("payload_records", (*RECORD_COLUMNS, *extra), lines)
            await session.commit(
                _note_hours(batches) + _count_minutes(batches) + arrivals.count_all(batches, LogKind.PAYLOAD)
            )
    except psycopg.Error as error:
        if error.sqlstate not in _CLASH:
            raise
    else:
        return [NOTHING_SPECIAL] * len(batches)

    await session.run(_STAGE)
    async with session.transaction(batches):
        await session.copy("payload_staged", (*RECORD_COLUMNS, *extra), lines)
        repeated = await session.commit(_note_hours(batches) + arrivals.with_sources(_MERGE, batches))

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
    """Hours of historical records may have been counted before, and others where the database's clock was
    set back.
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
    counts = Counter[tuple[int, datetime | None]]()
    for batch in batches:
        minutes = batch.minutes if batch.historical else {None: len(batch.numbers)}
        for minute, records in minutes.items():
            counts[batch.deployment_no, minute] += records
    if not counts:
        return b""
    # Others get the transaction's time, as their column's default does.
    minutes_of = {minute: "now()" if minute is None else f"'{minute.isoformat()}'" for _, minute in counts}
    values = ",".join(
        f"(date_trunc('minute', {minutes_of[minute]}::timestamptz),{no},{records})"
        for (no, minute), records in counts.items()
    )
    return f"INSERT INTO record_counts (minute, deployment_no, records) VALUES {values};".encode()  # noqa: S608 - numbers and times
