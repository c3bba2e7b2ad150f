"""Finding the records and labels that an erasure is about, a batch at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import text
from sqlalchemy.orm import Session

from ...domain.retention import RecordSelector
from ..deployments.deployments import columns_of
from ..tables import DeploymentSchemaRow
from .record_traces import StoredPlace


@dataclass(frozen=True, slots=True)
class MetaPlace:
    """The position of a meta field in the records of one schema version."""

    schema_version: int
    position: int


@dataclass(frozen=True, slots=True)
class PersonFound:
    """Stored records of a person, and the ids of labels that have none of these records."""

    places: Sequence[StoredPlace]
    label_ids: Sequence[str]

    @property
    def is_empty(self) -> bool:
        """Returns whether nothing was found."""
        return not self.places and not self.label_ids


def meta_places(session: Session, deployment_no: int, field: str) -> list[MetaPlace]:
    """Returns the positions of the meta field in the schema versions that have it."""
    rows = session.query(DeploymentSchemaRow).filter(DeploymentSchemaRow.deployment_no == deployment_no)
    return [
        MetaPlace(row.version, position)
        for row in rows.order_by(DeploymentSchemaRow.version)
        for position, column in enumerate(columns_of(row.meta))
        if column.name == field
    ]


def find_aged(session: Session, deployment_no: int, *, after: StoredPlace | None, before: datetime, limit: int) -> list[StoredPlace]:
    """Returns the oldest records that were logged before that time and come after the given one in the order of the log.

    Going on after the last one spares reading the rows that were just deleted.
    """
    return _find_in(session, "payload_records", deployment_no, after, limit, before=before)


def find_detached(session: Session, table: str, deployment_no: int, *, after: StoredPlace | None, limit: int) -> list[StoredPlace]:
    """Returns the next records of a month that was taken out of the log."""
    return _find_in(session, table, deployment_no, after, limit)


def _find_in(
    session: Session, table: str, deployment_no: int, after: StoredPlace | None, limit: int, before: datetime | None = None
) -> list[StoredPlace]:
    bounds = "" if before is None else " AND logged_at < :before"
    bounds += "" if after is None else " AND (logged_at, record_no) > (:at, :number)"
    values = {"no": deployment_no, "limit": limit} | ({} if before is None else {"before": before})
    values |= {} if after is None else {"at": after.logged_at, "number": after.record_no}
    rows = session.execute(
        text(
            f"SELECT record_no, record_id, logged_at FROM {table}"  # noqa: S608 - a table of ours
            f" WHERE deployment_no = :no{bounds} ORDER BY deployment_no, logged_at, record_no LIMIT :limit"
        ),
        values,
    )
    return [StoredPlace(row.record_no, row.record_id, row.logged_at) for row in rows]


def find_person(session: Session, deployment_no: int, selector: RecordSelector, *, limit: int) -> PersonFound:
    """Returns at most `limit` records of the person and as many labels, of those that are still stored."""
    if selector.field is None:
        return _find_ids(session, deployment_no, selector.record_ids, limit)
    wanted = msgspec.json.encode(selector.value).decode()
    places: list[StoredPlace] = []
    labels: list[str] = []
    for where in meta_places(session, deployment_no, selector.field):
        values = {"no": deployment_no, "version": where.schema_version, "position": where.position, "wanted": wanted, "limit": limit}
        records = session.execute(text(_OF_META.format(columns="record_no, record_id, logged_at", table="payload_records")), values)
        places += [StoredPlace(row.record_no, row.record_id, row.logged_at) for row in records]
        labels += session.scalars(text(_OF_META.format(columns="feedback_id", table="feedback_records")), values)
    return PersonFound(places[:limit], labels[:limit])


# Compared as JSON, in which 7 and 7.0 are the same number and the text "7" is another value.
_OF_META = """SELECT {columns} FROM {table} WHERE deployment_no = :no AND schema_version = :version
    AND meta -> CAST(:position AS int) = CAST(:wanted AS jsonb) LIMIT :limit"""


def _find_ids(session: Session, deployment_no: int, record_ids: Sequence[str], limit: int) -> PersonFound:
    values = {"no": deployment_no, "ids": list(record_ids), "limit": limit}
    keys = session.execute(
        text(
            """SELECT record_no, record_id, logged_at FROM payload_keys
               WHERE deployment_no = :no AND record_id = ANY(CAST(:ids AS text[])) LIMIT :limit"""
        ),
        values,
    )
    labels = session.scalars(
        text(
            """SELECT feedback_id FROM feedback_records
               WHERE deployment_no = :no AND feedback_id = ANY(CAST(:ids AS text[])) LIMIT :limit"""
        ),
        values,
    )
    return PersonFound([StoredPlace(row.record_no, row.record_id, row.logged_at) for row in keys], list(labels))
