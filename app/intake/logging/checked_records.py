"""The records of one request after checking."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct

from ...domain.arrival import RecordSource
from ...domain.cells import CellRefused, Check, Json
from ...domain.record import Rejection

Cells: TypeAlias = Sequence[Any]
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
    None for 1, and empty where none was stated.
    """

    mitigated: list[Any] = []
    sample_rates: list[float | None] = []


def checked_cell(where: str, check: Check, value: Json) -> Json:
    """Value to store.

    Raises:
        RecordRefused: it does not pass the check.
    """
    try:
        return check(value)
    except CellRefused as error:
        raise RecordRefused(where, str(error)) from error
