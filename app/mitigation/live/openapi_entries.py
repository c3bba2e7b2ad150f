"""The OpenAPI entries of the bodies of mitigated predictions."""

from ...domain.mitigation import ONLY_DIRECT, Mode
from ...intake.hot_routes.openapi_entries import ID
from ...payloads.codec import JSON
from ...payloads.registry import FORMS, PayloadFormat
from ...payloads.schema_parts import (
    CELL,
    CELLS,
    COUNT,
    NAMES,
    SCALAR,
    TEXT,
    Schema,
    array_of,
    closed_object,
    open_object,
)
from .live_request import MAX_RECORDS
from .service import COLUMNS, CONFLICT, DUPLICATE, FACTS_HEADER, STORED
from .substitute import MitigationResult

MITIGATED = "/v1/deployments/{deployment_id}/mitigated-predictions"

_RECORD = closed_object(["features"], id=ID, features=CELLS, meta=CELLS | {"type": ["object", "null"]})
_RECORDS = array_of(_RECORD, minItems=1, maxItems=MAX_RECORDS)

_FEATURES = {"Age": 33, "Sex": "female", "Owner": True}
_FIELDS = list(_FEATURES)
_VALUES = [list(_FEATURES.values())]

OTHER_MEDIA = tuple(sorted({row.codec.content_type for row in PayloadFormat} - {JSON}))

_OWN_FORMAT: Schema = {
    "description": "A request in another payload format: that of the deployment's endpoint, or the one that "
    "the parameter names"
}


def _list_other_media(schema: Schema) -> Schema:
    return {media: {"schema": {"type": "string", "format": "binary", **schema}} for media in OTHER_MEDIA}


BODY: Schema = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "anyOf": [
                    closed_object(["records"], records=_RECORDS),
                    *(form.build_request_schema(MAX_RECORDS) for form in FORMS),
                    _OWN_FORMAT,
                ]
            },
            "examples": {
                "records": {
                    "summary": "Records, with ids of your own",
                    "value": {"records": [{"id": "a-1", "features": _FEATURES}]},
                },
                **{
                    form.name: {"summary": form.title, "value": form.write_request(_FIELDS, _VALUES)}
                    for form in FORMS
                },
            },
        },
        **_list_other_media(_OWN_FORMAT),
    },
}

_PROBABILITY = {"type": ["number", "array", "null"], "items": {"type": "number"}}
_COUNTS = open_object([STORED, DUPLICATE, CONFLICT], **dict.fromkeys((STORED, DUPLICATE, CONFLICT), COUNT))
_FACTS: Schema = {
    "mode": {"type": "string", "enum": [mode.value for mode in Mode]},
    "settings_version": COUNT,
    "profile_version": {"type": "integer", "minimum": 1},
    "bias_detector_version": {
        "type": ["integer", "null"],
        "description": "The training of the bias detector that chose who gets a second call; null where "
        "none chose.",
    },
    "is_provisional": {"type": "boolean", "description": "Whether payload was too little yet to learn from."},
    "notes": NAMES,
    "warning": {
        "type": ["string", "null"],
        "description": "Why copies could not be scored, where they could not.",
    },
}
_IN_TABLES: Schema = {"ids": NAMES, "logged": _COUNTS}
_ADDED: Schema = {
    "mitigated_prediction": SCALAR,
    "mitigated_probability": _PROBABILITY,
    "mitigated_decoded_target": CELL,
    "changed": {"type": "boolean"},
    "changed_by": NAMES,
    "mitigation": {"type": "string", "enum": [mitigation.value for mitigation in MitigationResult]},
}
_ROW = open_object(
    ["id", "prediction", "probability", "label", *COLUMNS, "logged"],
    id=TEXT,
    prediction=SCALAR,
    probability=_PROBABILITY,
    label=CELL,
    **_ADDED,
    logged={"type": "string", "enum": [STORED, DUPLICATE, CONFLICT]},
    other_outputs={"type": "object", "description": "The model's further columns, if it has any."},
)
_EXAMPLE_FACTS = {
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


def _build_answer_schemas() -> list[Schema]:
    members: dict[tuple[str, ...], list[dict[str, Schema]]] = {}
    for form in FORMS:
        schema = form.build_answer_schema()
        alike = members.setdefault(tuple(schema), [])
        if schema not in alike:
            alike.append(schema)
    schemas = []
    for names, alike in members.items():
        properties = alike[0]
        if len(alike) > 1:
            properties = {
                name: array_of({"anyOf": [schema[name]["items"] for schema in alike]}) for name in names
            }
        schemas.append(open_object([*names, *_FACTS, *_IN_TABLES], **properties, **_FACTS, **_IN_TABLES))
    return schemas


_OWN_ANSWER: Schema = {
    "description": "An answer in the payload format of the request, with columns for the mitigated answers"
}

ANSWER: Schema = {
    "description": "The model's own answers and the mitigated ones, in the form in which the records came",
    "content": {
        "application/json": {
            "schema": {
                "anyOf": [
                    open_object(["predictions", *_FACTS], predictions=array_of(_ROW), **_FACTS),
                    *_build_answer_schemas(),
                    _OWN_ANSWER,
                ]
            },
            "examples": {
                "records": {
                    "summary": "For records",
                    "value": {"predictions": [_EXAMPLE_ROW]} | _EXAMPLE_FACTS,
                },
                **{
                    form.answer_name: {
                        "summary": form.answer_title,
                        "value": form.write_answer(_EXAMPLE_FIELDS, [_EXAMPLE_VALUES])
                        | _EXAMPLE_FACTS
                        | _EXAMPLE_LOGGED,
                    }
                    for form in FORMS
                },
            },
        },
        **_list_other_media(_OWN_ANSWER),
    },
    "headers": {
        FACTS_HEADER: {"schema": TEXT, "description": "Facts for which the body has no place, as JSON"}
    },
}
