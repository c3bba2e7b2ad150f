"""A deployment: the watched model, the columns of its records, and its endpoint."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import date, datetime, timedelta
from enum import StrEnum

from ..base.values import GroupValue, Scalar, frozen, frozen_by_name

OPENS_AFTER_FAILURES = 3
"""Checks in a row without an answer, after which the endpoint is left alone."""

OPEN_FOR = timedelta(minutes=5)
"""Pause after each further failure. The third repetition of an hourly check comes later than that."""

PSEUDONYM = re.compile(r"p_[A-Za-z0-9_-]{22}")
"""128 bits of a keyed digest, in the alphabet of base64 for addresses."""


class BreakerState(StrEnum):
    """The state of the breaker: checks call the endpoint as usual, only if a person asks for the check, or
    with one record first.
    """

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@frozen_by_name
class EndpointHealth:
    """Whether checks get answers: `failures` of them in a row did not, the newest at `failed_at`."""

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    failed_at: datetime | None = None
    reason: str | None = None
    tried_again_at: datetime | None = None


HEALTHY = EndpointHealth()


class TableFormat(StrEnum):
    """The format of a table: a folder of Parquet files, or one with a log of Delta Lake or Iceberg that says
    which files count.

    `JDBC`, a table of a database, is in stored deployments only: it is shown, and not read.
    """

    PARQUET = "parquet"
    DELTA = "delta"
    ICEBERG = "iceberg"
    JDBC = "jdbc"


FILE_FORMATS = (TableFormat.PARQUET, TableFormat.DELTA, TableFormat.ICEBERG)

NOT_READ = (
    "is a table of a database, which Evenhand does not read: export it to Parquet, Delta or Iceberg files "
    "and change the deployment to their folder, or log the records by REST to another deployment"
)


@frozen_by_name
class PayloadColumns:
    """Columns of a payload table. `features` and `meta` map names of the schema to columns of other names.

    Windows are cut by `scored_at`. Without `model_revision`, all records are of the deployment's revision.
    """

    id: str = "id"
    scored_at: str = "scored_at"
    features: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    prediction: str = "prediction"
    probability: str | None = None
    label: str | None = None
    model_revision: str | None = None

    def map_columns(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self.features.get(name, self.meta.get(name, name)) for name in names}


@frozen_by_name
class FeedbackColumns:
    """Columns of a table of labels; `observed_at` is the time from which a label is known."""

    id: str = "id"
    observed_at: str = "observed_at"
    label: str = "label"


@frozen_by_name
class _Table:
    """Folder of files; `partition_by` is a column in their paths, as in `day=2026-07-01`."""

    location: str
    format: TableFormat = TableFormat.PARQUET
    partition_by: str | None = None
    source: str = "table"


@frozen_by_name
class PayloadTable(_Table):
    """Files with scoring records."""

    columns: PayloadColumns = PayloadColumns()

    @property
    def time(self) -> str:
        return self.columns.scored_at


@frozen_by_name
class FeedbackTable(_Table):
    columns: FeedbackColumns = FeedbackColumns()

    @property
    def time(self) -> str:
        return self.columns.observed_at


@frozen
class RecordTables:
    payload: PayloadTable | None = None
    feedback: FeedbackTable | None = None


class ProblemType(StrEnum):
    """The kind of a model's prediction."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"


class FieldType(StrEnum):
    """The JSON type of a column's values."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


class FieldKind(StrEnum):
    """The treatment of a column: as categories, or as a quantity with an order."""

    CATEGORICAL = "categorical"
    NUMERIC = "numeric"


class StorageKind(StrEnum):
    """The form in which a protected column is stored: keyed pseudonyms of its values, or the labels of
    their groups.
    """

    PSEUDONYM = "pseudonym"
    GROUPS = "groups"


@frozen_by_name
class ColumnGroup:
    """Values that are stored under one label."""

    label: str
    values: tuple[GroupValue, ...]


@frozen_by_name
class Storage:
    """Storage of a protected column: `sent` is the type that comes in, of `groups` the first one counts."""

    kind: StorageKind
    sent: FieldType = FieldType.STRING
    groups: tuple[ColumnGroup, ...] = ()


@frozen_by_name
class Column:
    """Column of a record. `type` and `kind` describe what is stored.

    With `storage`, values are stored as text, from which nobody can get them back.
    """

    name: str
    type: FieldType
    kind: FieldKind
    storage: Storage | None = None

    @property
    def sent(self) -> FieldType:
        return self.storage.sent if self.storage else self.type


def has_protected_columns(*sections: tuple[Column, ...]) -> bool:
    return any(column.storage for section in sections for column in section)


@frozen_by_name
class RecordSchema:
    """The columns of a deployment's records. `version` grows with every change; stored rows keep theirs."""

    version: int
    features: tuple[Column, ...]
    meta: tuple[Column, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.features, *self.meta)

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


@frozen_by_name
class OutputFields:
    """Columns of the model's answer. `label` is the decoded form of the prediction.

    `classes` are in the order of the probabilities: then `1.0` and `"1"` are the class 1. If prediction and
    probability are one column, the prediction is the likeliest class.
    """

    prediction: str = "prediction"
    probability: str | None = None
    label: str | None = None
    classes: tuple[Scalar, ...] | None = None

    @property
    def names(self) -> list[str]:
        return list(
            dict.fromkeys(
                name for name in (self.prediction, self.probability, self.label) if name is not None
            )
        )

    @property
    def has_only_probabilities(self) -> bool:
        return self.classes is not None and self.prediction == self.probability


class CredentialsKind(StrEnum):
    """The authentication that the model's endpoint expects.

    The last three exchange an API key for a token, as IBM Cloud, Cloud Pak for Data and IBM's multi-cloud
    platform do it.
    """

    BASIC = "basic"
    BEARER = "bearer"
    HEADER = "header"
    OAUTH_CLIENT = "oauth_client"
    IAM_KEY = "iam_key"
    CPD_KEY = "cpd_key"
    MCSP_KEY = "mcsp_key"

    @property
    def has_token_url(self) -> bool:
        return self not in (CredentialsKind.BASIC, CredentialsKind.BEARER, CredentialsKind.HEADER)


@frozen_by_name
class Credentials:
    """Credentials that Evenhand sends. `name` is the user (basic, cpd_key), the header's name (header) or the
    client's id (OAuth).

    `secret` never appears in a repr, log or answer. `token_url` gives access tokens for it; `scope` is an
    OAuth client's.
    """

    kind: CredentialsKind
    name: str = ""
    secret: str = field(repr=False)
    token_url: str = ""
    scope: str = ""


@frozen_by_name
class EndpointTls:
    """Certificates of calls by https as PEM; empty where there is none. `key` never appears in a repr, log or
    answer, and has no passphrase.

    `authority` is trusted in addition to the system's. `certificate` may be followed by those that signed it.
    """

    authority: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)


@frozen_by_name
class BodyMapping:
    """Places of records and answers in an endpoint's own JSON, as JSONPath.

    `records` and `answers` are places in the body, of many with `[*]`; `columns` and `outputs` places in a
    record and in an answer, by default the member of that name. `constants` are values at places in the body.
    """

    records: str = "$[*]"
    answers: str = "$[*]"
    columns: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Scalar] = field(default_factory=dict)


class EndpointSource(StrEnum):
    """The place of the model: a server that is called by HTTP, or an MLflow model that is loaded where
    copies are asked about.
    """

    HTTP = "http"
    MLFLOW = "mlflow"


@frozen_by_name
class Endpoint:
    """The endpoint of a model, and the limits on requests to it. The values of `headers` are secret, too.

    `payload_format` is a name of `app/payloads/registry.py`. An MLflow model has a `uri` and an empty `url`,
    and is loaded `concurrency` times.
    """

    url: str = ""
    source: EndpointSource = EndpointSource.HTTP
    uri: str = ""
    payload_format: str = "fields_values"
    mapping: BodyMapping | None = None
    credentials: Credentials | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: EndpointTls | None = None
    timeout_seconds: float = 30.0
    page_size: int = 1000
    concurrency: int = 4
    requests_per_second: float | None = None

    @property
    def is_loaded(self) -> bool:
        return self.source is EndpointSource.MLFLOW


@frozen_by_name
class ModelFacts:
    """Facts stated about a watched model, except for its columns.

    `owner` answers for it; `purpose` says which decisions it is used for. With `payload`, its records lie in
    files. `earliest` is the first possible day of a record, by default 1 January 20 years before now.
    """

    name: str
    problem_type: ProblemType
    outputs: OutputFields
    model_revision: str
    endpoint: Endpoint | None
    owner: str | None = None
    purpose: str | None = None
    payload: PayloadTable | None = None
    feedback: FeedbackTable | None = None
    earliest: date | None = None


@frozen_by_name
class Deployment(ModelFacts):
    """A watched model. `no` is the store's number, `id` the name in addresses, `health` the endpoint's."""

    no: int
    id: str
    schema: RecordSchema
    created_at: datetime
    updated_at: datetime
    health: EndpointHealth = HEALTHY


def is_pseudonym(value: object) -> bool:
    return isinstance(value, str) and PSEUDONYM.fullmatch(value) is not None


def build_sent_column(column: Column) -> Column:
    """Builds the column as its values are sent, before they are protected."""
    is_numeric = column.sent in (FieldType.INTEGER, FieldType.NUMBER)
    kind = FieldKind.NUMERIC if is_numeric else FieldKind.CATEGORICAL
    return Column(name=column.name, type=column.sent, kind=kind)


def find_stored_form_problem(value: GroupValue, column: Column) -> str | None:
    """Finds why a value cannot be one that the protected column stores."""
    storage = column.storage
    if storage is None:
        return None
    if storage.kind is StorageKind.PSEUDONYM:
        if is_pseudonym(value):
            return None
        # The value itself is not repeated: messages are logged.
        return (
            f"must be a pseudonym, because {column.name!r} is stored as pseudonyms; POST …/pseudonyms "
            "gives those of its values"
        )
    labels = [group.label for group in storage.groups]
    if value in labels:
        return None
    return (
        f"must be the label of a group, because {column.name!r} is stored as groups: {', '.join(labels):.200}"
    )
