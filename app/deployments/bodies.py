"""A deployment, its columns and its tables of files as bodies."""

from datetime import date, datetime
from typing import Annotated, Literal

import msgspec
from pydantic import BeforeValidator, Field
from pydantic_core import to_jsonable_python

from ..base.strict_json import JsonObject
from ..domain.deployment import (
    FILE_FORMATS,
    Column,
    Deployment,
    FieldKind,
    FieldType,
    ProblemType,
    StorageKind,
    TableFormat,
)
from ..domain.record_times import parse_moment
from ..web.body import (
    NOT_BLANK,
    FromText,
    GroupValueJson,
    In,
    NextPageCursor,
    Out,
    PageOut,
    Patch,
    ScalarJson,
    example,
    read_from,
)
from ..web.route_declarations import ID_PATTERN
from .endpoint_bodies import EndpointHealthOut, EndpointIn, EndpointOut, EndpointPatch
from .queries import Definition

_PAYLOAD_EXAMPLE = {
    "source": "table",
    "format": "parquet",
    "location": "/lake/credit/scores",
    "partition_by": "day",
    "columns": {
        "id": "application",
        "scored_at": "scored_at",
        "features": {"LoanAmount": "loan_amount"},
        "meta": {},
        "prediction": "decision",
        "probability": None,
        "label": None,
        "model_revision": None,
    },
}


def _require_files(value: object) -> object:
    if value not in FILE_FORMATS:
        raise ValueError(
            f"must be one of {', '.join(FILE_FORMATS)}: export the rows of another table, such as one of a "
            "database, to such files, one for"
            " each hour or day, and name their folder, or log the records by REST"
        )
    return value


FormatIn = Annotated[
    Literal[TableFormat.PARQUET, TableFormat.DELTA, TableFormat.ICEBERG], BeforeValidator(_require_files)
]


class PayloadColumnsIn(In):
    """Names of the table's columns. Features and meta fields that are not named have a column of their own
    name.
    """

    id: str = "id"
    scored_at: str = "scored_at"
    """Timestamps with a time zone; windows are cut by them."""

    features: dict[str, str] = Field(default_factory=dict)
    meta: dict[str, str] = Field(default_factory=dict)
    prediction: str = "prediction"
    probability: str | None = None
    label: str | None = None
    """The decoded form of the prediction."""

    model_revision: str | None = None
    """Absent: all records are of the deployment's present revision."""


class _TableIn(In):
    source: Literal["table"]
    format: FormatIn = TableFormat.PARQUET
    location: str = Field(max_length=2000, json_schema_extra={"minLength": 1})
    """A folder, given by its whole path or its address in an object store, within those that the operator
    allows (`EVENHAND_TABLE_ROOTS`)."""

    partition_by: str | None = None
    """A column that is part of the files' paths, as in `day=2026-07-01/part-0.parquet`."""


class PayloadTableIn(_TableIn):
    """A table of files with scoring records. A row is a record; ids must differ."""

    model_config = example(_PAYLOAD_EXAMPLE)

    columns: PayloadColumnsIn = PayloadColumnsIn()


class FeedbackColumnsIn(In):
    """Names of the table's columns."""

    id: str = "id"
    """The id of the payload record."""

    observed_at: str = "observed_at"
    """Timestamps with a time zone: when the label was known."""

    label: str = "label"


class FeedbackTableIn(_TableIn):
    """A table of files with ground-truth labels."""

    columns: FeedbackColumnsIn = FeedbackColumnsIn()


class PayloadColumnsOut(Out):
    """Names of the table's columns."""

    id: str
    scored_at: str
    features: dict[str, str]
    meta: dict[str, str]
    prediction: str
    probability: str | None
    label: str | None
    model_revision: str | None


class _TableOut(Out):
    source: Literal["table"]
    format: TableFormat
    location: str
    partition_by: str | None


class PayloadTableOut(_TableOut):
    """A table of files with scoring records."""

    columns: PayloadColumnsOut


class FeedbackColumnsOut(Out):
    """Names of the table's columns."""

    id: str
    observed_at: str
    label: str


class FeedbackTableOut(_TableOut):
    """A table of files with ground-truth labels."""

    columns: FeedbackColumnsOut


_SENT = "The type of the values that are sent; text is stored."
_GROUPS = (
    "For the kind `groups`: the label of the first group that has a value is stored instead of it, "
    "and null for a value in no group."
)


class ColumnGroupIn(In):
    """Values that are stored under one label: values, or ranges `[lo, hi]` of numbers."""

    label: str = Field(max_length=200, json_schema_extra={"minLength": 1, "pattern": NOT_BLANK})
    values: list[GroupValueJson] = Field(json_schema_extra={"minItems": 1})


class StorageIn(In):
    """The form in which a protected column is stored."""

    kind: FromText[StorageKind]
    sent: FromText[FieldType] = Field(FieldType.STRING, description=_SENT)
    groups: list[ColumnGroupIn] = Field(default_factory=list, description=_GROUPS)


class ColumnIn(In):
    """One column. `kind` left out: categorical for text and booleans, numeric for numbers."""

    name: str = Field(max_length=200, json_schema_extra={"minLength": 1, "pattern": NOT_BLANK})
    type: FromText[FieldType]
    kind: FromText[FieldKind | None] = None
    storage: StorageIn | None = None
    """Left out, values are stored as they are sent. `pseudonym`: a keyed pseudonym is stored, the same for
    equal values. `groups`: only the label of the value's group is stored. The column's type is then
    `string`. Not for features of a deployment with an endpoint."""

    def to_domain(self) -> Column:
        numbers = self.type in {FieldType.INTEGER, FieldType.NUMBER}
        kind = self.kind or (FieldKind.NUMERIC if numbers else FieldKind.CATEGORICAL)
        return self.read_as(Column, kind=kind)


class ColumnGroupOut(Out):
    """Values that are stored under one label."""

    label: str
    values: list[GroupValueJson]


class StorageOut(Out):
    """The form in which a protected column is stored."""

    kind: StorageKind
    sent: FieldType = Field(description=_SENT)
    groups: list[ColumnGroupOut] = Field(description=_GROUPS)


class ColumnOut(Out):
    """One column."""

    name: str
    type: FieldType
    kind: FieldKind
    storage: StorageOut | None
    """Null: values are stored as they are sent."""


_COLUMNS = [
    {"name": "Age", "type": "integer"},
    {"name": "LoanAmount", "type": "number", "kind": "numeric"},
    {"name": "Sex", "type": "string"},
]
_ENDPOINT = {
    "url": "http://127.0.0.1:9000/score",
    "payload_format": "fields_values",
    "credentials": {"kind": "basic", "name": "evenhand", "secret": "correct horse battery staple"},
    "timeout_seconds": 30.0,
    "page_size": 1000,
    "concurrency": 4,
}
_EXAMPLE: JsonObject = {
    "id": "credit-risk",
    "name": "Credit risk",
    "owner": "Retail credit, Ada Brandt",
    "purpose": "Decides on consumer loans up to 10,000 euros.",
    "problem_type": "binary",
    "features": _COLUMNS,
    "meta": [{"name": "Postcode", "type": "string", "storage": {"kind": "pseudonym"}}],
    "outputs": {"prediction": "prediction", "probability": "probability", "label": "predictedLabel"},
    "model_revision": "2026-07-01",
    "endpoint": _ENDPOINT,
}
_STORED_EXAMPLE: JsonObject = {
    **_EXAMPLE,
    "schema_version": 1,
    "features": [
        {"kind": "categorical" if column["type"] == "string" else "numeric", "storage": None, **column}
        for column in _COLUMNS
    ],
    "meta": [
        {
            "name": "Postcode",
            "type": "string",
            "kind": "categorical",
            "storage": {"kind": "pseudonym", "sent": "string", "groups": []},
        }
    ],
    "outputs": {**_EXAMPLE["outputs"], "classes": None},
    "endpoint": {
        **_ENDPOINT,
        "source": "http",
        "uri": "",
        "mapping": None,
        "credentials": {
            "kind": "basic",
            "name": "evenhand",
            "token_url": "",
            "scope": "",
            "secret_set": True,
        },
        "header_names": [],
        "tls": None,
        "requests_per_second": None,
    },
    "payload": None,
    "feedback": None,
    "earliest": "2024-03-01",
    "endpoint_health": {
        "state": "open",
        "failures": 3,
        "failed_at": "2026-07-02T10:06:40Z",
        "reason": "The model's endpoint 127.0.0.1:9000 did not answer within 30 seconds (4 attempts). Give "
        "the endpoint a longer time-out or a smaller page size, or look at the model server.",
        "tried_again_at": "2026-07-02T10:11:40Z",
    },
    "created_at": "2026-07-01T12:00:00Z",
    "updated_at": "2026-07-01T12:00:00Z",
}


_NOT_EMPTY_TEXT: JsonObject = {"minLength": 1}
_NOT_EMPTY_LIST: JsonObject = {"minItems": 1}


class OutputsIn(In):
    """The names of the columns in the model's answer."""

    prediction: str = "prediction"
    probability: str | None = None
    label: str | None = None
    """The decoded form of the prediction, for example `No Risk` for 0."""

    classes: list[ScalarJson] | None = None
    """The predictions that the model can make, in the order of its probabilities: then `1.0` and `"1"` are
    read as the class 1, and probabilities may come as an object of classes. With one column as
    prediction and probability, the prediction is the likeliest class."""


_PAYLOAD = (
    "The table of files that holds the scoring records, for a batch deployment; null: records are "
    "logged to Evenhand."
)
_FEEDBACK = "The table of files that holds the ground-truth labels of a batch deployment."

_OWNER = "The person or team that answers for the model, as pages and reports name them."
_EARLIEST = (
    "The first possible day of a record (UTC); null: 1 January 20 years before now. Earlier records "
    "are rejected."
)
_PURPOSE = "The decisions that the model is used for, as the cover of reports says it."


class DeploymentIn(In):
    """A new deployment."""

    model_config = example(_EXAMPLE)

    id: str | None = Field(None, pattern=ID_PATTERN)
    """Chosen by you, or made from the name."""

    name: str = Field(max_length=200, json_schema_extra=_NOT_EMPTY_TEXT)
    owner: str | None = Field(
        None, max_length=200, description=_OWNER, json_schema_extra={"pattern": NOT_BLANK}
    )
    purpose: str | None = Field(
        None, max_length=300, description=_PURPOSE, json_schema_extra={"pattern": NOT_BLANK}
    )
    problem_type: FromText[ProblemType]
    features: list[ColumnIn] = Field(json_schema_extra=_NOT_EMPTY_LIST)
    """The columns that are sent to the model, in this order."""

    meta: list[ColumnIn] = Field(default_factory=list)
    """Logged along with the features, never sent to the model."""

    outputs: OutputsIn = OutputsIn()
    model_revision: str = Field("1", max_length=200, json_schema_extra=_NOT_EMPTY_TEXT)
    """Another revision makes stored counterfactuals stale."""

    endpoint: EndpointIn | None = None
    payload: PayloadTableIn | None = Field(None, description=_PAYLOAD)
    feedback: FeedbackTableIn | None = Field(None, description=_FEEDBACK)
    earliest: str | None = Field(
        None, max_length=10, json_schema_extra={"format": "date"}, description=_EARLIEST
    )

    def to_domain(self) -> Definition:
        return self.read_as(
            Definition,
            features=[column.to_domain() for column in self.features],
            meta=[column.to_domain() for column in self.meta],
            endpoint=self.endpoint and self.endpoint.to_domain(),
            earliest=parse_moment("earliest", self.earliest).date() if self.earliest is not None else None,
        )


class OutputsPatch(Patch):
    """Names to change; null removes one."""

    prediction: str = ""
    probability: str | None = None
    label: str | None = None
    classes: list[ScalarJson] | None = None


class DeploymentPatch(Patch):
    """A JSON merge patch (RFC 7396): members that are left out stay, objects are merged, lists are replaced,
    null removes a member.

    A listed column that says nothing of its storage keeps the one that the column of its name has; null
    ends it. The problem type cannot be changed: stored records would change their meaning.
    """

    name: str = Field("", max_length=200, json_schema_extra=_NOT_EMPTY_TEXT)
    owner: str | None = Field(None, max_length=200, description=f"{_OWNER} Null: nobody is named any more.")
    purpose: str | None = Field(
        None, max_length=300, description=f"{_PURPOSE} Null: it is not stated any more."
    )
    features: list[ColumnIn] = Field(default_factory=list, json_schema_extra=_NOT_EMPTY_LIST)
    meta: list[ColumnIn] = Field(default_factory=list)
    outputs: OutputsPatch = OutputsPatch()
    model_revision: str = Field("", max_length=200, json_schema_extra=_NOT_EMPTY_TEXT)
    endpoint: EndpointPatch | None = None
    payload: PayloadTableIn | None = None
    """Sent whole."""

    feedback: FeedbackTableIn | None = None
    """Sent whole; null removes it."""

    earliest: str | None = Field(None, max_length=10)

    def merged_into(self, document: JsonObject) -> JsonObject:
        storages = {
            column["name"]: column["storage"] for column in (*document["features"], *document["meta"])
        }
        merged = super().merged_into(document)
        for section, columns in (("features", self.features), ("meta", self.meta)):
            if section in self.model_fields_set:
                for column, sent in zip(merged[section], columns, strict=True):
                    # A client that knows nothing of storage must not end it by listing the columns again.
                    if "storage" not in sent.model_fields_set:
                        column["storage"] = storages.get(sent.name)
        return merged


class OutputsOut(Out):
    """The names of the columns in the model's answer."""

    prediction: str
    probability: str | None
    label: str | None
    classes: list[ScalarJson] | None


class DeploymentOut(Out):
    """A stored deployment."""

    model_config = example(_STORED_EXAMPLE)

    id: str
    name: str
    owner: str | None = Field(description=_OWNER)
    purpose: str | None = Field(description=_PURPOSE)
    problem_type: ProblemType
    schema_version: int = read_from("schema.version")
    """Grows with every change of features or meta."""

    features: list[ColumnOut] = read_from("schema.features")
    meta: list[ColumnOut] = read_from("schema.meta")
    outputs: OutputsOut
    model_revision: str
    endpoint: EndpointOut | None
    payload: PayloadTableOut | None = Field(description=_PAYLOAD)
    feedback: FeedbackTableOut | None = Field(description=_FEEDBACK)
    earliest: date | None = Field(description=_EARLIEST)
    endpoint_health: EndpointHealthOut | None
    """Whether the endpoint answers the checks; null without an endpoint."""

    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, deployment: Deployment) -> "DeploymentOut":
        return cls.from_object(deployment, endpoint_health=deployment.health if deployment.endpoint else None)


class DeploymentPage(PageOut):
    """Some deployments, oldest first."""

    deployments: list[DeploymentOut]
    next_cursor: NextPageCursor


def write_definition_json(definition: Definition) -> JsonObject:
    """Writes a definition as JSON, with the endpoint's secrets: it is never for an answer."""
    document: JsonObject = to_jsonable_python(msgspec.to_builtins(definition))
    return document
