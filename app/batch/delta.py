"""Delta tables, as the dataset of deltalake."""

from typing import TYPE_CHECKING

from ..errors import InvalidInput, SetupError
from .stores import open_folder, text_of

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

MAPPING = "delta.columnMapping.mode"
"""Files of such tables may name columns otherwise."""


def open_delta(location: str, field: str) -> "Dataset":
    """Returns the table; its fragments have paths below its folder."""
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 - an extra that few installations have
        from deltalake.exceptions import DeltaError  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(f"A Delta table needs the extra evenhand[delta] ({error}). Install it for workers.") from error
    try:
        table = DeltaTable(location)
        opened: Dataset = table.to_pyarrow_dataset(filesystem=open_folder(location))
    except (DeltaError, OSError, ValueError) as error:
        raise InvalidInput.of(field, f"{location} cannot be read as a Delta table: {text_of(error)}") from error
    if table.metadata().configuration.get(MAPPING, "none") != "none":
        raise InvalidInput.of(field, f"{location} is a Delta table with columnMapping, which Evenhand does not read; write it without")
    return opened
