"""Pieces of JSON schemas for the OpenAPI document."""

from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

CELL: Schema = {"type": ["string", "number", "boolean", "null"]}
CELLS: Schema = {"type": "object", "additionalProperties": CELL}
SCALAR: Schema = {"type": ["string", "number", "boolean"]}
NAMES: Schema = {"type": "array", "items": {"type": "string"}}


def open_object(required: list[str], **properties: Any) -> Schema:  # noqa: ANN401 - schemas are of any shape
    return {"type": "object", "required": required, "properties": properties}


def closed_object(required: list[str], **properties: Any) -> Schema:  # noqa: ANN401 - schemas are of any shape
    return open_object(required, **properties) | {"additionalProperties": False}


def build_rows_schema(max_rows: int) -> Schema:
    return {"type": "array", "minItems": 1, "maxItems": max_rows, "items": {"type": "array", "items": CELL}}


TABLE: Schema = open_object(["fields", "values"], fields=NAMES, values={"type": "array", "items": {"type": "array", "items": {}}})
"""Any cells: rows that do not fit are refused one by one."""
