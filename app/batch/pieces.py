"""Pieces of a table: row groups of its files."""

import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ..domain.checks import Span
from ..errors import InvalidInput
from ..frozen import frozen
from .stores import open_folder, text_of

if TYPE_CHECKING:
    import pyarrow.dataset as ds

BATCH_ROWS = 131_072
"""Large enough for Arrow's speed, small enough for memory."""

FOOTERS = 16


class FilePiece(msgspec.Struct, frozen=True):
    """A row group of a file, and its oldest and newest time by the footer.

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


def find_pieces(dataset: "ds.Dataset", time: str, span: Span) -> Iterator[FilePiece]:
    """Yields the pieces that may have rows in the span, by a log and by footers."""
    fragments = list(dataset.get_fragments(in_span(dataset.schema, time, span)))
    # In an object store each footer takes a request or two.
    with ThreadPoolExecutor(FOOTERS) as pool:
        list(pool.map(lambda fragment: fragment.ensure_complete_metadata(), fragments))
    for fragment in fragments:
        partition = pickle.dumps(fragment.partition_expression)
        for group in fragment.row_groups:
            bounds = (group.statistics or {}).get(time)
            if not group.num_rows:
                continue
            if bounds is None:
                yield FilePiece(fragment.path, partition, group.id, group.num_rows)
            elif bounds["max"] >= span.start and bounds["min"] < span.end:
                # A row without a time is in no span.
                is_within = bounds["min"] >= span.start and bounds["max"] < span.end and _has_all(fragment, group.id, time)
                yield FilePiece(fragment.path, partition, group.id, group.num_rows, bounds["min"], bounds["max"], is_within)


def in_span(schema: pa.Schema, time: str, span: Span) -> pc.Expression:
    start, end = (pa.scalar(moment, schema.field(time).type) for moment in (span.start, span.end))
    return (pc.field(time) >= start) & (pc.field(time) < end)


def _has_all(fragment: "ds.ParquetFileFragment", row_group: int, column: str) -> bool:
    group = fragment.metadata.row_group(row_group)
    # By name: a nested column takes several places.
    found = next(one for one in map(group.column, range(group.num_columns)) if one.path_in_schema == column)
    return bool(found.statistics.null_count == 0)


@frozen
class PieceReader:
    """Reads pieces of a table. Text comes as codes, which are counted faster."""

    schema: pa.Schema
    location: str
    field: str

    def read(self, piece: FilePiece, columns: Sequence[str], time: str, span: Span) -> Iterator[pa.Table]:
        import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, a quarter of a second, and few deployments have files

        within = None if piece.is_within else in_span(self.schema, time, span)
        texts = [name for name in columns if pa.types.is_string(self.schema.field(name).type)]
        try:
            of_parquet = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=texts))
            partition = pickle.loads(piece.partition)  # noqa: S301 - written by `find_pieces`
            fragment = of_parquet.make_fragment(piece.file, open_folder(self.location), partition, row_groups=[piece.row_group])
            coded = {name for name in texts if name in fragment.physical_schema.names}
            wanted = pa.schema([_coded(field) if field.name in coded else field for field in self.schema])
            scanned = fragment.to_batches(
                schema=wanted,
                columns=list(dict.fromkeys(columns)),
                filter=within,
                batch_size=BATCH_ROWS,
                batch_readahead=0,
                use_threads=False,
            )
            for batch in scanned:
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OSError) as error:
            raise InvalidInput.of(f"{self.field}.location", f"{piece.file} in {self.location} cannot be read: {text_of(error)}") from error


def _coded(field: pa.Field) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), pa.string()))
