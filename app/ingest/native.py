"""The exact way through native records: one by one, with the reason for each that is refused."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from app.ingest.cells import Check, Json, moment, printable, probability, record_id, scalar
from app.ingest.checked import CheckedFeedback, CheckedPayload, RecordRefused, checked_cell
from app.ingest.limits import Moments
from app.ingest.plan import Plan

_PAYLOAD_MEMBERS = frozenset({"id", "scored_at", "features", "meta", "prediction", "probability", "label"})
_FEEDBACK_MEMBERS = frozenset({"id", "features", "meta", "label", "labelled_at"})


def check_payload(records: Sequence[Any], plan: Plan, moments: Moments) -> CheckedPayload:
    """The records of a decoded body, each checked by the schema."""
    checked = CheckedPayload(sent=len(records))
    for index, record in enumerate(records):
        try:
            _add_payload(checked, index, _members(record, _PAYLOAD_MEMBERS), plan, moments)
        except RecordRefused as refused:
            checked.rejections.append(refused.rejection(index))
    return checked


def check_feedback(records: Sequence[Any], plan: Plan, moments: Moments, *, label_field: str = "label") -> CheckedFeedback:
    """The same for feedback; `label_field` is what the sender calls the label.

    A RecordRefused in place of a record is one that could not even be read.
    """
    checked = CheckedFeedback(sent=len(records))
    for index, record in enumerate(records):
        try:
            if isinstance(record, RecordRefused):
                raise record
            label = checked_label(label_field, _members(record, _FEEDBACK_MEMBERS).get("label"), plan)
            _add_feedback(checked, index, record, label, plan, moments)
        except RecordRefused as refused:
            checked.rejections.append(refused.rejection(index))
    return checked


def stated_moment(where: str, value: Json, moments: Moments) -> datetime | None:
    """A time that a record may state, and a historical one must.

    Raises:
        RecordRefused: it is missing though the record is historical, or is not believable.
    """
    if value is not None:
        found: datetime = checked_cell(where, lambda text: moment(text, moments), value)
        return found
    if moments.historical:
        raise RecordRefused(where, "is missing; historical records lie in the hour it says")
    return None


def checked_label(where: str, value: Json, plan: Plan) -> Json:
    """An observed label.

    Raises:
        RecordRefused: it is missing, or not of the kind that the model predicts.
    """
    if value is None:
        raise RecordRefused(where, "is missing")
    return checked_cell(where, plan.prediction, value)


def _members(record: Json, known: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise RecordRefused("record", "must be an object")
    unknown = [name for name in record if name not in known]
    if unknown:
        raise RecordRefused(printable(unknown[0]), f"is not a member of a record; it may have {', '.join(sorted(known))}")
    return record


def _add_payload(checked: CheckedPayload, index: int, record: Mapping[str, Any], plan: Plan, moments: Moments) -> None:
    found_id = _optional("id", record_id, record)
    scored_at = stated_moment("scored_at", record.get("scored_at"), moments)
    if "features" not in record:
        raise RecordRefused("features", "is missing")
    features = plan.features.cells(record["features"])
    meta = None if record.get("meta") is None else plan.meta.cells(record["meta"])
    if record.get("prediction") is None:
        raise RecordRefused("prediction", "is missing")
    prediction = checked_cell("prediction", plan.prediction, record["prediction"])
    found_probability = _optional("probability", probability, record)
    checked.labels.append(_optional("label", scalar, record))
    checked.indexes.append(index)
    checked.ids.append(found_id)
    checked.times.append(scored_at)
    checked.features.append(features)
    checked.meta.append(meta)
    checked.predictions.append(prediction)
    checked.probabilities.append(found_probability)


def _add_feedback(checked: CheckedFeedback, index: int, record: Mapping[str, Any], label: Json, plan: Plan, moments: Moments) -> None:
    found_id = _optional("id", record_id, record)
    labelled_at = stated_moment("labelled_at", record.get("labelled_at"), moments)
    features = None if record.get("features") is None else plan.features.cells(record["features"])
    if features is None and found_id is None:
        raise RecordRefused("features", "is missing; a label needs the features, or the id of a logged payload record")
    meta = None if record.get("meta") is None else plan.meta.cells(record["meta"])
    checked.labels.append(label)
    checked.indexes.append(index)
    checked.ids.append(found_id)
    checked.times.append(labelled_at)
    checked.features.append(features)
    checked.meta.append(meta)


def _optional(name: str, check: Check, record: Mapping[str, Any]) -> Json:
    value = record.get(name)
    return None if value is None else checked_cell(name, check, value)
