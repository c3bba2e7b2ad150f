"""Payload records as people look through them: newest first, behind a place, filtered within a bounded part of the log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.deployments import RecordSchema
from app.domain.mitigation import FlaggedRecord
from app.store.counterfactuals import TargetKey
from app.store.deployments import columns_of
from app.store.record_conditions import RecordFilter, RecordPlace, Statement, bounded, select_within

SCANNED = 20_000
"""Records that one request looks through for those that pass a filter."""

SCANNED_WITH_COPIES = 5_000
"""The same where the copies of each record must be looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """One payload record. `features` and `meta` are in the order of the schema of `schema_version`."""

    record_no: int
    record_id: str
    logged_at: datetime
    scored_at: datetime
    schema_version: int
    model_revision: str
    features: list[Any]
    meta: list[Any] | None
    prediction: Any
    probability: Any
    label: Any
    debiased: dict[str, Any] | None

    @property
    def place(self) -> RecordPlace:
        """Its place in the log."""
        return RecordPlace(self.logged_at, self.record_no)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCopy:
    """The model's answer to one copy of a record."""

    record_no: int
    target_no: int
    draw: int
    prediction: Any
    probability: Any
    label: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecords:
    """Records, newest first. `looked_through_to` is where the request stopped looking before the end; None where it did not."""

    records: list[StoredRecord]
    looked_through_to: RecordPlace | None = None


_COLUMNS = ", ".join(f"r.{name}" for name in StoredRecord.__dataclass_fields__)
_NEWEST_FIRST = "ORDER BY r.logged_at DESC, r.record_no DESC"


def find_records(session: Session, deployment_no: int, wanted: RecordFilter, *, behind: RecordPlace | None, limit: int) -> FoundRecords:
    """At most `limit` records, newest first, behind that place, from as many as one request looks through."""
    statement = bounded(deployment_no, wanted, behind)
    stop = _floor(session, statement, wanted) if wanted.is_selective else None
    if stop is not None:
        statement.add("(r.logged_at, r.record_no) >= (:stop_at, :stop_no) AND r.logged_at >= :stop_at")
        statement.values |= {"stop_at": stop.logged_at, "stop_no": stop.record_no}
    select_within(statement, wanted)
    rows = session.execute(
        text(f"SELECT {_COLUMNS} FROM payload_records r WHERE {statement.where} {_NEWEST_FIRST} LIMIT :most"),  # noqa: S608 - constants
        statement.values | {"most": limit},
    )
    return FoundRecords(records=[StoredRecord(**row) for row in rows.mappings()], looked_through_to=stop)


def record_of(session: Session, deployment_no: int, record_id: str) -> StoredRecord | None:
    """The record of that id."""
    found = session.execute(
        text(
            f"""SELECT {_COLUMNS} FROM payload_keys k JOIN payload_records r
                  ON r.deployment_no = k.deployment_no AND r.logged_at = k.logged_at AND r.record_no = k.record_no
                WHERE k.deployment_no = :deployment_no AND k.record_id = :record_id"""  # noqa: S608 - constants
        ),
        {"deployment_no": deployment_no, "record_id": record_id},
    )
    row = found.mappings().one_or_none()
    return None if row is None else StoredRecord(**row)


def nth_newest(
    session: Session, deployment_no: int, version: int | None, *, before: datetime, since: datetime, count: int
) -> RecordPlace | None:
    """The place of the record of that count from the newest back, among those logged in [since, before) under the schema version."""
    statement = bounded(deployment_no, RecordFilter(since=since, until=before, version=version), None)
    return _place(session, statement, count)


def schemas_of(session: Session, deployment_no: int) -> dict[int, RecordSchema]:
    """Every schema version of the deployment."""
    rows = session.execute(
        text("SELECT version, features, meta FROM deployment_schemas WHERE deployment_no = :no ORDER BY version"), {"no": deployment_no}
    )
    return {row.version: RecordSchema(version=row.version, features=columns_of(row.features), meta=columns_of(row.meta)) for row in rows}


def targets_of(session: Session, deployment_no: int) -> dict[int, TargetKey]:
    """The deployment's kinds of copies, by number."""
    names = ", ".join(TargetKey.__slots__)
    rows = session.execute(text(f"SELECT no, {names} FROM copy_targets WHERE deployment_no = :no"), {"no": deployment_no})  # noqa: S608
    return {row.no: TargetKey(**{name: getattr(row, name) for name in TargetKey.__slots__}) for row in rows}


def copies_of(session: Session, record_nos: Sequence[int], target_nos: Iterable[int]) -> list[StoredCopy]:
    """The stored answers to copies of these records into these targets, by record, target and draw."""
    rows = session.execute(
        text(
            "SELECT record_no, target_no, draw, prediction, probability, label FROM counterfactuals"
            " WHERE target_no = ANY(:targets) AND record_no = ANY(CAST(:records AS bigint[])) ORDER BY record_no, target_no, draw"
        ),
        {"targets": list(target_nos), "records": list(record_nos)},
    )
    return [StoredCopy(**row) for row in rows.mappings()]


def flags_of(session: Session, deployment_no: int, record_nos: Sequence[int]) -> list[FlaggedRecord]:
    """The flags on these records, by record and attribute."""
    names = ", ".join(f'"{name}"' for name in FlaggedRecord.__dataclass_fields__)
    rows = session.execute(
        text(
            f"SELECT {names} FROM flagged_records WHERE deployment_no = :no"  # noqa: S608 - a constant
            " AND record_no = ANY(CAST(:records AS bigint[])) ORDER BY record_no, attribute"
        ),
        {"no": deployment_no, "records": list(record_nos)},
    )
    return [FlaggedRecord(**row) for row in rows.mappings()]


def feedback_of(session: Session, deployment_no: int, record_id: str) -> tuple[Any, datetime] | None:
    """The label that was observed of the record, and when it was logged."""
    statement = text("SELECT label, logged_at FROM feedback_records WHERE deployment_no = :no AND feedback_id = :record_id")
    row = session.execute(statement, {"no": deployment_no, "record_id": record_id}).one_or_none()
    return None if row is None else (row.label, row.logged_at)


def _floor(session: Session, statement: Statement, wanted: RecordFilter) -> RecordPlace | None:
    return _place(session, statement, SCANNED if wanted.changed is None else SCANNED_WITH_COPIES)


def _place(session: Session, statement: Statement, count: int) -> RecordPlace | None:
    query = f"SELECT r.logged_at, r.record_no FROM payload_records r WHERE {statement.where} {_NEWEST_FIRST} OFFSET :passed LIMIT 1"  # noqa: S608
    row = session.execute(text(query), statement.values | {"passed": count - 1}).one_or_none()
    return None if row is None else RecordPlace(row.logged_at, row.record_no)
