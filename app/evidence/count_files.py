"""Counts the hours of records in files: pieces of payload where the engine works, labels in this process."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import select
from sqlalchemy.orm import Session

from ..base.clock import HOUR, floor_to_day, floor_to_hour
from ..base.errors import InvalidInput
from ..base.values import frozen
from ..checks.counting.count_files import SpanOfFiles
from ..checks.window.window import TablePlaces
from ..deployments.listed_file_queries import FEEDBACK, PAYLOAD, newest_listed_row, paths_within
from ..deployments.monitor.monitor_fit import NO_PERSON
from ..domain.check import DataSet, Span
from ..domain.deployment import PayloadTable, RecordSchema
from ..domain.monitor import Monitor
from ..sources.arrays.read_records import RecordColumns, RecordTable, read_table
from ..sources.stored.window_queries import WindowQuery, name_values
from ..sources.tables.record_files import FeedbackFiles, PayloadFiles
from ..sources.tables.stored_columns import merge_equal
from ..sources.tables.table_files import FilePiece, TablePart
from .count_hours import (
    FollowedEra,
    ReadRecords,
    merge_hours,
    number_hours,
    tabulate_labels,
    tabulate_payload,
)
from .queries.hour_counts import CountedHour

LABELS_WAIT = timedelta(days=1)
"""For the labels of an hour after their horizon, while no file has later ones."""

RESOLUTION = timedelta(microseconds=1)

MOST_JOINED = 1_000_000


@frozen
class HoursInFiles:
    """As the files are listed and can be read now.

    The session's transaction is kept alive while files are read.
    """

    session: Session
    followed: FollowedEra
    payload: PayloadTable
    places: TablePlaces

    def end(self, latest: datetime, data: DataSet) -> datetime | None:
        """Rows are there up to then, at most `latest`; None where nothing is listed.

        Hours that no file has reached may still come. Labels stop coming in many lakes: they are waited for a
        day.
        """
        newest = newest_listed_row(
            self.session, self.followed.deployment.no, PAYLOAD if data is DataSet.AS_LOGGED else FEEDBACK
        )
        if self.followed.era.is_daily:
            latest = floor_to_day(latest)
        reached = None if newest is None else min(latest, floor_to_hour(newest) + HOUR)
        if data is DataSet.AS_LOGGED:
            return reached
        waited = latest - LABELS_WAIT
        return max(waited, reached or waited)

    def next_hour(self, span: Span) -> datetime | None:
        """First hour of the span that has a record."""
        earliest = self._open(span).earliest(span)
        return None if earliest is None else floor_to_hour(earliest)

    def count_records(self, span: Span) -> int:
        """Raises InvalidInput: the files cannot be read."""
        return self._open(span).count(span)

    def count(self, data: DataSet, span: Span) -> list[CountedHour]:
        """Groups are in a fixed order.

        Raises:
            InvalidInput: the files cannot be read, or the monitor cannot be applied to them.
        """
        if self.followed.monitor.evidence.person is not None:
            raise InvalidInput("evidence.person", NO_PERSON)
        counted = self._count_payload(span) if data is DataSet.AS_LOGGED else self._count_labels(span)
        # Pieces come in any order, and another order would look like changed counts.
        return [
            replace(hour, cells=sorted(hour.cells, key=lambda cell: (cell[1], cell[0] or "")))
            for hour in counted
        ]

    def _open(self, span: Span) -> PayloadFiles:
        paths = paths_within(self.session, self.followed.deployment.no, PAYLOAD, span)
        return PayloadFiles(self.followed.deployment, self.payload, self.places.roots, TablePart(only=paths))

    def _query(self) -> WindowQuery:
        deployment = self.followed.deployment
        attributes = self.followed.monitor.within(deployment.schema).attributes
        names = dict.fromkeys(name for attribute in attributes for name in attribute.columns)
        return WindowQuery(deployment.no, deployment.schema, tuple(names))

    def _count_payload(self, span: Span) -> list[CountedHour]:
        files = self._open(span)
        followed = self.followed
        records = SpanOfFiles(files.form, files.reader(), self._query(), span)
        task = HoursTask(records, followed.deployment.schema, followed.monitor, followed.era.model_revision)
        answers = self.places.engine.run(
            task, [piece.to_bytes() for piece in files.pieces(span)], self._keep_alive
        )
        return merge_hours(msgspec.json.decode(answer, type=list[CountedHour]) for answer in answers)

    def _count_labels(self, span: Span) -> list[CountedHour]:
        feedback = self.followed.deployment.feedback
        followed = self.followed
        if feedback is None:
            return []
        observed = Span(start=span.start, end=span.end + followed.horizon + RESOLUTION)
        paths = paths_within(self.session, followed.deployment.no, FEEDBACK, observed)
        labels = FeedbackFiles(feedback, self.places.roots, TablePart(only=paths))
        batches = []
        for records in self._parts(span):
            self._keep_alive(0)
            rows = labels.first_labels(records, followed.horizon)
            if rows.num_rows:
                read = _read(rows, followed.deployment.schema, followed.monitor, self._query().columns)
                batches.append(
                    list(
                        tabulate_labels(
                            ReadRecords(rows, read, number_hours(rows["logged_at"], span)), followed, span
                        )
                    )
                )
        return merge_hours(batches)

    def _parts(self, span: Span) -> Iterator[pa.Table]:
        tables: list[pa.Table] = []
        for rows in self._open(span).batches(self._query(), span):
            self._keep_alive(0)
            tables.append(rows.filter(pc.equal(rows["model_revision"], self.followed.era.model_revision)))
            if sum(table.num_rows for table in tables) >= MOST_JOINED:
                yield pa.concat_tables(tables)
                tables = []
        if tables:
            yield pa.concat_tables(tables)

    def _keep_alive(self, done: int) -> None:  # noqa: ARG002 - of `Done`
        # Postgres ends a transaction that sends nothing for a minute.
        self.session.execute(select(1))


@frozen
class HoursTask:
    records: SpanOfFiles
    schema: RecordSchema
    monitor: Monitor
    revision: str

    def __call__(self, piece: bytes) -> bytes:
        """JSON list of `CountedHour`."""
        batches = self.records.batches(FilePiece.from_bytes(piece), with_times=True)
        of_revision = (
            rows.filter(pc.equal(rows["model_revision"], self.revision)).drop_columns(["model_revision"])
            for rows in batches
        )
        return msgspec.json.encode(merge_hours(self._count(rows) for rows in of_revision if rows.num_rows))

    def _count(self, rows: pa.Table) -> Iterator[CountedHour]:
        span = self.records.span
        codes = rows.drop_columns(["logged_at"])
        hours = pa.array(number_hours(rows["logged_at"], span)).dictionary_encode()
        kinds, repeats = merge_equal(codes.append_column("hour", hours))
        read = _read(kinds, self.schema, self.monitor, self.records.query.columns)
        return tabulate_payload(
            ReadRecords(kinds, read, kinds["hour"].to_numpy(), repeats=repeats), self.monitor, span
        )


def _read(rows: pa.Table, schema: RecordSchema, monitor: Monitor, names: tuple[str, ...]) -> RecordTable:
    return read_table(
        RecordColumns(name_values(rows, names), rows["outcome"]), schema, monitor.within(schema)
    )
