"""Members and ids of answers, by which two answers of other ids and times are compared."""

from collections.abc import Iterator
from typing import Any


def members_of(value: Any, path: str = "") -> set[str]:  # noqa: ANN401 - JSON
    """Returns the paths of all members of a JSON value; elements of an array share one."""
    if isinstance(value, dict):
        return {path, *(one for name, part in value.items() for one in members_of(part, f"{path}/{name}"))}
    if isinstance(value, list):
        return {path, *(one for part in value for one in members_of(part, f"{path}[]"))}
    return {path}


def ids_of(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yields the ids in the metadata of a JSON value, in their order."""
    if isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and "id" in metadata:
            yield metadata["id"]
        for part in value.values():
            yield from ids_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from ids_of(part)
