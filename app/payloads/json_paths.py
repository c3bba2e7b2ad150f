"""A strict part of JSONPath (RFC 9535): `$`, `.name`, `['name']`, `[0]`, and `[*]` as the end of a path."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..base.values import frozen

MAX_STEPS = 20
MAX_EMPTY_ELEMENTS = 1000
"""Elements that no path names, in a document: twenty steps of `[999]` would write 20,000 for each column."""

_STEP = re.compile(r"\.([^\W\d][\w-]*)|\[(?:'((?:[^'\\]|\\['\\])*)'|([0-9]{1,3})|(\*))\]")

Step = str | int


class PathUnclear(ValueError):
    """Not of this part of JSONPath, or leads nowhere; the message continues a sentence about the path."""


@frozen
class JsonPath:
    """Leads to one place, or to each element of the array there (`is_of_many`)."""

    steps: tuple[Step, ...]
    is_of_many: bool = False

    def find(self, document: object) -> Any:  # noqa: ANN401 - any value of JSON
        """Of a path of many, the array itself. Raises PathUnclear if there is nothing."""
        node: Any = document
        for depth, step in enumerate(self.steps):
            is_there = (
                step in node
                if isinstance(node, dict)
                else isinstance(node, list) and isinstance(step, int) and step < len(node)
            )
            if is_there:
                node = node[step]
            else:
                raise PathUnclear(f"leads to nothing at {spell_path(self.steps[: depth + 1])}")
        if self.is_of_many and not isinstance(node, list):
            raise PathUnclear("leads to no array")
        return node


def parse_path(text: str) -> JsonPath:
    """Raises PathUnclear."""
    if not text.startswith("$"):
        raise PathUnclear("must begin with $, the whole of the body or record")
    steps = []
    position, is_of_many = 1, False
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or is_of_many:
            remainder = text[position : position + 40]
            raise PathUnclear(
                f"cannot be read from {remainder!r} on; it may have .name, ['name'] and [0], and [*] at its "
                "end"
            )
        name, quoted, index, array = match.groups()
        if array is not None:
            is_of_many = True
        else:
            steps.append(_read_step(name, quoted, index))
        position = match.end()
    if len(steps) > MAX_STEPS:
        raise PathUnclear(f"has {len(steps)} steps; at most {MAX_STEPS} are taken")
    return JsonPath(tuple(steps), is_of_many)


def _read_step(name: str | None, quoted: str, index: str | None) -> Step:
    if index is not None:
        return int(index)
    return name if name is not None else re.sub(r"\\(.)", r"\1", quoted)


def build_member_path(name: str) -> JsonPath:
    return JsonPath((name,))


def spell_path(steps: Sequence[Step]) -> str:
    spelled = (
        f"[{step}]" if isinstance(step, int) else "['" + re.sub(r"(['\\\\])", r"\\\1", step) + "']"
        for step in steps
    )
    return "$" + "".join(spelled)


@frozen
class PlacedValue:
    """Value with its place in a document."""

    path: JsonPath
    value: Any


def build_document(placed: Iterable[PlacedValue]) -> Any:  # noqa: ANN401 - any value of JSON
    """Builds the smallest document with each value at its place; elements that no path names are null.

    Raises PathUnclear if two values have one place, one lies within another, or more than MAX_EMPTY_ELEMENTS
    are null.
    """
    root: dict[Step, Any] = {}
    for placed_value in placed:
        branch: Any = root
        for step in ("", *placed_value.path.steps[:-1]) if placed_value.path.steps else ():
            branch = branch.setdefault(step, _Branch())
            if not isinstance(branch, _Branch):
                raise PathUnclear(f"lies within another value, at {spell_path(placed_value.path.steps)}")
        last = placed_value.path.steps[-1] if placed_value.path.steps else ""
        if last in branch:
            raise PathUnclear(f"has the place of another value, {spell_path(placed_value.path.steps)}")
        branch[last] = placed_value.value
    empty = _count_empty(root.get(""))
    if empty > MAX_EMPTY_ELEMENTS:
        raise PathUnclear(
            f"leaves {empty:,} elements of arrays without a value; "
            f"at most {MAX_EMPTY_ELEMENTS:,} are written as null"
        )
    return _close_branches(root.get(""))


class _Branch(dict[Step, Any]):
    """Steps under one place, before it is known whether they are members or elements."""


def _count_empty(node: object) -> int:
    if not isinstance(node, _Branch):
        return 0
    indexes = [step for step in node if isinstance(step, int)]
    return max(indexes, default=-1) + 1 - len(indexes) + sum(map(_count_empty, node.values()))


def _close_branches(node: object) -> Any:  # noqa: ANN401 - any value of JSON
    """Turns branches into objects and arrays."""
    if not isinstance(node, _Branch):
        return node
    if all(isinstance(step, str) for step in node):
        return {step: _close_branches(below) for step, below in node.items()}
    indexes = [step for step in node if isinstance(step, int)]
    if len(indexes) < len(node):
        raise PathUnclear("is a place with members and with elements")
    return [_close_branches(node.get(index)) for index in range(max(indexes) + 1)]
