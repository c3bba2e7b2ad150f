"""Where tables may lie: only where the operator allows, whatever links lie there."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from pyarrow import fs

from ..domain.tables_of_files import NOT_READ, FeedbackTable, PayloadTable, TableFormat
from ..errors import FieldProblem, InvalidInput
from .delta import open_delta
from .iceberg import open_iceberg
from .stores import STORES, is_in_store, open_folder, text_of

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

Root: TypeAlias = Path | str
"""A folder, or an address such as `s3://bank/scores`."""

SUFFIX = ".parquet"

PAGE = 1000
"""Min objects that a store lists in several pages."""

LISTINGS = 5

_ADDRESS = re.compile(r"(?:(?:s3|gs)://[\w.-]+|abfss?://[\w-]+(?:@[\w.-]+)?)((?:/[^/%?#\\\x00-\x1f]+)*)/?")
"""Without what readers would decode, or take for settings."""

_LOGS = {TableFormat.DELTA: open_delta, TableFormat.ICEBERG: open_iceberg}


@dataclass(frozen=True, slots=True, order=True)
class ListedFile:
    """Path below the table's folder, size, and time of the last change [ns since 1970]."""

    path: str
    bytes: int
    modified_ns: int


def location_problems(table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str) -> list[FieldProblem]:
    """Returns why the table cannot be read there; `side` is `payload` or `feedback`. The folder may come later."""
    if table.format is TableFormat.JDBC:
        return [FieldProblem(f"{side}.format", f"{table.location} {NOT_READ}")]
    location, field = table.location, f"{side}.location"
    if not roots:
        return [FieldProblem(field, "cannot be used: this installation allows no tables of files (EVENHAND_TABLE_ROOTS is not set)")]
    if is_in_store(location):
        address = _ADDRESS.fullmatch(location)
        if address is None or not {".", ".."}.isdisjoint(address[1].split("/")):
            return [FieldProblem(field, f"must be the plain address of a folder that begins with {STORES}, such as s3://bank/scores")]
        is_allowed = any(f"{location}/".startswith(root.rstrip("/") + "/") for root in roots if isinstance(root, str))
    elif "\0" in location or not Path(location).is_absolute():
        return [FieldProblem(field, f"must be the whole path of a folder, such as /lake/scores, or an address that begins with {STORES}")]
    else:
        is_allowed = _is_within(Path(location), roots)
    # Says nothing of the folder's existence: a caller must not learn about other files.
    return [] if is_allowed else [FieldProblem(field, "is not within the folders that the operator allows (EVENHAND_TABLE_ROOTS)")]


def list_files(table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str) -> list[ListedFile]:
    """Returns the table's files by path, without names that begin with `.` or `_`; of a log its newest version's."""
    return list_table(table, roots, side)[0]


def list_table(table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str) -> tuple[list[ListedFile], "Dataset | None"]:
    location, field = table.location, f"{side}.location"
    problems = location_problems(table, roots, side)
    if problems:
        raise InvalidInput(problems)
    is_folder = not is_in_store(location)
    if is_folder and not Path(location).is_dir():
        raise InvalidInput.of(field, f"{location} is not a folder on the machine of the worker; mount it there or change the deployment")
    open_log = _LOGS.get(table.format)
    # Before the listing, which then has every file of the log.
    logged = None if open_log is None else open_log(location, field)
    named = None if logged is None else {fragment.path for fragment in logged.get_fragments()}
    is_wanted = _is_data if named is None else named.__contains__
    try:
        listed = sorted(_list_folder(Path(location), is_wanted) if is_folder else _list_store(location, is_wanted, field))
    except FileNotFoundError as error:
        raise InvalidInput.of(field, f"there is nothing at {location}; write the table there or change the deployment") from error
    except (OSError, ValueError) as error:
        raise InvalidInput.of(field, f"{location} cannot be listed: {text_of(error)}") from error
    for path in sorted((named or set()) - {file.path for file in listed}):
        raise InvalidInput.of(field, f"the table at {location} names the file {path}, which is not there")
    for file in listed if is_folder else []:
        # For each file: a link in an allowed folder may lead to any file.
        if not _is_within(Path(location) / file.path, roots):
            raise InvalidInput.of(field, f"{file.path} in {location} is a link to a file outside the folders that the operator allows")
    return listed, logged


def batch_of(path: str, partition_by: str | None) -> str | None:
    """Returns the value of the partition in a path, as in `day=2026-07-01/part-0.parquet`."""
    parts = (part.partition("=") for part in Path(path).parts[:-1])
    return next((unquote(value) for name, is_pair, value in parts if is_pair and unquote(name) == partition_by), None)


def _is_data(path: str) -> bool:
    return path.endswith(SUFFIX) and not any(part.startswith((".", "_")) for part in path.split("/"))


def _list_folder(folder: Path, is_wanted: Callable[[str], bool]) -> Iterator[ListedFile]:
    for file in folder.rglob("*"):
        path = file.relative_to(folder).as_posix()
        if is_wanted(path) and file.is_file():
            with suppress(FileNotFoundError):
                status = file.stat()
                yield ListedFile(path, status.st_size, status.st_mtime_ns)


def _list_store(location: str, is_wanted: Callable[[str], bool], field: str) -> list[ListedFile]:
    """A store lists in pages: changes between two would be counted twice, or not at all."""
    listed: list[ListedFile] = []
    for _ in range(LISTINGS):
        infos = open_folder(location).get_file_info(fs.FileSelector("", recursive=True))
        objects = [info for info in infos if info.is_file and is_wanted(info.path)]
        before, listed = listed, sorted(ListedFile(info.path, info.size, info.mtime_ns) for info in objects)
        if len(infos) < PAGE or listed == before:
            return listed
    raise InvalidInput.of(field, f"{location} changes while it is listed; it is listed again later")


def _is_within(path: Path, roots: Sequence[Root]) -> bool:
    try:
        resolved = path.resolve()
        return any(resolved.is_relative_to(root.resolve()) for root in roots if isinstance(root, Path))
    except (OSError, RuntimeError):
        return False
