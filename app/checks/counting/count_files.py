"""Counts the payload of a span in files where it exceeds a check's memory.

Tasks count pieces of the files, maybe on other machines: each takes and returns bytes.
"""

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from ...base.values import frozen
from ...deployments.monitor.queries import is_needed
from ...domain.check import DataSet, Progress, Span
from ...domain.deployment import RecordSchema
from ...domain.groups import NEAR_TWINS, NearTwin, describe_twins
from ...domain.monitor import Monitor, MonitoredAttribute, Outcome, list_comparisons
from ...sources.arrays.read_records import (
    RecordColumns,
    RecordTable,
    divide_into_strata,
    group_records,
    read_table,
)
from ...sources.stored.window_queries import VALUE_PREFIX, WindowQuery, name_values
from ...sources.tables.record_files import TIMES, PayloadFiles, PayloadForm
from ...sources.tables.stored_columns import merge_equal_rows
from ...sources.tables.table_files import Done, Engine, FilePiece, PieceReader
from ...statistics.group_labels import IntArray
from ...statistics.sentences.left_out import CountedRecords
from ..subject import Report, Subject, require_column
from ..window.window_records import REVISIONS_IN_SPAN
from .left_out_of_check import count_table_records
from .tabulate import PeriodTables, count_payload

SPAN_ONLY = (slice(None), slice(0))
"""All records are of the span, none is additional."""

COUNTED_WITHOUT_SCORES = (
    "the span has more records than a check keeps in memory, and those are counted "
    "without their probabilities"
)


@dataclass(slots=True)
class CountedSpan:
    """Counts of the pieces so far; `counts` are by member of the window, `times` the ends of each piece."""

    tables: list[PeriodTables] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    records_by_label: dict[str, CountedRecords] = field(default_factory=dict)
    near_twins: Counter[NearTwin] = field(default_factory=Counter)
    times: list[datetime] = field(default_factory=list)

    def count_batch(
        self,
        records: RecordTable,
        repeats: IntArray,
        record_revisions: pa.ChunkedArray,
        present_revision: str,
    ) -> None:
        """Counts a batch without its times; each row is `repeats` records of its model revision."""
        is_other = pc.not_equal(record_revisions, present_revision).to_numpy()
        comparisons = list_comparisons(records.monitor)
        batch = CountedSpan(
            [
                count_payload(
                    records, comparison, SPAN_ONLY, repeats=repeats, record_revisions=record_revisions
                )
                for comparison in comparisons
            ],
            Counter(
                records=int(repeats.sum()),
                unclassified_records=int(repeats[records.outcomes == Outcome.UNCLASSIFIED].sum()),
                records_of_other_revisions=int(repeats[is_other].sum()),
            ),
            {
                comparison.label: count_table_records(records, comparison, repeats=repeats)
                for comparison in comparisons
            },
            records.count_twins(repeats),
        )
        self.merge(batch)

    def merge(self, added: "CountedSpan") -> None:
        if self.tables and added.tables:
            self.tables = [table.plus(other) for table, other in zip(self.tables, added.tables, strict=True)]
        self.tables = self.tables or added.tables
        self.counts.update(added.counts)
        for label, records in added.records_by_label.items():
            if label in self.records_by_label:
                self.records_by_label[label] = self.records_by_label[label].plus(records)
            else:
                self.records_by_label[label] = records
        self.near_twins.update(added.near_twins)
        self.times += added.times

    def describe(self) -> dict[str, object]:
        names = ("records", "unclassified_records", "records_of_other_revisions")
        return {name: self.counts[name] for name in names} | {
            "logged_in_span": self.counts["records"],
            REVISIONS_IN_SPAN: list({name for table in self.tables[:1] for _, name in table.pieces}),
            NEAR_TWINS: describe_twins(self.near_twins),
            "oldest_record_at": min(self.times).isoformat() if self.times else None,
            "newest_record_at": max(self.times).isoformat() if self.times else None,
        }


@frozen
class SpanOfFiles:
    """Records of a span in files, as a task reads them; `form` holds no secret of the deployment."""

    form: PayloadForm
    reader: PieceReader
    query: WindowQuery
    span: Span

    def read_batches(self, piece: FilePiece, *, with_times: bool) -> Iterator[pa.Table]:
        time_column = self.form.columns.scored_at
        columns = self.form.list_columns(self.query)
        if with_times:
            columns.append(time_column)
        for rows in self.reader.read(piece, columns, self.span):
            batch = self.form.read_counted(rows, self.query)
            if with_times:
                batch = batch.append_column("logged_at", rows[time_column].cast(TIMES))
            yield batch


@frozen
class CountTask:
    """Counts a piece: takes a FilePiece as bytes, and returns a pickled CountedSpan."""

    records: SpanOfFiles
    schema: RecordSchema
    monitor: Monitor
    revision: str

    def __call__(self, piece: bytes) -> bytes:
        file_piece = FilePiece.from_bytes(piece)
        counted = CountedSpan()
        for rows in self.records.read_batches(file_piece, with_times=not file_piece.is_within):
            distinct_rows, repeats = merge_equal_rows(
                rows.drop_columns([name for name in rows.column_names if name == "logged_at"])
            )
            values = name_values(distinct_rows, self.records.query.columns)
            table = read_table(RecordColumns(values, distinct_rows["outcome"]), self.schema, self.monitor)
            counted.count_batch(table, repeats, distinct_rows["model_revision"], self.revision)
            if not file_piece.is_within:
                counted.times += filter(None, pc.min_max(rows["logged_at"]).as_py().values())
        if file_piece.is_within:
            counted.times += filter(None, (file_piece.oldest, file_piece.newest))
        return pickle.dumps(counted)


@frozen
class ValuesTask:
    """Finds the values of a piece: takes a FilePiece as bytes, and returns them by column, pickled."""

    records: SpanOfFiles

    def __call__(self, piece: bytes) -> bytes:
        distinct: dict[str, pa.Array] = {}
        for rows in self.records.read_batches(FilePiece.from_bytes(piece), with_times=False):
            for position, name in enumerate(self.records.query.columns):
                values = pc.unique(rows[f"{VALUE_PREFIX}{position}"])
                values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
                _add_values(distinct, name, values)
        return pickle.dumps(distinct)


def _add_values(distinct: dict[str, pa.Array], name: str, values: pa.Array) -> None:
    distinct[name] = pc.unique(pa.concat_arrays([distinct[name], values])) if name in distinct else values


def count_span(files: PayloadFiles, subject: Subject, report: Report, engine: Engine) -> CountedSpan:
    """Counts all records of the check's span. `report` may raise between pieces, which ends the check.

    Raises:
        InvalidInput: the files cannot be read.
    """
    span = subject.check.span
    schema = subject.deployment.schema
    query = WindowQuery(subject.deployment.no, schema, tuple(dict.fromkeys(subject.list_columns())))
    pieces = [piece.to_bytes() for piece in files.pieces(span)]
    records = SpanOfFiles(files.form, files.reader(), query, span)

    def report_pieces(step: str, done: int) -> None:
        report(Progress(step, done=done, total=len(pieces)))

    monitor, no_strata = _list_all_values(
        records,
        subject,
        engine,
        pieces,
        partial(report_pieces, "looking for the values of the watched columns, by pieces of the table"),
    )
    counted = CountedSpan()
    task = CountTask(records, schema, monitor, subject.deployment.model_revision)
    for pickled in engine.run(
        task, pieces, partial(report_pieces, "counting the records, by pieces of the table")
    ):
        counted.merge(pickle.loads(pickled))  # noqa: S301 - written by the task
    if no_strata:
        counted.tables = [
            replace(table, strata=subject.monitor.strata, lacking={"strata": no_strata})
            for table in counted.tables
        ]
    if is_needed(monitor, "scores", on=[DataSet.AS_LOGGED]):
        # A piece by itself may not show which outcome its probabilities are of.
        counted.tables = [
            replace(table, lacking={**table.lacking, "scores": COUNTED_WITHOUT_SCORES})
            for table in counted.tables
        ]
    return counted


def _list_all_values(
    records: SpanOfFiles, subject: Subject, engine: Engine, pieces: Sequence[bytes], report: Done
) -> tuple[Monitor, str | None]:
    """Returns the monitor with all reference values listed; without strata, and why, if they are too many."""
    monitor = subject.monitor
    unlisted = [attribute.feature for attribute in monitor.attributes if attribute.reference is None]
    columns = tuple(name for name in dict.fromkeys([*unlisted, monitor.strata]) if name is not None)
    if not columns:
        return monitor, None
    distinct: dict[str, pa.Array] = {}
    task = ValuesTask(replace(records, query=replace(records.query, columns=columns)))
    for pickled in engine.run(task, pieces, report):
        for name, values in pickle.loads(pickled).items():  # noqa: S301 - written by the task
            _add_values(distinct, name, values)

    def fix_reference(attribute: MonitoredAttribute) -> MonitoredAttribute:
        if attribute.reference is not None or attribute.feature not in distinct:
            return attribute
        values = pa.chunked_array([distinct[attribute.feature]])
        return subject.fix_reference(
            group_records(attribute, require_column(subject.deployment, attribute.feature), values)
        )

    fixed = replace(monitor, attributes=tuple(fix_reference(attribute) for attribute in monitor.attributes))
    if monitor.strata is None or monitor.strata not in distinct:
        return fixed, None
    strata = divide_into_strata(monitor.strata, pa.chunked_array([distinct[monitor.strata]]))
    return (replace(fixed, strata=None), strata.reason) if strata.reason else (fixed, None)
