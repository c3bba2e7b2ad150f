"""Reads all records and labels of whole hours."""

from datetime import timedelta

import pyarrow as pa

from ...database.engine import ArrowReader, Parameter
from ...domain.check import Span
from ...sources.stored.window_queries import WindowQuery

_RECORDS = """
    FROM payload_records p
    WHERE p.deployment_no = $1 AND p.schema_version = $2 AND p.logged_at >= $3 AND p.logged_at < $4
        AND p.model_revision = $5
"""

# By the whole key for each record: a label may come months after it.
_LABELS = """
    FROM payload_records p
    CROSS JOIN LATERAL (SELECT * FROM feedback_records f WHERE f.deployment_no = p.deployment_no
        AND f.feedback_id = p.record_id
                        AND f.record_no = p.record_no OFFSET 0) f
    WHERE p.deployment_no = $1 AND p.schema_version = $2 AND p.logged_at >= $3 AND p.logged_at < $4
        AND p.model_revision = $5
      AND f.usable_at <= p.logged_at + make_interval(secs => $6::text::float8)
"""
_COLUMNS = "p.record_no, p.logged_at, p.sample_rate, coalesce(p.label, p.prediction)::text AS outcome"


def records_between(reader: ArrowReader, query: WindowQuery, span: Span, model_revision: str) -> pa.Table:
    """Returns the records of that schema version and model revision, oldest first.

    Columns: record_no, logged_at, sample_rate (NULL: 1), outcome (JSON text), value_0 ….
    """
    # Only positions of columns are written into the statement, never a name or a value.
    statement = (
        f"SELECT {_COLUMNS} {query.values('p.features', 'p.meta')} {_RECORDS} ORDER BY p.logged_at, "
        "p.record_no"
    )
    return reader.table(statement, _parameters(query, span, model_revision))


def labels_between(
    reader: ArrowReader, query: WindowQuery, span: Span, model_revision: str, horizon: timedelta
) -> pa.Table:
    """Returns the records whose label was there within `horizon`, with one more column: label (JSON text)."""
    statement = (
        f"SELECT {_COLUMNS}, f.label::text AS label {query.values('p.features', 'p.meta')} "
        f"{_LABELS} ORDER BY p.logged_at, p.record_no"
    )
    return reader.table(statement, [*_parameters(query, span, model_revision), str(horizon.total_seconds())])


def _parameters(query: WindowQuery, span: Span, model_revision: str) -> list[Parameter]:
    return [query.deployment_no, query.schema.version, span.start, span.end, model_revision]
