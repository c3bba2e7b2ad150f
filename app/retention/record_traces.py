"""Every table by what it holds of single records, and their deletion.

A table that is not declared here fails `tests/architecture/test_record_traces.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.values import frozen
from ..database.binary_rows import read_row
from ..database.tables import DeploymentSchemaRow
from ..domain.deployment import Column, RecordSchema
from ..domain.record import digest_id
from .policy import RecordSelector

ERASED_WITH_A_RECORD = {
    "payload_records": "the record",
    "payload_keys": "its id",
    "counterfactuals": "the model's answers to its copies",
    "flagged_records": "its flags",
    "feedback_records": "its labels",
    "call_halves": "the halves of its call that wait for the other half",
    "evidence_people": "digest of the person whose first record it is",
    "corrections": "ids, both values and the reason; that some value was corrected stays",
}
"""An erasure deletes rows of these tables, or empties them.

Retention by age leaves out labels, which have their own age, and digests of people, without which a later
record would count as a person's first.
"""


@frozen
class Quotation:
    """Column of a table whose texts quote records, and the column of their time."""

    column: str
    time: str


QUOTES_RECORDS = {
    "checks": Quotation("model_answer", "span_start"),
    "intake_counts": Quotation("reason", "hour"),
}
"""Callers who may read records see these texts; an erasure empties them. No other text may quote one."""


@frozen
class StoredPlace:
    """A record and its place in the log."""

    record_no: int
    record_id: str
    logged_at: datetime


# Dependents first: what is deleted last leads to the rest.
_DERIVED = {
    "counterfactuals": """DELETE FROM counterfactuals c USING copy_targets t
        WHERE t.deployment_no = :no AND c.target_no = t.no
            AND c.record_no = ANY(CAST(:numbers AS bigint[]))""",
    "flagged_records": "DELETE FROM flagged_records WHERE deployment_no = :no AND record_no = "
    "ANY(CAST(:numbers AS bigint[]))",
    "corrections": """UPDATE corrections SET id = NULL, record_id = NULL, old = NULL, new = NULL, reason = NULL
        WHERE deployment_no = :no AND record_id = ANY(CAST(:ids AS text[]))""",
}
_DERIVED_OF_PERSON = {
    "feedback_records": "DELETE FROM feedback_records WHERE deployment_no = :no AND feedback_id = "
    "ANY(CAST(:ids AS text[]))",
    # Records of one call have its id, a hyphen and their position.
    "call_halves": """DELETE FROM call_halves WHERE deployment_no = :no
        AND call_id IN (SELECT unnest(ARRAY[id, regexp_replace(id, '-[0-9]+$', '')])
            FROM unnest(CAST(:ids AS text[])) id)""",
    "evidence_people": """DELETE FROM evidence_people p USING evidence_eras e
        WHERE e.deployment_no = :no AND p.era_no = e.no AND p.record_no = ANY(CAST(:numbers AS bigint[]))""",
}
_DELETE_KEYS = """DELETE FROM payload_keys
    WHERE deployment_no = :no AND record_id = ANY(CAST(:ids AS text[]))
        AND record_no = ANY(CAST(:numbers AS bigint[]))"""
_DELETE_RECORDS = """DELETE FROM payload_records r
    USING unnest(CAST(:times AS timestamptz[]), CAST(:numbers AS bigint[])) AS k (logged_at, record_no)
    WHERE r.deployment_no = :no AND r.logged_at = k.logged_at AND r.record_no = k.record_no"""


def erase_aged(
    session: Session, deployment_no: int, records: Sequence[StoredPlace], *, with_records: bool
) -> dict[str, int]:
    """All but labels; without `with_records` only what was derived. Returns counts by table."""
    parameters = _list_parameters(deployment_no, records)
    _note_hours(session, parameters, _RECORD_MOMENTS, "count(*)" if with_records else "0")
    statements = {**_DERIVED, "payload_keys": _DELETE_KEYS}
    if with_records:
        statements["payload_records"] = _DELETE_RECORDS
    return _execute(session, statements, parameters)


def erase_labels(session: Session, deployment_no: int, *, before: datetime, limit: int) -> dict[str, int]:
    """Those that became usable, or wait, since before that time; returns counts by table."""
    # Each condition has an index of its own.
    for is_aged in ("usable_at < :before", "usable_at IS NULL AND logged_at < :before"):
        ids = session.scalars(
            text(
                "SELECT feedback_id FROM feedback_records "  # noqa: S608 - constants
                f"WHERE deployment_no = :no AND {is_aged} LIMIT :limit"
            ),
            {"no": deployment_no, "before": before, "limit": limit},
        ).all()
        if ids:
            parameters = {"no": deployment_no, "ids": list(ids)}
            _note_hours(session, parameters, _LABELLED_MOMENTS)
            statements = {
                "feedback_records": _DERIVED_OF_PERSON["feedback_records"],
                "corrections": f"{_DERIVED['corrections']} AND what = 'label'",
            }
            return _execute(session, statements, parameters)
    return {}


def erase_answers(session: Session, deployment_no: int, records: Sequence[StoredPlace]) -> dict[str, int]:
    return _execute(
        session, {"counterfactuals": _DERIVED["counterfactuals"]}, _list_parameters(deployment_no, records)
    )


def erase_people(
    session: Session, deployment_no: int, records: Sequence[StoredPlace], *, ids: Sequence[str]
) -> dict[str, int]:
    """Deletes everything derived, and labels and calls of the ids; returns counts by table.

    Digests of the ids stay. The deployment's row is written, so that every process reads them before its next
    write.
    """
    parameters = _list_parameters(deployment_no, records)
    parameters["ids"] = sorted({*parameters["ids"], *ids})
    _note_hours(session, parameters, _RECORD_MOMENTS, "count(*)")
    _note_hours(session, parameters, _LABELLED_MOMENTS)
    remember_ids(session, deployment_no, parameters["ids"])
    return _execute(
        session,
        {**_DERIVED, **_DERIVED_OF_PERSON, "payload_keys": _DELETE_KEYS, "payload_records": _DELETE_RECORDS},
        parameters,
    )


def remember_ids(session: Session, deployment_no: int, ids: Sequence[str]) -> None:
    """Notes digests of ids that must not be stored again; every process reads them before its next write."""
    if not ids:
        return
    session.execute(
        text(
            "INSERT INTO erased_ids (deployment_no, digest) SELECT :no, unnest(CAST(:digests AS bytea[])) "
            "ON CONFLICT DO NOTHING"
        ),
        {"no": deployment_no, "digests": [digest_id(record_id) for record_id in ids]},
    )
    # A write is refused as stale once the row has another version, and then reads the digests.
    session.execute(
        text("UPDATE deployments SET updated_at = updated_at WHERE no = :no"), {"no": deployment_no}
    )


_NOTE_HOURS = """INSERT INTO erased_hours (deployment_no, hour, records)
    SELECT CAST(:no AS int), date_trunc('hour', at, 'UTC'), {records} FROM {source} GROUP BY 2 ORDER BY 2
    ON CONFLICT (deployment_no, hour) DO UPDATE SET records = erased_hours.records + EXCLUDED.records"""

_RECORD_MOMENTS = "unnest(CAST(:times AS timestamptz[])) at"
_LABELLED_MOMENTS = """(SELECT record_logged_at AS at FROM feedback_records WHERE deployment_no = :no
    AND feedback_id = ANY(CAST(:ids AS text[])) AND record_logged_at IS NOT NULL) labels"""


def _note_hours(session: Session, parameters: Mapping[str, Any], source: str, records: str = "0") -> None:
    """Notes the hours of the moments in `source`: the hours' counts stay. `records` is SQL."""
    session.execute(text(_NOTE_HOURS.format(source=source, records=records)), parameters)


def forget_quotations(session: Session, deployment_no: int, *, before: datetime | None) -> dict[str, int]:
    """Empties texts that quote records, of the time before `before` or all; returns counts by table."""
    statements = {}
    for table, quotation in QUOTES_RECORDS.items():
        aged = "" if before is None else f" AND {quotation.time} < :before"
        statements[table] = (
            f"UPDATE {table} SET {quotation.column} = NULL "  # noqa: S608 - constants
            f"WHERE deployment_no = :no AND {quotation.column} IS NOT NULL{aged}"
        )
    return _execute(session, statements, {"no": deployment_no, "before": before})


def _list_parameters(deployment_no: int, records: Sequence[StoredPlace]) -> dict[str, Any]:
    return {
        "no": deployment_no,
        "numbers": [record.record_no for record in records],
        "ids": [record.record_id for record in records],
        "times": [record.logged_at for record in records],
    }


def _execute(
    session: Session, statements: Mapping[str, str], parameters: Mapping[str, Any]
) -> dict[str, int]:
    counts: dict[str, int] = {
        table: session.execute(text(statement), parameters).rowcount  # type: ignore[attr-defined]
        for table, statement in statements.items()
    }
    return {table: count for table, count in counts.items() if count}


@frozen
class MetaPlace:
    """Position of a meta field in one schema version."""

    schema_version: int
    position: int
    column: Column


SearchPlace = StoredPlace | str


@frozen
class PersonRecords:
    """Records of a person that a part of the search found. `next` is None where the search is over."""

    places: Sequence[StoredPlace]
    label_ids: Sequence[str]
    next: SearchPlace | None


def find_meta_places(session: Session, deployment_no: int, field: str) -> list[MetaPlace]:
    rows = session.query(DeploymentSchemaRow).filter(DeploymentSchemaRow.deployment_no == deployment_no)
    return [
        MetaPlace(row.version, position, column)
        for row in rows.order_by(DeploymentSchemaRow.version)
        for position, column in enumerate(read_row(RecordSchema, row).meta)
        if column.name == field
    ]


_IS_LATER = " AND (logged_at, record_no) > (:at, :number)"
# As JSON: 7 and 7.0 are one number, the text "7" is another value. The position depends on the schema
# version.
_IS_MEANT = """EXISTS (SELECT FROM unnest(CAST(:places AS text[])) p
    WHERE CAST(split_part(p, ':', 1) AS int) = schema_version
      AND meta -> CAST(split_part(p, ':', 2) AS int) = ANY(CAST(:values AS jsonb[]))) AS is_meant"""
_SEARCH_RECORDS = f"""SELECT record_no, record_id, logged_at, {_IS_MEANT} FROM payload_records
    WHERE deployment_no = :no{{bound}}
    ORDER BY deployment_no, logged_at, record_no LIMIT :limit"""  # noqa: S608 - constants
_SEARCH_LABELS = f"""SELECT feedback_id, {_IS_MEANT} FROM feedback_records
    WHERE deployment_no = :no AND feedback_id > :after
    ORDER BY feedback_id LIMIT :limit"""  # noqa: S608 - constants


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
        bounds += _IS_LATER
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
    max_rows: int,
    limit: int,
) -> PersonRecords:
    """Returns at most `limit` rows of ids, else those of the next `max_rows` rows."""
    if selector.field is None:
        return _find_ids(session, deployment_no, selector.record_ids, limit)
    values = {
        "no": deployment_no,
        "places": [
            f"{place.schema_version}:{place.position}"
            for place in find_meta_places(session, deployment_no, selector.field)
        ],
        "values": [
            msgspec.json.encode(value).decode()
            for value in (selector.value, selector.pseudonym)
            if value is not None
        ],
        "limit": max_rows,
    }
    if isinstance(after, str):
        rows = session.execute(text(_SEARCH_LABELS), values | {"after": after}).all()
        next_place = rows[-1].feedback_id if len(rows) == max_rows else None
        return PersonRecords((), [row.feedback_id for row in rows if row.is_meant], next_place)
    # Records first: a label that was sent with its record goes with it.
    bound = ""
    if after is not None:
        bound = _IS_LATER
        values |= {"at": after.logged_at, "number": after.record_no}
    rows = session.execute(text(_SEARCH_RECORDS.format(bound=bound)), values).all()
    places = [read_row(StoredPlace, row) for row in rows]
    records = [place for place, row in zip(places, rows, strict=True) if row.is_meant]
    return PersonRecords(records, (), places[-1] if len(places) == max_rows else "")


def _find_ids(session: Session, deployment_no: int, record_ids: Sequence[str], limit: int) -> PersonRecords:
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
    return PersonRecords([read_row(StoredPlace, row) for row in keys], list(labels), None)
