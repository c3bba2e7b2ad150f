"""Pieces of a table that are read by themselves, wherever an engine works on them: row groups of its files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ..domain.checks import Span
from ..errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow.dataset as ds

BATCH_ROWS = 131_072
"""Max rows of a batch: large enough for Arrow's speed, small enough for memory."""


class FilePiece(msgspec.Struct, frozen=True):
    """A row group of a file (its whole path), and the times of its oldest and newest row by its footer.

    `is_within`: all of its rows lie in the span that is asked for.
    """

    file: str
    row_group: int
    rows: int
    oldest: datetime | None = None
    newest: datetime | None = None
    is_within: bool = False

    def to_bytes(self) -> bytes:
        """Returns the piece as JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def from_bytes(cls, stored: bytes) -> "FilePiece":
        """Returns the piece that `to_bytes` wrote."""
        return msgspec.json.decode(stored, type=cls)


def find_pieces(dataset: "ds.Dataset", time: str, span: Span) -> Iterator[FilePiece]:
    """Yields the pieces that may have rows in the span, by the footers of the files."""
    for fragment in dataset.get_fragments():
        for group in fragment.row_groups:
            bounds = (group.statistics or {}).get(time)
            if not group.num_rows:
                continue
            if bounds is None:
                yield FilePiece(fragment.path, group.id, group.num_rows)
            elif bounds["max"] >= span.start and bounds["min"] < span.end:
                # A row without a time is in no span, and the bounds say nothing of it.
                is_within = bounds["min"] >= span.start and bounds["max"] < span.end and _has_all(fragment, group.id, time)
                yield FilePiece(fragment.path, group.id, group.num_rows, bounds["min"], bounds["max"], is_within)


def _has_all(fragment: "ds.ParquetFileFragment", row_group: int, column: str) -> bool:
    group = fragment.metadata.row_group(row_group)
    # By name: a nested column takes several places.
    found = next(one for one in map(group.column, range(group.num_columns)) if one.path_in_schema == column)
    return bool(found.statistics.null_count == 0)


@dataclass(frozen=True, slots=True)
class PieceReader:
    """Reads pieces of a table of that schema; `partition_base` is its folder if its paths hold a column, else None.

    Columns of text come as codes with their distinct values: they are counted several times faster.
    """

    schema: pa.Schema
    partition_base: str | None
    field: str

    def read(self, piece: FilePiece, columns: Sequence[str], time: str, span: Span) -> Iterator[pa.Table]:
        """Yields the piece's rows in the span, a batch at a time.

        Raises:
            InvalidInput: the file changed or vanished, or cannot be read.
        """
        import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, a quarter of a second, and few deployments have files

        kind = self.schema.field(time).type
        start, end = (pa.scalar(moment, kind) for moment in (span.start, span.end))
        within = None if piece.is_within else (pc.field(time) >= start) & (pc.field(time) < end)
        texts = [name for name in columns if pa.types.is_string(self.schema.field(name).type)]
        partitioning = None if self.partition_base is None else ds.partitioning(flavor="hive")
        try:
            of_parquet = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=texts))
            opened = ds.dataset([piece.file], format=of_parquet, partitioning=partitioning, partition_base_dir=self.partition_base)
            coded = {name for name in texts if name in opened.schema.names}
            wanted = pa.schema([_coded(field) if field.name in coded else field for field in self.schema])
            fragment = next(opened.get_fragments()).subset(row_group_ids=[piece.row_group])
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
            raise InvalidInput.of(f"{self.field}.location", f"{piece.file} cannot be read: {error}") from error


def _coded(field: pa.Field) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), pa.string()))
