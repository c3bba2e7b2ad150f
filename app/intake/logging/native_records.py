"""Checks native records one by one and gives the reason for each refusal."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from ...base.strict_json import JsonObject
from ...base.values import printable
from ...domain.cells import Check, Json, moment, probability, record_id
from .checked_records import (
    OPTIONAL_COLUMNS,
    Checked,
    CheckedPayload,
    RecordRefused,
    checked_cell,
)
from .ingest_plan import IngestPlan, StatedTimes

_PAYLOAD_MEMBERS = frozenset(
    {"id", "scored_at", "features", "meta", "prediction", *(column.name for column in OPTIONAL_COLUMNS)}
)
STATED_PREDICTION = ("prediction", "_original_prediction")
STATED_PROBABILITY = ("probability", "_original_probability")
"""Under our name and OpenScale's."""

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
    """Adds the values that `read` gives to the lists that are called as they are."""
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
    """Time that a record states, or None.

    Raises:
        RecordRefused: it is missing though the record is historical, or is not plausible.
    """
    if value is not None:
        checked: datetime = checked_cell(where, lambda text: moment(text, moments.rule), value)
        return checked
    if moments.historical:
        raise RecordRefused(where, "is missing; historical records lie in the hour it says")
    return None


def checked_label(where: str, value: Json, plan: IngestPlan) -> Json:
    """An observed label, or a prediction.

    Raises:
        RecordRefused: it is missing, or not of the model's kind.
    """
    if value is None:
        raise RecordRefused(where, "is missing")
    return checked_cell(where, plan.prediction, value)


def read_members(record: Json, members: frozenset[str]) -> JsonObject:
    """Members of a record.

    Raises:
        RecordRefused: it is not an object, or has an unknown member.
    """
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
    """A member as it is stored; None where it is missing or null.

    Raises:
        RecordRefused: it does not pass the check.
    """
    value = record.get(name)
    return None if value is None else checked_cell(name, check, value)
