"""What the OpenAPI document says of the ingestion routes, which the framework does not know."""

from typing import Any

from app.api.answers import PROBLEM_SCHEMA, problems_of_deployment
from app.api.ingestion import FEEDBACK, PAYLOAD, PREFIX
from app.errors import Conflict, TooLarge, UnsupportedMediaType
from app.ingest.limits import MAX_BODY_BYTES, MAX_ID_CHARACTERS, MAX_RECORDS
from app.web.problems import MEDIA_TYPE
from app.web.texts import ID_PATTERN

_LIMITS = f"""At most {MAX_RECORDS:,} records and {MAX_BODY_BYTES // 2**20} MiB (after decompression) a request.
`Content-Encoding: gzip` is taken.

Answered only after a durable commit. `accepted + duplicate + rejected = sent`: every record is checked by the deployment's schema,
the good ones of a batch are kept, and each rejected one is listed with its position and the reason. If none was stored the answer is
a problem (422, or 409 where all are conflicts) that holds the same receipt.

**Send ids.** A record whose id is stored already counts as a duplicate, so a request that was not answered may be sent again; with
other content it is a conflict, and the stored record stays. Records without an id get one, and are stored anew each time."""

_SCALAR: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_CELL: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
_CELLS = {"type": "object", "additionalProperties": _CELL}
_ID = {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_ID_CHARACTERS}
_TIME = {"type": ["string", "null"], "format": "date-time"}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_ROWS = {"type": "array", "items": {"type": "array", "items": {}}}
_TABLE = {
    "type": "object",
    "required": ["fields", "values"],
    "properties": {"fields": {"type": "array", "items": {"type": "string"}}, "values": _ROWS},
}

_FEATURES = {"Age": 33, "Sex": "female", "Owner": True}
_PAIR_EXAMPLE = {
    "scoring_id": "b1946ac9",
    "scoring_timestamp": "2030-01-31T12:00:00Z",
    "request": {"fields": ["Age", "Sex", "Owner"], "values": [[33, "female", True], [51, "male", False]]},
    "response": {"fields": ["prediction", "probability"], "values": [[0, [0.9, 0.1]], [1, [0.2, 0.8]]]},
}


def ingestion_paths() -> dict[str, Any]:
    """The two path items."""
    return {
        f"{PREFIX}{{deployment_id}}/{PAYLOAD}": {"post": _payload()},
        f"{PREFIX}{{deployment_id}}/{FEEDBACK}": {"post": _feedback()},
    }


def _payload() -> dict[str, Any]:
    schema = {"oneOf": [_native(_payload_record()), _pair(), {"type": "array", "minItems": 1, "items": _pair()}]}
    record = {"id": "a-1", "features": _FEATURES, "prediction": 0, "probability": [0.9, 0.1], "label": "No Risk"}
    examples = {
        "native": {"summary": "Native records", "value": {"records": [record]}},
        "pairs": {"summary": "OpenScale's request and response; ids become `{scoring_id}-{n}`", "value": [_PAIR_EXAMPLE]},
    }
    return _operation(
        "logPayloadRecords",
        "Log what the model was asked and answered",
        "Records as `{records: […]}`, or logged pairs in OpenScale's form.\n\n" + _LIMITS,
        [_historical("scored_at")],
        {"application/json": {"schema": schema, "examples": examples}},
    )


def _feedback() -> dict[str, Any]:
    objects = {"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": _CELL}}
    schema = {"anyOf": [_native(_feedback_record()), _TABLE, {"type": "array", "minItems": 1, "items": _TABLE}, objects]}
    records = [{"id": "a-1", "label": "Risk"}, {"features": _FEATURES, "label": "No Risk"}]
    examples = {
        "native": {"summary": "A label for a logged record, and one with its features", "value": {"records": records}},
        "objects": {"summary": "Objects of columns", "value": [{**_FEATURES, "label": "Risk"}]},
        "tables": {"summary": "Fields and values", "value": [{"fields": [*_FEATURES, "label"], "values": [[33, "female", True, "Risk"]]}]},
    }
    text = {"schema": {"type": "string"}, "example": "Age,Sex,Owner,label\n33,female,true,Risk\n"}
    column = {"name": "label", "in": "query", "schema": {"type": "string", "default": "label"}}
    column["description"] = (
        "The label's column in the forms that name columns; refused with native records, whose label is called `label`. Columns that"
        " the schema does not know are passed over."
    )
    return _operation(
        "logFeedbackRecords",
        "Log what came of it",
        "Labels by record id (before or after the payload record arrives), or with the features: as `{records: […]}`, objects of columns,"
        " `{fields, values}`, or CSV with a header.\n\n" + _LIMITS,
        [_historical("labelled_at"), column],
        {"application/json": {"schema": schema, "examples": examples}, "text/csv": text},
    )


def _operation(operation_id: str, summary: str, description: str, query: list[dict[str, Any]], content: dict[str, Any]) -> dict[str, Any]:
    deployment = {"name": "deployment_id", "in": "path", "required": True, "schema": {"type": "string", "pattern": ID_PATTERN}}
    encoding = {"name": "Content-Encoding", "in": "header", "schema": {"type": "string", "enum": ["gzip", "identity", ""]}}
    answers: dict[str, Any] = {
        str(status): answer for status, answer in problems_of_deployment(TooLarge, UnsupportedMediaType, Conflict).items()
    }
    for status in ("409", "422"):
        answers[status]["content"][MEDIA_TYPE]["schema"] = {"anyOf": [{"$ref": PROBLEM_SCHEMA}, _receipt()]}
    answers["200"] = {
        "description": "What became of each record",
        "content": {"application/json": {"schema": _receipt(), "example": _receipt_example()}},
    }
    return {
        "tags": ["records"],
        "operationId": operation_id,
        "summary": summary,
        "description": description,
        "parameters": [deployment, *query, encoding],
        "requestBody": {"required": True, "content": content},
        "responses": dict(sorted(answers.items())),
    }


def _historical(time: str) -> dict[str, Any]:
    return {
        "name": "historical",
        "in": "query",
        "schema": {"type": "boolean", "default": False},
        "description": f"Place each record in the hour that its `{time}` says (required then) instead of the hour in which it is received.",
    }


def _native(record: dict[str, Any]) -> dict[str, Any]:
    records = {"type": "array", "minItems": 1, "maxItems": MAX_RECORDS, "items": record}
    return {"type": "object", "required": ["records"], "properties": {"records": records}, "additionalProperties": False}


def _payload_record() -> dict[str, Any]:
    return _object(
        ["features", "prediction"],
        id=_ID,
        scored_at=_TIME,
        features=_CELLS,
        meta={**_CELLS, "type": ["object", "null"]},
        prediction=_SCALAR,
        probability={"anyOf": [_SHARE, {"type": "array", "items": _SHARE}, {"type": "null"}]},
        label=_CELL | {"description": "The decoded form of the prediction (`No Risk` for 0); not what came of it, which is feedback."},
    )


def _feedback_record() -> dict[str, Any]:
    cells = {**_CELLS, "type": ["object", "null"]}
    return _object(["label"], id=_ID, features=cells, meta=cells, label=_SCALAR, labelled_at=_TIME)


def _pair() -> dict[str, Any]:
    wrapped = {"type": "array", "minItems": 1, "maxItems": 1, "items": _TABLE}
    request = {"anyOf": [_TABLE, _open(["input_data"], input_data=wrapped)]}
    response = {"anyOf": [_TABLE, _open(["predictions"], predictions=wrapped)]}
    return _open(["request", "response"], request=request, response=response, scoring_id=_ID, scoring_timestamp=_TIME)


def _receipt() -> dict[str, Any]:
    count = {"type": "integer", "minimum": 0}
    index = {"type": "integer", "minimum": 0, "description": "The record's position in the request, from 0."}
    rejection = _object(["index", "field", "reason"], index=index, field={"type": "string"}, reason={"type": "string"})
    conflict = _object(["index", "id", "reason"], index=index, id={"type": "string"}, reason={"type": "string"})
    return _open(
        ["sent", "accepted", "duplicate", "rejected", "rejections", "conflicts"],
        sent=count,
        accepted=count,
        duplicate=count,
        rejected=count | {"description": "Conflicts are among them, and listed apart."},
        rejections={"type": "array", "items": rejection},
        conflicts={"type": "array", "items": conflict},
    )


def _receipt_example() -> dict[str, Any]:
    rejection = {"index": 2, "field": "features.Age", "reason": "must be a whole number, found 'young'"}
    return {"sent": 3, "accepted": 1, "duplicate": 1, "rejected": 1, "rejections": [rejection], "conflicts": []}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - schemas are of any shape
    return _open(required, **properties) | {"additionalProperties": False}


def _open(required: list[str], **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - schemas are of any shape
    return {"type": "object", "required": required, "properties": properties}
