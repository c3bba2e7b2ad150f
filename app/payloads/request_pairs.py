"""Requests logged with their answers: `{request, response, scoring_id?, scoring_timestamp?}`."""

from typing import Any

from ..base.errors import InvalidInput
from ..base.strict_json import JsonObject
from ..base.values import frozen_by_name
from .wire import RowList, name_kind


@frozen_by_name
class LoggedTable:
    """Position i of every list is the same record. Cells are as decoded, possibly None."""

    fields: tuple[str, ...]
    rows: RowList
    meta_fields: tuple[str, ...] = ()
    meta_rows: RowList | None = None
    predictions: list[Any]
    probabilities: list[Any] | None = None
    labels: list[Any] | None = None
    scoring_id: str | None = None
    scoring_timestamp: str | None = None

    def __len__(self) -> int:
        return len(self.rows)


def read_stated(pair: JsonObject, member: str) -> str | None:
    """Raises InvalidInput for anything but a text."""
    value = pair.get(member)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(member, f"must be text, found {name_kind(value)}")
    return value
