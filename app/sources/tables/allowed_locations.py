"""Folders of tables as file systems, and their files, within what the operator allows, also by links."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from ...base.apart import ChildWork
from ...base.errors import FieldProblem, InvalidInput, SetupError, TooLarge, refuse
from ...base.telemetry.mask_secrets import remove_secrets
from ...base.values import character_problem, printable
from ...domain.deployment import NOT_READ, FeedbackTable, PayloadTable, TableFormat

STORES = "s3://, gs:// or abfs://"

MAX_RETRY_SECONDS = 30
"""Bounds repeated requests to Google; Arrow's own limit is a quarter of an hour."""


def is_in_store(location: str) -> bool:
    return "://" in location


def open_folder(location: str) -> fs.FileSystem:
    if not is_in_store(location):
        return fs.SubTreeFileSystem(location, fs.LocalFileSystem())
    address = urlsplit(location)
    container, _, host = address.netloc.partition("@")
    return fs.SubTreeFileSystem(
        container + address.path, _open_store(address.scheme, container, host.partition(".")[0])
    )


@cache
def _open_store(scheme: str, container: str, account: str) -> fs.FileSystem:
    if scheme in {"s3", "gs"}:
        # By address: so Arrow finds the bucket's region, and reads the variable of another server.
        patience = f"?retry_limit_seconds={MAX_RETRY_SECONDS}" if scheme == "gs" else ""
        return fs.FileSystem.from_uri(f"{scheme}://{container}{patience}")[0]
    # Of Azure's variables, Arrow reads those of identities; deltalake reads these, too.
    options = {"account_key": os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")}
    if token := os.environ.get("AZURE_STORAGE_SAS_TOKEN"):
        options["sas_token"] = f"?{token.removeprefix('?')}"  # added to the address as it is
    endpoint = urlsplit(os.environ.get("AZURE_STORAGE_ENDPOINT", ""))
    for service in ("blob", "dfs"):
        options |= {
            f"{service}_storage_authority": endpoint.netloc,
            f"{service}_storage_scheme": endpoint.scheme,
        }
    account = account or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    return fs.AzureFileSystem(account, **{name: value for name, value in options.items() if value})


def describe_error(error: Exception) -> str:
    """One line, without secrets; a store may answer megabytes."""
    return printable(remove_secrets(" ".join(re.sub(r"\x1b\[\d+m", "", str(error)).split())))


if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

_METADATA_FOLDER = "metadata"

_VERSION_HINT = "version-hint.text"

_METADATA_FILE = re.compile(r"v?(\d+)(?:-.*)?\.metadata\.json")


def open_iceberg(location: str, field: str) -> "Dataset":
    try:
        from pyiceberg.exceptions import ValidationError  # noqa: PLC0415 - an extra that few installations have
    except ImportError as error:
        raise SetupError(
            f"An Iceberg table needs the extra evenhand[iceberg] ({error}). Install it for workers."
        ) from error
    try:
        return _open_iceberg(location, field)
    except (ValidationError, ValueError, KeyError, OSError) as error:
        raise InvalidInput(
            field, f"{location} cannot be read as an Iceberg table: {describe_error(error)}"
        ) from error


def _open_iceberg(location: str, field: str) -> "Dataset":
    from pyarrow.dataset import FileSystemDataset, ParquetFileFormat  # noqa: PLC0415 - it loads pandas, a quarter of a second
    from pyiceberg.catalog.noop import NoopCatalog  # noqa: PLC0415
    from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO  # noqa: PLC0415
    from pyiceberg.serializers import FromInputFile  # noqa: PLC0415
    from pyiceberg.table import StaticTable  # noqa: PLC0415

    folder = open_folder(location)

    class Folder(PyArrowFileIO):
        """Reads below the table's folder only, whatever class the table's properties name."""

        def new_input(self, stated_path: str) -> PyArrowFile:
            return PyArrowFile(stated_path, _path_below(location, stated_path, field), folder)

    files, newest = (
        Folder(),
        f"{location.rstrip('/')}/{_METADATA_FOLDER}/{_find_newest(location, folder, field)}",
    )
    metadata = FromInputFile.table_metadata(files.new_input(newest))
    _require_same_names(metadata.schemas, location, field)
    paths = []
    for task in StaticTable(("table",), metadata, newest, files, NoopCatalog("none")).scan().plan_files():
        if task.delete_files:
            raise InvalidInput(
                field,
                f"{location} is an Iceberg table with rows deleted apart from its files; rewrite its data "
                "files",
            )
        if str(task.file.file_format.value).upper() != "PARQUET":
            raise InvalidInput(
                field,
                f"{location} has files of the format {task.file.file_format.value}; only Parquet is read",
            )
        paths.append(_path_below(location, task.file.file_path, field))
    parquet_format = ParquetFileFormat()
    return FileSystemDataset(
        [parquet_format.make_fragment(path, folder) for path in paths],
        metadata.schema().as_arrow(),
        parquet_format,
        folder,
    )


def _find_newest(location: str, folder: fs.FileSystem, field: str) -> str:
    listed_files = folder.get_file_info(fs.FileSelector(_METADATA_FOLDER, allow_not_found=True))
    names = {info.base_name for info in listed_files if info.is_file}
    if _VERSION_HINT in names:
        hint = folder.open_input_stream(f"{_METADATA_FOLDER}/{_VERSION_HINT}").read().decode().strip()
        hinted_name = (
            hint
            if hint.endswith(".metadata.json")
            else f"{'v' if hint.isdigit() else ''}{hint}.metadata.json"
        )
        if hinted_name in names:
            return hinted_name
    names_by_number = defaultdict[int, list[str]](list)
    for name in names:
        if matched := _METADATA_FILE.fullmatch(name):
            names_by_number[int(matched[1])].append(name)
    if not names_by_number:
        raise InvalidInput(field, f"{location} is no Iceberg table: it has no metadata")
    newest = sorted(names_by_number[max(names_by_number)])
    if len(newest) > 1:
        # Only a catalog knows which of two writers won.
        problem = f"{location} has two newest metadata files, {' and '.join(newest)}"
        raise InvalidInput(field, f"{problem}; write to the table once more, or remove the unused one")
    return newest[0]


def _require_same_names(schemas: Any, location: str, field: str) -> None:  # noqa: ANN401 - a list of pyiceberg's
    """Raises InvalidInput if a column was renamed: older files have it under its old name."""
    names = defaultdict[int, set[str]](set)
    for schema in schemas:
        for column in schema.fields:
            names[column.field_id].add(column.name)
    renamed = sorted(" and ".join(sorted(spellings)) for spellings in names.values() if len(spellings) > 1)
    if renamed:
        raise InvalidInput(
            field,
            f"{location} is an Iceberg table whose column has had several names ({renamed[0]}), which "
            "Evenhand does not read",
        )


def _path_below(location: str, stated_path: str, field: str) -> str:
    path = stated_path
    if not is_in_store(location) and path.startswith("file:"):
        path = unquote(re.sub("^file:(//)?", "", path))
    base = location.rstrip("/") + "/"
    if not path.startswith(base) or ".." in path.split("/"):
        raise InvalidInput(
            field, f"the Iceberg table at {location} names the file {stated_path}, which is not in its folder"
        )
    return path.removeprefix(base)


_COLUMN_MAPPING = "delta.columnMapping.mode"
"""Files of such tables may name columns otherwise."""


def open_delta(location: str, field: str) -> "Dataset":
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 - an extra that few installations have
        from deltalake.exceptions import DeltaError  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(
            f"A Delta table needs the extra evenhand[delta] ({error}). Install it for workers."
        ) from error
    try:
        table = DeltaTable(location)
        opened: Dataset = table.to_pyarrow_dataset(filesystem=open_folder(location))
    except (DeltaError, OSError, ValueError) as error:
        raise InvalidInput(
            field, f"{location} cannot be read as a Delta table: {describe_error(error)}"
        ) from error
    if table.metadata().configuration.get(_COLUMN_MAPPING, "none") != "none":
        raise InvalidInput(
            field,
            f"{location} is a Delta table with columnMapping, which Evenhand does not read; write it without",
        )
    return opened


Root: TypeAlias = Path | str

PARQUET_SUFFIX = ".parquet"

MIN_PAGED_OBJECTS = 1000
"""Objects from which a store lists in pages."""

MAX_LISTINGS = 5
"""Listings of a store, of which two in a row must agree."""

MAX_LISTING_SECONDS = 300

_ADDRESS = re.compile(r"(?:(?:s3|gs)://[\w.-]+|abfss?://[\w-]+(?:@[\w.-]+)?)((?:/[^/%?#\\\x00-\x1f]+)*)/?")
"""Excludes what readers would decode, or take for settings."""

_LOG_READERS = {TableFormat.DELTA: open_delta, TableFormat.ICEBERG: open_iceberg}


@dataclass(frozen=True, slots=True, order=True)
class ListedFile:
    """File of a table; `path` is relative to the table's folder."""

    path: str
    bytes: int
    modified_ns: int


def find_location_problems(
    table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str
) -> list[FieldProblem]:
    """`side` is `payload` or `feedback`. The folder may come later."""
    if table.format is TableFormat.JDBC:
        return [FieldProblem(f"{side}.format", f"{table.location} {NOT_READ}")]
    problem = _find_problem(table.location, roots)
    return [] if problem is None else [FieldProblem(f"{side}.location", problem)]


def _find_problem(location: str, roots: Sequence[Root]) -> str | None:
    if not roots:
        return "cannot be used: this installation allows no tables of files (EVENHAND_TABLE_ROOTS is not set)"
    if is_in_store(location):
        address = _ADDRESS.fullmatch(location)
        if address is None or not {".", ".."}.isdisjoint(address[1].split("/")):
            return (
                f"must be the plain address of a folder that begins with {STORES}, such as s3://bank/scores"
            )
        is_allowed = any(
            f"{location}/".startswith(root.rstrip("/") + "/") for root in roots if isinstance(root, str)
        )
    elif "\0" in location or not Path(location).is_absolute():
        return (
            "must be the whole path of a folder, such as /lake/scores, or an address that begins with "
            f"{STORES}"
        )
    else:
        is_allowed = _is_within(Path(location), roots)
    # Says nothing of the folder's existence: a caller must not learn about other files.
    if not is_allowed:
        return "is not within the folders that the operator allows (EVENHAND_TABLE_ROOTS)"
    return None


def list_files(table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str) -> list[ListedFile]:
    return list_table(table, roots, side)[0]


Listing: TypeAlias = "tuple[list[ListedFile], Dataset | None]"


def list_table(table: PayloadTable | FeedbackTable, roots: Sequence[Root], side: str) -> Listing:
    location, field = table.location, f"{side}.location"
    refuse(find_location_problems(table, roots, side))
    if not is_in_store(location):
        if not Path(location).is_dir():
            raise InvalidInput(
                field,
                f"{location} is not a folder on the machine of the worker; mount it there or change the "
                "deployment",
            )
        return _list_table(table, roots, field)
    child = ChildWork(_list_table, table, roots, field)
    clock = Timer(MAX_LISTING_SECONDS, child.end)
    clock.start()
    try:
        listed_files: Listing = child.result()
    except TooLarge as error:
        raise InvalidInput(
            field,
            f"{location} cannot be listed in {MAX_LISTING_SECONDS} seconds, or with the memory of "
            "EVENHAND_UPLOAD_MEMORY_BYTES; name a folder with fewer files",
        ) from error
    finally:
        clock.cancel()
    return listed_files


def _list_table(table: PayloadTable | FeedbackTable, roots: Sequence[Root], field: str) -> Listing:
    location, is_folder = table.location, not is_in_store(table.location)
    logged: Dataset | None = None
    logged_paths = set()
    is_data_file: Callable[[str], bool] = _is_data
    if table.format in _LOG_READERS:
        # Before the listing, which then has every file of the log.
        logged = _LOG_READERS[table.format](location, field)
        logged_paths = {fragment.path for fragment in logged.get_fragments()}
        is_data_file = logged_paths.__contains__
    try:
        listed_files = sorted(
            _list_folder(Path(location), is_data_file)
            if is_folder
            else _list_store(location, is_data_file, field)
        )
    except FileNotFoundError as error:
        raise InvalidInput(
            field, f"there is nothing at {location}; write the table there or change the deployment"
        ) from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InvalidInput(field, f"{location} cannot be listed: {describe_error(error)}") from error
    for path in sorted(logged_paths - {file.path for file in listed_files}):
        raise InvalidInput(field, f"the table at {location} names the file {path}, which is not there")
    for file in listed_files:
        if (problem := character_problem(file.path)) is not None:
            raise InvalidInput(field, f"{location} has a file whose name {problem}: {printable(file.path)}")
        # For each file: a link in an allowed folder may lead to any file.
        if is_folder and not _is_within(Path(location) / file.path, roots):
            raise InvalidInput(
                field,
                f"{file.path} in {location} is a link to a file outside the folders that the operator allows",
            )
    return listed_files, logged


def read_partition_value(path: str, partition_by: str | None) -> str | None:
    pairs = (folder.partition("=") for folder in Path(path).parts[:-1])
    return next(
        (unquote(value) for name, is_pair, value in pairs if is_pair and unquote(name) == partition_by), None
    )


def _is_data(path: str) -> bool:
    return path.endswith(PARQUET_SUFFIX) and not any(name.startswith((".", "_")) for name in path.split("/"))


def _list_folder(folder: Path, is_data_file: Callable[[str], bool]) -> Iterator[ListedFile]:
    for file in folder.rglob("*"):
        path = file.relative_to(folder).as_posix()
        if is_data_file(path) and file.is_file():
            with suppress(FileNotFoundError):
                status = file.stat()
                yield ListedFile(path, status.st_size, status.st_mtime_ns)


def _list_store(location: str, is_data_file: Callable[[str], bool], field: str) -> list[ListedFile]:
    """Lists until two listings agree: a store lists in pages, between which a file may change."""
    listed_files: list[ListedFile] = []
    for _ in range(MAX_LISTINGS):
        infos = open_folder(location).get_file_info(fs.FileSelector("", recursive=True))
        objects = [info for info in infos if info.is_file and is_data_file(info.path)]
        previous_listing = listed_files
        listed_files = sorted(ListedFile(info.path, info.size, info.mtime_ns) for info in objects)
        if len(infos) < MIN_PAGED_OBJECTS or listed_files == previous_listing:
            return listed_files
    raise InvalidInput(field, f"{location} changes while it is listed; it is listed again later")


def _is_within(path: Path, roots: Sequence[Root]) -> bool:
    try:
        resolved = path.resolve()
        return any(resolved.is_relative_to(root.resolve()) for root in roots if isinstance(root, Path))
    except (OSError, RuntimeError):
        return False
