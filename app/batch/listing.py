"""The listed files of a table with the span of their rows, so that a file that comes or changes later is noticed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..clock import HOUR, hour_of
from ..domain.tables_of_files import FeedbackTable, PayloadTable, TableFormat
from ..store.deployments.listed_files import FileSpan
from .databases import open_database
from .locations import TableAccess, batch_of, list_files
from .slices import SpanOfRows

HOURS = pa.timestamp("s", "UTC")

HOURS_LOOKED_AT = 72
"""Hours before the newest row of a database's table in which rows that come late are noticed; counting all of them would read the table."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Files of one table since it was listed before: those that came or changed, and those that are not there any more, as they were."""

    new: tuple[FileSpan, ...]
    replaced: tuple[FileSpan, ...]

    @property
    def files(self) -> tuple[FileSpan, ...]:
        """Returns both."""
        return (*self.new, *self.replaced)


def find_changes(table: PayloadTable | FeedbackTable, access: TableAccess, side: str, known: Mapping[str, FileSpan]) -> Changes:
    """Returns the changes of the table's files since `known` (by path), reading the footers of those that came or changed.

    A file that cannot be read yet, because it is being written, is left for the next listing. Of a table of a database, its hours are
    listed instead.

    Raises:
        InvalidInput: the location is not allowed, or there is no folder or table.
        SetupError: the database does not answer.
    """
    if table.format is TableFormat.JDBC:
        return _find_changed_hours(table, access, side, known)
    listed = {one.path: one for one in list_files(table, access.roots, f"{side}.location")}
    new: list[FileSpan] = []
    for path, file in listed.items():
        if path in known and (known[path].bytes, known[path].modified_ns) == (file.bytes, file.modified_ns):
            continue
        try:
            oldest, newest = read_span(Path(table.location) / path, table.time)
        except (OSError, pa.ArrowInvalid, KeyError):
            continue
        batch = batch_of(path, table.partition_by)
        new.append(FileSpan(path=path, bytes=file.bytes, modified_ns=file.modified_ns, batch=batch, oldest=oldest, newest=newest))
    changed = {one.path for one in new}
    replaced = tuple(one for path, one in known.items() if path in changed or path not in listed)
    return Changes(tuple(new), replaced)


def _find_changed_hours(table: PayloadTable | FeedbackTable, access: TableAccess, side: str, known: Mapping[str, FileSpan]) -> Changes:
    """Returns the changes of the last `HOURS_LOOKED_AT` hours up to the newest row, as if each hour were a file of so many rows.

    An hour has changed if its number of rows has, or the time of its oldest or newest.
    """
    opened = open_database(table, access, side)
    opened.require_columns({"time": table.time}, time="time")
    newest = opened.newest(table.time)
    if newest is None:
        return Changes((), tuple(known.values()))
    since = hour_of(newest) - (HOURS_LOOKED_AT - 1) * HOUR
    listed = {one.path: one for one in map(_as_file, opened.hours(table.time, since))}
    looked_at = {path: one for path, one in known.items() if one.newest is not None and one.newest >= since}
    new = tuple(one for path, one in listed.items() if looked_at.get(path) != one)
    changed = {one.path for one in new}
    return Changes(new, tuple(one for path, one in looked_at.items() if path in changed or path not in listed))


def _as_file(hour: SpanOfRows) -> FileSpan:
    modified_ns = int(hour.newest.timestamp() * 1_000_000) * 1000
    path = hour_of(hour.oldest).isoformat()
    return FileSpan(path=path, bytes=hour.rows, modified_ns=modified_ns, batch=None, oldest=hour.oldest, newest=hour.newest)


def read_hours(table: PayloadTable, file: FileSpan, before: datetime) -> set[datetime]:
    """Returns the hours before that moment in which the payload file has rows; none if it cannot be read any more."""
    if file.oldest is None or file.oldest >= before:
        return set()
    if table.format is TableFormat.JDBC:
        return {hour_of(file.oldest)}
    found: set[datetime] = set()
    try:
        with pq.ParquetFile(Path(table.location) / file.path) as opened:
            for rows in opened.iter_batches(columns=[table.columns.scored_at]):
                found.update(pc.unique(pc.floor_temporal(rows.column(0), unit="hour").cast(HOURS)).drop_null().to_pylist())
    except (OSError, pa.ArrowInvalid):
        return set()  # the next listing notices that it has changed or is gone
    return {hour for hour in found if hour < before}


def read_span(file: Path, time: str) -> tuple[datetime | None, datetime | None]:
    """Returns the oldest and the newest time in a Parquet file, from its footer where that has them.

    Raises:
        OSError, pa.ArrowInvalid: the file cannot be read.
        KeyError: it has no such column, or no times in it.
    """
    with pq.ParquetFile(file) as opened:
        place = opened.schema_arrow.get_field_index(time)
        if place < 0 or not pa.types.is_timestamp(opened.schema_arrow.field(place).type):
            raise KeyError(time)
        bounds: list[datetime] = []
        for no in range(opened.num_row_groups):
            group = opened.metadata.row_group(no)
            # By name: a nested column takes several places in a row group.
            of_time = next(column for column in map(group.column, range(group.num_columns)) if column.path_in_schema == time)
            if of_time.is_stats_set and of_time.statistics.has_min_max:
                bounds += [of_time.statistics.min, of_time.statistics.max]
            elif group.num_rows:
                found = pc.min_max(opened.read_row_group(no, columns=[time])[time]).as_py()
                bounds += [found["min"], found["max"]]
    known = [one for one in bounds if one is not None]
    return (min(known), max(known)) if known else (None, None)
