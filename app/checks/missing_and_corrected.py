"""Counts of records that the hours of a check miss, and of values that were corrected since the check."""

from collections.abc import Sequence
from enum import StrEnum

from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.values import Scalar, frozen, frozen_by_name
from ..database.binary_rows import read_row
from ..domain.check import Span

# Values of which a check read another one: predictions of the window's records, and labels that became usable
# in the span or top it up, which are the newest before it.
_NOT_STORED = text("""
    WITH checked AS (
        SELECT deployment_no, started_at, span_start, span_end,
            ("window"->>'oldest_record_at')::timestamptz AS oldest,
            ("window"->>'newest_record_at')::timestamptz AS newest,
            ("window"->>'additional_labelled_records')::int AS additional
        FROM checks
        WHERE no = :check_no
    ),
    corrected AS (
        SELECT what, count(*)
        FROM checked
        JOIN corrections USING (deployment_no)
        WHERE made_at >= started_at
            AND (previous_at IS NULL OR previous_at < started_at)
            AND (
                what = 'prediction' AND logged_at BETWEEN oldest AND newest
                OR usable_at < span_end AND usable_at >= coalesce((
                    SELECT label.usable_at
                    FROM feedback_records label
                    WHERE label.deployment_no = checked.deployment_no AND label.usable_at < span_start
                        AND additional > 0
                    ORDER BY label.usable_at DESC
                    OFFSET greatest(additional - 1, 0)
                    LIMIT 1
                ), span_start)
            )
        GROUP BY what
    )
    SELECT
        (
            SELECT coalesce(sum(records), 0)
            FROM rejection_counts
            WHERE deployment_no = :no AND kind = 'payload' AND hour >= :start AND hour < :end
        )::bigint AS rejected,
        (
            SELECT coalesce(sum(records), 0)
            FROM erased_hours
            WHERE deployment_no = :no AND hour >= :start AND hour < :end
        )::bigint AS erased,
        coalesce(sum(not_received), 0)::bigint AS not_received,
        coalesce(sum(left_out), 0)::bigint AS sampled_out,
        min(sample_rate) FILTER (WHERE left_out > 0) AS lowest_rate,
        max(sample_rate) FILTER (WHERE left_out > 0) AS highest_rate,
        (SELECT coalesce(jsonb_agg(corrected ORDER BY what), '[]') FROM corrected) AS corrected
    FROM missing_records
    WHERE deployment_no = :no AND hour >= :start AND hour < :end
""")


class Corrected(StrEnum):
    """The value of a record that is corrected."""

    LABEL = "label"
    PREDICTION = "prediction"


@frozen_by_name
class Correction:
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


def describe_corrected(counts: Sequence[CorrectedCount], since: str) -> str:
    """Says `2 labels, 1 prediction were corrected since 2 Mar 2026`."""
    phrases = [
        f"{corrected.count:,} {corrected.what}{'' if corrected.count == 1 else 's'}" for corrected in counts
    ]
    total = sum(corrected.count for corrected in counts)
    return f"{', '.join(phrases)} {'was' if total == 1 else 'were'} corrected since {since}."


@frozen_by_name
class MissingRecords:
    """Numbers of records that some hours miss, and of values corrected since a check.

    The rates are those of sampling, None if it left out nothing.
    """

    rejected: int
    not_received: int
    sampled_out: int
    erased: int
    lowest_rate: float | None
    highest_rate: float | None
    corrected: tuple[CorrectedCount, ...]


def count_not_stored(
    session: Session, deployment_no: int, span: Span, *, check_no: int | None = None
) -> MissingRecords:
    """Counts payload records of the span that are not stored, and values corrected since that check."""
    values = {"no": deployment_no, "start": span.start, "end": span.end, "check_no": check_no}
    return read_row(MissingRecords, session.execute(_NOT_STORED, values).one())
