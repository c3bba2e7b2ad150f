"""The files of an Iceberg table: those of its current snapshot, by its newest metadata file."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import InvalidInput, SetupError

METADATA = "metadata"
"""Folder of a table in which its metadata lies."""

HINT = "version-hint.text"
"""File that names the newest metadata of tables without a catalog."""

_NUMBERED = re.compile(r"v?(\d+)(?:-.*)?\.metadata\.json")


def iceberg_files(location: str, field: str) -> list[str]:
    """Returns the paths of the table's data files below its folder.

    Raises:
        InvalidInput: there is no Iceberg table, or its files do not hold its rows and columns as they are.
        SetupError: the package that reads the metadata is not installed.
    """
    try:
        from pyiceberg.exceptions import ValidationError  # noqa: PLC0415 - an extra that few installations have
    except ImportError as error:
        raise SetupError(f"An Iceberg table needs the extra evenhand[iceberg] ({error}). Install it for workers.") from error
    newest = _find_newest(Path(location), field)
    try:
        return _read_files(location, newest, field)
    except (ValidationError, ValueError, KeyError, OSError) as error:
        raise InvalidInput.of(field, f"{location} cannot be read as an Iceberg table: {error}") from error


def _read_files(location: str, newest: Path, field: str) -> list[str]:
    from pyiceberg.catalog.noop import NoopCatalog  # noqa: PLC0415
    from pyiceberg.io.pyarrow import PyArrowFileIO  # noqa: PLC0415
    from pyiceberg.table import StaticTable  # noqa: PLC0415
    from pyiceberg.table.metadata import TableMetadataUtil  # noqa: PLC0415

    metadata = TableMetadataUtil.parse_raw(newest.read_text("utf-8"))
    # Not the class that the table's own properties may name, nor a file system of the network.
    files = PyArrowFileIO()
    table = StaticTable(("table",), metadata, str(newest), files, NoopCatalog("none"))
    snapshot = table.current_snapshot()
    if snapshot is None:
        return []
    _require_same_names(metadata.schemas, location, field)
    _path_below(location, snapshot.manifest_list, field)
    for manifest in snapshot.manifests(files):
        _path_below(location, manifest.manifest_path, field)
    found = []
    for task in table.scan().plan_files():
        if task.delete_files:
            raise InvalidInput.of(field, f"{location} is an Iceberg table with rows deleted apart from its files; rewrite its data files")
        if str(task.file.file_format.value).upper() != "PARQUET":
            raise InvalidInput.of(field, f"{location} has files of the format {task.file.file_format.value}; only Parquet is read")
        found.append(_path_below(location, task.file.file_path, field))
    return found


def _find_newest(folder: Path, field: str) -> Path:
    hint = folder / METADATA / HINT
    try:
        named = hint.read_text("utf-8").strip() if hint.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.of(field, f"{hint} cannot be read: {error}") from error
    if named is not None:
        name = named if named.endswith(".metadata.json") else f"{'v' if named.isdigit() else ''}{named}.metadata.json"
        if Path(name).name == name and (folder / METADATA / name).is_file():
            return folder / METADATA / name
    by_number: dict[int, list[Path]] = defaultdict(list)
    for file in (folder / METADATA).glob("*.metadata.json"):
        matched = _NUMBERED.fullmatch(file.name)
        if matched:
            by_number[int(matched[1])].append(file)
    if not by_number:
        raise InvalidInput.of(field, f"{folder} is no Iceberg table: it has no metadata")
    newest = by_number[max(by_number)]
    if len(newest) > 1:
        # Of two writers at the same time, only a catalog knows which of them won.
        names = " and ".join(sorted(file.name for file in newest))
        raise InvalidInput.of(
            field, f"{folder} has two newest metadata files, {names}; write to the table once more, or remove the unused one"
        )
    return newest[0]


def _require_same_names(schemas: Any, location: str, field: str) -> None:  # noqa: ANN401 - a list of pyiceberg's
    """Raises if a column was renamed: older files have it under its old name."""
    names: dict[int, set[str]] = defaultdict(set)
    for schema in schemas:
        for column in schema.fields:
            names[column.field_id].add(column.name)
    renamed = sorted(" and ".join(sorted(each)) for each in names.values() if len(each) > 1)
    if renamed:
        raise InvalidInput.of(
            field, f"{location} is an Iceberg table whose column has had several names ({renamed[0]}), which Evenhand does not read"
        )


def _path_below(location: str, written: str, field: str) -> str:
    """Returns the path of a file below the table's folder, as its metadata names it."""
    parts = urlsplit(written)
    path = unquote(parts.path) if parts.scheme == "file" else written
    base = location.rstrip("/") + "/"
    if parts.scheme not in {"", "file"} or not path.startswith(base) or ".." in Path(path).parts:
        raise InvalidInput.of(field, f"the Iceberg table at {location} names the file {written}, which is not in its folder")
    return path.removeprefix(base)
