"""What differs between two states of a thing, short enough to be kept for ever and read by a person. Knows nothing of secrets."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

MOST_CHANGES = 50
"""Fields that are named one by one; of the others only the number is told."""

MOST_CHARACTERS = 200
"""Of a value as JSON; a longer one is cut."""

MORE = "more_changes"

_NAMES = ("name", "feature", "attribute")
"""The members that tell the items of a list apart, so that a column that moved is not taken for one that changed."""


def changes_between(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields that differ between two JSON documents: `{"endpoint.url": [before, after]}`; None is a thing that is not there.

    Members of objects are joined by dots, and so are items of lists that have a name. Beyond `MOST_CHANGES` fields `more_changes`
    counts the rest.
    """
    old, new = dict(_flat("", before or {})), dict(_flat("", after or {}))
    differing = [field for field in dict.fromkeys((*old, *new)) if not _same(old.get(field), new.get(field))]
    found: dict[str, Any] = {_short(field): [_short(old.get(field)), _short(new.get(field))] for field in differing[:MOST_CHANGES]}
    if len(differing) > MOST_CHANGES:
        found[MORE] = len(differing) - MOST_CHANGES
    return found


def _same(one: object, other: object) -> bool:
    # 1 and true are equal to Python, and different values of a column.
    return one == other and json.dumps(one) == json.dumps(other)


def _flat(path: str, value: object) -> Iterator[tuple[str, Any]]:
    named = _named(value)
    if named is not None:
        yield path, list(named)  # their order counts, too
    members = value if isinstance(value, Mapping) else named
    if members is None:
        yield path, value
        return
    for name, below in members.items():
        yield from _flat(f"{path}.{name}" if path else str(name), below)


def _named(value: object) -> dict[str, Any] | None:
    """The items of a list by their names, without them; None where the value is no such list, or two have the same name."""
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        return None
    key = next((key for key in _NAMES if all(isinstance(item.get(key), str) for item in value)), None)
    if key is None:
        return None
    found = {item[key]: {member: below for member, below in item.items() if member != key} for item in value}
    return found if len(found) == len(value) else None


def _short(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + "…"
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"
