"""Months of a deployment's records that lie in files: their state, and the manifest next to the files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

MANIFEST: Final = "manifest.json"
"""Name of the file that says what the others hold. Written last: a folder without it holds no whole month."""

MANIFEST_FORMAT: Final = 1
"""Number of the form of the manifest; it grows with every change of a member."""

_MONTH = re.compile(r"(19[7-9]\d|[2-8]\d{3})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True, order=True)
class CalendarMonth:
    """A calendar month in UTC, half-open [start, end)."""

    year: int
    month: int

    @classmethod
    def read(cls, text: str) -> "CalendarMonth | None":
        """Returns the month that is written as 2026-03; None if it is none."""
        found = _MONTH.fullmatch(text)
        return None if found is None else cls(int(found[1]), int(found[2]))

    @classmethod
    def of(cls, moment: datetime) -> "CalendarMonth":
        """Returns the month in which an aware moment lies."""
        at = moment.astimezone(UTC)
        return cls(at.year, at.month)

    @property
    def start(self) -> datetime:
        """Returns the first moment."""
        return datetime(self.year, self.month, 1, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """Returns the first moment of the next month."""
        return datetime(self.year + self.month // 12, self.month % 12 + 1, 1, tzinfo=UTC)

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"


class ArchiveState(StrEnum):
    """State of a month: being stored (everything is still in the database), away in files, or back in the database."""

    STORING = "storing"
    STORED = "stored"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class MonthsInFiles:
    """Months of a deployment, such as 2026-03, whose records would be in an answer and lie in files; at least one, oldest first."""

    deployment_id: str
    months: Sequence[str]

    @property
    def message(self) -> str:
        """Returns one sentence that names the months and the command that brings one back."""
        return (
            f"Records of {self.deployment_id} of {', '.join(self.months)} lie in files and are not among these: on the machine of the"
            f" files, evenhand archives bring-back --month {self.months[0]} --deployment {self.deployment_id} brings a month back."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTable:
    """Rows of one table in one file.

    `sha256` is of the file. `digest` is of the rows as Postgres writes them, in any order: the same rows give it before they leave the
    database and after they have come back.
    """

    name: str
    columns: Sequence[str]
    rows: int
    digest: str
    sha256: str

    @property
    def file(self) -> str:
        """Returns the name of the file."""
        return f"{self.name}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthArchive:
    """One month of one deployment. `labels_from` and `labels_until` are the times at which the first and last label became usable."""

    deployment_no: int
    deployment_id: str
    month: CalendarMonth
    state: ArchiveState
    folder: str
    tables: Sequence[ArchivedTable]
    labels_from: datetime | None
    labels_until: datetime | None
    changed_at: datetime

    def count(self, table: str) -> int:
        """Returns the number of rows of that table."""
        return sum(one.rows for one in self.tables if one.name == table)


def manifest_of(deployment_id: str, month: CalendarMonth, tables: Sequence[ArchivedTable], *, schema_revision: str) -> dict[str, Any]:
    """Returns the manifest of a stored month as JSON values."""
    files = [{"file": one.file, **table_document(one)} for one in tables]
    return {
        "kind": "evenhand-archived-month",
        "format": MANIFEST_FORMAT,
        "deployment": deployment_id,
        "month": str(month),
        "schema_revision": schema_revision,
        "tables": files,
    }


def table_document(table: ArchivedTable) -> dict[str, Any]:
    """Returns the table as JSON values."""
    return asdict(table) | {"columns": list(table.columns)}


def read_table_document(document: Mapping[str, Any]) -> ArchivedTable:
    """Returns the table of that document."""
    return ArchivedTable(**{name: document[name] for name in ArchivedTable.__dataclass_fields__})
