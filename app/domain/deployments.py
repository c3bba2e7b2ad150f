"""A deployment: the watched model, the shape of its records, and where it can be asked again."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ProblemType(StrEnum):
    """What the model predicts."""

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
    """How a column is treated: as categories, or as a quantity with an order."""

    CATEGORICAL = "categorical"
    NUMERIC = "numeric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of the records: a feature, or a meta field."""

    name: str
    type: FieldType
    kind: FieldKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSchema:
    """The columns of a deployment's records. `version` grows with every change; stored rows keep theirs."""

    version: int
    features: tuple[Column, ...]
    meta: tuple[Column, ...] = ()

    def column(self, name: str) -> Column | None:
        """The feature or meta field of that name, if there is one."""
        return next((column for column in (*self.features, *self.meta) if column.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFields:
    """The names under which the model's answer carries its columns. `label` is the decoded form of the prediction."""

    prediction: str = "prediction"
    probability: str | None = None
    label: str | None = None


class PayloadFormat(StrEnum):
    """The wire format of the model's endpoint."""

    FIELDS_VALUES = "fields_values"
    MLFLOW = "mlflow"


class CredentialsKind(StrEnum):
    """How the model's endpoint wants to be authenticated to."""

    BASIC = "basic"
    BEARER = "bearer"
    HEADER = "header"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """`name` is the user (basic) or the header's name (header); `secret` never appears in a repr, log or answer."""

    kind: CredentialsKind
    name: str = ""
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model is asked to score rows, and how gently."""

    url: str
    payload_format: PayloadFormat = PayloadFormat.FIELDS_VALUES
    credentials: Credentials | None = None
    timeout_seconds: float = 30.0
    page_size: int = 1000
    concurrency: int = 4
    requests_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A watched model. `no` is the store's number, `id` the public name in addresses."""

    no: int
    id: str
    name: str
    problem_type: ProblemType
    schema: RecordSchema
    outputs: OutputFields
    model_revision: str
    endpoint: Endpoint | None
    created_at: datetime
    updated_at: datetime
