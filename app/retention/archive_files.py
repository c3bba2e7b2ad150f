"""The files of a stored month: written and read back before anything leaves the database, and checked before anything returns."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ..domain.archives import MANIFEST, ArchivedTable, MonthArchive
from ..durable_files import write_through
from ..errors import SetupError

_PIECE_ROWS: Final = 20_000
"""Rows that are compared, or written back, at a time."""

_READ_BYTES: Final = 1 << 20


def folder_of(base: Path, deployment_id: str, month: object) -> Path:
    """Returns the folder of one month of one deployment below the operator's folder."""
    return base.absolute() / deployment_id / str(month)


@contextmanager
def failures_named(folder: Path) -> Iterator[None]:
    """Reports an error of the disk in a sentence.

    Raises:
        SetupError: a file cannot be written or read.
    """
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
        raise SetupError(
            f"The files of the month in {folder} cannot be written or read: {reason}. Everything is where it was; make the folder usable,"
            " then run the command again."
        ) from error


def prepare_folder(folder: Path) -> None:
    """Makes the folder, for its owner alone, and removes the manifest of earlier files, which are about to be replaced."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    write_through(folder)


def write_rows(path: Path, rows: pa.RecordBatchReader) -> None:
    """Writes the rows to a Parquet file, through to the disk. Only its owner can read it."""
    draft = path.with_name(f".{path.name}")
    draft.unlink(missing_ok=True)  # of a process that died
    with (
        os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as sink,
        pq.ParquetWriter(sink, rows.schema, compression="zstd") as writer,
    ):
        for batch in rows:
            writer.write_batch(batch)
    _put(draft, path)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest, through to the disk; from then on the folder holds a whole month."""
    draft = folder / f".{MANIFEST}"
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as sink:
        sink.write(json.dumps(manifest, indent=2) + "\n")
    _put(draft, folder / MANIFEST)


def holds_rows(path: Path, rows: pa.RecordBatchReader) -> bool:
    """Returns whether the file, read back from the disk, holds exactly these rows in this order."""
    pairs = zip_longest(pieces(pq.ParquetFile(path).iter_batches()), pieces(rows))
    return all(ours is not None and theirs is not None and ours.equals(theirs) for ours, theirs in pairs)


def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yields the rows in tables of the same size; the last one may have fewer."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, _PIECE_ROWS - count)
            waiting.append(part)
            start, count = start + part.num_rows, count + part.num_rows
            if count == _PIECE_ROWS:
                yield pa.Table.from_batches(waiting)
                waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def stored_rows(folder: Path, table: ArchivedTable) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of a table's file, in the order of its columns."""
    for piece in pieces(pq.ParquetFile(folder / table.file).iter_batches(columns=list(table.columns))):
        yield from zip(*(piece[name].to_pylist() for name in table.columns), strict=True)


def hash_file(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def check_files(archive: MonthArchive, folder: Path) -> None:
    """Returns if the folder holds the files that were written, unchanged.

    Raises:
        SetupError: one is missing or was changed. The database says what each must be, not the manifest next to it.
    """
    of = f"{archive.month} of {archive.deployment_id}"
    for table in archive.tables:
        path = folder / table.file
        if not path.is_file():
            raise SetupError(
                f"{path} is missing, so nothing of {of} was brought back. Mount the folder, restore it from a backup,"
                " or name another place with --from."
            )
        found = hash_file(path)
        if found != table.sha256:
            raise SetupError(
                f"{path} is not the file that was written: its SHA-256 is {found}, not {table.sha256}. Nothing of {of} was brought back."
                " Restore the file from a backup."
            )


def _put(draft: Path, path: Path) -> None:
    write_through(draft)
    draft.replace(path)
    write_through(path.parent)
