"""Corrections of stored labels and predictions, also since a check read them."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.values import Scalar, frozen, frozen_by_name


class Corrected(StrEnum):
    """The value of a record that is corrected."""

    LABEL = "label"
    PREDICTION = "prediction"


@frozen_by_name
class Correction:
    """One correction. Without `old` any stored value is replaced; a `new` of None takes the value away."""

    id: str | None
    record_id: str
    what: Corrected
    old: Scalar | None
    new: Scalar | None
    reason: str


@frozen
class CorrectedCount:
    """How many values of a kind were corrected."""

    what: str
    count: int


def describe_corrected(counts: Sequence[CorrectedCount], measured: datetime | None) -> str:
    """Returns the sentence on values that were corrected since figures were measured."""
    phrases = [
        f"{corrected.count:,} {corrected.what}{'' if corrected.count == 1 else 's'}" for corrected in counts
    ]
    total = sum(corrected.count for corrected in counts)
    return f"{', '.join(phrases)} {'was' if total == 1 else 'were'} corrected since {measured:%-d %b %Y}."


# Records of the window, and labels that became usable in the span; those that top it up are the newest
# before.
_COUNT_SINCE = text("""
    SELECT what, count(*)
    FROM (SELECT *, (window_->>'oldest_record_at')::timestamptz AS oldest,
        (window_->>'newest_record_at')::timestamptz AS newest,
                 (window_->>'additional_labelled_records')::int AS additional
          FROM (SELECT deployment_no, started_at, span_start, span_end, "window" AS window_ FROM checks
              WHERE no = :no)) c
    JOIN corrections USING (deployment_no)
    WHERE made_at >= started_at AND (previous_at IS NULL OR previous_at < started_at)
      AND (what = 'prediction' AND logged_at BETWEEN oldest AND newest
           OR usable_at < span_end AND usable_at >= coalesce((
               SELECT f.usable_at FROM feedback_records f
               WHERE f.deployment_no = c.deployment_no AND f.usable_at < span_start AND additional > 0
               ORDER BY f.usable_at DESC OFFSET greatest(additional - 1, 0) LIMIT 1), span_start))
    GROUP BY what ORDER BY what
""")


def count_corrected(session: Session, check_no: int) -> list[CorrectedCount]:
    """Returns how many values that the check read were corrected since it began to."""
    return [CorrectedCount(*row) for row in session.execute(_COUNT_SINCE, {"no": check_no})]
