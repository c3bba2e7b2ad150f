"""Compares the files of a table with those listed before, and reads the times in them."""

from collections.abc import Mapping, Sequence
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
    path: str
    bytes: int
    modified_ns: int
    batch: str | None
    oldest: datetime | None
    newest: datetime | None


@frozen
class Changes:
    new: tuple[FileSpan, ...]
    replaced: tuple[FileSpan, ...]

    @property
    def files(self) -> tuple[FileSpan, ...]:
        return (*self.new, *self.replaced)


def find_changes(
    table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str, previous: Mapping[str, FileSpan]
) -> Changes:
    """Changes since `previous` (by path). A file that cannot be read yet is left for the next
    listing.
    """
    listed = {file.path: file for file in list_files(table, roots, side)}
    new = []
    for path, file in listed.items():
        if path in previous and (previous[path].bytes, previous[path].modified_ns) == (
            file.bytes,
            file.modified_ns,
        ):
            continue
        try:
            oldest, newest = read_span(table, path)
        except (OSError, pa.ArrowInvalid, KeyError):
            continue
        batch = read_partition_value(path, table.partition_by)
        new.append(read_row(FileSpan, file, batch=batch, oldest=oldest, newest=newest))
    changed = {file.path for file in new}
    replaced = tuple(file for path, file in previous.items() if path in changed or path not in listed)
    return Changes(tuple(new), replaced)


def read_hours(table: PayloadTable, file: FileSpan, before: datetime) -> set[datetime]:
    """Empty if the file cannot be read."""
    if file.oldest is None or file.oldest >= before:
        return set()
    hours = set()
    try:
        with pq.ParquetFile(file.path, filesystem=open_folder(table.location)) as opened:
            for rows in opened.iter_batches(columns=[table.columns.scored_at]):
                hours.update(
                    pc.unique(pc.floor_temporal(rows.column(0), unit="hour").cast(HOURS))
                    .drop_null()
                    .to_pylist()
                )
    except (OSError, pa.ArrowInvalid):
        return set()  # the next listing notices
    return {hour for hour in hours if hour < before}


def read_span(table: PayloadTable | FeedbackTable, path: str) -> tuple[datetime | None, datetime | None]:
    """Oldest and newest time. Raises OSError, pa.ArrowInvalid, and KeyError without times in that column."""
    time = table.time
    with pq.ParquetFile(path, filesystem=open_folder(table.location)) as opened:
        if not pa.types.is_timestamp(opened.schema_arrow.field(time).type):
            raise KeyError(time)
        bounds = []
        for no in range(opened.num_row_groups):
            group = opened.metadata.row_group(no)
            of_time = find_chunk(group, time)
            if of_time.is_stats_set and of_time.statistics.has_min_max:
                bounds += [of_time.statistics.min, of_time.statistics.max]
            elif group.num_rows:
                bounds += pc.min_max(opened.read_row_group(no, columns=[time])[time]).as_py().values()
    moments = [moment for moment in bounds if moment is not None]
    return (min(moments), max(moments)) if moments else (None, None)
