"""The OpenAPI entries of the ingestion routes."""

from collections.abc import Sequence

from ...base.errors import (
    Conflict,
    EvenhandError,
    NotFound,
    QuotaReached,
    RateReached,
    TooLarge,
    UnsupportedMediaType,
)
from ...base.values import MAX_TEXT
from ...domain.deployment import OutputFields
from ...domain.record import MAX_ID_CHARACTERS
from ...domain.record_times import STATED_SOURCES
from ...payloads.read_call import LoggedTable
from ...payloads.registry import PAIR_CODEC, PayloadFormat
from ...payloads.schema_parts import (
    CELLS,
    COUNT,
    SCALAR,
    TABLE,
    TEXT,
    Schema,
    array_of,
    closed_object,
    complete_object,
    open_object,
)
from ...web.problems import MEDIA_TYPE
from ...web.route_declarations import ID_PATTERN, PROBLEM_SCHEMA, problems
from ..logging.decode_body import MAX_BODY_BYTES
from ..logging.encode_lines import STATED_PREDICTION, STATED_PROBABILITY
from ..logging.ingest_plan import MAX_RECORD_BYTES, MAX_RECORDS, OPTIONAL_SCHEMAS
from .hot_route import PREFIX
from .routes import FEEDBACK, PAYLOAD

_LIMITS = f"""At most {MAX_RECORDS:,} records and {MAX_BODY_BYTES // 2**20} MiB (after decompression) a request.
`Content-Encoding: gzip` is taken. A text may have {MAX_TEXT:,} characters, and a record {MAX_RECORD_BYTES // 1024} KiB as JSON
without the names of its columns.

Answered only after a durable commit. `accepted + duplicate + rejected = sent`: every record is checked by the deployment's schema,
the good ones of a batch are kept, and each rejected one is listed with its position and the reason. If none was stored the answer is
a problem (422, or 409 where all are conflicts) that holds the same receipt.

**Send ids.** A record whose id is stored already counts as a duplicate, so a request that was not answered may be sent again; with
other content it is a conflict, and the stored record stays. Records without an id get one, and are stored again each time."""

DEPLOYMENT = {
    "name": "deployment_id",
    "in": "path",
    "required": True,
    "schema": TEXT | {"pattern": ID_PATTERN},
}
ID = {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_ID_CHARACTERS}
ENCODING = {
    "name": "Content-Encoding",
    "in": "header",
    "schema": {"type": "string", "enum": ["gzip", "identity", ""]},
}
_TIME = {"type": ["string", "null"], "format": "date-time"}
_FEATURES = {"Age": 33, "Sex": "female", "Owner": True}
_LOGGED = LoggedTable(
    fields=("Age", "Sex", "Owner"),
    rows=[[33, "female", True], [51, "male", False]],
    predictions=[0, 1],
    probabilities=[[0.9, 0.1], [0.2, 0.8]],
    scoring_id="b1946ac9",
    scoring_timestamp="2030-01-31T12:00:00Z",
)


_OWN_PAIR: Schema = {
    "description": "The model's own request and answer in another payload format: that of `payload_format`, "
    "else that of the deployment's endpoint, else any that fits. Bodies that are not JSON are sent as text, "
    "those of `open_inference_binary` in base64."
}


def describe_ingestion() -> Schema:
    return {
        f"{PREFIX}{{deployment_id}}/{PAYLOAD}": {"post": _describe_payload()},
        f"{PREFIX}{{deployment_id}}/{FEEDBACK}": {"post": _describe_feedback()},
    }


def _describe_payload() -> Schema:
    named = {"type": ["string", "null"], "enum": [*PayloadFormat, None]}
    bodies = [PAIR_CODEC.pair_schemas(), {"payload_format": named}]
    pairs = [
        open_object(
            ["request", "response"],
            **body,
            scoring_id=ID,
            scoring_timestamp=_TIME,
            sample_rate=OPTIONAL_SCHEMAS["sample_rate"],
        )
        for body in bodies
    ]
    pairs[-1] |= _OWN_PAIR
    schemas = [schema for pair in pairs for schema in (pair, array_of(pair, minItems=1))]
    native = closed_object(
        ["features", "prediction"],
        id=ID,
        scored_at=_TIME,
        features=CELLS,
        meta={**CELLS, "type": ["object", "null"]},
        prediction=SCALAR,
        **OPTIONAL_SCHEMAS,
    )
    record = {
        "id": "a-1",
        "features": _FEATURES,
        "prediction": 0,
        "probability": [0.9, 0.1],
        "label": "No Risk",
    }
    examples = {
        "native": {"summary": "Native records", "value": {"records": [record]}},
        "pairs": {
            "summary": "OpenScale's request and response; ids become `{scoring_id}-{n}`",
            "value": [PAIR_CODEC.write_pair(_LOGGED, outputs=OutputFields(probability="probability"))],
        },
    }
    return _describe_logging(
        "logPayloadRecords",
        "Log what the model was asked and answered",
        "Records as `{records: […]}` or as an array, or logged pairs in OpenScale's form, or in any other "
        "payload format.\n\n" + _LIMITS,
        _describe_switches("scored_at"),
        {
            "application/json": {
                "schema": {"anyOf": [*_build_native_schemas(native), *schemas]},
                "examples": examples,
            }
        },
    )


def _describe_feedback() -> Schema:
    objects = array_of(CELLS, minItems=1)
    cells = {**CELLS, "type": ["object", "null"]}
    answer = {name: {"anyOf": [SCALAR, {"type": "null"}]} for name in STATED_PREDICTION} | dict.fromkeys(
        STATED_PROBABILITY, OPTIONAL_SCHEMAS["probability"]
    )
    native = closed_object(
        ["label"], id=ID, features=cells, meta=cells, label=SCALAR, labelled_at=_TIME, **answer
    )
    schema = {"anyOf": [*_build_native_schemas(native), TABLE, array_of(TABLE, minItems=1), objects]}
    records = [
        {"id": "a-1", "label": "Risk"},
        {"features": _FEATURES, "label": "No Risk", "prediction": "No Risk"},
    ]
    examples = {
        "native": {
            "summary": "A label for a logged record, and one with its features",
            "value": {"records": records},
        },
        "objects": {"summary": "Objects of columns", "value": [{**_FEATURES, "label": "Risk"}]},
        "tables": {
            "summary": "Fields and values",
            "value": [{"fields": [*_FEATURES, "label"], "values": [[33, "female", True, "Risk"]]}],
        },
    }
    text = {"schema": TEXT, "example": "Age,Sex,Owner,label\n33,female,true,Risk\n"}
    column = {
        "name": "label",
        "in": "query",
        "schema": {"type": "string", "default": "label"},
        "description": "The label's column in the forms that name columns; refused with native records, "
        "whose label is called `label`. Columns that the schema does not know are ignored.",
    }
    return _describe_logging(
        "logFeedbackRecords",
        "Log what came of it",
        "Labels by record id (before or after the payload record arrives), or with the features: "
        "as `{records: […]}`, an array of records, objects of columns, `{fields, values}`, "
        "or CSV with a header.\n\n" + _LIMITS,
        [*_describe_switches("labelled_at"), column],
        {"application/json": {"schema": schema, "examples": examples}, "text/csv": text},
    )


def _describe_logging(
    operation_id: str, summary: str, description: str, query: list[Schema], content: Schema
) -> Schema:
    source = {
        "name": "Evenhand-Source",
        "in": "header",
        "schema": {"type": "string", "enum": sorted(STATED_SOURCES)},
        "description": "The kind of program that sends the records, for the counts of the ingestion page; "
        "without it `rest`.",
    }
    rejection = {"index": 2, "field": "features.Age", "reason": "must be a whole number, found 'young'"}
    receipt = {
        "sent": 3,
        "accepted": 1,
        "duplicate": 1,
        "rejected": 1,
        "rejections": [rejection],
        "conflicts": [],
    }
    answer = {
        "description": "What became of each record",
        "content": {"application/json": {"schema": _build_receipt_schema(), "example": receipt}},
    }
    refusals = (NotFound, TooLarge, UnsupportedMediaType, Conflict, RateReached, QuotaReached)
    operation = describe_operation(
        operation_id,
        summary,
        description,
        [DEPLOYMENT, *query, ENCODING, source],
        content,
        {"200": answer},
        refusals,
    )
    for status in ("409", "422"):
        operation["responses"][status]["content"][MEDIA_TYPE]["schema"] = {
            "anyOf": [{"$ref": PROBLEM_SCHEMA}, _build_receipt_schema()]
        }
    return operation


def describe_operation(
    operation_id: str,
    summary: str,
    description: str,
    parameters: list[Schema],
    content: Schema,
    answers: Schema,
    refusals: Sequence[type[EvenhandError]],
) -> Schema:
    refused = {str(status): answer for status, answer in problems(*refusals).items()}
    return {
        "tags": ["records"],
        "operationId": operation_id,
        "summary": summary,
        "description": description,
        "parameters": parameters,
        "requestBody": {"required": True, "content": content},
        "responses": dict(sorted((answers | refused).items())),
    }


def _describe_switches(time: str) -> list[Schema]:
    described = {
        "historical": f"Place each record in the hour that its `{time}` says (required then) instead of the "
        "hour in which it is received.",
        "first_time_counts": f"A record that is sent again with another `{time}` is a duplicate, whose "
        "stored time stays, and no conflict.",
        "assume_utc": f"A `{time}` without an offset is UTC, and is not refused.",
    }
    return [
        {"name": name, "in": "query", "schema": {"type": "boolean", "default": False}, "description": text}
        for name, text in described.items()
    ]


def _build_native_schemas(record: Schema) -> list[Schema]:
    records = array_of(record, minItems=1, maxItems=MAX_RECORDS)
    return [complete_object(records=records), records]


def _build_receipt_schema() -> Schema:
    index = COUNT | {"description": "The record's position in the request, from 0."}
    rejection = complete_object(index=index, field=TEXT, reason=TEXT)
    conflict = complete_object(index=index, id=TEXT, reason=TEXT)
    warning = complete_object(field=TEXT, records=COUNT, message=TEXT)
    return open_object(
        ["sent", "accepted", "duplicate", "rejected", "rejections", "conflicts"],
        sent=COUNT,
        accepted=COUNT,
        duplicate=COUNT,
        rejected=COUNT | {"description": "Conflicts are among them, and listed apart."},
        rejections=array_of(rejection),
        conflicts=array_of(conflict),
        rounded_probabilities=COUNT
        | {
            "description": "Records whose probability lies within 0.000001 of [0, 1] and is stored as 0 or 1."
        },
        warnings=array_of(warning)
        | {"description": "Stored labels and predictions that are in no outcome list."},
    )
