"""Tables of files of a batch deployment as bodies."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ..domain.deployment import FILE_FORMATS, TableFormat
from ..web.body import In, Out, example

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
