"""One row that an import reads, or why there is none."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ...base.values import printable
from ..logging.checked_records import RecordRefused

MAX_QUOTED = 60
"""Max characters of a value in a reason."""


class ImportRow(Struct, frozen=True, kw_only=True):
    """One row: a native record, or the reason for none.

    `line`: of the text, or Parquet's row, from 1. `fraction`: share of the traffic that the log holds.
    """

    file: str
    line: int
    record: Mapping[str, Any] | None = None
    field: str = ""
    reason: str = ""
    fraction: float = 1.0


class RowRefused(RecordRefused):
    def row_at(self, file: str, line: int) -> ImportRow:
        return ImportRow(file=file, line=line, field=self.field, reason=self.reason)


def quoted(value: object) -> str:
    text = printable(str(value))
    return f"'{text}'" if len(text) <= MAX_QUOTED else f"'{text[:MAX_QUOTED]}…'"
