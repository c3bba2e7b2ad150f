"""Debiased answers in the form in which the records came. Decides nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.mitigation.active_plan import ActivePlan
from app.mitigation.debiasing import Debiased
from app.mitigation.requests import Asked, Form
from app.scoring.formats.answers import Answer
from app.store.writing import Outcome as Written

PREDICTION, PROBABILITY, LABEL = "debiased_prediction", "debiased_probability", "debiased_decoded_target"
CHANGED, CHANGED_BY, DEBIASING = "changed", "changed_by", "debiasing"

COLUMNS = (PREDICTION, PROBABILITY, LABEL, CHANGED, CHANGED_BY, DEBIASING)
"""What mitigation adds to the model's own columns; probability and label only where the model has them."""

OWN_PREFIX = "model_"
"""Put before a column of the model's own that is called as one of ours."""

STORED, DUPLICATE, CONFLICT = "stored", "duplicate", "conflict"


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a request: the model's own answer, what mitigation made of it, and what became of the records."""

    own: Answer
    debiased: Sequence[Debiased]
    ids: Sequence[str]
    written: Written
    warning: str | None


def answer_document(plan: ActivePlan, asked: Asked, answered: Answered) -> dict[str, Any]:
    """The answer's JSON."""
    logged = _logged(answered)
    if asked.form is Form.RECORDS:
        return {"predictions": _records(plan, answered, logged)} | _said(plan, answered, [])
    fields, notes = _own_fields(answered.own.fields)
    ours = _our_columns(plan, answered)
    said = _said(plan, answered, notes) | {
        "ids": list(answered.ids),
        "logged": {word: logged.count(word) for word in (STORED, DUPLICATE, CONFLICT)},
    }
    values = [[*own, *added] for own, added in zip(answered.own.rows, zip(*ours.values(), strict=True), strict=True)]
    fields += ours
    if asked.form is Form.FIELDS_VALUES:
        return {"fields": fields, "values": values} | said
    if asked.form is Form.INPUT_DATA:
        return {"predictions": [{"fields": fields, "values": values}]} | said
    return {"predictions": [dict(zip(fields, row, strict=True)) for row in values]} | said


def _records(plan: ActivePlan, answered: Answered, logged: Sequence[str]) -> list[dict[str, Any]]:
    others = _other_places(plan, answered.own.fields)
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


def _other_places(plan: ActivePlan, fields: Sequence[str]) -> dict[str, int]:
    """Where the model's further columns are: neither outputs that the deployment names nor echoed inputs."""
    outputs = plan.deployment.outputs
    known = {outputs.prediction, outputs.probability, outputs.label, *plan.model.columns}
    return {name: place for place, name in enumerate(fields) if name not in known}


def _our_columns(plan: ActivePlan, answered: Answered) -> dict[str, list[Any]]:
    debiased = answered.debiased
    found: dict[str, list[Any]] = {PREDICTION: [one.answer.prediction for one in debiased]}
    if any(one.probability is not None for one in answered.own.predictions):
        found[PROBABILITY] = [one.answer.probability for one in debiased]
    if plan.deployment.outputs.label is not None:
        found[LABEL] = [one.answer.label for one in debiased]
    found[CHANGED] = [one.changed for one in debiased]
    found[CHANGED_BY] = [one.changed_by for one in debiased]
    found[DEBIASING] = [one.debiasing.value for one in debiased]
    return found


def _own_fields(fields: Sequence[str]) -> tuple[list[str], list[str]]:
    """The model's columns, those with a name of ours under another, and a note on each of these."""
    taken = {*fields, *COLUMNS}
    found, notes = [], []
    for name in fields:
        shown = name
        if name in COLUMNS:
            while shown in taken:
                shown = OWN_PREFIX + shown
            taken.add(shown)
            notes.append(f"The model's own column {name} is called {shown} here.")
        found.append(shown)
    return found, notes


def _logged(answered: Answered) -> list[str]:
    found = [STORED] * len(answered.ids)
    for place in answered.written.duplicates:
        found[place] = DUPLICATE
    for place in answered.written.conflicts:
        found[place] = CONFLICT
    return found


def _said(plan: ActivePlan, answered: Answered, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "mode": plan.settings.mode.value,
        "settings_version": plan.settings.version,
        "profile_version": plan.profile.version,
        "bias_detector_version": plan.detector_version,
        "is_provisional": plan.profile.is_provisional,
        "notes": [*plan.notes(), *notes],
        "warning": answered.warning,
    }
