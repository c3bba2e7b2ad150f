"""The deployment and the choices that an import reads files by."""

from dataclasses import field
from datetime import datetime
from typing import Any

from ...base.frozen import frozen_by_name
from ...domain.arrival import LogKind
from ...domain.deployment import Endpoint, OutputFields, RecordSchema
from ...domain.record_times import Impossible, TimeRule, TimeTally
from .input_file import InputFile, RowRefused, quoted


@frozen_by_name
class ColumnNames:
    """Columns that are not features; None means the usual names."""

    id: str | None = None
    time: str | None = None
    prediction: str | None = None
    probability: str | None = None
    label: str | None = None


@frozen_by_name
class ImportSubject:
    """A deployment as an import sees it, and the importer's choices. `lists_texts`: the outcomes of its
    monitor are texts.

    `default_time` is that of records without one. Times without an offset are refused, unless `times` has a
    zone. `tally` counts those read. Bodies are tried in the format of the `endpoint` first. With a
    `score_threshold`, a prediction between 0 and 1 is a score.
    """

    kind: LogKind
    schema: RecordSchema
    outputs: OutputFields
    lists_texts: bool = False
    columns: ColumnNames = field(default_factory=ColumnNames)
    times: TimeRule
    tally: TimeTally = field(default_factory=TimeTally)
    default_time: datetime | None = None
    endpoint: Endpoint | None = None
    score_threshold: float | None = None

    @property
    def feature_names(self) -> list[str]:
        return [column.name for column in self.schema.features]

    @property
    def time_name(self) -> str:
        """Member of a native record that holds its time."""
        return "labelled_at" if self.kind is LogKind.FEEDBACK else "scored_at"


def read_time(value: Any, where: str, file: InputFile, subject: ImportSubject) -> str | None:  # noqa: ANN401 - any cell
    """Returns a stated time as ISO 8601 in UTC; of an empty cell the given time, else the hour of the
    file's path.
    """
    usual = subject.default_time or file.hour_of_path
    if value in (None, "") and usual is not None:
        return usual.isoformat()
    # Columns of whole numbers become floats where one is missing.
    text = (
        "" if value is None else str(int(value) if isinstance(value, float) and value.is_integer() else value)
    )
    reading = subject.times.read(text)
    is_day = reading.is_date and subject.times.form is None
    reason = Impossible.NO_HOUR if is_day else reading.reason
    subject.tally.add(reason, text)
    if reason is Impossible.NO_TIME:
        return None
    if reason is not None:
        raise RowRefused(
            where,
            f"must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found {quoted(value)}, {reason}",
        )
    if not reading.is_placed:
        raise RowRefused(
            where,
            f"must state its offset from UTC, found {quoted(value)}; or import with the offset of such times",
        )
    return reading.at.isoformat()
