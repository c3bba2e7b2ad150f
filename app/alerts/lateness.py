"""How long records and labels usually take, and what is late."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.values import frozen_by_name
from ..database.binary_rows import read_row

LEARNING_PERIOD = timedelta(days=14)
"""Span of records before which their nights and weekends may not be known."""

LEARNING_WAIT_HOURS = 72
"""Without a record, before they are late in the learning period, at least."""

MIN_WAIT = 2 * HOUR
"""Without a record, before the usual gap is looked up."""

MIN_GAPS_WITH_OUTAGE = 10
"""Number of gaps of which the longest may be an outage."""

_NEWEST_RECORD = text("""
    SELECT coalesce(
        (SELECT logged_at FROM payload_records
         WHERE deployment_no = :no AND logged_at <= now()
         ORDER BY logged_at DESC
         LIMIT 1),
        (SELECT max(newest) FROM listed_files
         WHERE deployment_no = :no AND side = 'payload')
    )
""")

# One look-up in the index for each hour with records.
_HOURS = text("""
    WITH RECURSIVE hours AS (
        (SELECT date_trunc('hour', logged_at, 'UTC') AS hour FROM payload_records
         WHERE deployment_no = :no AND logged_at <= now()
         ORDER BY logged_at DESC
         LIMIT 1)
        UNION ALL
        SELECT (SELECT date_trunc('hour', p.logged_at, 'UTC') FROM payload_records p
                WHERE p.deployment_no = :no
                  AND p.logged_at < h.hour
                  AND p.logged_at >= now() - interval '91 days'
                ORDER BY p.logged_at DESC
                LIMIT 1)
        FROM hours h
        WHERE h.hour IS NOT NULL
    )
    SELECT hour FROM (
        (SELECT hour FROM hours WHERE hour IS NOT NULL LIMIT 400)
        UNION
        SELECT date_trunc('hour', newest, 'UTC') FROM listed_files
        WHERE deployment_no = :no AND side = 'payload' AND newest >= now() - interval '91 days'
    ) AS all_hours
    ORDER BY hour
""")


def find_newest_record_at(session: Session, deployment_no: int) -> datetime | None:
    newest: datetime | None = session.scalar(_NEWEST_RECORD, {"no": deployment_no})
    return newest


def read_hours_with_records(session: Session, deployment_no: int) -> Sequence[datetime]:
    """Starts of hours with records in 91 days, oldest first; of stored records the newest 400."""
    return session.scalars(_HOURS, {"no": deployment_no}).all()


def find_usual_gap(hours: Sequence[datetime]) -> int | None:
    """Usual hours between records: the longest gap; of 10 or more gaps the second longest, as one may have
    been an outage. None without a gap.
    """
    gaps = sorted((later - earlier) // HOUR for earlier, later in pairwise(hours))
    if not gaps:
        return None
    return gaps[-2] if len(gaps) >= MIN_GAPS_WITH_OUTAGE else gaps[-1]


def find_wait(hours: Sequence[datetime]) -> int:
    """Hours without a record after which they are late."""
    usual = find_usual_gap(hours)
    if usual is None:
        return LEARNING_WAIT_HOURS
    is_new = hours[-1] - hours[0] < LEARNING_PERIOD
    return max(2 * usual, LEARNING_WAIT_HOURS) if is_new else 2 * usual


MIN_EXPECTED_LABELS = 20
"""Expected by the usual share, before labels count as late."""


@frozen_by_name
class LabelShares:
    """Labels of the newest records that are older than the usual delay, from `oldest` on, and of records
    until `usual_until`, when labels came as usual. Labels count that came within the delay.
    """

    delay: timedelta
    records: int
    labelled: int
    oldest: datetime
    usual_records: int
    usual_labelled: int
    usual_until: datetime

    @property
    def is_late(self) -> bool:
        """True if fewer than half as many are labelled as usual, and enough are expected to exclude
        chance.
        """
        usual = self.usual_labelled / self.usual_records
        return usual * self.records >= MIN_EXPECTED_LABELS and self.labelled < usual * self.records / 2


# Labels are looked up by their keys for each of at most 400 records.
_LABELS = text("""
    WITH arrived AS (
        SELECT usable_at - record_logged_at AS delay, record_logged_at FROM feedback_records
        WHERE deployment_no = :no AND usable_at IS NOT NULL AND record_logged_at IS NOT NULL
        ORDER BY usable_at DESC LIMIT 1000
    ), usual AS (
        SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY delay) AS delay,
               percentile_disc(0.5) WITHIN GROUP (ORDER BY record_logged_at) AS until
        FROM arrived HAVING count(*) >= 50
    ), of_records AS (
        SELECT s.is_usual, u.delay, u.until, p.logged_at,
               EXISTS (SELECT FROM feedback_records f
                       WHERE f.deployment_no = :no AND f.feedback_id = p.record_id
                           AND f.usable_at <= p.logged_at + u.delay) AS is_labelled
        FROM usual u
        CROSS JOIN LATERAL (VALUES (true, u.until), (false, now() - u.delay)) AS s (is_usual, until)
        CROSS JOIN LATERAL (SELECT record_id, logged_at FROM payload_records
                            WHERE deployment_no = :no AND logged_at <= s.until
                            ORDER BY logged_at DESC LIMIT 200) p
    )
    SELECT delay, until AS usual_until, count(*) FILTER (WHERE NOT is_usual) AS records,
           count(*) FILTER (WHERE NOT is_usual AND is_labelled) AS labelled,
           min(logged_at) FILTER (WHERE NOT is_usual) AS oldest,
           count(*) FILTER (WHERE is_usual) AS usual_records,
           count(*) FILTER (WHERE is_usual AND is_labelled) AS usual_labelled
    FROM of_records GROUP BY delay, until
""")


def read_label_shares(session: Session, deployment_no: int) -> LabelShares | None:
    """None where fewer than 50 labels of logged records are stored, or no record is old enough."""
    row: Any = session.execute(_LABELS, {"no": deployment_no}).one_or_none()
    if row is None or not row.records or not row.usual_records:
        return None
    return read_row(LabelShares, row)
