"""Checks native records one by one, and tables cell by cell; gives the reason for each refusal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ...base.strict_json import JsonObject
from ...base.values import printable
from ...domain.cells import CellRefused, Check, Json, moment, probability, record_id
from ...domain.deployment import Column
from .ingest_plan import (
    OPTIONAL_COLUMNS,
    Cells,
    Checked,
    CheckedPayload,
    Columns,
    IngestPlan,
    RecordRefused,
    StatedTimes,
    checked_cell,
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
            "ids": read_optional("id", record_id, members),
            "times": stated_moment("scored_at", members.get("scored_at"), moments),
        }
        if "features" not in members:
            raise RecordRefused("features", "is missing")
        values |= {
            "features": plan.features.cells(members["features"]),
            "meta": read_optional("meta", plan.meta.cells, members),
            "predictions": checked_label("prediction", members.get("prediction"), plan),
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
) -> Checked:
    """`label_field` is the sender's name of the label; a record that could not be read is a RecordRefused."""

    def read(record: Json) -> JsonObject:
        if isinstance(record, RecordRefused):
            raise record
        members = read_members(record, _FEEDBACK_MEMBERS)
        values = {
            "labels": checked_label(label_field, members.get("label"), plan),
            "ids": read_optional("id", record_id, members),
            "times": stated_moment("labelled_at", members.get("labelled_at"), moments),
            "features": read_optional("features", plan.features.cells, members),
        }
        if values["features"] is None and values["ids"] is None:
            raise RecordRefused(
                "features", "is missing; a label needs the features, or the id of a logged payload record"
            )
        values["meta"] = read_optional("meta", plan.meta.cells, members)
        values["predictions"] = _read_first_stated(STATED_PREDICTION, plan.prediction, members)
        stated = _read_first_stated(STATED_PROBABILITY, probability, members)
        # A probability alone says nothing: the model is asked then.
        values["probabilities"] = None if values["predictions"] is None else stated
        return values | {"rounded": stated not in [members.get(name) for name in STATED_PROBABILITY]}

    checked = Checked(sent=len(records))
    _add_records(checked, records, read)
    return checked


def _add_records(checked: Checked, records: Sequence[Any], read: Callable[[Json], JsonObject]) -> None:
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


def stated_moment(where: str, value: Json, moments: StatedTimes) -> datetime | None:
    """None if it states none. Raises RecordRefused of an implausible one, and of a historical
    record's none.
    """
    if value is not None:
        checked: datetime = checked_cell(where, lambda text: moment(text, moments.rule), value)
        return checked
    if moments.historical:
        raise RecordRefused(where, "is missing; historical records lie in the hour it says")
    return None


def checked_label(where: str, value: Json, plan: IngestPlan) -> Json:
    """Raises RecordRefused if the value is missing, or not of the model's kind."""
    if value is None:
        raise RecordRefused(where, "is missing")
    return checked_cell(where, plan.prediction, value)


def read_members(record: Json, members: frozenset[str]) -> JsonObject:
    """Raises RecordRefused of no object, or an unknown member."""
    if not isinstance(record, dict):
        raise RecordRefused("record", "must be an object")
    unknown = [name for name in record if name not in members]
    if unknown:
        raise RecordRefused(
            printable(unknown[0]), f"is not a member of a record; it may have {', '.join(sorted(members))}"
        )
    return record


def _read_first_stated(names: Sequence[str], check: Check, record: JsonObject) -> Json:
    return next((cell for name in names if (cell := read_optional(name, check, record)) is not None), None)


def read_optional(name: str, check: Check, record: JsonObject) -> Json:
    """None where it is missing or null. Raises RecordRefused."""
    value = record.get(name)
    return None if value is None else checked_cell(name, check, value)


@dataclass(slots=True)
class Refusals:
    found: dict[int, tuple[str, str]] = field(default_factory=dict)

    def add(self, position: int, where: str, reason: str) -> None:
        self.found.setdefault(position, (where, reason))

    def add_all(self, rows: int, where: str, reason: str) -> None:
        for position in range(rows):
            self.add(position, where, reason)


def pick_columns(rows: list[list[Any]], names: Sequence[str], columns: Sequence[Column]) -> list[list[Any]]:
    """None is for a column that is not there."""
    if list(names) == [column.name for column in columns]:
        return rows
    at = {name: position for position, name in enumerate(names)}
    positions = [at.get(column.name) for column in columns]
    return [[None if position is None else row[position] for position in positions] for row in rows]


def check_rows(
    rows: list[list[Any]],
    columns: Sequence[Column],
    checks: Sequence[Check],
    refusals: Refusals,
    *,
    prefix: str = "",
) -> None:
    """Replaces values that are stored in another form (3.0 as 3)."""
    for position, (column, check) in enumerate(zip(columns, checks, strict=True)):
        cells = check_values([row[position] for row in rows], check, f"{prefix}{column.name}", refusals)
        for row, cell in zip(rows, cells, strict=True):
            row[position] = cell


def check_values(values: list[Any], check: Check, where: str, refusals: Refusals) -> list[Any]:
    checked = list(values)
    for index, value in enumerate(values):
        if value is not None:
            try:
                checked[index] = check(value)
            except CellRefused as error:
                refusals.add(index, where, str(error))
    return checked


def check_objects(objects: Sequence[Json], columns: Columns, refusals: Refusals) -> list[Cells]:
    names = [column.name for column in columns.columns]
    if all(
        isinstance(row, dict) and len(row) == len(names) and columns.names.issuperset(row) for row in objects
    ):
        rows = [[row[name] for name in names] for row in objects]
        check_rows(rows, columns.columns, columns.checks, refusals, prefix=f"{columns.kind}.")
        return list(rows)
    checked = []
    for position, row in enumerate(objects):
        try:
            checked.append(columns.cells(row))
        except RecordRefused as refused:
            refusals.add(position, refused.field, refused.reason)
            checked.append([])
    return checked
