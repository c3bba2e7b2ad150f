"""Where tables may lie: files only within folders that the operator allows, whatever links lie in them, and databases that are named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from ..domain.tables_of_files import FeedbackTable, PayloadTable, TableFormat
from ..errors import FieldProblem, InvalidInput
from .delta import delta_files
from .dialects import POSTGRES, SYSTEM_SCHEMAS, dialect_problem
from .iceberg import iceberg_files

SUFFIX = ".parquet"

DATABASE_PARTS = 3
"""Parts of the location of a table of a database: its name in the settings, schema and table."""

_LOGS = {TableFormat.DELTA: delta_files, TableFormat.ICEBERG: iceberg_files}


@dataclass(frozen=True, slots=True, order=True)
class ListedFile:
    """A file of a table: its path below the table's folder, its size, and when it was last changed [ns since 1970]."""

    path: str
    bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class TableAccess:
    """The operator's folders in which tables of files may lie, and the URLs of databases by name, which have passwords."""

    roots: tuple[Path, ...] = ()
    databases: Mapping[str, str] = field(default_factory=dict, repr=False)

    def problems(self, table: PayloadTable | FeedbackTable, field: str) -> list[FieldProblem]:
        """Returns why the table must not lie where it says; empty if it may."""
        if table.format is not TableFormat.JDBC:
            return location_problems(table.location, self.roots, field)
        parts = table.location.split("/")
        if not self.databases:
            return [FieldProblem(field, "cannot be used: this installation names no databases (EVENHAND_TABLE_DATABASES is not set)")]
        if len(parts) != DATABASE_PARTS or not all(parts) or "\0" in table.location:
            return [FieldProblem(field, "must be a name in EVENHAND_TABLE_DATABASES, a schema and a table: warehouse/public/scores")]
        if parts[0] not in self.databases:
            return [FieldProblem(field, "does not begin with the name of a database in EVENHAND_TABLE_DATABASES")]
        url = self.databases[parts[0]]
        if url.startswith(POSTGRES):
            is_own = parts[1].startswith("pg_") or parts[1] == "information_schema"
        else:
            is_own = parts[1].lower() in SYSTEM_SCHEMAS or parts[2].lower().startswith("sqlite_")
        if is_own:
            return [FieldProblem(field, "must not be in a schema of the database itself")]
        problem = None if url.startswith(POSTGRES) else dialect_problem(url)
        return [FieldProblem(field, problem)] if problem else []


def location_problems(location: str, roots: Sequence[Path], field: str) -> list[FieldProblem]:
    """Returns why a table must not lie there; empty if it may. Whether the folder is there does not matter: it may come later."""
    if not roots:
        return [FieldProblem(field, "cannot be used: this installation allows no tables of files (EVENHAND_TABLE_ROOTS is not set)")]
    if "\0" in location or not Path(location).is_absolute():
        return [FieldProblem(field, "must be the whole path of a folder, such as /lake/scores")]
    # The problem does not say whether the folder exists: a caller must not learn about other files of the machine.
    if not _is_within(Path(location), roots):
        return [FieldProblem(field, "is not within the folders that the operator allows (EVENHAND_TABLE_ROOTS)")]
    return []


def list_files(table: PayloadTable | FeedbackTable, roots: Sequence[Path], field: str) -> list[ListedFile]:
    """Returns the table's files by path. Names that begin with `.` or `_` are left out, as engines write unfinished files there.

    Of a table with a log only those that its newest version names.

    Raises:
        InvalidInput: the location is not allowed, is not a folder, or holds a link that leads out of the allowed folders.
    """
    location = table.location
    problems = location_problems(location, roots, field)
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
