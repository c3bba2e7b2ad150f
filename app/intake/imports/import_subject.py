"""The deployment and the choices that an import reads files by."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from msgspec import Struct

from ...base.frozen import frozen
from ...domain.arrival import LogKind
from ...domain.deployment import Endpoint, OutputFields, RecordSchema
from ...domain.record_times import TimeRule, TimeTally


@frozen(kw_only=True)
class ColumnNames:
    """Columns that are not features; None means the usual names."""

    id: str | None = None
    time: str | None = None
    prediction: str | None = None
    probability: str | None = None
    label: str | None = None


@frozen(kw_only=True)
class ImportSubject:
    """A deployment as an import sees it, and the importer's choices. `lists_texts`: the outcomes of its monitor are texts.

    `at` is the time of records without one. Times without an offset are refused, unless `times` has a zone. `tally` counts those read.
    Bodies are tried in the format of the `endpoint` first. With a `score_threshold`, a prediction between 0 and 1 is a score.
    """

    kind: LogKind
    schema: RecordSchema
    outputs: OutputFields
    lists_texts: bool = False
    columns: ColumnNames = field(default_factory=ColumnNames)
    times: TimeRule
    tally: TimeTally = field(default_factory=TimeTally)
    at: datetime | None = None
    endpoint: Endpoint | None = None
    score_threshold: float | None = None

    @property
    def feature_names(self) -> list[str]:
        return [column.name for column in self.schema.features]

    @property
    def time_name(self) -> str:
        """Member of a native record that holds its time."""
        return "labelled_at" if self.kind is LogKind.FEEDBACK else "scored_at"


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


class RowRefused(Exception):
    def __init__(self, where: str, reason: str) -> None:
        super().__init__(reason)
        self.field = where
        self.reason = reason

    def row_at(self, file: str, line: int) -> ImportRow:
        return ImportRow(file=file, line=line, field=self.field, reason=self.reason)
