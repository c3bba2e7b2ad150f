"""Checks the records of a request one by one or by column, and encodes them as lines of COPY. Too large ones
are found and rejected.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

import msgspec

from ...base.clock import floor_to_hour, floor_to_minute
from ...base.strict_json import JsonObject
from ...base.values import printable
from ...domain.deployment import Column
from ...domain.record import (
    CellRefused,
    Json,
    Rejection,
    ValueReader,
    read_moment,
    read_probability,
    read_record_id,
)
from ...sources.stored.window_queries import is_counted
from ..writing.write_batches import Batch, PayloadBatch
from ..writing.writer import FEEDBACK_COLUMNS, KEY_COLUMNS, RECORD_COLUMNS
from .ingest_plan import (
    MAX_RECORD_BYTES,
    OPTIONAL_COLUMNS,
    Cells,
    CheckedPayload,
    CheckedRecords,
    Columns,
    IngestPlan,
    RecordRefused,
    StatedTimes,
    check_cell,
)

_PAYLOAD_MEMBERS = frozenset(
    {"id", "scored_at", "features", "meta", "prediction", *(column.name for column in OPTIONAL_COLUMNS)}
)
STATED_PREDICTION = ("prediction", "_original_prediction")
STATED_PROBABILITY = ("probability", "_original_probability")

_FEEDBACK_MEMBERS = frozenset(
    {"id", "features", "meta", "label", "labelled_at", *STATED_PREDICTION, *STATED_PROBABILITY}
)


def check_payload(records: Sequence[Any], plan: IngestPlan, moments: StatedTimes) -> CheckedPayload:
    def read(record: Json) -> JsonObject:
        members = read_members(record, _PAYLOAD_MEMBERS)
        values = {
            "ids": read_optional("id", read_record_id, members),
            "times": check_moment("scored_at", members.get("scored_at"), moments),
        }
        if "features" not in members:
            raise RecordRefused("features", "is missing")
        values |= {
            "features": plan.features.cells(members["features"]),
            "meta": read_optional("meta", plan.meta.cells, members),
            "predictions": check_label("prediction", members.get("prediction"), plan),
            **{
                column.values: read_optional(column.name, column.check, members)
                for column in OPTIONAL_COLUMNS
            },
        }
        return values | {"rounded": values["probabilities"] != members.get("probability")}

    checked = CheckedPayload(sent=len(records))
    _add_records(checked, records, read)
    return checked


def check_feedback(
    records: Sequence[Any], plan: IngestPlan, moments: StatedTimes, *, label_field: str = "label"
) -> CheckedRecords:
    """A record that could not be read is a RecordRefused.

    `label_field` is the sender's name of the label.
    """

    def read(record: Json) -> JsonObject:
        if isinstance(record, RecordRefused):
            raise record
        members = read_members(record, _FEEDBACK_MEMBERS)
        values = {
            "labels": check_label(label_field, members.get("label"), plan),
            "ids": read_optional("id", read_record_id, members),
            "times": check_moment("labelled_at", members.get("labelled_at"), moments),
            "features": read_optional("features", plan.features.cells, members),
        }
        if values["features"] is None and values["ids"] is None:
            raise RecordRefused(
                "features", "is missing; a label needs the features, or the id of a logged payload record"
            )
        values["meta"] = read_optional("meta", plan.meta.cells, members)
        values["predictions"] = _read_first_stated(STATED_PREDICTION, plan.prediction, members)
        stated = _read_first_stated(STATED_PROBABILITY, read_probability, members)
        # A probability alone says nothing: the model is asked then.
        values["probabilities"] = None if values["predictions"] is None else stated
        return values | {"rounded": stated not in [members.get(name) for name in STATED_PROBABILITY]}

    checked = CheckedRecords(sent=len(records))
    _add_records(checked, records, read)
    return checked


def _add_records(checked: CheckedRecords, records: Sequence[Any], read: Callable[[Json], JsonObject]) -> None:
    for index, record in enumerate(records):
        try:
            values = read(record)
        except RecordRefused as refused:
            checked.rejections.append(refused.rejection(index))
            continue
        # Last: a refused record must not leave a value in any of the lists.
        checked.indexes.append(index)
        checked.rounded += values.pop("rounded")
        for name, value in values.items():
            getattr(checked, name).append(value)


def check_moment(where: str, value: Json, moments: StatedTimes) -> datetime | None:
    """None without a time. Raises RecordRefused for an implausible time, and for a historical record without
    one.
    """
    if value is not None:
        checked: datetime = check_cell(where, lambda text: read_moment(text, moments.rule), value)
        return checked
    if moments.historical:
        raise RecordRefused(where, "is missing; historical records lie in the hour it says")
    return None


def check_label(where: str, value: Json, plan: IngestPlan) -> Json:
    """Raises RecordRefused if it is missing, or not of the model's kind."""
    if value is None:
        raise RecordRefused(where, "is missing")
    return check_cell(where, plan.prediction, value)


def read_members(record: Json, members: frozenset[str]) -> JsonObject:
    """Raises RecordRefused for anything but an object, and for an unknown member."""
    if not isinstance(record, dict):
        raise RecordRefused("record", "must be an object")
    unknown = [name for name in record if name not in members]
    if unknown:
        raise RecordRefused(
            printable(unknown[0]), f"is not a member of a record; it may have {', '.join(sorted(members))}"
        )
    return record


def _read_first_stated(names: Sequence[str], check: ValueReader, record: JsonObject) -> Json:
    for name in names:
        value = read_optional(name, check, record)
        if value is not None:
            return value
    return None


def read_optional(name: str, check: ValueReader, record: JsonObject) -> Json:
    """None if it is missing or null. Raises RecordRefused."""
    value = record.get(name)
    return None if value is None else check_cell(name, check, value)


@dataclass(slots=True)
class Refusals:
    """Field and reason of each refused record, by its position; the first one counts."""

    by_position: dict[int, tuple[str, str]] = field(default_factory=dict)

    def add(self, position: int, where: str, reason: str) -> None:
        self.by_position.setdefault(position, (where, reason))

    def add_all(self, rows: int, where: str, reason: str) -> None:
        for position in range(rows):
            self.add(position, where, reason)


def pick_columns(rows: list[list[Any]], names: Sequence[str], columns: Sequence[Column]) -> list[list[Any]]:
    """Returns the cells of `columns` in their order [records, columns]; None where a column is missing."""
    if list(names) == [column.name for column in columns]:
        return rows
    position_by_name = {name: position for position, name in enumerate(names)}
    positions = [position_by_name.get(column.name) for column in columns]
    return [[None if position is None else row[position] for position in positions] for row in rows]


def check_rows(
    rows: list[list[Any]], columns: Sequence[Column], checks: Sequence[ValueReader], refusals: Refusals
) -> None:
    """Checks cells [records, columns] in place; a check may replace a value by its stored form (3.0 by 3)."""
    for position, (column, check) in enumerate(zip(columns, checks, strict=True)):
        cells = check_values([row[position] for row in rows], check, column.name, refusals)
        for row, cell in zip(rows, cells, strict=True):
            row[position] = cell


def check_values(values: list[Any], check: ValueReader, where: str, refusals: Refusals) -> list[Any]:
    checked = list(values)
    for index, value in enumerate(values):
        if value is not None:
            try:
                checked[index] = check(value)
            except CellRefused as error:
                refusals.add(index, where, str(error))
    return checked


def check_objects(objects: Sequence[Json], columns: Columns, refusals: Refusals) -> list[Cells]:
    checked = []
    for position, row in enumerate(objects):
        try:
            checked.append(columns.cells(row))
        except RecordRefused as refused:
            refusals.add(position, refused.field, refused.reason)
            checked.append([])
    return checked


NULL = "\\N"
"""SQL's NULL in a line of COPY."""

_ENCODER = msgspec.json.Encoder()
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def escape_text(text: str) -> str:
    return text.translate(_ESCAPES)


def encode_json_lines(values: Sequence[Any]) -> list[str]:
    """Encodes each value as a line of JSON for COPY. None becomes JSON's null, not SQL's."""
    return _ENCODER.encode_lines(values).decode().replace("\\", "\\\\").split("\n")[:-1]


def encode_payload(
    checked: CheckedPayload,
    plan: IngestPlan,
    moments: StatedTimes,
    ids: Sequence[str],
    numbers: Sequence[int],
) -> PayloadBatch:
    """`ids` and `numbers` (ascending) have one per record; the time of the receipt replaces absent times."""
    target = plan.target
    no = target.no
    times = _write_moments(checked.times, moments.now)
    cells = {
        "deployment_no": repeat(str(no)),
        "record_no": list(map(str, numbers)),
        "record_id": list(map(escape_text, ids)),
        "schema_version": repeat(str(target.schema.version)),
        "model_revision": repeat(escape_text(target.model_revision)),
        "scored_at": times,
        "features": encode_json_lines(checked.features),
        "meta": _write_optional(checked.meta),
        "prediction": encode_json_lines(checked.predictions),
        "mitigated": _write_optional(checked.mitigated),
        "logged_at": times,
    }
    for column in OPTIONAL_COLUMNS:
        cells[column.name] = _write_optional(getattr(checked, column.values), is_text=column.is_text)

    stated = checked.times if moments.historical else []
    minutes = Counter(floor_to_minute(time or moments.now) for time in stated)
    return PayloadBatch(
        deployment_no=no,
        row_version=target.row_version,
        numbers=numbers,
        keys=_join_cells(cells, KEY_COLUMNS, moments),
        lines=_join_cells(cells, RECORD_COLUMNS, moments),
        scored_at_sent=[time is not None and not moments.first_counts for time in checked.times],
        historical=moments.historical,
        # Their hours may have been counted already.
        hours=sorted({floor_to_hour(time or moments.now) for time in stated}),
        minutes={minute: records for minute, records in minutes.items() if is_counted(minute, moments.now)},
        source=checked.source,
    )


def encode_feedback(
    checked: CheckedRecords,
    plan: IngestPlan,
    moments: StatedTimes,
    ids: Sequence[str],
    numbers: Sequence[int],
) -> Batch:
    target = plan.target
    revision = escape_text(target.model_revision)
    cells = {
        "deployment_no": repeat(str(target.no)),
        "feedback_no": map(str, numbers),
        "feedback_id": map(escape_text, ids),
        "schema_version": repeat(str(target.schema.version)),
        "features": _write_optional(checked.features),
        "meta": _write_optional(checked.meta),
        "label": encode_json_lines(checked.labels),
        "predicted": _write_optional(checked.predictions),
        "predicted_probability": _write_optional(checked.probabilities),
        "predicted_revision": [NULL if value is None else revision for value in checked.predictions],
        "logged_at": _write_moments(checked.times, moments.now),
    }
    return Batch(
        deployment_no=target.no,
        row_version=target.row_version,
        numbers=numbers,
        lines=_join_cells(cells, FEEDBACK_COLUMNS, moments),
        historical=moments.historical,
        source=checked.source,
    )


def _join_cells(cells: dict[str, Iterable[str]], columns: Sequence[str], moments: StatedTimes) -> bytes:
    names = (*columns, "logged_at") if moments.historical else columns
    # A repeated cell has no end.
    lines = zip(*(cells[name] for name in names), strict=False)
    return "".join([f"{line}\n" for line in map("\t".join, lines)]).encode()


def _write_optional(values: Sequence[Any], *, is_text: bool = False) -> Iterable[str]:
    """Encodes values, None as SQL's NULL: no other value is the bare word null in JSON. Endless if all are
    None.
    """
    if values.count(None) == len(values):
        return repeat(NULL)
    if is_text:
        return [NULL if value is None else escape_text(value) for value in values]
    return [NULL if cell == "null" else cell for cell in encode_json_lines(values)]


def _write_moments(times: list[datetime | None], now: datetime) -> list[str]:
    default = now.astimezone(UTC).isoformat()
    return [default if cell == "null" else cell[1:-1] for cell in encode_json_lines(times)]


_RECORD_LISTS = ("ids", "features", "meta", "predictions", "probabilities", "labels")
"""Lists of `CheckedRecords` whose values count for the size of a record."""

_POSITION_LISTS = {
    "indexes",
    "times",
    "mitigated",
    *_RECORD_LISTS,
    *(column.values for column in OPTIONAL_COLUMNS),
}


def describe_excess(size: int) -> str | None:
    if size <= MAX_RECORD_BYTES:
        return None
    return (
        f"has {size:,} bytes as JSON without the columns' names; a record may have at most "
        f"{MAX_RECORD_BYTES:,}"
    )


def measure_size(*values: object) -> int:
    return len(_ENCODER.encode(values))


def find_too_large(checked: CheckedRecords, lines: bytes) -> Mapping[int, str]:
    """Problems of the records that are too large, by position."""
    # A line holds a record's JSON and more: a short one needs no second look.
    long_lines = [
        position for position, line in enumerate(lines.split(b"\n")) if len(line) > MAX_RECORD_BYTES
    ]
    columns = [getattr(checked, name) for name in _RECORD_LISTS]
    problems = {
        position: describe_excess(measure_size(*(column[position] for column in columns)))
        for position in long_lines
    }
    return {position: problem for position, problem in problems.items() if problem is not None}


def reject_records(checked: CheckedRecords, problems: Mapping[int, str], *, field: str = "record") -> None:
    checked.rejections += [
        Rejection(checked.indexes[position], field, problem) for position, problem in problems.items()
    ]
    checked.rejections.sort(key=lambda rejection: rejection.index)
    for name in _POSITION_LISTS:
        values = getattr(checked, name, None)
        if values:
            setattr(
                checked, name, [value for position, value in enumerate(values) if position not in problems]
            )
