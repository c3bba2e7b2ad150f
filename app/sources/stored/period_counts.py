"""Payload records of a period, added up by what sheets are made of; notes of hours to count again."""

from collections.abc import Iterable
from datetime import datetime

import pyarrow as pa
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from ...base.errors import InvalidInput
from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import read_row
from ...database.engine import ArrowReader
from ...database.tables import ChangedHourRow
from ...domain.check import Span
from .window_queries import VALUE_PREFIX, WindowQuery

MOST_ROWS = 2_000_000
"""A report holds them in memory."""

_IN_PERIOD = "FROM payload_records WHERE deployment_no = $1 AND logged_at >= $2 AND logged_at < $3"


@frozen
class RevisionCount:
    """Records of one model revision and schema version, and the lowest and highest share of traffic."""

    model_revision: str
    schema_version: int
    records: int
    lowest_rate: float
    highest_rate: float


@frozen_by_name
class NotStored:
    """Records that were rejected, not received from a sender, left out by its sample, or erased.

    The rates are those of senders that left records out.
    """

    rejected: int
    not_received: int
    sampled_out: int
    erased: int
    lowest_rate: float | None
    highest_rate: float | None


def count_combinations(reader: ArrowReader, query: WindowQuery, span: Span) -> pa.Table:
    """Returns how many records of the current schema version have each combination.

    Columns: records, outcome (JSON text of the label or prediction), probability (JSON text) if wanted,
    value_0 ….
    """
    probability = (
        ", CASE WHEN coalesce(label, prediction) <> 'null' THEN probability#>>'{}' END AS probability"
        if query.with_probabilities
        else ""
    )
    columns = [
        "outcome",
        *(["probability"] if query.with_probabilities else []),
        *(f"{VALUE_PREFIX}{no}" for no in range(len(query.columns))),
    ]
    table = reader.table(
        f"""SELECT count(*) AS records, {", ".join(columns)} FROM (
              SELECT coalesce(label, prediction)::text
                  AS outcome {probability} {query.values("features", "meta")}
              {_IN_PERIOD} AND schema_version = $4) logged
            GROUP BY {", ".join(columns)}
                LIMIT {MOST_ROWS + 1}""",  # noqa: S608 - only positions of columns are written into it, never a name or a value
        [query.deployment_no, span.start, span.end, query.schema.version],
    )
    if table.num_rows > MOST_ROWS:
        raise InvalidInput(
            "since",
            f"must give a shorter period: its records have more than {MOST_ROWS:,} different values and "
            "scores",
        )
    # Sums depend on the order to the last digit. Postgres sorts texts by a language, which takes seconds.
    return table.sort_by([(name, "ascending") for name in columns])


def sample_period(reader: ArrowReader, query: WindowQuery, span: Span, *, one_in: int) -> pa.Table:
    """About one record in `one_in`, evenly spread: outcome (JSON text), value_0 …."""
    return reader.table(
        f"""SELECT coalesce(label, prediction)::text AS outcome {query.values("features", "meta")}
            {_IN_PERIOD} AND schema_version = $4 AND mod(hashint8(record_no)::bigint, $5) = 0 ORDER BY logged_at, record_no""",
        [query.deployment_no, span.start, span.end, query.schema.version, one_in],
    )


def count_revisions(reader: ArrowReader, deployment_no: int, span: Span) -> list[RevisionCount]:
    table = reader.table(
        f"""SELECT model_revision, schema_version::int AS schema_version, count(*) AS records,
                   min(coalesce(sample_rate, 1)) AS lowest_rate, max(coalesce(sample_rate, 1)) AS highest_rate
            {_IN_PERIOD} GROUP BY 1, 2 ORDER BY 1, 2""",
        [deployment_no, span.start, span.end],
    )
    return [RevisionCount(**row) for row in table.to_pylist()]


def count_without_label(reader: ArrowReader, deployment_no: int, span: Span) -> int:
    table = reader.table(
        """SELECT count(*) AS records FROM payload_records p
           WHERE deployment_no = $1 AND logged_at >= $2 AND logged_at < $3
             AND NOT EXISTS (SELECT FROM feedback_records f WHERE f.deployment_no = p.deployment_no
                 AND f.feedback_id = p.record_id
                               AND f.label <> 'null')""",
        [deployment_no, span.start, span.end],
    )
    return int(table["records"][0].as_py())


def count_not_stored(session: Session, deployment_no: int, span: Span) -> NotStored:
    counts = session.execute(
        text(
            """SELECT (SELECT coalesce(sum(records), 0) FROM rejection_counts WHERE deployment_no = :no AND kind = 'payload'
                         AND hour >= :start AND hour < :end)::bigint AS rejected,
                      (SELECT coalesce(sum(records), 0) FROM erased_hours WHERE deployment_no = :no
                         AND hour >= :start AND hour < :end)::bigint AS erased,
                      coalesce(sum(not_received), 0)::bigint AS not_received, coalesce(sum(left_out),
                          0)::bigint AS sampled_out,
                      min(sample_rate) FILTER (WHERE left_out > 0) AS lowest_rate,
                      max(sample_rate) FILTER (WHERE left_out > 0) AS highest_rate
               FROM missing_records WHERE deployment_no = :no AND hour >= :start AND hour < :end"""
        ),
        {"no": deployment_no, "start": span.start, "end": span.end},
    )
    return read_row(NotStored, counts.one())


def note_changed_hours(session: Session, deployment_no: int, hours: Iterable[datetime]) -> None:
    """Notes that something was added to these hours (aware, whole hours in UTC)."""
    rows = [{"deployment_no": deployment_no, "hour": hour} for hour in hours]
    if rows:
        session.execute(insert(ChangedHourRow), rows)
