"""Iceberg tables, as the files that pyiceberg plans."""

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyarrow import fs

from ..errors import InvalidInput, SetupError
from .stores import is_in_store, open_folder, text_of

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

METADATA = "metadata"

HINT = f"{METADATA}/version-hint.text"

_NUMBERED = re.compile(r"v?(\d+)(?:-.*)?\.metadata\.json")


def open_iceberg(location: str, field: str) -> "Dataset":
    """Returns the table's current snapshot; its fragments have paths below its folder."""
    try:
        from pyiceberg.exceptions import ValidationError  # noqa: PLC0415 - an extra that few installations have
    except ImportError as error:
        raise SetupError(f"An Iceberg table needs the extra evenhand[iceberg] ({error}). Install it for workers.") from error
    try:
        return _open(location, field)
    except (ValidationError, ValueError, KeyError, OSError) as error:
        raise InvalidInput.of(field, f"{location} cannot be read as an Iceberg table: {text_of(error)}") from error


def _open(location: str, field: str) -> "Dataset":
    from pyarrow.dataset import FileSystemDataset, ParquetFileFormat  # noqa: PLC0415 - it loads pandas, a quarter of a second
    from pyiceberg.catalog.noop import NoopCatalog  # noqa: PLC0415
    from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO  # noqa: PLC0415
    from pyiceberg.serializers import FromInputFile  # noqa: PLC0415
    from pyiceberg.table import StaticTable  # noqa: PLC0415

    folder = open_folder(location)

    class Folder(PyArrowFileIO):
        """Reads below the table's folder only, whatever class the table's properties name."""

        def new_input(self, written: str) -> PyArrowFile:
            return PyArrowFile(written, _path_below(location, written, field), folder)

    files, newest = Folder(), f"{location.rstrip('/')}/{METADATA}/{_find_newest(location, folder, field)}"
    metadata = FromInputFile.table_metadata(files.new_input(newest))
    _require_same_names(metadata.schemas, location, field)
    paths = []
    for task in StaticTable(("table",), metadata, newest, files, NoopCatalog("none")).scan().plan_files():
        if task.delete_files:
            raise InvalidInput.of(field, f"{location} is an Iceberg table with rows deleted apart from its files; rewrite its data files")
        if str(task.file.file_format.value).upper() != "PARQUET":
            raise InvalidInput.of(field, f"{location} has files of the format {task.file.file_format.value}; only Parquet is read")
        paths.append(_path_below(location, task.file.file_path, field))
    of_parquet = ParquetFileFormat()
    return FileSystemDataset([of_parquet.make_fragment(path, folder) for path in paths], metadata.schema().as_arrow(), of_parquet, folder)


def _find_newest(location: str, folder: fs.FileSystem, field: str) -> str:
    listed = folder.get_file_info(fs.FileSelector(METADATA, allow_not_found=True))
    names = {info.base_name for info in listed if info.is_file}
    if HINT.rpartition("/")[2] in names:
        hint = folder.open_input_stream(HINT).read().decode().strip()
        named = hint if hint.endswith(".metadata.json") else f"{'v' if hint.isdigit() else ''}{hint}.metadata.json"
        if named in names:
            return named
    by_number: dict[int, list[str]] = defaultdict(list)
    for name in names:
        if matched := _NUMBERED.fullmatch(name):
            by_number[int(matched[1])].append(name)
    if not by_number:
        raise InvalidInput.of(field, f"{location} is no Iceberg table: it has no metadata")
    newest = sorted(by_number[max(by_number)])
    if len(newest) > 1:
        # Only a catalog knows which of two writers won.
        both = " and ".join(newest)
        raise InvalidInput.of(
            field, f"{location} has two newest metadata files, {both}; write to the table once more, or remove the unused one"
        )
    return newest[0]


def _require_same_names(schemas: Any, location: str, field: str) -> None:  # noqa: ANN401 - a list of pyiceberg's
    """Older files have a renamed column under its old name."""
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
    path = written
    if not is_in_store(location) and written.startswith("file:"):
        path = unquote(re.sub("^file:(//)?", "", written))
    base = location.rstrip("/") + "/"
    if not path.startswith(base) or ".." in path.split("/"):
        raise InvalidInput.of(field, f"the Iceberg table at {location} names the file {written}, which is not in its folder")
    return path.removeprefix(base)
