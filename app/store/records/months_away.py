"""Months whose records lie in files: reads that need one fail or name it, instead of giving figures about fewer records."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import pyarrow as pa
from sqlalchemy import text
from sqlalchemy.orm import Session

from ...domain.archives import MonthsInFiles
from ...domain.checks import Span
from ...errors import MonthsAway
from ..database.arrow import ArrowReader
from .window import WindowQuery, oldest_usable

_AWAY: Final = """SELECT to_char(a.month AT TIME ZONE 'UTC', 'YYYY-MM') AS month, d.id AS deployment_id
    FROM archived_months a JOIN deployments d ON d.no = a.deployment_no
    WHERE a.deployment_no = {no} AND a.state = 'stored' AND {reach} ORDER BY 1"""
_RECORDS: Final = "a.month < {end} AND a.month + interval '1 month' > {start}"
_LABELS: Final = "a.labels_from < {end} AND a.labels_until >= {start}"

_OPEN_ENDED: Final = {
    "start": "coalesce(CAST(:start AS timestamptz), '-infinity')",
    "end": "coalesce(CAST(:end AS timestamptz), 'infinity')",
}

_NAMES: Final = {"no": ":no", "start": ":start", "end": ":end"}
_PLACES: Final = {"no": "$1", "start": "$2", "end": "$3"}


def months_away(session: Session, deployment_no: int) -> list[str]:
    """Returns the deployment's months that lie in files, such as 2026-03, oldest first."""
    return [row.month for row in session.execute(text(_AWAY.format(reach="true", **_NAMES)), {"no": deployment_no})]


def months_in_files(session: Session, deployment_no: int, *, since: datetime | None, until: datetime | None) -> MonthsInFiles | None:
    """Returns the months of [since, until) that lie in files, for an answer that is without them; None if there are none."""
    statement = text(_AWAY.format(reach=_RECORDS.format(**_OPEN_ENDED), no=":no"))
    rows = session.execute(statement, {"no": deployment_no, "start": since, "end": until}).all()
    return MonthsInFiles(rows[0].deployment_id, tuple(row.month for row in rows)) if rows else None


def require_record(session: Session, deployment_no: int, record_id: str) -> None:
    """Returns if the record of that id, which is not in the database, does not lie in files either.

    Raises:
        MonthsAway: it does.
    """
    months = months_away_of(session, deployment_no, [record_id])
    if months:
        deployment_id: str = session.execute(text("SELECT id FROM deployments WHERE no = :no"), {"no": deployment_no}).scalar_one()
        raise MonthsAway(deployment_id, months)


def months_away_of(session: Session, deployment_no: int, record_ids: Sequence[str]) -> list[str]:
    """Returns the months in files in which records of these ids are, oldest first."""
    rows = session.scalars(
        text(
            """SELECT DISTINCT to_char(a.month AT TIME ZONE 'UTC', 'YYYY-MM') FROM payload_keys k
               JOIN archived_months a ON a.deployment_no = k.deployment_no AND a.state = 'stored'
                 AND k.logged_at >= a.month AND k.logged_at < a.month + interval '1 month'
               WHERE k.deployment_no = :no AND k.record_id = ANY(CAST(:ids AS text[]))
                 AND NOT EXISTS (SELECT FROM payload_records r WHERE r.deployment_no = k.deployment_no
                                 AND r.logged_at = k.logged_at AND r.record_no = k.record_no)
               ORDER BY 1"""
        ),
        {"no": deployment_no, "ids": [*record_ids]},
    )
    return list(rows)


def require_logged(session: Session, deployment_no: int, span: Span) -> None:
    """Returns if no month of the span lies in files.

    Raises:
        MonthsAway: some do.
    """
    statement = text(_AWAY.format(reach=_RECORDS.format(**_NAMES), **_NAMES))
    rows = session.execute(statement, {"no": deployment_no, "start": span.start, "end": span.end}).all()
    if rows:
        raise MonthsAway(rows[0].deployment_id, [row.month for row in rows])


def is_away(reader: ArrowReader, deployment_no: int, span: Span) -> bool:
    """Returns whether records of the span, or labels that became usable in it, lie in files."""
    try:
        for reach in (_RECORDS, _LABELS):
            _require(reader, reach, deployment_no, span)
    except MonthsAway:
        return True
    return False


def require_months(reader: ArrowReader, deployment_no: int, span: Span) -> None:
    """Returns if no month of the span lies in files, at the moment that the reader sees.

    Raises:
        MonthsAway: some do.
    """
    _require(reader, _RECORDS, deployment_no, span)


def require_records(reader: ArrowReader, deployment_no: int, span: Span, rows: pa.Table, limit: int) -> None:
    """Returns if the newest `limit` records of the span, of which `rows` were found, are all in the database.

    Raises:
        MonthsAway: months among them lie in files.
    """
    is_full = rows.num_rows >= limit > 0
    start: datetime = rows["logged_at"][rows.num_rows - 1].as_py() if is_full else span.start
    if start < span.end:
        _require(reader, _RECORDS, deployment_no, Span(start=start, end=span.end))


def require_labels(reader: ArrowReader, query: WindowQuery, span: Span, rows: pa.Table, limit: int) -> None:
    """Returns if the newest `limit` labels of the span, of which `rows` were found, are all in the database.

    Raises:
        MonthsAway: labels among them lie in files.
    """
    try:
        _require(reader, _LABELS, query.deployment_no, span)
    except MonthsAway:
        oldest = oldest_usable(reader, query, span, limit) if rows.num_rows >= limit > 0 else None
        # Older labels would not have been read in any case.
        _require(reader, _LABELS, query.deployment_no, span if oldest is None else Span(start=oldest, end=span.end))


def _require(reader: ArrowReader, reach: str, deployment_no: int, span: Span) -> None:
    statement = _AWAY.format(reach=reach.format(**_PLACES), **_PLACES)
    table = reader.table(statement, [deployment_no, span.start, span.end])
    if table.num_rows:
        raise MonthsAway(table["deployment_id"][0].as_py(), table["month"].to_pylist())
