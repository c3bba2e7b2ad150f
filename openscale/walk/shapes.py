"""Shapes and ids of answers, by which two answers of other ids and times are compared, and the recording of calls."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

BASE = "/openscale/00000000-0000-0000-0000-000000000000/v2"

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[a-z0-9-]+-[0-9a-f]{8}\b|[0-9a-f]{32}")


def shape_of(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Returns the members of a JSON value without their values; elements of an array share one shape."""
    if isinstance(value, dict):
        return {name: shape_of(part) for name, part in value.items()}
    if isinstance(value, list):
        shape: Any = {}
        for part in value:
            shape = _joined(shape, shape_of(part))
        return {"[]": shape} if value else {}
    return {}


def missing_in(shape: dict[str, Any], value: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, part in shape.items():
        if name in value:
            yield from missing_in(part, value[name], f"{path}/{name}")
        else:
            yield f"{path}/{name}"


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


def write_calls(path: str, calls: Sequence[dict[str, Any]], methods: dict[str, str]) -> None:
    """Writes calls a line each, and each shape of an answer once, without questions that are asked again in the same shape."""
    shapes: list[Any] = []
    lines, seen = [], set()
    for call in calls:
        if call["shape"] not in shapes:
            shapes.append(call["shape"])
        shape, is_list_of_runs = shapes.index(call["shape"]), call["path"].endswith("/runs")
        kind = (_ID.sub("", call["path"].partition("?")[0]), call["status"], shape)
        if call["method"] == "GET" and kind in seen and "/runs" not in call["path"]:
            continue
        seen.add(kind)
        cut = {name: value for name, value in call.items() if value not in (None, [], "application/json")}
        ids = call["ids"] if call["method"] != "GET" or is_list_of_runs else []
        lines.append(json.dumps({**cut, "path": call["path"].replace(BASE, "BASE"), "shape": shape, "ids": ids}))
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - this file runs alone
        head = f'"methods": {json.dumps(methods)},\n"shapes": {json.dumps(shapes, separators=(",", ":"))}'
        file.write(f'{{{head},\n"calls": [\n' + ",\n".join(lines) + "\n]}\n")


def read_calls(recorded: dict[str, Any]) -> list[dict[str, Any]]:
    absent = {"content_type": "application/json", "body": None, "location": None}
    return [
        {**absent, **call, "path": call["path"].replace("BASE", BASE), "shape": recorded["shapes"][call["shape"]]}
        for call in recorded["calls"]
    ]


def _joined(shape: Any, other: Any) -> Any:  # noqa: ANN401 - JSON
    return {name: _joined(shape.get(name, {}), other.get(name, {})) for name in {**shape, **other}}
