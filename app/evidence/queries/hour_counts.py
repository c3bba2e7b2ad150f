"""Counts of whole hours; labels that arrived later than their horizon, by the hour of their record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
from sqlalchemy import Row, delete, select, text, tuple_
from sqlalchemy.orm import Session

from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import list_column_values, read_row, read_rows
from ...database.engine import ArrowReader, Parameter
from ...database.tables import EvidenceHourRow, EvidencePersonRow
from ...domain.check import DataSet, Span
from ...sources.stored.window_queries import WindowQuery
from .eras import Era

Cells = list[list[Any]]
"""A list for each group: label, role, numbers; of payload also of records left out, as `tabulate_payload`.

Of counterfactual data: label, role, pairs of outcomes, and after the role and `COUNTED` favourable and all
records in any pair.
"""

COUNTED = "counted"
"""After the role in a cell of counterfactual data: its numbers are records in any pair."""


class CountedPlace(NamedTuple):
    """Data set and comparison, by its label, that hours are counted for."""

    data: DataSet
    attribute: str


@frozen_by_name
class CountedHour:
    """Counts of one hour. `check_no` is set of counterfactual data: the check that stored the table."""

    place: CountedPlace
    hour: datetime
    cells: Cells
    check_no: int | None = None


def replace_hours(
    session: Session,
    era_no: int,
    data: DataSet,
    span: Span,
    counted: Sequence[CountedHour],
    starts: Mapping[str, datetime],
) -> bool:
    """Stores the counts of the hours in a span; returns whether they differ from those before.

    `starts` has each comparison's first hour that counts; others stay.
    """
    rows = read_rows(
        session,
        """SELECT attribute, hour, cells FROM evidence_hours
           WHERE era_no = %(era)s AND data = %(data)s AND attribute = ANY(%(attributes)s)
             AND hour >= %(start)s AND hour < %(end)s""",
        {"era": era_no, "data": data.value, "attributes": list(starts), "start": span.start, "end": span.end},
    )
    stored = {(attribute, hour): cells for attribute, hour, cells in rows if hour >= starts[attribute]}
    # The same import sent twice notes its hours twice.
    if stored == {(hour.place.attribute, hour.hour): hour.cells for hour in counted}:
        return False
    if stored:
        session.execute(
            delete(EvidenceHourRow).where(
                EvidenceHourRow.era_no == era_no,
                EvidenceHourRow.data == data.value,
                tuple_(EvidenceHourRow.attribute, EvidenceHourRow.hour).in_(stored),
            )
        )
    if counted:
        session.execute(
            text(
                """INSERT INTO evidence_hours (era_no, data, attribute, hour, cells, check_no)
                   SELECT :era, n.place->>0, n.place->>1, n.hour, n.cells, n.check_no
                   FROM jsonb_to_recordset(CAST(:counted AS jsonb)) AS n (place jsonb, hour timestamptz,
                       cells jsonb, check_no bigint)"""
            ),
            # In an array of texts, the driver would escape every quotation mark.
            {"era": era_no, "counted": msgspec.json.encode(counted).decode()},
        )
    return True


def read_hours_between(
    session: Session, era_no: int, counted_place: CountedPlace, span: Span
) -> Mapping[datetime, Cells]:
    return read_hours_of_places(session, era_no, {counted_place: span.start}, end=span.end)[
        counted_place
    ].hours


@frozen
class PlaceHours:
    """`last` is the newest of all times."""

    last: datetime | None
    hours: Mapping[datetime, Cells]


def read_hours_of_places(
    session: Session, era_no: int, starts: Mapping[CountedPlace, datetime], *, end: datetime | None = None
) -> Mapping[CountedPlace, PlaceHours]:
    """The hours of each place from its start to the end, in one statement.

    Without an end also the newest, which may be before the start.
    """
    rows = read_rows(
        session,
        # Decoding one array a place takes a fifth of decoding each hour.
        """SELECT p.data, p.attribute, l.last, h.hours, h.cells
               FROM unnest(%(data)s::text[], %(attributes)s::text[], %(starts)s::timestamptz[])
                   AS p (data, attribute, start)
               CROSS JOIN LATERAL (
                   SELECT max(hour) AS last FROM evidence_hours
                   WHERE era_no = %(era)s AND data = p.data AND attribute = p.attribute) l
               CROSS JOIN LATERAL (
                   SELECT array_agg(hour) AS hours, '[' || string_agg(cells::text, ',') || ']' AS cells
                   FROM evidence_hours
                   WHERE era_no = %(era)s AND data = p.data AND attribute = p.attribute
                     AND hour >= CASE WHEN %(end)s::timestamptz IS NULL THEN least(p.start, l.last)
                                 ELSE p.start END
                     AND hour < coalesce(%(end)s::timestamptz, 'infinity')) h""",
        {
            "era": era_no,
            "data": [place.data.value for place in starts],
            "attributes": [place.attribute for place in starts],
            "starts": list(starts.values()),
            "end": end,
        },
    )
    return {
        CountedPlace(DataSet(data), attribute): PlaceHours(
            last, dict(zip(hours or (), msgspec.json.decode(cells or "[]"), strict=True))
        )
        for data, attribute, last, hours, cells in rows
    }


def sum_cells(session: Session, era_no: int) -> Sequence[Row[Any]]:
    """Favourable and all records of the era's hours by data, attribute, label, role and reason.

    `is_due` tells hours whose labels are counted.
    """
    return session.execute(
        text(
            """SELECT h.data, h.attribute, cell->>0 AS label, split_part(cell->>1, ' ', 1) AS role, split_part(cell->>1, ' ', 2) AS reason,
                      h.hour < e.labels_until AS is_due, sum((cell->>-1)::bigint)::bigint AS records,
                      min(h.hour) AS first_hour, max(h.hour) AS last_hour,
                      sum((cell->>2)::bigint + CASE h.data WHEN 'labelled' THEN (cell->>4)::bigint
                          ELSE 0 END)::bigint AS favourable
               FROM evidence_eras e JOIN evidence_hours h ON h.era_no = e.no
               LEFT JOIN (SELECT attribute, min(coalesce(starts_at, '-infinity')) AS start
                   FROM evidence_figures
                          WHERE era_no = :era AND ended_at IS NULL GROUP BY 1) f USING (attribute),
               jsonb_array_elements(h.cells) cell
               WHERE e.no = :era AND h.hour >= coalesce(greatest(f.start, e.left_out_from), '-infinity')
                 AND (h.data <> 'counterfactual' OR split_part(cell->>1, ' ', 2) = :counted)
               GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 2, 4, 3"""
        ),
        {"era": era_no, "counted": COUNTED},
    ).all()


def find_last_counted(session: Session, deployment_no: int) -> datetime | None:
    """End of the newest hour in which any era has counted records or labels."""
    # Labels are counted further where no payload file has come for a while.
    latest = text(
        "SELECT max(greatest(counted_until, labels_until)) FROM evidence_eras WHERE deployment_no = :no"
    )
    last: datetime | None = session.scalar(latest, {"no": deployment_no})
    return last


def find_counted_hours(session: Session, deployment_no: int, spans: Sequence[Span]) -> set[datetime]:
    """Hours with counts in any era that overlap a span, ends included."""
    rows = session.scalars(
        text(
            """SELECT DISTINCT h.hour FROM evidence_hours h JOIN evidence_eras e ON e.no = h.era_no
               WHERE e.deployment_no = :no AND EXISTS (
                   SELECT FROM unnest(CAST(:starts AS timestamptz[]), CAST(:ends AS timestamptz[]))
                       AS span(start, until)
                   WHERE h.hour > span.start - interval '1 hour' AND h.hour <= span.until)"""
        ),
        {"no": deployment_no, "starts": [span.start for span in spans], "ends": [span.end for span in spans]},
    )
    return set(rows)


def read_first_hour(
    session: Session, era_no: int, counted_place: CountedPlace, group: str, *, since: datetime | None
) -> datetime | None:
    first: datetime | None = session.scalar(
        text(
            """SELECT min(hour) FROM evidence_hours h WHERE era_no = :era AND data = :data AND attribute = :attribute
               AND hour >= coalesce(CAST(:since AS timestamptz), '-infinity')
               AND EXISTS (SELECT FROM jsonb_array_elements(h.cells) cell WHERE cell->>0 = :group
                   AND cell->>1 = 'monitored')"""
        ),
        {"era": era_no, **list_column_values(counted_place), "group": group, "since": since},
    )
    return first


def read_first_hours(session: Session, era_no: int) -> dict[CountedPlace, datetime]:
    statement = text(
        "SELECT data, attribute, min(hour) AS first FROM evidence_hours WHERE era_no = :era GROUP BY 1, 2"
    )
    rows = session.execute(statement, {"era": era_no})
    return {read_row(CountedPlace, row): row.first for row in rows}


def find_newest_hours(session: Session, era_no: int, max_hours: int) -> list[datetime]:
    statement = text(
        "SELECT DISTINCT hour FROM evidence_hours WHERE era_no = :era ORDER BY hour DESC LIMIT :most"
    )
    return list(session.scalars(statement, {"era": era_no, "most": max_hours}))


def find_next_record_hour(session: Session, deployment_no: int, span: Span) -> datetime | None:
    hour: datetime | None = session.scalar(
        text(
            """SELECT date_trunc('hour', min(logged_at), 'UTC') FROM payload_records
               WHERE deployment_no = :no AND logged_at >= :start AND logged_at < :end"""
        ),
        {"no": deployment_no, "start": span.start, "end": span.end},
    )
    return hour


def find_recent_hour(
    session: Session, deployment_no: int, until: datetime, max_hours: int
) -> datetime | None:
    """The earliest of the `most` newest hours before `until` with records."""
    hour: datetime | None = session.scalar(
        text(
            """WITH RECURSIVE newest (hour, number) AS (
                   SELECT date_trunc('hour', max(logged_at), 'UTC'), 1 FROM payload_records
                   WHERE deployment_no = :no AND logged_at < :until
                   UNION ALL
                   SELECT (SELECT date_trunc('hour', max(logged_at), 'UTC') FROM payload_records
                           WHERE deployment_no = :no AND logged_at < newest.hour), number + 1
                   FROM newest WHERE hour IS NOT NULL AND number < :most)
               SELECT min(hour) FROM newest"""
        ),
        {"no": deployment_no, "until": until, "most": max_hours},
    )
    return hour


def count_logged(session: Session, deployment_no: int, span: Span) -> int:
    records: int = session.execute(
        text(
            "SELECT count(*) FROM payload_records WHERE deployment_no = :no AND logged_at >= :start AND "
            "logged_at < :end"
        ),
        {"no": deployment_no, "start": span.start, "end": span.end},
    ).scalar_one()
    return records


def count_logged_by_hour(session: Session, deployment_no: int, span: Span) -> list[tuple[datetime, int]]:
    """Hours of the span with records, newest first, and the records of each."""
    statement = """
        SELECT date_trunc('hour', logged_at, 'UTC'), count(*)
        FROM payload_records
        WHERE deployment_no = %(no)s AND logged_at >= %(start)s AND logged_at < %(end)s
        GROUP BY 1
        ORDER BY 1 DESC"""
    return read_rows(session, statement, {"no": deployment_no, "start": span.start, "end": span.end})


_IS_LATE = """f.usable_at > p.logged_at + make_interval(secs => %(horizon)s)
      AND p.model_revision = %(revision)s
      AND (%(starts_at)s::timestamptz IS NULL OR p.logged_at >= %(starts_at)s)"""

_COUNT_ARRIVED_LABELS = f"""
    SELECT date_trunc('hour', p.logged_at, 'UTC'), count(*)
    FROM feedback_records f
    JOIN payload_records p ON (p.deployment_no, p.logged_at, p.record_no) = (f.deployment_no,
        f.record_logged_at, f.record_no)
    WHERE f.deployment_no = %(no)s AND f.usable_at >= %(start)s AND f.usable_at < %(end)s
        AND {_IS_LATE} GROUP BY 1
"""  # noqa: S608 - nothing of it comes from outside

# The label is looked up by the whole key for each record.
_COUNT_LABELS_OF_HOURS = f"""
    SELECT date_trunc('hour', p.logged_at, 'UTC'), count(*)
    FROM payload_records p
    CROSS JOIN LATERAL (SELECT * FROM feedback_records f WHERE f.deployment_no = p.deployment_no
        AND f.feedback_id = p.record_id
                        AND f.record_no = p.record_no OFFSET 0) f
    WHERE p.deployment_no = %(no)s AND p.logged_at >= %(start)s AND p.logged_at < %(end)s
        AND f.usable_at < %(before)s AND {_IS_LATE} GROUP BY 1
"""  # noqa: S608 - as above

LateLabels = Mapping[datetime, int]


def count_late_labels(
    session: Session, deployment_no: int, era: Era, span: Span, horizon: timedelta, *, arrived: bool
) -> LateLabels:
    """Labels later than `horizon` by the hour of their record: those that `arrived` in the span, or else
    those of its hours' records, by now.
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
    return dict(read_rows(session, _COUNT_ARRIVED_LABELS if arrived else _COUNT_LABELS_OF_HOURS, values))


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


def replace_late_labels(
    session: Session, deployment_no: int, era: Era, hours: Span, horizon: timedelta
) -> None:
    statement = text(
        "DELETE FROM evidence_late_labels WHERE era_no = :era AND hour >= :start AND hour < :end"
    )
    session.execute(statement, {"era": era.no, "start": hours.start, "end": hours.end})
    late_labels = count_late_labels(session, deployment_no, era, hours, horizon, arrived=False)
    add_late_labels(session, era.no, late_labels)


@dataclass(frozen=True, slots=True, order=True)
class LoggedPlace:
    logged_at: datetime
    record_no: int


def read_first_records(session: Session, era_no: int, people: Sequence[bytes]) -> Mapping[bytes, LoggedPlace]:
    rows = session.scalars(
        select(EvidencePersonRow).where(
            EvidencePersonRow.era_no == era_no, EvidencePersonRow.person.in_(people)
        )
    )
    return {row.person: read_row(LoggedPlace, row) for row in rows.all()}


def store_first_records(session: Session, era_no: int, places: Mapping[bytes, LoggedPlace]) -> None:
    if not places:
        return
    statement = text(
        """INSERT INTO evidence_people (era_no, person, logged_at, record_no) VALUES (:era, :person, :logged_at, :record_no)
           ON CONFLICT (era_no, person) DO UPDATE SET logged_at = excluded.logged_at,
               record_no = excluded.record_no"""
    )
    people = sorted(places.items())
    session.execute(
        statement,
        [{"era": era_no, "person": person, **list_column_values(placed)} for person, placed in people],
    )
    session.expire_all()


_FROM_RECORDS = """
    FROM payload_records p
    WHERE p.deployment_no = $1 AND p.schema_version = $2 AND p.logged_at >= $3 AND p.logged_at < $4
        AND p.model_revision = $5
"""

# By the whole key for each record: a label may come months after it.
_FROM_LABELS = """
    FROM payload_records p
    CROSS JOIN LATERAL (SELECT * FROM feedback_records f WHERE f.deployment_no = p.deployment_no
        AND f.feedback_id = p.record_id
                        AND f.record_no = p.record_no OFFSET 0) f
    WHERE p.deployment_no = $1 AND p.schema_version = $2 AND p.logged_at >= $3 AND p.logged_at < $4
        AND p.model_revision = $5
      AND f.usable_at <= p.logged_at + make_interval(secs => $6::text::float8)
"""
_COLUMNS = "p.record_no, p.logged_at, p.sample_rate, coalesce(p.label, p.prediction)::text AS outcome"


def read_records_between(
    reader: ArrowReader, query: WindowQuery, span: Span, model_revision: str
) -> pa.Table:
    """Records of that schema version and model revision, oldest first.

    Columns: record_no, logged_at, sample_rate (NULL: 1), outcome (JSON text), value_0 ….
    """
    # Only positions of columns are written into the statement, never a name or a value.
    statement = (
        f"SELECT {_COLUMNS} {query.values('p.features', 'p.meta')} {_FROM_RECORDS} ORDER BY p.logged_at, "
        "p.record_no"
    )
    return reader.table(statement, _list_parameters(query, span, model_revision))


def read_labels_between(
    reader: ArrowReader, query: WindowQuery, span: Span, model_revision: str, horizon: timedelta
) -> pa.Table:
    """Records whose label was there within `horizon`, with one more column: label (JSON text)."""
    statement = (
        f"SELECT {_COLUMNS}, f.label::text AS label {query.values('p.features', 'p.meta')} "
        f"{_FROM_LABELS} ORDER BY p.logged_at, p.record_no"
    )
    return reader.table(
        statement, [*_list_parameters(query, span, model_revision), str(horizon.total_seconds())]
    )


def _list_parameters(query: WindowQuery, span: Span, model_revision: str) -> list[Parameter]:
    return [query.deployment_no, query.schema.version, span.start, span.end, model_revision]
