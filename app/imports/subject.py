"""The deployment and the choices that an import reads files by, and the rows that it makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from msgspec import Struct

from ..domain.arrivals import LogKind
from ..domain.deployments import OutputFields, RecordSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """Names of the columns of a table that are not features; None means the usual names."""

    id: str | None = None
    time: str | None = None
    prediction: str | None = None
    probability: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSubject:
    """A deployment as an import sees it, and the choices of the person who imports.

    `at` is the time of records that state none; `zone` that of times without an offset, which are refused without it.
    """

    kind: LogKind
    schema: RecordSchema
    outputs: OutputFields
    columns: ColumnNames = field(default_factory=ColumnNames)
    at: datetime | None = None
    zone: tzinfo | None = None

    @property
    def feature_names(self) -> list[str]:
        """Returns the features in the order of the schema."""
        return [column.name for column in self.schema.features]


class ImportRow(Struct, frozen=True, kw_only=True):
    """One row of a file: a native record, or without a record the reason for which there is none.

    `line` is counted from 1, in text the number of the line, in Parquet that of the row. `fraction` is the share of the model's traffic
    that the row's log holds.
    """

    file: str
    line: int
    record: Mapping[str, Any] | None = None
    field: str = ""
    reason: str = ""
    fraction: float = 1.0


class RowRefused(Exception):
    """A row that is no record; `field` names its part, the message what was expected and found."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(reason)
        self.field = where
        self.reason = reason
