"""Flagged records as a body: why each needs a second look, and the record itself."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from app.api.schemas.base import Out, example
from app.domain.mitigation import ONLY_DIRECT, FlaggedRecord
from app.store.flagged_records import FlaggedPayload

Direction = Literal["lifted", "lowered"]
Kind = Literal["changed", "likely"]

_FLAG: dict[str, Any] = {
    "attribute": "Sex",
    "group": "female",
    "kind": "changed",
    "direction": "lifted",
    "own_score": 0.4113,
    "reference_score": 0.6241,
    "gap": 0.2128,
    "bias_score": None,
    "why": "Asked again with reference values of Sex instead of female, the model is favourable: the score is 0.6241 instead of 0.4113.",
    "record": {
        "id": "application-1041",
        "logged_at": "2026-11-20T14:12:31.104512Z",
        "scored_at": "2026-11-20T14:12:31Z",
        "model_revision": "2026-02",
        "features": {"Age": 44, "Sex": "female", "Owner": True},
        "meta": {"Postcode": "1011"},
        "prediction": 0,
        "probability": 0.4113,
        "label": "Risk",
        "debiased": None,
    },
}


class RecordOut(Out):
    """A payload record."""

    id: str
    logged_at: datetime
    scored_at: datetime
    model_revision: str
    features: dict[str, Any]
    meta: dict[str, Any]
    prediction: Any
    probability: Any = Field(description="As the model gave it: one number, a list of them, or null.")
    label: Any = Field(description="The decoded form of the prediction, where there is one.")
    debiased: dict[str, Any] | None = Field(description="What the debiased endpoint answered, where the record came through it.")

    @classmethod
    def of(cls, found: FlaggedPayload) -> "RecordOut":
        """The body of a stored record."""
        schema = found.schema
        return cls(
            id=found.record_id,
            logged_at=found.flag.logged_at,
            scored_at=found.scored_at,
            model_revision=found.model_revision,
            features={column.name: value for column, value in zip(schema.features, found.features, strict=True)},
            meta={column.name: value for column, value in zip(schema.meta, found.meta, strict=True)},
            prediction=found.prediction,
            probability=found.probability,
            label=found.label,
            debiased=found.debiased,
        )


class FlagOut(Out):
    """Why a record needs a second look, by one attribute."""

    attribute: str
    group: str = Field(description="The monitored value or range of the record.")
    kind: Kind = Field(description="`changed`: the model said so when it was asked again. `likely`: the bias detector thinks so.")
    direction: Direction = Field(description="`lifted`: with a reference value it would be favourable. `lowered`: unfavourable.")
    own_score: float | None = Field(description="The probability of the favourable outcome; null where the model gives none.")
    reference_score: float | None = Field(description="The same with reference values: the mean over the copies, by their share.")
    gap: float | None = Field(description="The distance of the two; null where one of them is not known.")
    bias_score: float | None = Field(description="How likely the bias detector thinks it; null where it was not asked.")
    why: str = Field(description="All of this in a sentence.")

    @classmethod
    def of(cls, flag: FlaggedRecord) -> "FlagOut":
        """The body of a flag."""
        return cls(**_members(flag))


class FlaggedOut(FlagOut):
    """One reason to look at a record again. A record has one for each attribute of which that is so."""

    model_config = example(_FLAG)

    record: RecordOut

    @classmethod
    def with_record(cls, found: FlaggedPayload) -> "FlaggedOut":
        """The body of a flag and its record."""
        return cls(**_members(found.flag), record=RecordOut.of(found))


class FlaggedPage(Out):
    """A page of flagged records, largest gap first."""

    model_config = example({"model_revision": "2026-02", "flagged_records": [_FLAG], "next_cursor": None, "notes": [ONLY_DIRECT]})

    model_revision: str = Field(description="The revision of the model that was asked again.")
    flagged_records: list[FlaggedOut]
    next_cursor: str | None
    notes: list[str] = Field(description="What has to be said beside these numbers.")


def known_gap(flag: FlaggedRecord) -> float | None:
    """The distance of the two scores; None where one of them is not known."""
    return None if flag.own_score is None or flag.reference_score is None else flag.gap


def why(flag: FlaggedRecord) -> str:
    """Why the record needs a second look, in a sentence."""
    outcome = "favourable" if flag.direction == "lifted" else "unfavourable"
    if flag.kind == "likely":
        score = "" if flag.bias_score is None else f" (bias score {flag.bias_score:.4g})"
        return (
            f"The bias detector expects the model to be {outcome} with reference values of {flag.attribute} instead of {flag.group}{score}."
        )
    scores = ""
    if flag.own_score is not None and flag.reference_score is not None:
        scores = f": the score is {flag.reference_score:.4g} instead of {flag.own_score:.4g}"
    return f"Asked again with reference values of {flag.attribute} instead of {flag.group}, the model is {outcome}{scores}."


def _members(flag: FlaggedRecord) -> dict[str, Any]:
    """What is told of a flag."""
    return {
        "attribute": flag.attribute,
        "group": flag.group,
        "kind": flag.kind,
        "direction": flag.direction,
        "own_score": flag.own_score,
        "reference_score": flag.reference_score,
        "gap": known_gap(flag),
        "bias_score": flag.bias_score,
        "why": why(flag),
    }
