"""Where tables may lie: only within folders that the operator allows, whatever links lie in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from ..domain.tables_of_files import NOT_READ, FeedbackTable, PayloadTable, TableFormat
from ..errors import FieldProblem, InvalidInput
from .delta import delta_files
from .iceberg import iceberg_files

SUFFIX = ".parquet"

_LOGS = {TableFormat.DELTA: delta_files, TableFormat.ICEBERG: iceberg_files}


@dataclass(frozen=True, slots=True, order=True)
class ListedFile:
    """A file of a table: its path below the table's folder, its size, and when it was last changed [ns since 1970]."""

    path: str
    bytes: int
    modified_ns: int


def location_problems(table: PayloadTable | FeedbackTable, roots: Sequence[Path], side: str) -> list[FieldProblem]:
    """Returns why the table cannot be read there; empty if it may be. Whether the folder is there does not matter: it may come later.

    `side` is the member of the deployment that names the table: `payload` or `feedback`.
    """
    if table.format is TableFormat.JDBC:
        return [FieldProblem(f"{side}.format", f"{table.location} {NOT_READ}")]
    location, field = table.location, f"{side}.location"
    if not roots:
        return [FieldProblem(field, "cannot be used: this installation allows no tables of files (EVENHAND_TABLE_ROOTS is not set)")]
    if "\0" in location or not Path(location).is_absolute():
        return [FieldProblem(field, "must be the whole path of a folder, such as /lake/scores")]
    # The problem does not say whether the folder exists: a caller must not learn about other files of the machine.
    if not _is_within(Path(location), roots):
        return [FieldProblem(field, "is not within the folders that the operator allows (EVENHAND_TABLE_ROOTS)")]
    return []


def list_files(table: PayloadTable | FeedbackTable, roots: Sequence[Path], side: str) -> list[ListedFile]:
    """Returns the table's files by path. Names that begin with `.` or `_` are left out, as engines write unfinished files there.

    Of a table with a log only those that its newest version names.

    Raises:
        InvalidInput: the table cannot be read there, the location is not a folder, or holds a link that leads out of the allowed folders.
    """
    location, field = table.location, f"{side}.location"
    problems = location_problems(table, roots, side)
    if problems:
        raise InvalidInput(problems)
    folder = Path(location)
    if not folder.is_dir():
        raise InvalidInput.of(field, f"{location} is not a folder on the machine of the worker; mount it there or change the deployment")
    reads_log = _LOGS.get(table.format)
    named = None if reads_log is None else sorted(reads_log(location, field))
    found = []
    for file in sorted(folder.rglob(f"*{SUFFIX}")) if named is None else [folder / path for path in named]:
        path = file.relative_to(folder)
        if named is None and (any(part.startswith((".", "_")) for part in path.parts) or not file.is_file()):
            continue
        # Checked for each file: a link in an allowed folder may lead to any file that the worker can read.
        if not _is_within(file, roots):
            raise InvalidInput.of(field, f"{path} in {location} is a link to a file outside the folders that the operator allows")
        try:
            status = file.stat()
        except OSError as error:
            raise InvalidInput.of(field, f"{path} in {location} cannot be read: {error}") from error
        found.append(ListedFile(str(path), status.st_size, status.st_mtime_ns))
    return found


def batch_of(path: str, partition_by: str | None) -> str | None:
    """Returns the value of the partition in a file's path, as in `day=2026-07-01/part-0.parquet`; None where it has none."""
    parts = (part.partition("=") for part in Path(path).parts[:-1])
    return next((unquote(value) for name, is_pair, value in parts if is_pair and unquote(name) == partition_by), None)


def _is_within(path: Path, roots: Sequence[Path]) -> bool:
    try:
        resolved = path.resolve()
        return any(resolved.is_relative_to(root.resolve()) for root in roots)
    except (OSError, RuntimeError):  # a loop of links
        return False
