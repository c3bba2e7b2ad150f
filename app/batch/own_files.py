"""Files that Evenhand writes about records that lie elsewhere. Nothing else is ever deleted."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ..domain.tables_of_files import PayloadTable
from ..errors import SetupError
from ..frozen import frozen
from .answers import OWN_FOLDER
from .flags import FOLDER
from .locations import SUFFIX, Root, location_problems
from .stores import is_in_store

_KIND = re.compile(r"[0-9a-f]{32}")


@frozen
class OwnPlaces:
    """The operator's folders for tables, and for answers (None: each table's own)."""

    roots: tuple[Root, ...] = ()
    answers: Path | None = None

    def folder(self, deployment_id: str, payload: PayloadTable) -> Path | None:
        """Returns the folder of a deployment's files; None where its table may not lie."""
        if self.answers is None and (is_in_store(payload.location) or location_problems(payload, self.roots, "payload")):
            return None
        return own_folder(deployment_id, payload, self.answers)


NO_PLACES = OwnPlaces()


def own_folder(deployment_id: str, payload: PayloadTable, answers: Path | None) -> Path:
    """Returns the folder of a deployment's files: below that for answers, or in its table's own."""
    if answers is not None:
        return answers / deployment_id
    if is_in_store(payload.location):
        raise SetupError(f"Answers to copies of records at {payload.location} need a folder: set EVENHAND_ANSWERS_DIR for workers.")
    return Path(payload.location) / OWN_FOLDER


def delete_answers(folder: Path, before: datetime, limit: int) -> tuple[int, int]:
    """Deletes files of answers before that time, at most `limit`; returns how many files and answers."""
    files, rows = 0, 0
    for file in _own_files(folder):
        if files == limit:
            break
        if file.parent.name == FOLDER:
            continue
        try:
            if file.stat().st_mtime >= before.timestamp():
                continue
            size = 0 if file.suffix != SUFFIX else _count_rows(file)
            file.unlink()
        except OSError:  # the next run sees it again
            continue
        files, rows = files + 1, rows + size
    return files, rows


def delete_all(folder: Path) -> int:
    """Deletes all files of Evenhand in the folder, and empty folders; returns how many files."""
    deleted = 0
    for file in _own_files(folder):
        try:
            file.unlink()
        except OSError:
            continue
        deleted += 1
    for one in [*_own_folders(folder), folder]:
        try:
            one.rmdir()
        except OSError:  # somebody else's file is in it
            continue
    return deleted


def _own_folders(folder: Path) -> list[Path]:
    # A link may lead to files of somebody else.
    if folder.is_symlink() or not folder.is_dir():
        return []
    found = [one for one in folder.iterdir() if one.name == FOLDER or _KIND.fullmatch(one.name)]
    return sorted(one for one in found if one.is_dir() and not one.is_symlink())


def _own_files(folder: Path) -> Iterator[Path]:
    for one in _own_folders(folder):
        yield from sorted(file for file in one.iterdir() if file.suffix == SUFFIX or re.fullmatch(r"_[0-9a-f]{24}\.unfinished", file.name))


def _count_rows(file: Path) -> int:
    try:
        return int(pq.read_metadata(file).num_rows)
    except pa.ArrowInvalid:
        return 0
