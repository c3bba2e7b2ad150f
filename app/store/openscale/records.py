"""Records as the OpenScale SDK lists and counts them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from ..records.transactions import StoredRecord
from .record_searches import (
    FEEDBACK,
    PAYLOAD,
    FieldOperator,
    FieldTest,
    OwnValue,
    RecordField,
    RecordSearch,
    SearchedTable,
    order_clause,
    search_statement,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFeedback:
    """One label, with the features that it came with or those of its record."""

    feedback_id: str
    logged_at: datetime
    schema_version: int
    features: list[Any] | None
    meta: list[Any] | None
    label: Any
    predicted: Any
    probability: Any


_PAYLOAD_COLUMNS = ", ".join(f"r.{name}" for name in StoredRecord.__dataclass_fields__)
_FEEDBACK_COLUMNS = (
    f"f.feedback_id, f.logged_at, {FEEDBACK.version} AS schema_version, {FEEDBACK.features} AS features, {FEEDBACK.meta} AS meta, f.label,"
    f" {FEEDBACK.values[OwnValue.PREDICTION]} AS predicted, {FEEDBACK.values[OwnValue.PROBABILITY]} AS probability"
)


def count_records(session: Session, table: SearchedTable, deployment_no: int, wanted: RecordSearch, *, up_to: int | None = None) -> int:
    """Returns the number of records that the search finds; with `up_to`, at most that many are counted."""
    statement = search_statement(table, deployment_no, wanted)
    found = f"SELECT 1 FROM {table.tables} WHERE {statement.where} LIMIT :up_to"  # noqa: S608 - constants
    return int(session.execute(text(f"SELECT count(*) FROM ({found}) one"), statement.values | {"up_to": up_to}).scalar_one())  # noqa: S608


def list_payload(session: Session, deployment_no: int, wanted: RecordSearch, *, offset: int, limit: int) -> Sequence[StoredRecord]:
    """Returns the payload records that the search finds, in its order."""
    statement = search_statement(PAYLOAD, deployment_no, wanted)
    order = order_clause(PAYLOAD, wanted.order, statement)
    query = f"SELECT {_PAYLOAD_COLUMNS} FROM {PAYLOAD.tables} WHERE {statement.where} {order} OFFSET :offset LIMIT :limit"  # noqa: S608 - constants
    rows = session.execute(text(query), statement.values | {"offset": offset, "limit": limit}).mappings()
    return [StoredRecord(**row) for row in rows]


def list_feedback(session: Session, deployment_no: int, wanted: RecordSearch, *, offset: int, limit: int) -> Sequence[StoredFeedback]:
    """Returns the labels that the search finds, in its order."""
    statement = search_statement(FEEDBACK, deployment_no, wanted)
    order = order_clause(FEEDBACK, wanted.order, statement)
    query = f"SELECT {_FEEDBACK_COLUMNS} FROM {FEEDBACK.tables} WHERE {statement.where} {order} OFFSET :offset LIMIT :limit"  # noqa: S608 - constants
    rows = session.execute(text(query), statement.values | {"offset": offset, "limit": limit}).mappings()
    return [StoredFeedback(**row) for row in rows]


def feedback_of_id(session: Session, deployment_no: int, feedback_id: str) -> StoredFeedback | None:
    """Returns the label of that id."""
    test = FieldTest(field=RecordField(own=OwnValue.ID), operator=FieldOperator.EQUAL, texts=(feedback_id,))
    return next(iter(list_feedback(session, deployment_no, RecordSearch(tests=(test,)), offset=0, limit=1)), None)
