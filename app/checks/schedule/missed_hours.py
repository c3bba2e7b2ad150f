"""Hours whose copies the model did not score: they are checked again, oldest first, until it answers."""

from sqlalchemy import text
from sqlalchemy.orm import Session

MISSED = """
    c.failure = 'scoring-failed' AND c.state = 'succeeded' AND (c."window"->>'records')::bigint > 0
    AND c.span_end = c.span_start + interval '1 hour'
    AND c.span_start = date_trunc('hour', c.span_start, 'UTC')
    AND NOT EXISTS (
        SELECT FROM checks same
        WHERE same.deployment_no = c.deployment_no AND same.span_start = c.span_start
            AND same.span_end = c.span_end
            AND (
                same.model_revision = c.model_revision AND same.failure IS NULL
                    AND same.state IN ('succeeded', 'insufficient_data')
                OR same.trigger = 'model' AND same.failure NOT IN ('scoring-failed', 'interrupted')
                OR same.trigger = 'model' AND same.attempts > 1 AND 3 <= (
                    SELECT count(DISTINCT later.span_start) FROM checks later
                    WHERE later.deployment_no = same.deployment_no AND later.span_start > same.span_start
                        AND later.model_revision = c.model_revision
                        AND later.state = 'succeeded' AND later.failure IS NULL
                        AND (later."window"->>'records')::bigint > 0
                        AND later.finished_at > same.created_at
                )
            )
    )
"""
"""Condition: the hour of check `c` still waits for the model. An hour is given up if it fails again while
three later ones succeed, or for another cause: the model is not away.
"""

_STILL_MISSED = f"""
    SELECT c.deployment_no, c.span_start, c.span_end FROM checks c
    JOIN deployments d ON d.no = c.deployment_no AND d.model_revision = c.model_revision
    JOIN monitors m ON m.deployment_no = d.no
    WHERE {MISSED} AND d.endpoint IS NOT NULL AND m.schedule <> 'off'
"""  # noqa: S608 - of constants only

_CANCEL = text(f"""
    UPDATE checks w SET state = 'cancelled', claimable_at = NULL, finished_at = now(),
        reason = 'Another check of its hour succeeded, or the model, its revision or the monitor was changed.'
    WHERE w.trigger = 'model' AND w.claimable_at IS NOT NULL AND w.state <> 'running'
        AND (w.deployment_no, w.span_start) NOT IN (SELECT deployment_no, span_start FROM ({_STILL_MISSED}) p)
""")  # noqa: S608 - of constants only

_QUEUE = text(f"""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, claimable_at, attempts,
        cancel_requested, created_by)
    SELECT gen_random_uuid(), due.deployment_no, 'model', 'queued', due.span_start, due.span_end, now(), 0,
        false, 'schedule'
    FROM (
        SELECT missed.*, row_number() OVER (PARTITION BY deployment_no ORDER BY span_start) AS place,
            (
                SELECT e.failure IS NULL FROM checks e
                WHERE e.deployment_no = missed.deployment_no AND e.state IN ('succeeded', 'failed')
                    AND (e.span_start >= missed.first OR e.trigger = 'model')
                ORDER BY e.finished_at DESC NULLS LAST
                LIMIT 1
            ) AS answers
        FROM (
            SELECT DISTINCT p.*, min(span_start) OVER (PARTITION BY deployment_no) AS first
            FROM ({_STILL_MISSED}) p
        ) missed
    ) due
    WHERE due.place <= CASE WHEN due.answers THEN :max_hours ELSE 1 END AND NOT EXISTS (
        SELECT FROM checks w
        WHERE w.deployment_no = due.deployment_no AND w.span_start = due.span_start
            AND w.trigger = 'model' AND w.claimable_at IS NOT NULL
    )
    ORDER BY due.deployment_no, due.span_start
    RETURNING no
""")  # noqa: S608 - of constants only

MAX_HOURS_AT_ONCE = 24
"""Hours of a deployment that wait in the queue once its model answers; before, the oldest alone."""


def queue_missed_hours(session: Session) -> int:
    session.execute(_CANCEL)
    return len(session.scalars(_QUEUE, {"max_hours": MAX_HOURS_AT_ONCE}).all())
