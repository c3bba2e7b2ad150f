"""What the OpenAPI document says of the debiased endpoint's bodies, which are read and written without schemas for speed."""

from typing import Any

from app.domain.mitigation import ONLY_DIRECT, Mode
from app.ingest.limits import MAX_ID_CHARACTERS
from app.mitigation.answers import COLUMNS, CONFLICT, DUPLICATE, STORED
from app.mitigation.debiasing import Debiasing
from app.mitigation.requests import MAX_RECORDS

_CELL: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
_CELLS: dict[str, Any] = {"type": "object", "additionalProperties": _CELL}
_SCALAR: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_ROWS: dict[str, Any] = {"type": "array", "minItems": 1, "maxItems": MAX_RECORDS, "items": {"type": "array", "items": _CELL}}
_NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - schemas are of any shape
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _open(required: list[str], **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - schemas are of any shape
    return {"type": "object", "required": required, "properties": properties}


_META = _closed(["fields", "values"], fields=_NAMES, values=_ROWS)
_TABLE = _closed(["fields", "values"], fields=_NAMES, values=_ROWS, meta=_META)
_RECORD = _closed(
    ["features"],
    id={"type": ["string", "null"], "minLength": 1, "maxLength": MAX_ID_CHARACTERS},
    features=_CELLS,
    meta=_CELLS | {"type": ["object", "null"]},
)
_RECORDS = {"type": "array", "minItems": 1, "maxItems": MAX_RECORDS, "items": _RECORD}
_OBJECTS = {"type": "array", "minItems": 1, "maxItems": MAX_RECORDS, "items": _CELLS}
_SPLIT = _closed(["columns", "data"], columns=_NAMES, data=_ROWS, index={"type": "array"})

_FEATURES = {"Age": 33, "Sex": "female", "Owner": True}
_FIELDS, _VALUES = list(_FEATURES), [list(_FEATURES.values())]

BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "oneOf": [
                    _closed(["records"], records=_RECORDS),
                    _TABLE,
                    _closed(["input_data"], input_data={"type": "array", "minItems": 1, "maxItems": 1, "items": _TABLE}),
                    _closed(["dataframe_split"], dataframe_split=_SPLIT),
                    _closed(["dataframe_records"], dataframe_records=_OBJECTS),
                ]
            },
            "examples": {
                "records": {"summary": "Records, with ids of your own", "value": {"records": [{"id": "a-1", "features": _FEATURES}]}},
                "fields_values": {"summary": "Fields and values", "value": {"fields": _FIELDS, "values": _VALUES}},
                "input_data": {
                    "summary": "The same under `input_data`",
                    "value": {"input_data": [{"fields": _FIELDS, "values": _VALUES}]},
                },
                "dataframe_split": {"summary": "MLflow", "value": {"dataframe_split": {"columns": _FIELDS, "data": _VALUES}}},
                "dataframe_records": {"summary": "MLflow, an object a record", "value": {"dataframe_records": [_FEATURES]}},
            },
        }
    },
}

ENCODING = {"name": "Content-Encoding", "in": "header", "schema": {"type": "string", "enum": ["gzip", "identity", ""]}}

_PROBABILITY = {"type": ["number", "array", "null"], "items": {"type": "number"}}
_COUNTS = _open([STORED, DUPLICATE, CONFLICT], **{word: {"type": "integer", "minimum": 0} for word in (STORED, DUPLICATE, CONFLICT)})
_SAID: dict[str, Any] = {
    "mode": {"type": "string", "enum": [mode.value for mode in Mode]},
    "settings_version": {"type": "integer", "minimum": 0},
    "profile_version": {"type": "integer", "minimum": 1},
    "bias_detector_version": {
        "type": ["integer", "null"],
        "description": "The training of the bias detector that chose who gets a second call; null where none chose.",
    },
    "is_provisional": {"type": "boolean", "description": "Whether payload was too little yet to learn from."},
    "notes": {"type": "array", "items": {"type": "string"}},
    "warning": {"type": ["string", "null"], "description": "Why copies could not be scored, where they could not."},
}
_IN_TABLES: dict[str, Any] = {"ids": {"type": "array", "items": {"type": "string"}}, "logged": _COUNTS}
_ADDED: dict[str, Any] = {
    "debiased_prediction": _SCALAR,
    "debiased_probability": _PROBABILITY,
    "debiased_decoded_target": _CELL,
    "changed": {"type": "boolean"},
    "changed_by": _NAMES,
    "debiasing": {"type": "string", "enum": [word.value for word in Debiasing]},
}
_ROW = _open(
    ["id", "prediction", "probability", "label", *COLUMNS, "logged"],
    id={"type": "string"},
    prediction=_SCALAR,
    probability=_PROBABILITY,
    label=_CELL,
    **_ADDED,
    logged={"type": "string", "enum": [STORED, DUPLICATE, CONFLICT]},
    other_outputs={"type": "object", "description": "The model's further columns, if it has any."},
)
_ANSWERED_TABLE = _open(["fields", "values"], fields=_NAMES, values={"type": "array", "items": {"type": "array"}})

_EXAMPLE_SAID = {
    "mode": "lift_only",
    "settings_version": 1,
    "profile_version": 1,
    "bias_detector_version": None,
    "is_provisional": False,
    "notes": [ONLY_DIRECT],
    "warning": None,
}
_EXAMPLE_ADDED = [1, [0.3, 0.7], "No Risk", True, ["Sex"], "changed"]
_EXAMPLE_ROW = (
    {"id": "a-1", "prediction": 0, "probability": [0.6, 0.4], "label": "Risk"}
    | dict(zip(COLUMNS, _EXAMPLE_ADDED, strict=True))
    | {"logged": "stored"}
)
_EXAMPLE_FIELDS = ["prediction", "probability", "predictedLabel", *COLUMNS]
_EXAMPLE_VALUES = [0, [0.6, 0.4], "Risk", *_EXAMPLE_ADDED]
_EXAMPLE_LOGGED = {"ids": ["019b2f6c8a1c"], "logged": {STORED: 1, DUPLICATE: 0, CONFLICT: 0}}
_EXAMPLE_TABLE = {"fields": _EXAMPLE_FIELDS, "values": [_EXAMPLE_VALUES]}

ANSWER: dict[str, Any] = {
    "description": "The model's own answers and the debiased ones, in the form in which the records came",
    "content": {
        "application/json": {
            "schema": {
                "anyOf": [
                    _open(["predictions", *_SAID], predictions={"type": "array", "items": _ROW}, **_SAID),
                    _open(
                        ["fields", "values", *_SAID, *_IN_TABLES],
                        **_ANSWERED_TABLE["properties"],
                        **_SAID,
                        **_IN_TABLES,
                    ),
                    _open(
                        ["predictions", *_SAID, *_IN_TABLES],
                        predictions={"type": "array", "items": {"anyOf": [_ANSWERED_TABLE, {"type": "object"}]}},
                        **_SAID,
                        **_IN_TABLES,
                    ),
                ]
            },
            "examples": {
                "records": {"summary": "For records", "value": {"predictions": [_EXAMPLE_ROW]} | _EXAMPLE_SAID},
                "fields_values": {"summary": "For fields and values", "value": _EXAMPLE_TABLE | _EXAMPLE_SAID | _EXAMPLE_LOGGED},
                "input_data": {
                    "summary": "For `input_data`",
                    "value": {"predictions": [_EXAMPLE_TABLE]} | _EXAMPLE_SAID | _EXAMPLE_LOGGED,
                },
                "dataframe": {
                    "summary": "For MLflow's forms",
                    "value": {"predictions": [dict(zip(_EXAMPLE_FIELDS, _EXAMPLE_VALUES, strict=True))]} | _EXAMPLE_SAID | _EXAMPLE_LOGGED,
                },
            },
        }
    },
}
