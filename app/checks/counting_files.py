"""Counts the payload of a span in files a batch at a time, where it has more records than a check keeps in memory.

Each batch is read and counted as a window is, by the same functions, and the count tables are added up.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..batch.payload_files import PayloadFiles
from ..domain.checks import Progress, Span
from ..domain.comparisons import comparisons_of
from ..domain.monitors import Monitor, MonitoredAttribute
from ..domain.outcomes import Outcome
from ..records.grouping import NEITHER, group_records
from ..records.reading import RecordColumns, RecordTable, read_table
from ..records.strata import divide
from ..store.records.window import VALUE_PREFIX, WindowQuery
from .asking import Report
from .subject import Subject
from .tabulation import Tabulated, count_payload


@dataclass(slots=True)
class CountedSpan:
    """The payload tables of all records of a span, and the counts that describe them."""

    tables: list[Tabulated] = field(default_factory=list)
    records: int = 0
    unclassified: int = 0
    of_other_revisions: int = 0
    in_no_group: dict[str, int] = field(default_factory=dict)
    oldest: datetime | None = None
    newest: datetime | None = None

    def add(self, rows: pa.Table, read: RecordTable, revision: str) -> None:
        """Counts the records of one batch."""
        # A span is counted as a whole here, so nothing is topped up from before it.
        is_own = np.ones(len(read), dtype=np.bool_)
        tables = [count_payload(read, comparison, is_own, ~is_own) for comparison in comparisons_of(read.monitor)]
        self.tables = [before.plus(now) for before, now in zip(self.tables, tables, strict=True)] if self.tables else tables
        self.records += len(read)
        self.unclassified += int((read.outcomes == Outcome.UNCLASSIFIED).sum())
        # The sum of an empty column is null.
        self.of_other_revisions += int(pc.sum(pc.not_equal(rows["model_revision"], revision)).as_py() or 0)
        for grouping in read.groupings:
            name = grouping.column.name
            self.in_no_group[name] = self.in_no_group.get(name, 0) + int((grouping.codes == NEITHER).sum())
        times = pc.min_max(rows["logged_at"]).as_py()
        self.oldest = times["min"] if self.oldest is None else min(self.oldest, times["min"])
        self.newest = times["max"] if self.newest is None else max(self.newest, times["max"])

    def described(self) -> dict[str, object]:
        """Returns the members of a check's window that are about all records of the span; JSON-safe."""
        return {
            "records": self.records,
            "logged_in_span": self.records,
            "unclassified_records": self.unclassified,
            "records_of_other_revisions": self.of_other_revisions,
            "records_in_no_group": dict(self.in_no_group),
            "oldest_record_at": None if self.oldest is None else self.oldest.isoformat(),
            "newest_record_at": None if self.newest is None else self.newest.isoformat(),
        }


def count_span(files: PayloadFiles, subject: Subject, report: Report) -> CountedSpan:
    """Returns the counts of all records of the check's span. `report` may end it between two batches.

    Raises:
        InvalidInput: the files cannot be read, or an attribute without listed reference has too many values.
    """
    span, schema = subject.check.span, subject.deployment.schema
    names = [subject.column(attribute.feature).name for attribute in subject.monitor.attributes]
    names += [] if subject.monitor.strata is None else [subject.column(subject.monitor.strata, "strata").name]
    query = WindowQuery(subject.deployment.no, schema, tuple(dict.fromkeys(names)))
    monitor, too_many = _see_all_values(files, subject, span, report)
    counted = CountedSpan()
    for rows in files.batches(query, span):
        report(Progress(step="counting the records in files", done=counted.records))
        values = rows.select([f"{VALUE_PREFIX}{no}" for no in range(len(query.columns))]).rename_columns(list(query.columns))
        counted.add(rows, read_table(RecordColumns(values, rows["outcome"]), schema, monitor), subject.deployment.model_revision)
    if too_many is not None:
        counted.tables = [replace(one, strata=subject.monitor.strata, lacking={"strata": too_many}) for one in counted.tables]
    return counted


def _see_all_values(files: PayloadFiles, subject: Subject, span: Span, report: Report) -> tuple[Monitor, str | None]:
    """Returns the monitor with the reference values that all batches together show, and why there are no strata, if there are too many.

    A batch shows only some of the values; groups found in each batch by itself would differ.
    """
    monitor, schema = subject.monitor, subject.deployment.schema
    unlisted = [attribute.feature for attribute in monitor.attributes if attribute.reference is None]
    wanted = tuple(dict.fromkeys([*unlisted, *([] if monitor.strata is None else [monitor.strata])]))
    if not wanted:
        return monitor, None
    seen: dict[str, pa.ChunkedArray] = {}
    for rows in files.batches(WindowQuery(subject.deployment.no, schema, wanted), span):
        report(Progress(step="looking for the values of the watched columns"))
        for no, name in enumerate(wanted):
            chunks = [*(seen[name].chunks if name in seen else ()), *rows[f"{VALUE_PREFIX}{no}"].chunks]
            seen[name] = pa.chunked_array([pc.unique(pa.chunked_array(chunks))])

    def listed(attribute: MonitoredAttribute) -> MonitoredAttribute:
        if attribute.reference is not None or attribute.feature not in seen:
            return attribute
        return subject.fixed(group_records(attribute, subject.column(attribute.feature), seen[attribute.feature]))

    fixed = replace(monitor, attributes=tuple(listed(one) for one in monitor.attributes))
    if monitor.strata is None or monitor.strata not in seen:
        return fixed, None
    divided = divide(monitor.strata, seen[monitor.strata])
    return (fixed, None) if not divided.reason else (replace(fixed, strata=None), divided.reason)
