"""Plain JSON records: arrays of objects or values."""

from typing import Any

from ..base.errors import InvalidInput
from .codec import read_objects
from .listed_answers import PREDICTIONS, Elements, ListedCodec, build_objects
from .wire import Names, Rows, Table, decode_answer, decode_request, is_by_column, name_kind, read_by_column


class RecordsCodec(ListedCodec):
    """Writes `[{column: value}]`; reads objects or values, bare or under `predictions`, or an object of
    columns.
    """

    label = "JSON records"
    shown_request = "[{…}]"

    def build_request(self, columns: Names, rows: Rows) -> object:
        return build_objects(columns, rows)

    build_answer = build_request

    def read_request(self, body: bytes, columns: Names) -> Table:  # noqa: ARG002 - the records name them
        records = decode_request(body)
        if is_by_column(records):
            return read_by_column(records, "body")
        if not isinstance(records, list):
            raise InvalidInput("body", f"must be an array of records, found {name_kind(records)}")
        return read_objects(records, "body")

    def read_elements(self, body: bytes) -> Elements:
        answer: Elements = decode_answer(body, list[Any] | dict[str, Any], expected="[{...}]")  # type: ignore[arg-type]
        is_whole = isinstance(answer, list) or (is_by_column(answer) and PREDICTIONS not in answer)
        return answer if is_whole else super().read_elements(body)
