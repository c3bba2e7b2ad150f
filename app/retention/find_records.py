"""Finds the records and labels of an erasure, a batch at a time."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.values import frozen
from ..database.binary_rows import read_row
from ..database.tables import DeploymentSchemaRow
from ..domain.deployment import Column, RecordSchema
from .policy import RecordSelector
from .record_traces import StoredPlace


@frozen
class MetaPlace:
    schema_version: int
    position: int
    column: Column


SearchPlace = StoredPlace | str


@frozen
class PersonFound:
    """None as the next place: the search is over."""

    places: Sequence[StoredPlace]
    label_ids: Sequence[str]
    next: SearchPlace | None


def meta_places(session: Session, deployment_no: int, field: str) -> list[MetaPlace]:
    rows = session.query(DeploymentSchemaRow).filter(DeploymentSchemaRow.deployment_no == deployment_no)
    return [
        MetaPlace(row.version, position, column)
        for row in rows.order_by(DeploymentSchemaRow.version)
        for position, column in enumerate(read_row(RecordSchema, row).meta)
        if column.name == field
    ]


def find_aged(
    session: Session,
    deployment_no: int,
    *,
    after: StoredPlace | None,
    before: datetime | None = None,
    limit: int,
    table: str = "payload_records",
) -> list[StoredPlace]:
    bounds = "" if before is None else " AND logged_at < :before"
    values = {"no": deployment_no, "limit": limit, "before": before}
    if after is not None:
        bounds += _LATER
        values |= {"at": after.logged_at, "number": after.record_no}
    rows = session.execute(
        text(
            f"SELECT record_no, record_id, logged_at FROM {table}"  # noqa: S608 - a table of ours
            f" WHERE deployment_no = :no{bounds} ORDER BY deployment_no, logged_at, record_no LIMIT :limit"
        ),
        values,
    )
    return [read_row(StoredPlace, row) for row in rows]


def find_person(
    session: Session,
    deployment_no: int,
    selector: RecordSelector,
    *,
    after: SearchPlace | None,
    looked_through: int,
    limit: int,
) -> PersonFound:
    """Returns at most `limit` rows of ids, else all of the next `looked_through` rows."""
    if selector.field is None:
        return _find_ids(session, deployment_no, selector.record_ids, limit)
    values = {
        "no": deployment_no,
        "places": [
            f"{column.schema_version}:{column.position}"
            for column in meta_places(session, deployment_no, selector.field)
        ],
        "wanted": [
            msgspec.json.encode(value).decode()
            for value in (selector.value, selector.pseudonym)
            if value is not None
        ],
        "limit": looked_through,
    }
    if isinstance(after, str):
        rows = session.execute(text(_OF_LABELS), values | {"after": after}).all()
        next_place = rows[-1].feedback_id if len(rows) == looked_through else None
        return PersonFound((), [row.feedback_id for row in rows if row.is_meant], next_place)
    # Records first: a label that was sent with its record goes with it.
    bound = ""
    if after is not None:
        bound = _LATER
        values |= {"at": after.logged_at, "number": after.record_no}
    rows = session.execute(text(_OF_RECORDS.format(bound=bound)), values).all()
    places = [read_row(StoredPlace, row) for row in rows]
    records = [place for place, row in zip(places, rows, strict=True) if row.is_meant]
    return PersonFound(records, (), places[-1] if len(places) == looked_through else "")


_LATER = " AND (logged_at, record_no) > (:at, :number)"
# As JSON: 7 and 7.0 are one number, the text "7" is another value. The position depends on the schema
# version.
_IS_MEANT = """EXISTS (SELECT FROM unnest(CAST(:places AS text[])) p
    WHERE CAST(split_part(p, ':', 1) AS int) = schema_version
      AND meta -> CAST(split_part(p, ':', 2) AS int) = ANY(CAST(:wanted AS jsonb[]))) AS is_meant"""
_OF_RECORDS = f"""SELECT record_no, record_id, logged_at, {_IS_MEANT} FROM payload_records
    WHERE deployment_no = :no{{bound}} ORDER BY deployment_no, logged_at, record_no
        LIMIT :limit"""  # noqa: S608 - constants
_OF_LABELS = f"""SELECT feedback_id, {_IS_MEANT} FROM feedback_records
    WHERE deployment_no = :no AND feedback_id > :after ORDER BY feedback_id
        LIMIT :limit"""  # noqa: S608 - constants


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
    return PersonFound([read_row(StoredPlace, row) for row in keys], list(labels), None)
