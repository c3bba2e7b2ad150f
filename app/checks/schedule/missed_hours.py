"""Hours whose copies the model did not score: they are checked again, oldest first, until it answers."""

from sqlalchemy import text
from sqlalchemy.orm import Session

MAX_HOURS_AT_ONCE = 24
"""Hours of a deployment that wait in the queue once its model answers; before, the oldest alone."""

_ENOUGH_LATER_HOURS = 3
"""Later hours that succeed while an hour fails again, before it is given up."""

MISSED = f"""
    c.failure = 'scoring-failed' AND c.state = 'succeeded' AND (c."window"->>'records')::bigint > 0
    AND c.span_end = c.span_start + interval '1 hour'
    AND c.span_start = date_trunc('hour', c.span_start, 'UTC')
    AND NOT EXISTS (
        SELECT FROM checks other
        WHERE other.deployment_no = c.deployment_no
            AND other.span_start = c.span_start AND other.span_end = c.span_end
            AND (
                other.model_revision = c.model_revision AND other.failure IS NULL
                    AND other.state IN ('succeeded', 'insufficient_data')
                -- Given up: for another cause.
                OR other.trigger = 'model' AND other.failure NOT IN ('scoring-failed', 'interrupted')
                -- Given up: it failed again while later hours succeeded.
                OR other.trigger = 'model' AND other.attempts > 1 AND {_ENOUGH_LATER_HOURS} <= (
                    SELECT count(DISTINCT later.span_start)
                    FROM checks later
                    WHERE later.deployment_no = other.deployment_no AND later.span_start > other.span_start
                        AND later.model_revision = c.model_revision
                        AND later.state = 'succeeded' AND later.failure IS NULL
                        AND (later."window"->>'records')::bigint > 0
                        AND later.finished_at > other.created_at
                )
            )
    )
"""  # noqa: S608 - of constants only
"""Condition: the hour of check `c` still waits; one is given up if the model is not away."""

_STILL_MISSED = f"""
    SELECT c.deployment_no, c.span_start, c.span_end
    FROM checks c
    JOIN deployments d ON d.no = c.deployment_no AND d.model_revision = c.model_revision
    JOIN monitors m ON m.deployment_no = d.no
    WHERE {MISSED} AND d.endpoint IS NOT NULL AND m.schedule <> 'off'
"""  # noqa: S608 - of constants only

_CANCEL_ANSWERED_HOURS = text(f"""
    UPDATE checks waiting
    SET state = 'cancelled', claimable_at = NULL, finished_at = now(),
        reason = 'Another check of its hour succeeded, or the model, its revision or the monitor was changed.'
    WHERE waiting.trigger = 'model' AND waiting.claimable_at IS NOT NULL AND waiting.state <> 'running'
        AND (waiting.deployment_no, waiting.span_start) NOT IN (
            SELECT deployment_no, span_start FROM ({_STILL_MISSED}) missed
        )
""")  # noqa: S608 - of constants only

_QUEUE_DUE_HOURS = text(f"""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, claimable_at, attempts,
        cancel_requested, created_by)
    SELECT gen_random_uuid(), due.deployment_no, 'model', 'queued', due.span_start, due.span_end, now(), 0,
        false, 'schedule'
    FROM (
        SELECT missed.*, row_number() OVER (PARTITION BY deployment_no ORDER BY span_start) AS place,
            (
                SELECT ended.failure IS NULL
                FROM checks ended
                WHERE ended.deployment_no = missed.deployment_no AND ended.state IN ('succeeded', 'failed')
                    AND (ended.span_start >= missed.first OR ended.trigger = 'model')
                ORDER BY ended.finished_at DESC NULLS LAST
                LIMIT 1
            ) AS model_answers
        FROM (
            SELECT DISTINCT still_missed.*, min(span_start) OVER (PARTITION BY deployment_no) AS first
            FROM ({_STILL_MISSED}) still_missed
        ) missed
    ) due
    WHERE due.place <= CASE WHEN due.model_answers THEN :max_hours ELSE 1 END AND NOT EXISTS (
        SELECT FROM checks waiting
        WHERE waiting.deployment_no = due.deployment_no AND waiting.span_start = due.span_start
            AND waiting.trigger = 'model' AND waiting.claimable_at IS NOT NULL
    )
    ORDER BY due.deployment_no, due.span_start
    RETURNING no
""")  # noqa: S608 - of constants only


def queue_missed_hours(session: Session) -> int:
    """Cancels checks of hours that wait no longer, queues those that are due, and returns how many."""
    session.execute(_CANCEL_ANSWERED_HOURS)
    return len(session.scalars(_QUEUE_DUE_HOURS, {"max_hours": MAX_HOURS_AT_ONCE}).all())
