"""Differences between two states of a thing, to be kept permanently. Does not hide secrets."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

MOST_CHANGES = 50

MOST_CHARACTERS = 200

MORE = "more_changes"

_NAMES = ("name", "feature", "attribute")
"""Members that identify the items of a list, so that moved items do not count as changed."""


def changes_between(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the fields that differ between two JSON documents: `{"endpoint.url": [before, after]}`; None is
    an absent thing.

    Members, and items with a name, are joined by dots. Beyond `MOST_CHANGES` fields `more_changes` counts
    the rest.
    """
    old = dict(_flat("", before or {}))
    new = dict(_flat("", after or {}))
    # Compared as JSON, too: to Python 1 and true are equal.
    differing = [
        field
        for field in dict.fromkeys((*old, *new))
        if old.get(field) != new.get(field) or json.dumps(old.get(field)) != json.dumps(new.get(field))
    ]
    changes: dict[str, Any] = {
        _short(field): [_short(old.get(field)), _short(new.get(field))] for field in differing[:MOST_CHANGES]
    }
    if len(differing) > MOST_CHANGES:
        changes[MORE] = len(differing) - MOST_CHANGES
    return changes


def _flat(path: str, value: object) -> Iterator[tuple[str, Any]]:
    members = value if isinstance(value, Mapping) else None
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        key = next((key for key in _NAMES if all(isinstance(item.get(key), str) for item in value)), None)
        named = (
            {}
            if key is None
            else {item[key]: {name: inner for name, inner in item.items() if name != key} for item in value}
        )
        if len(named) == len(value):
            yield path, list(named)
            members = named
    if members is None:
        yield path, value
        return
    for name, member in members.items():
        yield from _flat(f"{path}.{name}" if path else str(name), member)


def _short(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + "…"
    # Not in ASCII, where one character counts as six.
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"
