"""Labels that arrived later than their horizon, by the hour of their record, and first records of people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from ...database.binary_rows import list_column_values, read_row
from ...database.tables import EvidencePersonRow
from ...domain.check import Span
from .eras import Era

_IS_LATE = """f.usable_at > p.logged_at + make_interval(secs => :horizon) AND p.model_revision = :revision
      AND (cast(:starts_at AS timestamptz) IS NULL OR p.logged_at >= :starts_at)"""

_ARRIVED = f"""
    SELECT date_trunc('hour', p.logged_at, 'UTC'), count(*)
    FROM feedback_records f
    JOIN payload_records p ON (p.deployment_no, p.logged_at, p.record_no) = (f.deployment_no,
        f.record_logged_at, f.record_no)
    WHERE f.deployment_no = :no AND f.usable_at >= :start AND f.usable_at < :end AND {_IS_LATE} GROUP BY 1
"""  # noqa: S608 - nothing of it comes from outside

# The label is looked up by the whole key for each record.
_LOGGED = f"""
    SELECT date_trunc('hour', p.logged_at, 'UTC'), count(*)
    FROM payload_records p
    CROSS JOIN LATERAL (SELECT * FROM feedback_records f WHERE f.deployment_no = p.deployment_no
        AND f.feedback_id = p.record_id
                        AND f.record_no = p.record_no OFFSET 0) f
    WHERE p.deployment_no = :no AND p.logged_at >= :start AND p.logged_at < :end AND f.usable_at < :before
        AND {_IS_LATE} GROUP BY 1
"""  # noqa: S608 - as above

LateLabels = Mapping[datetime, int]


def count_late_labels(
    session: Session, deployment_no: int, era: Era, span: Span, horizon: timedelta, *, arrived: bool
) -> LateLabels:
    """Returns labels of the era's records later than `horizon`: that `arrived` in the span, or else of its
    hours' records, by now.
    """
    values = {
        "no": deployment_no,
        "start": span.start,
        "end": span.end,
        "before": era.counted_until,
        "revision": era.model_revision,
        "starts_at": era.starts_at,
        "horizon": horizon.total_seconds(),
    }
    rows = session.execute(text(_ARRIVED if arrived else _LOGGED), values)
    return {hour: count for hour, count in rows}  # noqa: C416 - rows are no pairs to mypy


def add_late_labels(session: Session, era_no: int, late_labels: LateLabels) -> None:
    if not late_labels:
        return
    statement = text(
        """INSERT INTO evidence_late_labels AS l (era_no, hour, labels) VALUES (:era, :hour, :labels)
           ON CONFLICT (era_no, hour) DO UPDATE SET labels = l.labels + excluded.labels"""
    )
    session.execute(
        statement, [{"era": era_no, "hour": hour, "labels": labels} for hour, labels in late_labels.items()]
    )


def replace_late_labels(session: Session, era_no: int, hours: Span, late_labels: LateLabels) -> None:
    statement = text(
        "DELETE FROM evidence_late_labels WHERE era_no = :era AND hour >= :start AND hour < :end"
    )
    session.execute(statement, {"era": era_no, "start": hours.start, "end": hours.end})
    add_late_labels(session, era_no, late_labels)


@dataclass(frozen=True, slots=True, order=True)
class Placed:
    """Place of a record in the order of the log."""

    logged_at: datetime
    record_no: int


def first_records(session: Session, era_no: int, people: Sequence[bytes]) -> Mapping[bytes, Placed]:
    rows = session.scalars(
        select(EvidencePersonRow).where(
            EvidencePersonRow.era_no == era_no, EvidencePersonRow.person.in_(people)
        )
    )
    return {row.person: read_row(Placed, row) for row in rows.all()}


def store_first_records(session: Session, era_no: int, first_records: Mapping[bytes, Placed]) -> None:
    if not first_records:
        return
    statement = text(
        """INSERT INTO evidence_people (era_no, person, logged_at, record_no) VALUES (:era, :person, :logged_at, :record_no)
           ON CONFLICT (era_no, person) DO UPDATE SET logged_at = excluded.logged_at,
               record_no = excluded.record_no"""
    )
    people = sorted(first_records.items())
    session.execute(
        statement,
        [{"era": era_no, "person": person, **list_column_values(placed)} for person, placed in people],
    )
    session.expire_all()
