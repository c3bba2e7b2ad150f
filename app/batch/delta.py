"""The files of a Delta table: those that the newest version of its log names."""

from ..errors import InvalidInput, SetupError

READABLE_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of a table's protocol with which its Parquet files hold its rows and columns as they are.

With deletion vectors they hold rows that were deleted, with column mapping their columns have other names.
"""

LAST_PLAIN_VERSION = 1
"""Highest version of the protocol for readers that has no features."""


def delta_files(location: str, field: str) -> list[str]:
    """Returns the paths of the table's files below its folder.

    Raises:
        InvalidInput: there is no Delta table, or its files do not hold its rows as they are.
        SetupError: the package that reads the log is not installed.
    """
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 - an extra that few installations have
        from deltalake.exceptions import DeltaError  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(f"A Delta table needs the extra evenhand[delta] ({error}). Install it for workers.") from error
    try:
        table = DeltaTable(location)
        protocol, names = table.protocol(), table.file_uris()
    except (DeltaError, OSError) as error:
        raise InvalidInput.of(field, f"{location} cannot be read as a Delta table: {error}") from error
    unread = sorted(set(protocol.reader_features or ()) - READABLE_FEATURES)
    if unread or (protocol.min_reader_version > LAST_PLAIN_VERSION and protocol.reader_features is None):
        needs = f"the features {', '.join(unread)}" if unread else f"version {protocol.min_reader_version} of the protocol"
        raise InvalidInput.of(field, f"{location} is a Delta table with {needs}, which Evenhand does not read; write it without")
    base = location.rstrip("/") + "/"
    return [name.removeprefix("file://").removeprefix(base) for name in names]
