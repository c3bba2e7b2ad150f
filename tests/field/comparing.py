"""What differs between the doors of one file."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.field.doors import FILE_DOORS, Counted, ServiceDoors, TypedFile, follow_by_command, follow_by_library

FOLLOWING = "records"
"""The door of the service whose evidence is compared."""


def compare_doors(file: TypedFile, doors: ServiceDoors, folder: Path, names: Collection[str]) -> list[str]:
    """Passes a file through the commands, the library and these doors of the service; each figure that is another one."""
    right, evidence = file.counted(), follow_by_library(file)
    differences = list(_differences("evidence", follow_by_command(file, folder), evidence))
    for name, measure in FILE_DOORS.items():
        differences += _counted_differences(name, measure(file, folder), right)
    for name in names:
        with doors.logged(file, name) as deployment:
            if name == FOLLOWING:
                differences += _differences("evidence of the service", doors.follow(deployment), evidence)
            differences += _counted_differences(name, doors.count(file, deployment), right)
    return differences


def _counted_differences(door: str, counted: Counted, right: Counted) -> Iterator[str]:
    yield from _differences(door, counted.groups, right.groups)
    yield from _differences(f"{door}, ratio", counted.ratios, right.ratios)


def _differences(door: str, got: Mapping[Any, Any], right: Mapping[Any, Any]) -> Iterator[str]:
    for name in sorted(got.keys() | right.keys()):
        if got.get(name) != right.get(name):
            yield f"{door}: {name!r}: {got.get(name)} for {right.get(name)}"
