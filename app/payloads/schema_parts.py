"""Pieces of JSON schemas for the OpenAPI document."""

from typing import Any

Schema = dict[str, Any]

CELL: Schema = {"type": ["string", "number", "boolean", "null"]}
CELLS: Schema = {"type": "object", "additionalProperties": CELL}
SCALAR: Schema = {"type": ["string", "number", "boolean"]}
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}


def open_object(required: list[str], **properties: Any) -> Schema:  # noqa: ANN401 - schemas are of any shape
    return {"type": "object", "required": required, "properties": properties}


def closed_object(required: list[str], **properties: Any) -> Schema:  # noqa: ANN401 - schemas are of any shape
    return open_object(required, **properties) | {"additionalProperties": False}


def complete_object(**properties: Any) -> Schema:  # noqa: ANN401 - schemas are of any shape
    return closed_object(list(properties), **properties)


def array_of(items: Schema, **limits: int) -> Schema:
    return {"type": "array", **limits, "items": items}


def build_rows_schema(max_rows: int) -> Schema:
    return array_of(array_of(CELL), minItems=1, maxItems=max_rows)


NAMES: Schema = array_of(TEXT)

TABLE: Schema = open_object(["fields", "values"], fields=NAMES, values=array_of(array_of({})))
"""Any cells: rows that do not fit are refused one by one."""
