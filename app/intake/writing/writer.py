"""One writer: a connection that comes back by itself."""

import asyncio
from collections.abc import Sequence

import psycopg
import structlog

from ...base.clock import monotonic_seconds
from ...base.errors import Unavailable
from ...base.telemetry.outage_lines import OutageLog
from ...base.telemetry.prometheus import flush_records, flush_seconds
from ...domain.arrival import LogKind
from . import count_arrivals as arrivals
from .payload_writer import write_payload
from .write_batches import Batch, NoPartition, PayloadBatch, RowsRefused, WriteOutcome, find_write_outcome
from .write_session import WriteSession

FEEDBACK_COLUMNS = (
    *("deployment_no", "feedback_no", "feedback_id", "schema_version", "features", "meta", "label"),
    *("predicted", "predicted_probability", "predicted_revision"),
)

_STAGE = b"CREATE TEMP TABLE IF NOT EXISTS feedback_staged (LIKE feedback_records INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;"

_ALL_COLUMNS = ", ".join((*FEEDBACK_COLUMNS, "logged_at"))

# A stored number is ours, from an attempt whose commit was not confirmed.
_MERGE = f"""
WITH added AS (INSERT INTO feedback_records ({_ALL_COLUMNS}, record_no, record_logged_at, usable_at)
SELECT {", ".join(f"s.{column}" for column in _ALL_COLUMNS.split(", "))}, k.record_no, k.logged_at,
       CASE WHEN k.record_no IS NOT NULL THEN greatest(s.logged_at, k.logged_at) WHEN s.features IS NOT NULL
           THEN s.logged_at END
FROM (SELECT DISTINCT ON (deployment_no, feedback_id) * FROM feedback_staged ORDER BY deployment_no,
    feedback_id, feedback_no) s
LEFT JOIN payload_keys k ON (k.deployment_no, k.record_id) = (s.deployment_no, s.feedback_id)
ORDER BY s.deployment_no, s.feedback_id
ON CONFLICT DO NOTHING
RETURNING deployment_no, feedback_no)
{arrivals.COUNT_ADDED.format(kind=LogKind.FEEDBACK, number="feedback_no")}
SELECT s.feedback_no, f.label = s.label
FROM feedback_staged s JOIN feedback_records f USING (deployment_no, feedback_id)
WHERE f.feedback_no <> s.feedback_no;
""".encode()  # noqa: S608 - nothing of it comes from outside


# Their hours may have been counted.
_NOTE_HOURS = b"""
INSERT INTO changed_hours (deployment_no, hour)
SELECT DISTINCT f.deployment_no, date_trunc('hour', f.record_logged_at, 'UTC')
FROM feedback_staged s JOIN feedback_records f USING (deployment_no, feedback_id)
WHERE f.feedback_no = s.feedback_no AND f.record_logged_at IS NOT NULL;
"""


async def write_feedback(session: WriteSession, batches: Sequence[Batch]) -> list[WriteOutcome]:
    """Returns one outcome per batch of feedback, after one durable commit; all are historical, or none is.
    Raises as `write_payload`.
    """
    columns = (*FEEDBACK_COLUMNS, "logged_at") if batches[0].historical else FEEDBACK_COLUMNS
    await session.run(_STAGE)
    async with session.transaction(batches):
        await session.copy("feedback_staged", columns, b"".join([batch.lines for batch in batches]))
        merged = await session.commit(
            arrivals.with_sources(_MERGE, batches) + (_NOTE_HOURS if batches[0].historical else b"")
        )
    is_same: dict[int, bool] = dict(merged)
    return [find_write_outcome(batch, is_same) for batch in batches]


PATIENCE_SECONDS = 5.0
"""Max seconds that a write waits for Postgres (a restart takes less)."""

_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
_ATTEMPTS = 4
_TRY_AGAIN = {"40P01", "40001", "55P03"}
_DATA = ("22", "54", "23502")

_NO_PARTITION = "23514"

log = structlog.get_logger()


class Writer:
    """Writes groups of batches of one kind. `outages` is for all writers of a process."""

    def __init__(self, url: str, outages: OutageLog) -> None:
        self._url = url
        self._outages = outages
        self._session: WriteSession | None = None
        self._is_down = False

    async def write(self, batches: Sequence[Batch]) -> list[WriteOutcome]:
        """Returns one outcome per batch, after the durable commit of all.

        A write whose connection broke is repeated, even if its commit may have taken place: record numbers
        show it.

        Raises:
            Unavailable: Postgres does not answer, or not in time; after a broken connection the outcome is
            unknown. StaleTarget: some batches were checked against another state of their deployment; nothing
            was written. RowsRefused: the rows cannot be stored; nothing was written.
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
                sqlstate, reason = error.sqlstate or "", error.diag.message_primary or str(error)
                if session.is_lost:
                    log.warning("write_connection_lost", reason=reason, attempt=attempt)
                elif sqlstate in _TRY_AGAIN:
                    log.info("write_repeated", reason=reason, attempt=attempt)
                elif sqlstate == _NO_PARTITION:
                    raise NoPartition(reason) from error
                elif sqlstate.startswith(_DATA):
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
        if self._session is not None and not self._session.is_lost:
            return self._session
        give_up = monotonic_seconds() + (0 if self._is_down else PATIENCE_SECONDS)
        pauses = iter(_PAUSES)
        while True:
            try:
                self._session = await WriteSession.open(self._url)
            except psycopg.Error as error:
                if monotonic_seconds() >= give_up:
                    self._is_down = True
                    self._outages.fail(reason=str(error))
                    raise Unavailable(
                        "The database does not answer. Send the records again in a moment."
                    ) from error
                await asyncio.sleep(next(pauses, _PAUSES[-1]))
            else:
                self._is_down = False
                self._outages.end()
                return self._session
