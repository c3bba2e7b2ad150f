"""Compares the files of a table with those listed before, and reads the times in them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..base.values import frozen, frozen_by_name
from ..database.binary_rows import read_row
from ..domain.deployment import FeedbackTable, PayloadTable
from ..sources.tables.allowed_locations import Root, list_files, open_folder, read_partition_value
from ..sources.tables.table_files import find_chunk

HOURS = pa.timestamp("s", "UTC")


@frozen_by_name
class FileSpan:
    """Rows lie from `oldest` to `newest`, both included; None: no rows. `batch` is the partition in its path."""

    path: str
    bytes: int
    modified_ns: int
    batch: str | None
    oldest: datetime | None
    newest: datetime | None


@frozen
class FileChanges:
    """New and changed files as they are (`new`), changed and removed ones as they were (`replaced`)."""

    new: tuple[FileSpan, ...]
    replaced: tuple[FileSpan, ...]

    @property
    def files(self) -> tuple[FileSpan, ...]:
        return (*self.new, *self.replaced)

    def without(self, paths: Collection[str]) -> "FileChanges":
        """Leaves files out; as they are not stored, the next listing finds their changes again."""
        return FileChanges(
            tuple(file for file in self.new if file.path not in paths),
            tuple(file for file in self.replaced if file.path not in paths),
        )


def find_changes(
    table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str, previous: Mapping[str, FileSpan]
) -> FileChanges:
    """Finds changes since `previous` (by path). A file that cannot be read yet is left for the next
    listing.
    """
    listed = {file.path: file for file in list_files(table, roots, side)}
    new = []
    for path, file in listed.items():
        before = previous.get(path)
        if before is not None and (before.bytes, before.modified_ns) == (file.bytes, file.modified_ns):
            continue
        try:
            oldest, newest = read_span(table, path)
        except (OSError, pa.ArrowInvalid, KeyError):
            continue
        batch = read_partition_value(path, table.partition_by)
        new.append(read_row(FileSpan, file, batch=batch, oldest=oldest, newest=newest))
    changed = {file.path for file in new}
    replaced = tuple(file for path, file in previous.items() if path in changed or path not in listed)
    return FileChanges(tuple(new), replaced)


def read_hours(table: PayloadTable, file: FileSpan, before: datetime) -> set[datetime] | None:
    """None if the file cannot be read."""
    if file.oldest is None or file.oldest >= before:
        return set()
    hours = set()
    try:
        with pq.ParquetFile(file.path, filesystem=open_folder(table.location)) as opened:
            for rows in opened.iter_batches(columns=[table.columns.scored_at]):
                hours_of_rows = pc.floor_temporal(rows.column(0), unit="hour").cast(HOURS)
                hours.update(pc.unique(hours_of_rows).drop_null().to_pylist())
    except (OSError, pa.ArrowInvalid):
        return None
    return {hour for hour in hours if hour < before}


def read_span(table: PayloadTable | FeedbackTable, path: str) -> tuple[datetime | None, datetime | None]:
    """Raises OSError, pa.ArrowInvalid, and KeyError without times in that column."""
    time = table.time
    with pq.ParquetFile(path, filesystem=open_folder(table.location)) as opened:
        if not pa.types.is_timestamp(opened.schema_arrow.field(time).type):
            raise KeyError(time)
        bounds = []
        for row_group_no in range(opened.num_row_groups):
            row_group = opened.metadata.row_group(row_group_no)
            time_chunk = find_chunk(row_group, time)
            if time_chunk.is_stats_set and time_chunk.statistics.has_min_max:
                bounds += [time_chunk.statistics.min, time_chunk.statistics.max]
            elif row_group.num_rows:
                times = opened.read_row_group(row_group_no, columns=[time])[time]
                bounds += pc.min_max(times).as_py().values()
    moments = [moment for moment in bounds if moment is not None]
    return (min(moments), max(moments)) if moments else (None, None)
