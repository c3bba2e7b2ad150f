"""Debiased answers in the form in which the records came."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from ...frozen import frozen
from ...payloads.answers import Answer
from ...payloads.codec import JSON, Codec
from ...payloads.forms import Form
from ...payloads.wire import decode_answer
from ...store.writing import WriteOutcome
from .debiasing import Debiased
from .plan import ActivePlan
from .requests import Asked

PREDICTION, PROBABILITY, LABEL = "debiased_prediction", "debiased_probability", "debiased_decoded_target"
CHANGED, CHANGED_BY, DEBIASING = "changed", "changed_by", "debiasing"
RECORD_ID = "record_id"

FACTS_HEADER = "Evenhand-Debiasing"
"""Header of the facts about an answer whose body has no place for them, as JSON."""

COLUMNS = (PREDICTION, PROBABILITY, LABEL, CHANGED, CHANGED_BY, DEBIASING)
"""Added to the model's own; probability and label only where the model has them."""

OWN_PREFIX = "model_"
"""Prefix of a model's own column that has the name of one of ours."""

STORED, DUPLICATE, CONFLICT = "stored", "duplicate", "conflict"

_encode = msgspec.json.Encoder().encode


@frozen
class DebiasedAnswers:
    own: Answer
    debiased: Sequence[Debiased]
    ids: Sequence[str]
    written: WriteOutcome
    warning: str | None


@frozen
class LiveAnswer:
    """An answer as it is sent. `facts` are the JSON of the header `FACTS_HEADER`."""

    body: bytes
    media_type: str
    facts: str | None = None


def write_answer(plan: ActivePlan, asked: Asked, answered: DebiasedAnswers) -> LiveAnswer:
    logged = [STORED] * len(answered.ids)
    for place in answered.written.duplicates:
        logged[place] = DUPLICATE
    for place in answered.written.conflicts:
        logged[place] = CONFLICT
    about: dict[str, Any] = {
        "mode": plan.settings.mode.value,
        "settings_version": plan.settings.version,
        "profile_version": plan.profile.version,
        "bias_detector_version": plan.detector_version,
        "is_provisional": plan.profile.is_provisional,
        "notes": plan.notes(),
        "warning": answered.warning,
    }
    writer = asked.form or asked.codec
    if writer is None:
        return LiveAnswer(_encode({"predictions": _write_records(plan, answered, logged)} | about), JSON)
    fields: list[str] = []
    taken = {*answered.own.fields, *COLUMNS}
    for name in answered.own.fields:
        shown = name
        if name in COLUMNS:
            while shown in taken:
                shown = OWN_PREFIX + shown
            taken.add(shown)
            about["notes"].append(f"The model's own column {name} is called {shown} here.")
        fields.append(shown)
    about |= {"ids": list(answered.ids), "logged": {word: logged.count(word) for word in (STORED, DUPLICATE, CONFLICT)}}
    debiased = answered.debiased
    ours: dict[str, list[Any]] = {PREDICTION: [one.answer.prediction for one in debiased]}
    if any(one.probability is not None for one in answered.own.predictions):
        ours[PROBABILITY] = [one.answer.probability for one in debiased]
    if plan.deployment.outputs.label is not None:
        ours[LABEL] = [one.answer.label for one in debiased]
    ours[CHANGED] = [one.changed for one in debiased]
    ours[CHANGED_BY] = [one.changed_by for one in debiased]
    ours[DEBIASING] = [one.debiasing.value for one in debiased]
    values = [[*own, *added] for own, added in zip(answered.own.rows, zip(*ours.values(), strict=True), strict=True)]
    if isinstance(writer, Form):
        return LiveAnswer(_encode(writer.write_answer([*fields, *ours], values) | about), JSON)
    return _write_in_format(writer, [*fields, *ours], values, about)


def _write_in_format(codec: Codec, names: list[str], rows: list[list[Any]], about: dict[str, Any]) -> LiveAnswer:
    # Tensors and lines of CSV carry no arrays of names.
    place = names.index(CHANGED_BY)
    for row in rows:
        row[place] = _encode(row[place]).decode()
    body = codec.write_answer(names, rows)
    found = decode_answer(body, object, expected="JSON") if codec.accept == JSON else None
    if isinstance(found, dict):
        return LiveAnswer(_encode(found | about), JSON)
    # Without members of its own the body has no place for more than rows.
    ids = about.pop("ids")
    body = codec.write_answer([*names, RECORD_ID], [[*row, one] for row, one in zip(rows, ids, strict=True)])
    return LiveAnswer(body, codec.accept.split(",")[0], json.dumps(about))


def _write_records(plan: ActivePlan, answered: DebiasedAnswers, logged: Sequence[str]) -> list[dict[str, Any]]:
    outputs = plan.deployment.outputs
    known = {*outputs.names, *plan.model.columns}
    # The model's further columns: neither outputs that the deployment names nor echoed inputs.
    others = {name: place for place, name in enumerate(answered.own.fields) if name not in known}
    found = []
    for place, (own, debiased) in enumerate(zip(answered.own.predictions, answered.debiased, strict=True)):
        row: dict[str, Any] = {
            "id": answered.ids[place],
            "prediction": own.prediction,
            "probability": own.probability,
            "label": own.label,
            PREDICTION: debiased.answer.prediction,
            PROBABILITY: debiased.answer.probability,
            LABEL: debiased.answer.label,
            CHANGED: debiased.changed,
            CHANGED_BY: debiased.changed_by,
            DEBIASING: debiased.debiasing.value,
            "logged": logged[place],
        }
        if others:
            row["other_outputs"] = {name: answered.own.rows[place][at] for name, at in others.items()}
        found.append(row)
    return found
