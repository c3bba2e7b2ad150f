"""Files of one table: pieces of them, and batches of rows within a span; few are in memory."""

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...base.apart import ChildWork
from ...base.errors import InvalidInput, SetupError
from ...base.settings import count_cores
from ...base.values import frozen
from ...domain.check import Span
from ...domain.deployment import FeedbackTable, PayloadTable
from .allowed_locations import Root, describe_error, list_table, open_folder, read_partition_value

Task = Callable[[bytes], bytes]

Done = Callable[[int], None]
"""Called with the number of finished pieces, about once a second; what it raises ends the run."""

POLL_SECONDS = 1.0


class EngineName(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


class Engine(Protocol):
    """Runs tasks. `slots`: pieces at the same time; `is_apart`: on other machines."""

    slots: int
    is_apart: bool

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        """Yields the answer to each piece, in any order. Raises the error that the task raised."""


class LocalEngine:
    """Runs tasks in child processes of this machine."""

    is_apart = False

    def __init__(self, slots: int | None = None) -> None:
        self.slots = slots or count_cores()

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        children = [
            ChildWork(map, task, pieces[start :: self.slots]) for start in range(min(self.slots, len(pieces)))
        ]
        ended = 0
        with ThreadPoolExecutor(self.slots, thread_name_prefix="pieces") as pool:
            running = {
                pool.submit(next, answers, None): answers
                for answers in (child.stream() for child in children)
            }
            try:
                while running:
                    finished = wait(running, POLL_SECONDS, FIRST_COMPLETED)[0]
                    done(ended)
                    for future in finished:
                        answers = running.pop(future)
                        answer = future.result()
                        if answer is not None:
                            ended += 1
                            running[pool.submit(next, answers, None)] = answers
                            yield answer
            finally:
                for child in children:
                    child.end()


def open_engine(name: str, spark_url: str) -> Engine:
    if name == EngineName.LOCAL:
        return LocalEngine()
    if name != EngineName.SPARK:
        raise SetupError(f"EVENHAND_ENGINE must be {' or '.join(EngineName)}, found {name!r}.")
    try:
        from .spark_engine import SparkEngine  # noqa: PLC0415 - an extra that few installations have
    except ImportError as error:
        raise SetupError(
            f"The engine spark needs the extra packages of evenhand[spark] ({error}). Install them for "
            "workers."
        ) from error
    return SparkEngine(spark_url)


if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

FILE_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OSError, MemoryError)
"""A damaged file, other types than the first, an unknown encoding, a file that vanished, or is too large."""

BATCH_ROWS = 131_072

_FOOTER_THREADS = 16


class FilePiece(msgspec.Struct, frozen=True):
    """A row group, and its oldest and newest time by the footer.

    `partition`: pickled values of columns in the path or a log. `is_within`: all rows lie in the span.
    """

    file: str
    partition: bytes
    row_group: int
    rows: int
    oldest: datetime | None = None
    newest: datetime | None = None
    is_within: bool = False

    def to_bytes(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_bytes(cls, stored: bytes) -> "FilePiece":
        return msgspec.json.decode(stored, type=cls)


def find_pieces(dataset: "Dataset", time: str, span: Span) -> Iterator[FilePiece]:
    fragments = list(dataset.get_fragments(build_span_filter(dataset.schema, time, span)))
    # In an object store each footer takes a request or two.
    with ThreadPoolExecutor(_FOOTER_THREADS) as pool:
        list(pool.map(lambda fragment: fragment.ensure_complete_metadata(), fragments))
    for fragment in fragments:
        partition = pickle.dumps(fragment.partition_expression)
        for group in fragment.row_groups:
            bounds = (group.statistics or {}).get(time)
            if not group.num_rows:
                continue
            oldest = newest = None
            is_within = False
            if bounds is not None:
                oldest, newest = bounds["min"], bounds["max"]
                if newest < span.start or oldest >= span.end:
                    continue
                # A row without a time is in no span.
                is_within = (
                    oldest >= span.start
                    and newest < span.end
                    and find_chunk(fragment.metadata.row_group(group.id), time).statistics.null_count == 0
                )
            yield FilePiece(fragment.path, partition, group.id, group.num_rows, oldest, newest, is_within)


def build_span_filter(schema: pa.Schema, time: str, span: Span) -> pc.Expression:
    start, end = (pa.scalar(moment, schema.field(time).type) for moment in (span.start, span.end))
    return (pc.field(time) >= start) & (pc.field(time) < end)


def find_chunk(group: pq.RowGroupMetaData, column: str) -> pq.ColumnChunkMetaData:
    # By name: a nested column takes several places.
    return next(
        chunk for chunk in map(group.column, range(group.num_columns)) if chunk.path_in_schema == column
    )


@frozen
class PieceReader:
    """Reads single pieces of a table, in another process, too."""

    schema: pa.Schema
    location: str
    field: str
    time: str

    def read(self, piece: FilePiece, columns: Sequence[str], span: Span) -> Iterator[pa.Table]:
        import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, a quarter of a second, and few deployments have files

        span_filter = None if piece.is_within else build_span_filter(self.schema, self.time, span)
        texts = [name for name in columns if pa.types.is_string(self.schema.field(name).type)]
        try:
            parquet_format = ds.ParquetFileFormat(
                read_options=ds.ParquetReadOptions(dictionary_columns=texts)
            )
            partition = pickle.loads(piece.partition)  # noqa: S301 - written by `find_pieces`
            fragment = parquet_format.make_fragment(
                piece.file, open_folder(self.location), partition, row_groups=[piece.row_group]
            )
            coded = {name for name in texts if name in fragment.physical_schema.names}
            code = pa.dictionary("int32", "string")
            batches = fragment.to_batches(
                schema=pa.schema(
                    [field.with_type(code) if field.name in coded else field for field in self.schema]
                ),
                columns=list(dict.fromkeys(columns)),
                filter=span_filter,
                batch_size=BATCH_ROWS,
                batch_readahead=0,
                use_threads=False,
            )
            for batch in batches:
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
        except FILE_ERRORS as error:
            raise InvalidInput(
                f"{self.field}.location",
                f"{piece.file} in {self.location} cannot be read: {describe_error(error)}",
            ) from error


_READAHEAD_BATCHES = 2


@frozen
class FileSelection:
    """Files of a table to read: those of a partition, or only some paths; None: all."""

    batch: str | None = None
    only: Collection[str] | None = None


ALL_FILES = FileSelection()


class TableFiles:
    """Rows of a table's files. Raises InvalidInput if they cannot be read."""

    def __init__(
        self, table: PayloadTable | FeedbackTable, roots: Sequence[Root], field: str, part: FileSelection
    ) -> None:
        self._field = field
        self._location = table.location
        self._time = table.time
        listed, logged = list_table(table, roots, field)
        self._dataset: Dataset | None = None
        paths = [
            file.path
            for file in listed
            if (part.only is None or file.path in part.only)
            and (part.batch is None or read_partition_value(file.path, table.partition_by) == part.batch)
            # An empty file is being written, unless a log says that it is whole.
            and (file.bytes or logged is not None)
        ]
        if not paths:
            return
        import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, a quarter of a second, and few have files

        if logged is not None:
            fragments = [fragment for fragment in logged.get_fragments() if fragment.path in set(paths)]
            self._dataset = ds.FileSystemDataset(fragments, logged.schema, logged.format, logged.filesystem)
            return
        partitioning = None if table.partition_by is None else ds.partitioning(flavor="hive")
        try:
            dataset = ds.dataset(
                paths, format="parquet", partitioning=partitioning, filesystem=open_folder(table.location)
            )
            self._dataset = dataset.replace_schema(_complete_types(dataset))
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidInput(
                f"{field}.location", f"holds a file that cannot be read as Parquet: {describe_error(error)}"
            ) from error

    def require_columns(self, names: Mapping[str, str], *, time: str) -> None:
        if self._dataset is None:
            return
        for role, name in names.items():
            if name not in self._dataset.schema.names:
                raise InvalidInput(
                    f"{self._field}.columns.{role}", f"the table at {self._location} has no column {name!r}"
                )
        kind = self._dataset.schema.field(names[time]).type
        if not pa.types.is_timestamp(kind) or kind.tz is None:
            # It would be in another hour on another machine.
            raise InvalidInput(
                f"{self._field}.columns.{time}", f"must hold timestamps with a time zone, found {kind}"
            )

    def read(
        self, columns: Sequence[str], span: Span, only: pc.Expression | None = None
    ) -> Iterator[pa.Table]:
        if self._dataset is not None:
            for packed in ChildWork(self._read, columns, span, only).stream():
                yield pa.ipc.open_stream(packed).read_all()

    def _read(self, columns: Sequence[str], span: Span, only: pc.Expression | None) -> Iterator[bytes]:
        assert self._dataset is not None  # noqa: S101 - else nothing is read
        span_filter = build_span_filter(self._dataset.schema, self._time, span)
        with self._name_damage():
            batches = self._dataset.to_batches(
                columns=list(dict.fromkeys(columns)),
                filter=span_filter if only is None else span_filter & only,
                batch_size=BATCH_ROWS,
                batch_readahead=_READAHEAD_BATCHES,
                fragment_readahead=_READAHEAD_BATCHES,
            )
            for batch in batches:
                if batch.num_rows:
                    sink = pa.BufferOutputStream()
                    with pa.ipc.new_stream(sink, batch.schema) as stream:
                        stream.write_batch(batch)
                    yield bytes(sink.getvalue())

    def pieces(self, span: Span) -> list[FilePiece]:
        with self._name_damage():
            return [] if self._dataset is None else list(find_pieces(self._dataset, self._time, span))

    @contextmanager
    def _name_damage(self) -> Iterator[None]:
        try:
            yield
        except FILE_ERRORS as error:
            raise InvalidInput(
                f"{self._field}.location",
                f"a file of {self._location} cannot be read: {describe_error(error)}",
            ) from error

    def reader(self) -> PieceReader:
        schema = pa.schema([]) if self._dataset is None else self._dataset.schema
        return PieceReader(schema, self._location, self._field, self._time)

    def count(self, span: Span) -> int:
        if self._dataset is None:
            return 0
        with self._name_damage():
            return int(
                self._dataset.count_rows(filter=build_span_filter(self._dataset.schema, self._time, span))
            )

    def find_earliest(self, span: Span) -> datetime | None:
        earliest: datetime | None = None
        reader = self.reader()
        unknown = span.start
        for piece in sorted(self.pieces(span), key=lambda piece: piece.oldest or unknown):
            if earliest is not None and (piece.oldest or unknown) >= earliest:
                break
            times = [piece.oldest]
            if not piece.is_within:
                times = [pc.min(rows[self._time]).as_py() for rows in reader.read(piece, [self._time], span)]
            earliest = min((moment for moment in [earliest, *times] if moment is not None), default=None)
        return earliest


def build_id_filter(column: str, ids: pa.Array) -> pc.Expression:
    return pc.field(column).cast("string").isin(ids)


def _complete_types(dataset: "Dataset") -> pa.Schema:
    """Completes types: a column of only missing values has none in a file, and a later file gives it."""
    schema = dataset.schema
    for fragment in dataset.get_fragments():
        untyped = [position for position, column in enumerate(schema) if pa.types.is_null(column.type)]
        if not untyped:
            break
        file_schema = fragment.physical_schema
        for position in untyped:
            index = file_schema.get_field_index(schema.field(position).name)
            if index >= 0:
                schema = schema.set(position, file_schema.field(index))
    return schema
