"""The records of one request after checking: the good ones column by column, ready to be encoded, and why the others are not among them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from app.domain.records import Rejection
from app.ingest.cells import CellRefused, Check, Json

Cells: TypeAlias = Sequence[Any]
"""The values of one record's features or meta fields, in schema order; None where missing."""


class RecordRefused(Exception):
    """A record that cannot be stored, and its first offending field."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.field = where
        self.reason = reason

    def rejection(self, index: int) -> Rejection:
        """The entry of the receipt."""
        return Rejection(index, self.field, self.reason)


@dataclass(slots=True, kw_only=True)
class Checked:
    """Checked records; position i of every list is the same record, `indexes[i]` its position in the request.

    An id of None is to be generated; a time of None is that of the receipt. Feedback without features is a label for the
    payload record of its id.
    """

    sent: int
    indexes: list[int] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    times: list[datetime | None] = field(default_factory=list)
    features: list[Cells | None] = field(default_factory=list)
    meta: list[Cells | None] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class CheckedFeedback(Checked):
    """Feedback records; times are those of the labels."""


@dataclass(slots=True, kw_only=True)
class CheckedPayload(Checked):
    """Payload records; times are those of scoring, labels the decoded forms of the predictions."""

    predictions: list[Any] = field(default_factory=list)
    probabilities: list[Any] = field(default_factory=list)


def checked_cell(where: str, check: Check, value: Json) -> Json:
    """The value to store.

    Raises:
        RecordRefused: it does not pass the check.
    """
    try:
        return check(value)
    except CellRefused as error:
        raise RecordRefused(where, str(error)) from error
