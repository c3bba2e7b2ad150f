"""Files that Evenhand writes about records elsewhere, such as flags. Nothing else is ever deleted."""

import hashlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...base.errors import SetupError
from ...base.values import frozen
from ...domain.check import CheckRun
from ...domain.deployment import PayloadTable
from ...domain.record import Prediction
from ..arrays.favourable_scores import format_value
from ..stored.copy_answers import TargetKey
from .allowed_locations import PARQUET_SUFFIX, Root, find_location_problems, is_in_store
from .record_files import TIMES

OWN_FOLDER = "_evenhand"
"""Engines take no name that begins with `_` for data."""

_ANSWER_SCHEMA = pa.schema(
    {
        "record_id": "string",
        "attribute": "string",
        "target": "string",
        "model_revision": "string",
        "draw": "int32",
        "outcome": "string",
        "probability": "string",
    }
)

_ANSWER_COLUMNS = ["record_id", "draw", "outcome", "probability"]


class KeptAnswers:
    """The model's answers to copies of records in files, in a folder for each target."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, key: TargetKey, ids: pa.Array) -> pa.Table:
        """One for each draw: record_id, outcome and probability (JSON texts)."""
        return self.read_draws(key, ids).drop_columns(["draw"])

    def read_draws(self, key: TargetKey, ids: pa.Array) -> pa.Table:
        import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, a quarter of a second, and few deployments have files

        while True:
            # Another check may just have merged a file.
            with suppress(FileNotFoundError):
                files = sorted(self._choose_folder(key).glob("*.parquet"))
                if not files:
                    return _ANSWER_SCHEMA.empty_table().select(_ANSWER_COLUMNS)
                rows = ds.dataset(files, format="parquet").to_table(
                    filter=pc.field("record_id").isin(ids), columns=_ANSWER_COLUMNS
                )
                break
        # Two checks may have asked for the same copy: the first answer counts.
        first_answers = rows.group_by(["record_id", "draw"], use_threads=False).aggregate(
            [("outcome", "first"), ("probability", "first")]
        )
        names = ["record_id", "draw", "outcome_first", "probability_first"]
        return first_answers.select(names).rename_columns([name.removesuffix("_first") for name in names])

    def keep(
        self, key: TargetKey, ids: Sequence[str], draws: Sequence[int], answers: Sequence[Prediction]
    ) -> Path:
        size = len(ids)
        rows = {
            "record_id": list(ids),
            "attribute": [key.feature] * size,
            "target": [key.target] * size,
            "model_revision": [key.model_revision] * size,
            "draw": list(draws),
            "outcome": [format_value(answer.outcome_value) for answer in answers],
            "probability": [
                None if answer.probability is None else msgspec.json.encode(answer.probability).decode()
                for answer in answers
            ],
        }
        return self._write(self._choose_folder(key), pa.table(rows, _ANSWER_SCHEMA))

    def merge(self, files: Sequence[Path]) -> None:
        files_by_folder: dict[Path, list[Path]] = {}
        for file in files:
            files_by_folder.setdefault(file.parent, []).append(file)
        for folder, folder_files in files_by_folder.items():
            if len(folder_files) > 1:
                self._write(folder, pa.concat_tables([pq.ParquetFile(file).read() for file in folder_files]))
                for file in folder_files:
                    # One that stays does no harm: its answers are there twice.
                    with suppress(OSError):
                        file.unlink()

    def _write(self, folder: Path, rows: pa.Table) -> Path:
        file = folder / f"{secrets.token_hex(12)}.parquet"
        try:
            _write_whole(file, rows)
        except OSError as error:
            raise SetupError(
                f"The model's answers cannot be kept in {self.folder}: {error}. Let the worker write there."
            ) from error
        return file

    def _choose_folder(self, key: TargetKey) -> Path:
        # Names and values may hold any character.
        digest = hashlib.blake2b(msgspec.json.encode(asdict(key)), digest_size=16).hexdigest()
        return self.folder / digest


_ANSWER_FOLDER = re.compile(r"[0-9a-f]{32}")

FLAG_FOLDER = "flagged"

FLAG_SCHEMA = pa.schema(
    {
        "record_id": "string",
        "scored_at": TIMES,
        "model_revision": "string",
        "attribute": "string",
        "group": "string",
        "direction": "string",
        "own_score": "float64",
        "reference_score": "float64",
        "gap": "float64",
        "check_id": "string",
    }
)

_MOMENT_FORMAT = "%Y-%m-%dT%H%M%SZ"

_MAX_NAME_CHARACTERS = 200


@frozen
class OwnPlaces:
    """Folders in which files of our own may be: those of tables, and that of answers if there is one."""

    roots: tuple[Root, ...] = ()
    answers: Path | None = None

    def folder(self, deployment_id: str, payload: PayloadTable) -> Path | None:
        if self.answers is None and (
            is_in_store(payload.location) or find_location_problems(payload, self.roots, "payload")
        ):
            return None
        return choose_own_folder(deployment_id, payload, self.answers)


NO_PLACES = OwnPlaces()


def choose_own_folder(deployment_id: str, payload: PayloadTable, answers: Path | None) -> Path:
    if answers is not None:
        return answers / deployment_id
    if is_in_store(payload.location):
        raise SetupError(
            f"Answers to copies of records at {payload.location} need a folder: set EVENHAND_ANSWERS_DIR "
            "for workers."
        )
    return Path(payload.location) / OWN_FOLDER


def delete_answers(folder: Path, before: datetime, limit: int) -> tuple[int, int]:
    """Returns the numbers of files and of rows."""
    files, rows = 0, 0
    for file in _list_own_files(folder):
        if files == limit:
            break
        if file.parent.name == FLAG_FOLDER:
            continue
        try:
            if file.stat().st_mtime >= before.timestamp():
                continue
            size = 0 if file.suffix != PARQUET_SUFFIX else _count_rows(file)
            file.unlink()
        except OSError:  # the next run sees it again
            continue
        files = files + 1
        rows = rows + size
    return files, rows


def erase_from_files(folder: Path, ids: Sequence[str]) -> Counter[str]:
    """Returns the numbers of rows by kind of file."""
    erased = Counter[str]()
    for file in _list_own_files(folder):
        try:
            rows = pq.read_table(file)
            status = file.stat()
        except (OSError, pa.ArrowInvalid):  # another process has just replaced it, or is writing it
            continue
        remaining = rows.filter(pc.invert(pc.is_in(rows["record_id"], pa.array(ids, "string"))))
        if len(remaining) < len(rows):
            _write_whole(file, remaining)
            # Answers are aged by it.
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
            erased["flagged_records" if file.parent.name == FLAG_FOLDER else "kept_answers"] += len(
                rows
            ) - len(remaining)
    return erased


def delete_all(folder: Path) -> int:
    deleted = 0
    for file in _list_own_files(folder):
        with suppress(OSError):
            file.unlink()
            deleted += 1
    for path in [*_list_own_folders(folder), folder]:
        with suppress(OSError):
            path.rmdir()
    return deleted


def _list_own_folders(folder: Path) -> list[Path]:
    # A link may lead to files of somebody else.
    if folder.is_symlink() or not folder.is_dir():
        return []
    folders = [
        path for path in folder.iterdir() if path.name == FLAG_FOLDER or _ANSWER_FOLDER.fullmatch(path.name)
    ]
    return sorted(path for path in folders if path.is_dir() and not path.is_symlink())


def _list_own_files(folder: Path) -> Iterator[Path]:
    for path in _list_own_folders(folder):
        yield from sorted(
            file
            for file in path.iterdir()
            if file.suffix == PARQUET_SUFFIX or re.fullmatch(r"_[0-9a-f]{24}\.unfinished", file.name)
        )


def _write_whole(file: Path, rows: pa.Table) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"_{secrets.token_hex(12)}.unfinished")
    pq.write_table(rows, unfinished)
    unfinished.replace(file)


def _count_rows(file: Path) -> int:
    try:
        return int(pq.read_metadata(file).num_rows)
    except pa.ArrowInvalid:
        return 0


@frozen
class FlagFile:
    """Flagged records of one check."""

    path: Path

    @classmethod
    def of(cls, folder: Path, check: CheckRun) -> "FlagFile":
        name = f"{check.span.start:{_MOMENT_FORMAT}}_{check.span.end:{_MOMENT_FORMAT}}"
        if check.batch is not None:
            name = f"batch_{quote(check.batch, safe='')}"
        if len(name) > _MAX_NAME_CHARACTERS:
            name = (
                f"{name[:_MAX_NAME_CHARACTERS]}_{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"
            )
        return cls(folder / FLAG_FOLDER / f"{name}.parquet")

    def write(self, flags: pa.Table) -> None:
        try:
            _write_whole(self.path, flags)
        except OSError as error:
            raise SetupError(
                f"Flagged records cannot be written to {self.path}: {error}. Let the worker write there."
            ) from error

    def delete(self) -> int | None:
        """Returns how many flags it had, None where its folder cannot be reached or written to."""
        # The path was read from the database.
        if self.path.parent.name != FLAG_FOLDER or not self.path.parent.is_dir():
            return None
        try:
            rows = _count_rows(self.path)
        except FileNotFoundError:
            return 0
        except OSError:
            rows = 0
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return None
        return rows
