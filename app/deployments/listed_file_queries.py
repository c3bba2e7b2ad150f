"""Files of tables as last listed, and the checks that changed files need."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, insert, select, text
from sqlalchemy.orm import Session

from ..base.values import frozen, frozen_by_name
from ..database.binary_rows import list_column_values, read_row
from ..database.tables import DeploymentRow, ListedFileRow
from ..domain.check import Span
from ..domain.deployment import FeedbackTable, PayloadTable, TableFormat
from .listed_files import FileSpan
from .queries import read_tables

PAYLOAD = "payload"
FEEDBACK = "feedback"


@frozen_by_name
class ListingTotals:
    files: int
    bytes: int
    oldest: datetime | None
    newest: datetime | None
    changed_at: datetime | None


_QUEUE_HOURS = text("""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, claimable_at, attempts,
        cancel_requested, created_by)
    SELECT gen_random_uuid(), :no, 'files', 'queued', c.span_start, c.span_end, now(), 0, false, 'schedule'
    FROM (
        SELECT DISTINCT ON (span_start, span_end) span_start, span_end, state, "window"
        FROM checks
        WHERE deployment_no = :no AND trigger IN ('schedule', 'files') AND batch IS NULL
            AND started_at IS NOT NULL
        ORDER BY span_start, span_end, checks.no DESC
    ) c
    CROSS JOIN LATERAL (
        SELECT CASE WHEN c.state = 'insufficient_data' OR (:is_feedback
            AND (c."window"->>'additional_labelled_records')::bigint > 0)
                    THEN '-infinity'
                    WHEN (c."window"->>'additional_records')::bigint > 0
                        THEN (c."window"->>'oldest_record_at')::timestamptz
                    ELSE c.span_start END AS start,
               NOT :is_feedback AND EXISTS (
                   SELECT FROM listed_files f
                   WHERE f.deployment_no = :no AND f.side = 'feedback' AND f.oldest < c.span_end
                       AND f.newest >= c.span_start
               ) AS has_labels
    ) AS reach
    WHERE EXISTS (
        SELECT FROM unnest(CAST(:oldest AS timestamptz[]), CAST(:newest AS timestamptz[])) AS file(oldest,
            newest)
        WHERE file.oldest < c.span_end AND (file.newest >= reach.start OR reach.has_labels)
    )
      AND NOT EXISTS (
          SELECT FROM checks w
          WHERE w.deployment_no = :no AND w.span_start = c.span_start AND w.span_end = c.span_end
              AND w.batch IS NULL
            AND w.trigger IN ('schedule', 'files') AND w.state = 'queued' AND w.attempts = 0
      )
    ORDER BY c.span_start
    RETURNING no
""")
"""A check that reached back may have reached the new rows. A label counts with its record, which may come
later.
"""

_QUEUE_BATCHES = text("""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, batch, claimable_at,
        attempts, cancel_requested,
                        created_by)
    SELECT gen_random_uuid(), :no, 'files', 'queued', f.oldest, f.newest + interval '1 microsecond', f.batch,
        now(), 0, false, 'schedule'
    FROM (
        SELECT batch, min(oldest) AS oldest, max(newest) AS newest FROM listed_files
        WHERE deployment_no = :no AND side = 'payload' AND batch = ANY(:batches) AND oldest IS NOT NULL
        GROUP BY batch
    ) f
    WHERE NOT EXISTS (
        SELECT FROM checks w
        WHERE w.deployment_no = :no AND w.batch = f.batch AND w.trigger = 'files' AND w.state = 'queued'
            AND w.attempts = 0
          AND w.span_start = f.oldest AND w.span_end = f.newest + interval '1 microsecond'
    )
    ORDER BY f.oldest, f.batch
    RETURNING no
""")


@frozen
class FiledDeployment:
    no: int
    id: str
    tables: Mapping[str, PayloadTable | FeedbackTable]


def find_deployments_with_tables(session: Session) -> list[FiledDeployment]:
    columns = (DeploymentRow.no, DeploymentRow.id, DeploymentRow.record_tables)
    deployments = []
    for row in session.execute(
        select(*columns).where(DeploymentRow.record_tables.is_not(None)).order_by(DeploymentRow.no)
    ):
        stored = read_tables(row.record_tables)
        tables = {side: table for side in (PAYLOAD, FEEDBACK) if (table := getattr(stored, side)) is not None}
        deployments.append(FiledDeployment(row.no, row.id, tables))
    return deployments


def find_foreign_deployments(session: Session) -> list[str]:
    return [
        deployment.id
        for deployment in find_deployments_with_tables(session)
        if any(table.format is TableFormat.JDBC for table in deployment.tables.values())
    ]


def _of_table(deployment_no: int, side: str) -> tuple[ColumnElement[bool], ...]:
    return ListedFileRow.deployment_no == deployment_no, ListedFileRow.side == side


def read_stored_files(session: Session, deployment_no: int, side: str) -> dict[str, FileSpan]:
    # Rows and not objects of the session, which could be older.
    files = session.execute(select(ListedFileRow.__table__).where(*_of_table(deployment_no, side)))
    return {file.path: read_row(FileSpan, file) for file in files}


_TOTALS = text("""
    SELECT count(*) AS files, coalesce(sum(bytes), 0)::bigint AS bytes, min(oldest) AS oldest,
           max(newest) AS newest, to_timestamp(max(modified_ns) / 1e9) AS changed_at
    FROM listed_files WHERE deployment_no = :no AND side = :side
""")


def add_up_files(session: Session, deployment_no: int, side: str) -> ListingTotals:
    return read_row(ListingTotals, session.execute(_TOTALS, {"no": deployment_no, "side": side}).one())


def read_newest_listed_row(session: Session, deployment_no: int, side: str) -> datetime | None:
    return session.scalar(select(func.max(ListedFileRow.newest)).where(*_of_table(deployment_no, side)))


def list_paths_within(session: Session, deployment_no: int, side: str, span: Span) -> set[str]:
    row = ListedFileRow
    within = (row.oldest < span.end, row.newest >= span.start)
    return set(session.scalars(select(row.path).where(*_of_table(deployment_no, side), *within)))


def store_listing(
    session: Session, deployment_no: int, side: str, *, new: Iterable[FileSpan], removed: Iterable[str]
) -> None:
    session.execute(
        delete(ListedFileRow).where(*_of_table(deployment_no, side), ListedFileRow.path.in_(list(removed)))
    )
    rows = [{"deployment_no": deployment_no, "side": side} | list_column_values(file) for file in new]
    if rows:
        session.execute(insert(ListedFileRow), rows)


def queue_changed_spans(session: Session, deployment_no: int, side: str, changed: Iterable[FileSpan]) -> int:
    with_rows = [file for file in changed if file.oldest is not None]
    oldest = [file.oldest for file in with_rows]
    newest = [file.newest for file in with_rows]
    values = {"no": deployment_no, "oldest": oldest, "newest": newest, "is_feedback": side == FEEDBACK}
    return len(session.scalars(_QUEUE_HOURS, values).all())


def queue_changed_batches(session: Session, deployment_no: int, batches: Sequence[str]) -> int:
    return len(session.scalars(_QUEUE_BATCHES, {"no": deployment_no, "batches": list(batches)}).all())


def read_span_of_batch(session: Session, deployment_no: int, batch: str) -> Span | None:
    row = ListedFileRow
    bounds = select(func.min(row.oldest), func.max(row.newest)).where(
        *_of_table(deployment_no, PAYLOAD), row.batch == batch
    )
    oldest, newest = session.execute(bounds).one()
    return (
        None
        if oldest is None or newest is None
        else Span(start=oldest, end=newest + timedelta(microseconds=1))
    )
