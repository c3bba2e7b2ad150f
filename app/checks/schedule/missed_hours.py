"""Hours whose copies the model did not score: they are checked again, oldest first, until it answers."""

from sqlalchemy import text
from sqlalchemy.orm import Session

MISSED = """
    c.failure = 'scoring-failed' AND c.state = 'succeeded' AND (c."window"->>'records')::bigint > 0
    AND c.span_end = c.span_start + interval '1 hour'
    AND c.span_start = date_trunc('hour', c.span_start, 'UTC')
    AND NOT EXISTS (
        SELECT FROM checks s
        WHERE s.deployment_no = c.deployment_no AND s.span_start = c.span_start AND s.span_end = c.span_end
          AND (s.model_revision = c.model_revision AND s.failure IS NULL
                  AND s.state IN ('succeeded', 'insufficient_data')
              OR s.trigger = 'model' AND s.failure NOT IN ('scoring-failed', 'interrupted')
              OR s.trigger = 'model' AND s.attempts > 1 AND 3 <= (
                  SELECT count(DISTINCT o.span_start) FROM checks o
                  WHERE o.deployment_no = s.deployment_no AND o.span_start > s.span_start
                    AND o.model_revision = c.model_revision AND o.state = 'succeeded' AND o.failure IS NULL
                    AND (o."window"->>'records')::bigint > 0 AND o.finished_at > s.created_at)))
"""
"""Whether the hour of check `c` still waits for the model. An hour that fails again while three later ones
succeed, or for another cause, is given up: the model is not away.
"""

_PRESENT = f"""
    SELECT c.deployment_no, c.span_start, c.span_end FROM checks c
    JOIN deployments d ON d.no = c.deployment_no AND d.model_revision = c.model_revision
    JOIN monitors m ON m.deployment_no = d.no
    WHERE {MISSED} AND d.endpoint IS NOT NULL AND m.schedule <> 'off'
"""  # noqa: S608 - of constants only

_CANCEL = text(f"""
    UPDATE checks w SET state = 'cancelled', claimable_at = NULL, finished_at = now(),
        reason = 'Another check of its hour succeeded, or the model, its revision or the monitor was changed.'
    WHERE w.trigger = 'model' AND w.claimable_at IS NOT NULL AND w.state <> 'running'
      AND (w.deployment_no, w.span_start) NOT IN (SELECT deployment_no, span_start FROM ({_PRESENT}) p)
""")  # noqa: S608 - of constants only

_QUEUE = text(f"""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, claimable_at, attempts,
        cancel_requested, created_by)
    SELECT gen_random_uuid(), due.deployment_no, 'model', 'queued', due.span_start, due.span_end, now(), 0,
        false, 'schedule'
    FROM (
        SELECT missed.*, row_number() OVER (PARTITION BY deployment_no ORDER BY span_start) AS place,
               (SELECT e.failure IS NULL FROM checks e
                WHERE e.deployment_no = missed.deployment_no AND e.state IN ('succeeded', 'failed')
                    AND (e.span_start >= missed.first OR e.trigger = 'model')
                ORDER BY e.finished_at DESC NULLS LAST LIMIT 1) AS answers
        FROM (
            SELECT DISTINCT p.*, min(span_start) OVER (PARTITION BY deployment_no) AS first
            FROM ({_PRESENT}) p
        ) missed
    ) due
    WHERE due.place <= CASE WHEN due.answers THEN :most ELSE 1 END AND NOT EXISTS (
        SELECT FROM checks w WHERE w.deployment_no = due.deployment_no AND w.span_start = due.span_start
            AND w.trigger = 'model' AND w.claimable_at IS NOT NULL)
    ORDER BY due.deployment_no, due.span_start
    RETURNING no
""")  # noqa: S608 - of constants only

MAX_HOURS_AT_ONCE = 24
"""Hours of a deployment that wait in the queue once its model answers; before, the oldest alone."""


def queue_missed(session: Session) -> int:
    """Ends such checks that are no longer needed, too; returns how many were queued."""
    session.execute(_CANCEL)
    return len(session.scalars(_QUEUE, {"most": MAX_HOURS_AT_ONCE}).all())
