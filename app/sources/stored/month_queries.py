"""Records of a month for `evenhand export`, each column with its own type."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final

import pyarrow as pa

from ...database.engine import ArrowReader
from ...domain.record_times import LogKind
from ...domain.check import Span
from ...domain.deployment import FieldType, RecordSchema
from .record_queries import VALUE_COLUMNS, StoredRecord

TYPES: Final = {
    FieldType.STRING: "text",
    FieldType.INTEGER: "bigint",
    FieldType.NUMBER: "float8",
    FieldType.BOOLEAN: "boolean",
}

_NOT_FIXED = ("record_no", "record_id", "schema_version", "features", "meta")

_FIXED: Final = {
    LogKind.PAYLOAD: "record_id AS id, "
    + ", ".join(
        f"{name}::text AS {name}" if name in VALUE_COLUMNS else name
        for name in StoredRecord.__dataclass_fields__
        if name not in _NOT_FIXED
    ),
    # Without the answer to a check's question: its decoded form cannot be sent.
    LogKind.FEEDBACK: """feedback_id AS id, logged_at AS labelled_at, record_logged_at, label::text AS label,
        CASE WHEN predicted_label IS NULL THEN predicted END::text AS prediction,
        CASE WHEN predicted_label IS NULL THEN predicted_probability END::text AS probability""",
}

# A label belongs to the month of its record.
_TIME: Final = {LogKind.PAYLOAD: "logged_at", LogKind.FEEDBACK: "coalesce(record_logged_at, logged_at)"}
_NUMBER: Final = {LogKind.PAYLOAD: "record_no", LogKind.FEEDBACK: "feedback_no"}


def versions_of_month(
    reader: ArrowReader, kind: LogKind, deployment_no: int, month: Span
) -> Mapping[int, int]:
    statement = (
        "SELECT schema_version::int AS version, count(*) AS n "
        f"{_of_month(kind, deployment_no, month)} GROUP BY 1 ORDER BY 1"
    )
    return {row["version"]: row["n"] for row in reader.table(statement).to_pylist()}


def rows_of_month(
    reader: ArrowReader, kind: LogKind, deployment_no: int, month: Span, schema: RecordSchema
) -> AbstractContextManager[pa.RecordBatchReader]:
    values = "".join(
        f", ({source}->>{position})::{TYPES[column.type]}"
        for source, columns in (("features", schema.features), ("meta", schema.meta))
        for position, column in enumerate(columns)
    )
    selected = f"{_FIXED[kind]}, features IS NOT NULL AS has_features, meta IS NOT NULL AS has_meta{values}"
    of_version = f"{_of_month(kind, deployment_no, month)} AND schema_version = {schema.version:d}"
    return reader.batches(f"SELECT {selected} {of_version} ORDER BY {_TIME[kind]}, {_NUMBER[kind]}")


def _of_month(kind: LogKind, deployment_no: int, month: Span) -> str:
    # With parameters, ADBC holds the whole answer in memory.
    within = f"{_TIME[kind]} >= '{month.start.isoformat()}' AND {_TIME[kind]} < '{month.end.isoformat()}'"
    return f"FROM {kind.value}_records WHERE deployment_no = {deployment_no:d} AND {within}"
