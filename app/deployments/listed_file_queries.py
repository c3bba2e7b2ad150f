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
"""Sides of a deployment's tables, as `listed_files.side` has them."""


@frozen_by_name
class ListingTotals:
    """Sums of the files of a table; `changed_at` is the newest change of a file."""

    files: int
    bytes: int
    oldest: datetime | None
    newest: datetime | None
    changed_at: datetime | None


_QUEUE_SPANS = text("""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, claimable_at, attempts,
        cancel_requested, created_by)
    SELECT gen_random_uuid(), :no, 'files', 'queued', done.span_start, done.span_end, now(), 0,
        false, 'schedule'
    FROM (
        SELECT DISTINCT ON (span_start, span_end) span_start, span_end, state, "window"
        FROM checks
        WHERE deployment_no = :no
            AND trigger IN ('schedule', 'files')
            AND batch IS NULL
            AND started_at IS NOT NULL
        ORDER BY span_start, span_end, checks.no DESC
    ) done
    CROSS JOIN LATERAL (
        SELECT CASE
                WHEN done.state = 'insufficient_data' THEN '-infinity'
                WHEN :is_feedback AND (done."window"->>'additional_labelled_records')::bigint > 0
                    THEN '-infinity'
                WHEN (done."window"->>'additional_records')::bigint > 0
                    THEN (done."window"->>'oldest_record_at')::timestamptz
                ELSE done.span_start
            END AS start,
            NOT :is_feedback AND EXISTS (
                SELECT FROM listed_files labels
                WHERE labels.deployment_no = :no
                    AND labels.side = 'feedback'
                    AND labels.oldest < done.span_end
                    AND labels.newest >= done.span_start
            ) AS has_labels
    ) AS reach
    WHERE EXISTS (
            SELECT
            FROM unnest(CAST(:oldest AS timestamptz[]), CAST(:newest AS timestamptz[]))
                AS file(oldest, newest)
            WHERE file.oldest < done.span_end AND (file.newest >= reach.start OR reach.has_labels)
        )
        AND NOT EXISTS (
            SELECT FROM checks waiting
            WHERE waiting.deployment_no = :no
                AND waiting.span_start = done.span_start
                AND waiting.span_end = done.span_end
                AND waiting.batch IS NULL
                AND waiting.trigger IN ('schedule', 'files')
                AND waiting.state = 'queued'
                AND waiting.attempts = 0
        )
    ORDER BY done.span_start
    RETURNING no
""")
"""Queues again each started check whose rows may have changed. A check that reached back for more records
starts where those do (`reach`). A label counts with its record, which may come later than the label.
"""

_QUEUE_BATCHES = text("""
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, batch, claimable_at,
        attempts, cancel_requested, created_by)
    SELECT gen_random_uuid(), :no, 'files', 'queued', files.oldest, files.span_end, files.batch, now(),
        0, false, 'schedule'
    FROM (
        SELECT batch, min(oldest) AS oldest, max(newest) + interval '1 microsecond' AS span_end
        FROM listed_files
        WHERE deployment_no = :no AND side = 'payload' AND batch = ANY(:batches) AND oldest IS NOT NULL
        GROUP BY batch
    ) files
    WHERE NOT EXISTS (
        SELECT FROM checks waiting
        WHERE waiting.deployment_no = :no
            AND waiting.batch = files.batch
            AND waiting.trigger = 'files'
            AND waiting.state = 'queued'
            AND waiting.attempts = 0
            AND waiting.span_start = files.oldest
            AND waiting.span_end = files.span_end
    )
    ORDER BY files.oldest, files.batch
    RETURNING no
""")


@frozen
class DeploymentTables:
    """Tables of files of a deployment, by side."""

    no: int
    id: str
    tables: Mapping[str, PayloadTable | FeedbackTable]


def find_deployments_with_tables(session: Session) -> list[DeploymentTables]:
    columns = (DeploymentRow.no, DeploymentRow.id, DeploymentRow.record_tables)
    deployments = []
    for row in session.execute(
        select(*columns).where(DeploymentRow.record_tables.is_not(None)).order_by(DeploymentRow.no)
    ):
        stored = read_tables(row.record_tables)
        both = {PAYLOAD: stored.payload, FEEDBACK: stored.feedback}
        tables = {side: table for side, table in both.items() if table is not None}
        deployments.append(DeploymentTables(row.no, row.id, tables))
    return deployments


def find_deployments_with_jdbc_tables(session: Session) -> list[str]:
    """Tables of a database are not read."""
    return [
        deployment.id
        for deployment in find_deployments_with_tables(session)
        if any(table.format is TableFormat.JDBC for table in deployment.tables.values())
    ]


def _is_of_table(deployment_no: int, side: str) -> tuple[ColumnElement[bool], ...]:
    return ListedFileRow.deployment_no == deployment_no, ListedFileRow.side == side


def read_stored_files(session: Session, deployment_no: int, side: str) -> dict[str, FileSpan]:
    # Rows and not objects of the session, which could be older.
    files = session.execute(select(ListedFileRow.__table__).where(*_is_of_table(deployment_no, side)))
    return {file.path: read_row(FileSpan, file) for file in files}


_TOTALS = text("""
    SELECT count(*) AS files, coalesce(sum(bytes), 0)::bigint AS bytes, min(oldest) AS oldest,
           max(newest) AS newest, to_timestamp(max(modified_ns) / 1e9) AS changed_at
    FROM listed_files WHERE deployment_no = :no AND side = :side
""")


def read_totals_of_files(session: Session, deployment_no: int, side: str) -> ListingTotals:
    return read_row(ListingTotals, session.execute(_TOTALS, {"no": deployment_no, "side": side}).one())


def read_newest_listed_row(session: Session, deployment_no: int, side: str) -> datetime | None:
    return session.scalar(select(func.max(ListedFileRow.newest)).where(*_is_of_table(deployment_no, side)))


def list_paths_within(session: Session, deployment_no: int, side: str, span: Span) -> set[str]:
    row = ListedFileRow
    has_rows_within = (row.oldest < span.end, row.newest >= span.start)
    return set(session.scalars(select(row.path).where(*_is_of_table(deployment_no, side), *has_rows_within)))


def store_listing(
    session: Session, deployment_no: int, side: str, *, new: Iterable[FileSpan], removed: Iterable[str]
) -> None:
    """Deletes `removed` paths first, so that a changed file can be in both."""
    session.execute(
        delete(ListedFileRow).where(*_is_of_table(deployment_no, side), ListedFileRow.path.in_(list(removed)))
    )
    rows = [{"deployment_no": deployment_no, "side": side} | list_column_values(file) for file in new]
    if rows:
        session.execute(insert(ListedFileRow), rows)


def queue_changed_spans(session: Session, deployment_no: int, side: str, changed: Iterable[FileSpan]) -> int:
    with_rows = [file for file in changed if file.oldest is not None]
    oldest = [file.oldest for file in with_rows]
    newest = [file.newest for file in with_rows]
    values = {"no": deployment_no, "oldest": oldest, "newest": newest, "is_feedback": side == FEEDBACK}
    return len(session.scalars(_QUEUE_SPANS, values).all())


def queue_changed_batches(session: Session, deployment_no: int, batches: Sequence[str]) -> int:
    return len(session.scalars(_QUEUE_BATCHES, {"no": deployment_no, "batches": list(batches)}).all())


def read_span_of_batch(session: Session, deployment_no: int, batch: str) -> Span | None:
    row = ListedFileRow
    bounds = select(func.min(row.oldest), func.max(row.newest)).where(
        *_is_of_table(deployment_no, PAYLOAD), row.batch == batch
    )
    oldest, newest = session.execute(bounds).one()
    if oldest is None or newest is None:
        return None
    return Span(start=oldest, end=newest + timedelta(microseconds=1))
