"""The records of one request after checking."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from ...base.values import MAX_TEXT, frozen_arrays
from ...domain.arrival import RecordSource
from ...domain.cells import (
    INT64_MAX,
    INT64_MIN,
    LEAST_SAMPLE_RATE,
    CellRefused,
    Check,
    Json,
    probability,
    sample_rate,
    scalar,
)
from ...domain.record import Rejection
from ...payloads.schema_parts import CELL, Schema, array_of

Cells = Sequence[Any]
"""In schema order; None where missing."""


class RecordRefused(Exception):
    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.field = where
        self.reason = reason

    def rejection(self, index: int) -> Rejection:
        return Rejection(index, self.field, self.reason)


class Checked(Struct, kw_only=True):
    """Position i of every list is the same record, `indexes[i]` its position in the request.

    An id of None is to be generated; a time of None is that of the receipt. Feedback without features is a
    label for the payload record of its id; its times are those of the labels, its predictions and
    probabilities the sender's, or None. `rounded` counts records whose probability became 0 or 1.
    """

    sent: int
    source: RecordSource = RecordSource.REST
    indexes: list[int] = []
    ids: list[str | None] = []
    times: list[datetime | None] = []
    features: list[Cells | None] = []
    meta: list[Cells | None] = []
    predictions: list[Any] = []
    probabilities: list[Any] = []
    labels: list[Any] = []
    rejections: list[Rejection] = []
    rounded: int = 0


class CheckedPayload(Checked, kw_only=True):
    """Times are those of scoring, labels the decoded forms of the predictions.

    `mitigated` is the result of mitigation, empty without it. `sample_rates` are the shares that were logged,
    None for 1. They may be empty where none was stated.
    """

    mitigated: list[Any] = []
    sample_rates: list[float | None] = []


Integer = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX)]
Text = Annotated[str, Meta(max_length=MAX_TEXT)]
ScalarCell = Integer | float | Text | bool
_Share = Annotated[float, Meta(ge=0, le=1)]
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}


@frozen_arrays
class PayloadColumn:
    """A column of payload records that a sender may state, and that is the same in every schema.

    `values` is its list in `CheckedPayload`, `kind` and `schema` its type in a body. Its cells are JSON,
    or plain text.
    """

    name: str
    values: str
    check: Check
    kind: Any
    schema: Schema
    is_text: bool = False


OPTIONAL_COLUMNS = (
    PayloadColumn(
        "probability",
        "probabilities",
        probability,
        _Share | list[_Share],
        {"anyOf": [_SHARE, array_of(_SHARE), {"type": "null"}]},
    ),
    PayloadColumn(
        "label",
        "labels",
        scalar,
        ScalarCell,
        CELL
        | {
            "description": "The decoded form of the prediction (`No Risk` for 0); not the ground-truth "
            "label, which is feedback."
        },
    ),
    PayloadColumn(
        "sample_rate",
        "sample_rates",
        sample_rate,
        Annotated[float, Meta(ge=LEAST_SAMPLE_RATE, le=1)],
        {
            "type": ["number", "null"],
            "minimum": LEAST_SAMPLE_RATE,
            "maximum": 1,
            "description": "The share of records that is logged where this one comes from: it represents "
            "1/sample_rate records, and is counted"
            " so in figures. Must not depend on the outcome. Without it 1.",
        },
    ),
)
OPTIONAL_SCHEMAS = {column.name: column.schema for column in OPTIONAL_COLUMNS}


def checked_cell(where: str, check: Check, value: Json) -> Json:
    """Value to store.

    Raises:
        RecordRefused: it does not pass the check.
    """
    try:
        return check(value)
    except CellRefused as error:
        raise RecordRefused(where, str(error)) from error
