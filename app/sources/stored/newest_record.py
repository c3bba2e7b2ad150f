"""The payload records that were logged last, for a look at columns."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.orm import Session

from ...base.values import Scalar, frozen
from ...database.binary_rows import read_row
from ...domain.deployment import Column, RecordSchema
from .record_conditions import RecordFilter
from .record_queries import StoredRecord, find_records


def find_newest_record(session: Session, deployment_no: int) -> StoredRecord | None:
    records = find_records(session, deployment_no, RecordFilter(), after=None, limit=1).records
    return records[0] if records else None


MAX_SAMPLED_RECORDS = 10_000


@frozen
class SampledRecord:
    """Values and outcome of a record, in the order of the schema."""

    logged_at: datetime
    features: Sequence[Scalar | None]
    meta: Sequence[Scalar | None]
    outcome: Scalar | None


def read_newest_records(session: Session, deployment_no: int, schema_version: int) -> list[SampledRecord]:
    """Of the newest MAX_SAMPLED_RECORDS records those of the schema version, newest first."""
    rows = session.execute(
        # The limit is inside: a search for the version could read all records.
        text(
            """SELECT logged_at, features, meta, coalesce(label, prediction) AS outcome
               FROM (SELECT * FROM payload_records WHERE deployment_no = :deployment_no
                     ORDER BY logged_at DESC, record_no DESC LIMIT :limit) newest
               WHERE schema_version = :schema_version ORDER BY logged_at DESC, record_no DESC"""
        ),
        {"deployment_no": deployment_no, "schema_version": schema_version, "limit": MAX_SAMPLED_RECORDS},
    )
    return [read_row(SampledRecord, row, meta=row.meta or ()) for row in rows]


class ValueCount(NamedTuple):
    value: Scalar
    records: int


@frozen
class NewestValues:
    """Values of the outcome and of each requested column, counted in the newest records. `records` are those
    looked at, `records_of_version` those of the schema version.
    """

    records: int
    records_of_version: int
    outcomes: Sequence[ValueCount]
    columns: Sequence[Sequence[ValueCount]]


_OUTCOME_COUNT = -1
_RECORDS = -2
"""Numbers of these counts, next to those of columns, which begin at 0."""


def count_newest_values(
    session: Session, deployment_no: int, schema: RecordSchema, columns: Sequence[Column]
) -> NewestValues:
    # Only positions of columns are written into the statement.
    values = {
        column: f"{section} -> {no}"
        for section, schema_columns in {"features": schema.features, "meta": schema.meta}.items()
        for no, column in enumerate(schema_columns)
    }
    queries = [
        f"UNION ALL SELECT {number}, {values[column]} FROM newest WHERE schema_version = :schema_version"  # noqa: S608 - above
        for number, column in enumerate(columns)
    ]
    rows = session.execute(
        text(
            f"""WITH newest AS MATERIALIZED (
                    SELECT schema_version, features, meta, coalesce(label, prediction) AS outcome
                        FROM payload_records
                    WHERE deployment_no = :deployment_no ORDER BY logged_at DESC, record_no DESC LIMIT :limit)
                SELECT place, value, count(*) AS records FROM (
                    SELECT {_OUTCOME_COUNT} AS place, outcome AS value FROM newest
                    UNION ALL SELECT {_RECORDS}, to_jsonb(schema_version = :schema_version) FROM newest
                    {" ".join(queries)}) found
                GROUP BY place, value"""  # noqa: S608 - positions of columns only
        ),
        {"deployment_no": deployment_no, "schema_version": schema.version, "limit": MAX_SAMPLED_RECORDS},
    )
    counts: dict[int, list[ValueCount]] = {
        number: [] for number in (_OUTCOME_COUNT, _RECORDS, *range(len(columns)))
    }
    for row in rows:
        if row.value is not None:
            counts[row.place].append(ValueCount(row.value, row.records))
    records_by_match = dict(counts[_RECORDS])
    return NewestValues(
        records=sum(records_by_match.values()),
        records_of_version=records_by_match.get(True, 0),
        outcomes=counts[_OUTCOME_COUNT],
        columns=[counts[number] for number in range(len(columns))],
    )
