"""Writes feedback batches, each id once, joined to payload records that are there."""

from collections.abc import Sequence

from ...domain.arrivals import LogKind
from . import arrivals
from .batches import FeedbackBatch, WriteOutcome, outcome_of
from .session import WriteSession

COLUMNS = (
    *("deployment_no", "feedback_no", "feedback_id", "schema_version", "features", "meta", "label"),
    *("predicted", "predicted_probability", "predicted_revision"),
)

_STAGE = b"CREATE TEMP TABLE IF NOT EXISTS feedback_staged (LIKE feedback_records INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;"

_ALL_COLUMNS = ", ".join((*COLUMNS, "logged_at"))

# A stored number is ours, from an attempt whose commit was not confirmed.
_MERGE = f"""
WITH added AS (INSERT INTO feedback_records ({_ALL_COLUMNS}, record_no, record_logged_at, usable_at)
SELECT {", ".join(f"s.{column}" for column in _ALL_COLUMNS.split(", "))}, k.record_no, k.logged_at,
       CASE WHEN k.record_no IS NOT NULL THEN greatest(s.logged_at, k.logged_at) WHEN s.features IS NOT NULL THEN s.logged_at END
FROM (SELECT DISTINCT ON (deployment_no, feedback_id) * FROM feedback_staged ORDER BY deployment_no, feedback_id, feedback_no) s
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


async def write_feedback(session: WriteSession, batches: Sequence[FeedbackBatch]) -> list[WriteOutcome]:
    """Returns one outcome per batch, after one durable commit; all are historical, or none is. Raises as `write_payload`."""
    columns = (*COLUMNS, "logged_at") if batches[0].historical else COLUMNS
    await session.run(_STAGE)
    async with session.transaction(batches):
        await session.copy("feedback_staged", columns, b"".join([batch.lines for batch in batches]))
        merged = await session.commit(arrivals.with_sources(_MERGE, batches) + (_NOTE_HOURS if batches[0].historical else b""))
    is_same: dict[int, bool] = dict(merged)
    return [outcome_of(batch, is_same) for batch in batches]
