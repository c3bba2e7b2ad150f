"""Payload records, newest first or by their largest gap, filtered within a bounded part of the log."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pyarrow as pa
from sqlalchemy import Row, TextClause, text
from sqlalchemy.orm import Session

from ...base.strict_json import JsonObject
from ...base.values import frozen_by_name, shown_value
from ...database.binary_rows import Page, fill_page, read_row
from ...database.engine import ArrowReader
from ...domain.check import Span
from ...domain.deployment import FieldType, RecordSchema
from ...domain.mitigation import FlaggedRecord
from ...domain.record import Prediction
from ...domain.record_times import LogKind
from .copy_answers import TargetKey
from .record_conditions import (
    GapPlace,
    RecordFilter,
    RecordPlace,
    Statement,
    add_filters,
    build_bound_statement,
)

MAX_SCANNED = 20_000
"""Records that one request looks through for those that pass a filter."""

MAX_SCANNED_WITH_COPIES = 5_000
"""As above, for a filter by changes of copies, or a list by gap."""


@frozen_by_name
class StoredRecord:
    """Payload record as stored. Cells are in the order of the schema version. `sample_rate` is the share that
    is logged there; None: all.
    """

    record_no: int
    record_id: str
    scored_at: datetime
    logged_at: datetime
    schema_version: int
    model_revision: str
    features: list[Any]
    meta: list[Any] | None
    prediction: Any
    probability: Any
    label: Any
    sample_rate: float | None
    mitigated: dict[str, Any] | None

    @property
    def place(self) -> RecordPlace:
        return RecordPlace(self.logged_at, self.record_no)

    @property
    def answer(self) -> Prediction:
        probability = tuple(self.probability) if isinstance(self.probability, list) else self.probability
        return Prediction(self.prediction, probability, self.label)


@frozen_by_name
class RecordPage:
    """May be short, or empty, and have a `next_place`: a request reads a bounded part of the log."""

    records: list[StoredRecord]
    next_place: RecordPlace | GapPlace | None


RECORD_COLUMNS = ", ".join(f"r.{name}" for name in StoredRecord.__dataclass_fields__)
VALUE_COLUMNS = ("features", "meta", "prediction", "probability", "label", "mitigated")
_NEWEST_FIRST = "ORDER BY r.logged_at DESC, r.record_no DESC"


def find_records(
    session: Session, deployment_no: int, filters: RecordFilter, *, after: RecordPlace | None, limit: int
) -> RecordPage:
    statement = build_bound_statement(deployment_no, filters, after)
    stop = _bound_scan(session, statement, filters)
    add_filters(statement, filters)
    query = text(
        f"SELECT {RECORD_COLUMNS} FROM payload_records r "  # noqa: S608 - constants
        f"WHERE {statement.where} {_NEWEST_FIRST} LIMIT :most"
    )
    page = _read_page(session, query, statement.values | {"most": limit + 1})
    records = [read_row(StoredRecord, row) for row in page.items[:limit]]
    if page.is_cut or len(page.items) > limit:
        return RecordPage(records=records, next_place=records[-1].place if records else after)
    return RecordPage(records=records, next_place=stop)


def _read_page(session: Session, query: TextClause, values: JsonObject) -> Page[Row[Any]]:
    with session.execute(query, values, execution_options={"yield_per": _ROWS_PER_FETCH}) as rows:
        return fill_page(
            rows, lambda row: len(msgspec.json.encode([getattr(row, name) for name in VALUE_COLUMNS]))
        )


def _bound_scan(session: Session, statement: Statement, filters: RecordFilter) -> RecordPlace | None:
    # A filter that few records pass would read the whole log.
    stop = (
        _find_place(session, statement, MAX_SCANNED if filters.changed is None else MAX_SCANNED_WITH_COPIES)
        if filters.is_selective
        else None
    )
    if stop is not None:
        statement.add(
            "(r.logged_at, r.record_no) >= (:stop_at, :stop_no) AND r.logged_at >= :stop_at",
            stop_at=stop.logged_at,
            stop_no=stop.record_no,
        )
    return stop


@frozen_by_name
class RecordCount:
    """Number of records; `is_least`: there may be more."""

    records: int
    is_least: bool


def count_records(session: Session, deployment_no: int, filters: RecordFilter, *, most: int) -> RecordCount:
    statement = build_bound_statement(deployment_no, filters, None)
    is_cut = _bound_scan(session, statement, filters) is not None
    add_filters(statement, filters)
    count_query = text(
        f"SELECT count(*) FROM (SELECT FROM payload_records r WHERE {statement.where} LIMIT :most) AS found"  # noqa: S608 - constants
    )
    records = int(session.execute(count_query, statement.values | {"most": most}).scalar_one())
    return RecordCount(records=records, is_least=is_cut or records >= most)


def count_window(
    session: Session, deployment_no: int, *, since: datetime | None, until: datetime | None
) -> int:
    statement = build_bound_statement(deployment_no, RecordFilter(since=since, until=until), None)
    return int(
        session.execute(
            text(f"SELECT count(*) FROM payload_records r WHERE {statement.where}"),  # noqa: S608
            statement.values,
        ).scalar_one()
    )


def find_record(session: Session, deployment_no: int, record_id: str) -> StoredRecord | None:
    row = session.execute(
        text(
            f"""SELECT {RECORD_COLUMNS} FROM payload_keys k JOIN payload_records r
                  ON r.deployment_no = k.deployment_no AND r.logged_at = k.logged_at
                      AND r.record_no = k.record_no
                WHERE k.deployment_no = :deployment_no
                    AND k.record_id = :record_id"""  # noqa: S608 - constants
        ),
        {"deployment_no": deployment_no, "record_id": record_id},
    ).one_or_none()
    return None if row is None else read_row(StoredRecord, row)


def show_record(record: StoredRecord) -> StoredRecord:
    return replace(record, **{name: shown_value(getattr(record, name)) for name in VALUE_COLUMNS})


def find_nth_newest(
    session: Session,
    deployment_no: int,
    version: int | None,
    *,
    before: datetime,
    since: datetime,
    count: int,
) -> RecordPlace | None:
    statement = build_bound_statement(
        deployment_no, RecordFilter(since=since, until=before, version=version), None
    )
    return _find_place(session, statement, count)


def read_schemas(session: Session, deployment_no: int) -> dict[int, RecordSchema]:
    rows = session.execute(
        text(
            "SELECT version, features, meta FROM deployment_schemas WHERE deployment_no = :no ORDER BY "
            "version"
        ),
        {"no": deployment_no},
    )
    return {row.version: read_row(RecordSchema, row) for row in rows}


def read_copy_targets(session: Session, deployment_no: int) -> dict[int, TargetKey]:
    names = ", ".join(TargetKey.__dataclass_fields__)
    # A repeat changes no feature.
    statement = f"SELECT no, {names} FROM copy_targets WHERE deployment_no = :no AND feature <> ''"  # noqa: S608 - of names only
    rows = session.execute(text(statement), {"no": deployment_no})
    return {row.no: read_row(TargetKey, row) for row in rows}


def read_copies(session: Session, record_nos: Sequence[int], target_nos: Iterable[int]) -> Sequence[Row[Any]]:
    """Columns: record_no, target_no, draw, prediction, probability, label."""
    return session.execute(
        text(
            "SELECT record_no, target_no, draw, prediction, probability, label FROM counterfactuals"
            " WHERE target_no = ANY(:targets) AND record_no = ANY(CAST(:records AS bigint[])) ORDER BY "
            "record_no, target_no, draw"
        ),
        {"targets": list(target_nos), "records": list(record_nos)},
    ).all()


def read_flags(session: Session, deployment_no: int, record_nos: Sequence[int]) -> list[FlaggedRecord]:
    names = ", ".join(f'"{name}"' for name in FlaggedRecord.__dataclass_fields__)
    rows = session.execute(
        text(
            f"SELECT {names} FROM flagged_records WHERE deployment_no = :no"  # noqa: S608 - a constant
            " AND record_no = ANY(CAST(:records AS bigint[])) ORDER BY record_no, attribute"
        ),
        {"no": deployment_no, "records": list(record_nos)},
    )
    return [FlaggedRecord(**row) for row in rows.mappings()]


def read_record_labels(session: Session, deployment_no: int, record_ids: Sequence[str]) -> dict[str, Any]:
    statement = text(
        "SELECT feedback_id, label FROM feedback_records WHERE deployment_no = :no AND feedback_id = "
        "ANY(CAST(:ids AS text[]))"
    )
    rows = session.execute(statement, {"no": deployment_no, "ids": list(record_ids)})
    return {row.feedback_id: row.label for row in rows}


def _find_place(session: Session, statement: Statement, count: int) -> RecordPlace | None:
    query = (
        f"SELECT r.logged_at, r.record_no FROM payload_records r WHERE {statement.where} "  # noqa: S608
        f"{_NEWEST_FIRST} OFFSET :passed LIMIT 1"
    )
    row = session.execute(text(query), statement.values | {"passed": count - 1}).one_or_none()
    return None if row is None else RecordPlace(row.logged_at, row.record_no)


_ROWS_PER_FETCH = 50

_LAST_PLACE = RecordPlace(datetime.max.replace(tzinfo=UTC), 2**63 - 1)

_BY_GAP = "ORDER BY f.gap DESC, f.record_no, f.attribute"
_IS_AFTER = "f.gap <= :gap AND (f.gap < :gap OR f.record_no > :record_no)"
# A record's place is that of its largest flag.
_IS_LARGEST_FLAG = (
    "NOT EXISTS (SELECT FROM flagged_records o WHERE o.deployment_no = f.deployment_no AND o.record_no = "
    "f.record_no AND (o.gap > f.gap OR (o.gap = f.gap AND o.attribute < f.attribute)))"
)


def find_by_gap(
    session: Session, deployment_no: int, filters: RecordFilter, *, after: GapPlace | None, limit: int
) -> RecordPage:
    if after is not None and after.gap is None:
        return _find_without_flags(
            session, deployment_no, filters, RecordPlace(after.logged_at, after.record_no), limit
        )
    flagged = _find_flagged(session, deployment_no, filters, after, limit)
    if flagged.next_place is not None:
        return flagged
    unflagged = _find_without_flags(
        session, deployment_no, filters, _LAST_PLACE, limit - len(flagged.records)
    )
    return RecordPage(records=[*flagged.records, *unflagged.records], next_place=unflagged.next_place)


def _find_flagged(
    session: Session, deployment_no: int, filters: RecordFilter, after: GapPlace | None, limit: int
) -> RecordPage:
    conditions = ["f.deployment_no = :deployment_no"]
    values: dict[str, Any] = {"deployment_no": deployment_no}
    if after is not None:
        conditions.append(_IS_AFTER)
        values |= {"gap": after.gap, "record_no": after.record_no}
    stop = session.execute(
        text(
            "SELECT f.gap, f.logged_at, f.record_no FROM flagged_records f"  # noqa: S608 - constants
            f" WHERE {' AND '.join(conditions)} {_BY_GAP} OFFSET :passed LIMIT 1"
        ),
        values | {"passed": MAX_SCANNED_WITH_COPIES - 1},
    ).one_or_none()
    if stop is not None:
        conditions.append("(f.gap > :stop_gap OR (f.gap = :stop_gap AND f.record_no <= :stop_no))")
        values |= {"stop_gap": stop.gap, "stop_no": stop.record_no}
    statement = build_bound_statement(deployment_no, filters, None)
    add_filters(statement, filters)
    is_record_of_flag = (
        "r.deployment_no = f.deployment_no AND r.logged_at = f.logged_at AND r.record_no = f.record_no"
    )
    query = text(
        f"SELECT {RECORD_COLUMNS}, f.gap FROM flagged_records f JOIN payload_records r ON "  # noqa: S608 - constants
        f"{is_record_of_flag}"
        f" WHERE {' AND '.join([*conditions, _IS_LARGEST_FLAG])} AND {statement.where} {_BY_GAP} LIMIT :most"
    )
    page = _read_page(session, query, statement.values | values | {"most": limit + 1})
    records = [read_row(StoredRecord, row) for row in page.items[:limit]]
    last = page.items[len(records) - 1] if page.is_cut or len(page.items) > limit else stop
    next_place = None if last is None else GapPlace(last.gap, last.logged_at, last.record_no)
    return RecordPage(records=records, next_place=next_place)


def _find_without_flags(
    session: Session, deployment_no: int, filters: RecordFilter, after: RecordPlace, limit: int
) -> RecordPage:
    page = find_records(
        session, deployment_no, replace(filters, without_flags=True), after=after, limit=limit
    )
    position = page.next_place
    return RecordPage(
        records=page.records,
        next_place=None if position is None else GapPlace(None, position.logged_at, position.record_no),
    )


SQL_TYPES: Final = {
    FieldType.STRING: "text",
    FieldType.INTEGER: "bigint",
    FieldType.NUMBER: "float8",
    FieldType.BOOLEAN: "boolean",
}

_SCHEMA_COLUMNS = ("record_no", "record_id", "schema_version", "features", "meta")

_FIXED_COLUMNS: Final = {
    LogKind.PAYLOAD: "record_id AS id, "
    + ", ".join(
        f"{name}::text AS {name}" if name in VALUE_COLUMNS else name
        for name in StoredRecord.__dataclass_fields__
        if name not in _SCHEMA_COLUMNS
    ),
    # Without the answer to a check's question: its decoded form cannot be sent.
    LogKind.FEEDBACK: """feedback_id AS id, logged_at AS labelled_at, record_logged_at, label::text AS label,
        CASE WHEN predicted_label IS NULL THEN predicted END::text AS prediction,
        CASE WHEN predicted_label IS NULL THEN predicted_probability END::text AS probability""",
}

# A label belongs to the month of its record.
_MONTH_TIME: Final = {LogKind.PAYLOAD: "logged_at", LogKind.FEEDBACK: "coalesce(record_logged_at, logged_at)"}
_NUMBER_COLUMN: Final = {LogKind.PAYLOAD: "record_no", LogKind.FEEDBACK: "feedback_no"}


def count_versions_of_month(
    reader: ArrowReader, kind: LogKind, deployment_no: int, month: Span
) -> Mapping[int, int]:
    statement = (
        "SELECT schema_version::int AS version, count(*) AS n "
        f"{_select_month(kind, deployment_no, month)} GROUP BY 1 ORDER BY 1"
    )
    return {row["version"]: row["n"] for row in reader.table(statement).to_pylist()}


def read_rows_of_month(
    reader: ArrowReader, kind: LogKind, deployment_no: int, month: Span, schema: RecordSchema
) -> AbstractContextManager[pa.RecordBatchReader]:
    values = "".join(
        f", ({source}->>{position})::{SQL_TYPES[column.type]}"
        for source, columns in (("features", schema.features), ("meta", schema.meta))
        for position, column in enumerate(columns)
    )
    columns_sql = (
        f"{_FIXED_COLUMNS[kind]}, features IS NOT NULL AS has_features, meta IS NOT NULL AS has_meta{values}"
    )
    rows_of_version = f"{_select_month(kind, deployment_no, month)} AND schema_version = {schema.version:d}"
    return reader.batches(
        f"SELECT {columns_sql} {rows_of_version} ORDER BY {_MONTH_TIME[kind]}, {_NUMBER_COLUMN[kind]}"
    )


def _select_month(kind: LogKind, deployment_no: int, month: Span) -> str:
    # With parameters, ADBC holds the whole answer in memory.
    time = _MONTH_TIME[kind]
    is_in_month = f"{time} >= '{month.start.isoformat()}' AND {time} < '{month.end.isoformat()}'"
    return f"FROM {kind.value}_records WHERE deployment_no = {deployment_no:d} AND {is_in_month}"
