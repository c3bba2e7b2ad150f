"""Records that a check reads: the newest `max_records` of the span, topped up with earlier ones to
`min_records`. Source: spec of the fairness check, section 2.

The records come from Postgres (`LoggedRecords`) or from files (`FiledRecords`): classes with the same
methods.
"""

from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...base.values import frozen
from ...database.engine import ArrowReader
from ...domain.check import Span
from ...domain.deployment import Deployment, FeedbackTable, PayloadTable, RecordSchema
from ...domain.monitor import Monitor
from ...sources.arrays.read_records import RecordColumns, RecordTable, read_table
from ...sources.stored.copy_answers import TargetKey, read_stored_outcomes, read_stored_targets
from ...sources.stored.window_queries import (
    WindowQuery,
    count_payload,
    name_values,
    read_newest_cohort,
    read_newest_feedback,
    read_newest_payload,
)
from ...sources.tables.allowed_locations import Root
from ...sources.tables.own_files import KeptAnswers, choose_own_folder
from ...sources.tables.record_files import ALL_TIMES, FeedbackFiles, PayloadFiles, name_columns_of_labels
from ...sources.tables.table_files import Engine, FileSelection, LocalEngine
from ...statistics.group_labels import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

RowSelection = BoolArray | IntArray | slice
"""Selects rows: a mask, positions, or a slice."""

MAX_COHORT = 10_000
"""Max records of which a check counts how many have a label."""

PROBABILITY = "probability"
"""Column of a window's rows."""

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
"""Start of a span that asks for all earlier records."""


class LoggedRecords:
    labels_without_record = 0

    def __init__(self, reader: ArrowReader, deployment_no: int) -> None:
        self._reader = reader
        self._deployment_no = deployment_no
        # Each takes a query and a span; the two that read also a limit of rows, newest first.
        self.read_payload = partial(read_newest_payload, reader)
        self.read_feedback = partial(read_newest_feedback, reader)
        self.count_payload = partial(count_payload, reader)

    def read_cohort(
        self,
        query: WindowQuery,
        window: pa.Table,  # noqa: ARG002 - as of FiledRecords
        labels: pa.Table,
        until: datetime,
    ) -> pa.Table | None:
        """Reads the newest records of the labels' time, marked if they had a label before `until`.

        None if no label is of a record.
        """
        span = _find_span_of_records(labels)
        if span is None:
            return None
        return read_newest_cohort(self._reader, query, span, MAX_COHORT, until=until)

    @cached_property
    def targets(self) -> dict[TargetKey, int]:
        return read_stored_targets(self._reader, self._deployment_no)

    def read_answers(
        self, key: TargetKey, record_nos: IntArray, *, with_probabilities: bool
    ) -> pa.Table | None:
        """Reads stored answers to copies of records from the lowest to the highest number."""
        if key not in self.targets:
            return None
        bounds = (int(record_nos.min()), int(record_nos.max()))
        return read_stored_outcomes(
            self._reader, self.targets[key], bounds, with_probabilities=with_probabilities
        )


@frozen
class TablePlaces:
    """The operator's folders of tables, and the folder for answers (None: each table's own).

    `engine` reads and counts tables that exceed the memory.
    """

    roots: tuple[Root, ...] = ()
    answers: Path | None = None
    engine: Engine = field(default_factory=LocalEngine)


NO_TABLES = TablePlaces()


class FiledRecords:
    """Records in files, numbered as they are read, for one check.

    With a batch, `counted` are the files of its partition; earlier records come from all files.

    Raises:
        InvalidInput: the files cannot be read, or a column is missing or of another type.
    """

    def __init__(
        self,
        deployment: Deployment,
        payload: PayloadTable,
        feedback: FeedbackTable | None,
        places: TablePlaces,
        batch: str | None = None,
    ) -> None:
        self.files = PayloadFiles(deployment, payload, places.roots)
        self.counted = self.files
        if batch is not None:
            self.counted = PayloadFiles(deployment, payload, places.roots, FileSelection(batch=batch))
        self._labels = FeedbackFiles(feedback, places.roots) if feedback else None
        self.answers = KeptAnswers(choose_own_folder(deployment.id, payload, places.answers))
        self.ids: list[str] = []
        # Targets have no numbers: answers in files are stored by their whole key.
        self.targets: dict[TargetKey, int] = {}

    @property
    def labels_without_record(self) -> int:
        return self._labels.without_record if self._labels else 0

    def read_payload(self, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        read = self.files.newest_before if span.start == BEGINNING else self.counted.newest
        rows = read(query, span, limit)
        numbers = pa.array(range(len(self.ids), len(self.ids) + rows.num_rows), pa.int64())
        self.ids += rows["record_id"].to_pylist()
        return rows.append_column("record_no", numbers)

    def count_payload(self, query: WindowQuery, span: Span) -> int:  # noqa: ARG002 - as of LoggedRecords
        return self.counted.count(span)

    def read_feedback(self, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        if self._labels is None:
            empty = self.files.newest(query, Span(span.end, span.end), 1).drop_columns(["record_id"])
            rows = name_columns_of_labels(empty)
            for name, kind in (
                ("label", pa.string()),
                ("feedback_id", pa.string()),
                ("feedback_no", pa.int64()),
            ):
                rows = rows.append_column(name, pa.array([], kind))
            return rows
        if self.counted is not self.files and span.start != BEGINNING:
            rows = self._labels.newest_of(self.counted, query, span, limit)
        else:
            rows = self._labels.newest(self.files, query, span, limit)
        return rows.append_column("feedback_no", pa.array(range(rows.num_rows), pa.int64()))

    def read_cohort(
        self, query: WindowQuery, window: pa.Table, labels: pa.Table, until: datetime
    ) -> pa.Table | None:
        """Reads as `LoggedRecords.read_cohort`; with a batch, the window, and any label counts."""
        span = _find_span_of_records(labels)
        if self._labels is None or span is None:
            return None
        if self.counted is self.files:
            cohort = self.files.newest(query, span, MAX_COHORT)
        else:
            cohort, until = window, ALL_TIMES.end
        ids = cohort["record_id"].combine_chunks()
        return cohort.append_column("labelled", pc.is_in(ids, self._labels.labelled_among(ids, until)))

    def read_answers(
        self,
        key: TargetKey,
        record_nos: IntArray,
        *,
        with_probabilities: bool,  # noqa: ARG002 - as of LoggedRecords
    ) -> pa.Table | None:
        ids = [self.ids[no] for no in record_nos.tolist()]
        rows = self.answers.read(key, pa.array(ids, pa.string()))
        if not rows.num_rows:
            return None
        number_by_id = dict(zip(ids, record_nos.tolist(), strict=True))
        numbers = pa.array(
            [number_by_id[record_id] for record_id in rows["record_id"].to_pylist()], pa.int64()
        )
        return rows.drop_columns(["record_id"]).append_column("record_no", numbers)


WindowSource = LoggedRecords | FiledRecords


def _find_span_of_records(labels: pa.Table) -> Span | None:
    times = pc.min_max(labels["record_logged_at"]).as_py()
    if times["min"] is None:
        return None
    # A span does not hold its end.
    return Span(times["min"], times["max"] + timedelta(microseconds=1))


@frozen
class Window:
    """Rows that a check reads, newest first; the first `own` lie in the span, the others before it."""

    rows: pa.Table
    own: int
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def additional(self) -> int:
        return len(self) - self.own

    def mark_own(self) -> BoolArray:
        return np.arange(len(self)) < self.own

    def parts(self) -> tuple[BoolArray, BoolArray]:
        """Returns masks of the rows in the span, and of those before it."""
        return self.mark_own(), ~self.mark_own()

    def weights(self, selected: RowSelection = slice(None)) -> FloatArray | None:
        """Returns how many records each row represents; None if each represents itself."""
        rates = self.rows["sample_rate"]
        if rates.null_count == len(rates):
            return None
        weights = 1 / np.asarray(pc.fill_null(rates, 1.0).to_numpy(), dtype=np.float64)
        return weights[selected]

    def mark_revision(self, revision: str) -> BoolArray:
        is_of_revision: BoolArray = (
            np.array(self.rows["model_revision"].to_pylist(), dtype=object) == revision
        )
        return is_of_revision

    def values(self) -> pa.Table:
        return name_values(self.rows, self.columns)

    def read_table(
        self,
        answers: str,
        schema: RecordSchema,
        monitor: Monitor,
        probabilities: pa.ChunkedArray | None = None,
    ) -> RecordTable:
        return read_table(RecordColumns(self.values(), self.rows[answers], probabilities), schema, monitor)


@frozen
class PayloadWindow(Window):
    """Window of scoring records; `logged_in_span` includes those beyond `max_records`."""

    logged_in_span: int

    def record_nos(self) -> IntArray:
        return np.asarray(self.rows["record_no"].to_numpy())

    def reach(self) -> Span:
        """Returns the time of the records, the newest included; without records, of no length."""
        if not len(self):
            return Span(BEGINNING, BEGINNING)
        times = self.rows["logged_at"]
        # The driver may name any zone.
        start, end = (times[row].as_py().astimezone(UTC) for row in (len(self) - 1, 0))
        return Span(start, end)


def read_payload_window(
    source: WindowSource, query: WindowQuery, span: Span, monitor: Monitor
) -> PayloadWindow:
    window = read_window(partial(source.read_payload, query), span, monitor)
    logged = source.count_payload(query, span) if window.own == monitor.max_records else window.own
    return PayloadWindow(window.rows, window.own, query.columns, logged)


def read_window(
    read: Callable[[Span, int], pa.Table], span: Span, monitor: Monitor, columns: tuple[str, ...] = ()
) -> Window:
    """Reads the newest rows of the span by `read`, topped up with earlier ones.

    `read` takes a span and a limit of rows.
    """
    rows = read(span, monitor.max_records)
    own_rows = rows.num_rows
    if own_rows < monitor.min_records:
        earlier = read(Span(BEGINNING, span.start), monitor.min_records - own_rows)
        rows = pa.concat_tables([rows, earlier])
    return Window(rows, own_rows, columns)
