"""Flagged records as bodies."""

from datetime import datetime
from typing import Any, Literal, Self

from ...base.strict_json import JsonObject
from ...base.values import shown_value
from ...domain.groups import GroupWords
from ...domain.mitigation import ONLY_DIRECT, FlaggedRecord
from ...mitigation.window.flag_queries import FlaggedPayload
from ...web.body import Out, example, read_from
from ..record_list import name_cells
from .words import find_known_gap, write_reason

Direction = Literal["lifted", "lowered"]
Kind = Literal["changed", "likely"]

LOGGED = {
    "id": "application-1041",
    "logged_at": "2026-11-20T14:12:31.104512Z",
    "scored_at": "2026-11-20T14:12:31Z",
    "model_revision": "2026-02",
    "features": {"Age": 44, "Sex": "female", "Owner": True},
    "meta": {"Postcode": "1011"},
    "prediction": 0,
    "probability": 0.4113,
    "label": "Risk",
}
FLAG = {
    "attribute": "Sex",
    "group": "female",
    "kind": "changed",
    "direction": "lifted",
    "own_score": 0.4113,
    "reference_score": 0.6241,
    "gap": 0.2128,
    "bias_score": None,
    "why": "Asked again with reference values of Sex instead of female, the model's answer is favourable: "
    "the score is 0.6241 instead of 0.4113.",
}
_FLAGGED = {**FLAG, "record": {**LOGGED, "mitigated": None}}


class RecordOut(Out):
    """A payload record."""

    id: str = read_from("record_id")
    logged_at: datetime = read_from("flag.logged_at")
    scored_at: datetime
    model_revision: str
    features: JsonObject
    meta: JsonObject
    prediction: Any
    probability: Any
    """As the model gave it: one number, a list of them, or null."""

    label: Any
    """The decoded form of the prediction, where there is one."""

    mitigated: JsonObject | None
    """The mitigated answer, where one was asked for."""

    @classmethod
    def of(cls, flagged: FlaggedPayload) -> "RecordOut":
        schema = flagged.schema
        return cls.from_object(
            flagged,
            features=shown_value(name_cells(schema.features, flagged.features)),
            meta=shown_value(name_cells(schema.meta, flagged.meta)),
            prediction=shown_value(flagged.prediction),
            label=shown_value(flagged.label),
            mitigated=shown_value(flagged.mitigated),
        )


class FlagOut(Out):
    """The reason why a record needs a second look, by one attribute."""

    attribute: str
    group: str
    """The monitored value or range of the record."""

    kind: Kind
    """`changed`: the model said so when it was asked again. `likely`: the bias detector thinks so."""

    direction: Direction
    """`lifted`: with a reference value it would be favourable. `lowered`: unfavourable."""

    own_score: float | None
    """The probability of the favourable outcome; null where the model gives none."""

    reference_score: float | None
    """The same with reference values: the mean over the copies, by their share."""

    gap: float | None
    """The distance of the two; null where one of them is not known."""

    bias_score: float | None
    """How likely the bias detector thinks it; null where it was not asked."""

    why: str
    """All of this in a sentence."""

    @classmethod
    def of(cls, flag: FlaggedRecord, names: GroupWords, **members: object) -> Self:
        return cls.from_object(flag, gap=find_known_gap(flag), why=write_reason(flag, names), **members)


class FlaggedOut(FlagOut):
    """One reason to look at a record again. A record has one for each attribute by which it is flagged."""

    model_config = example(_FLAGGED)

    record: RecordOut


class FlaggedPage(Out):
    """A page of flagged records, largest gap first."""

    model_config = example(
        {
            "model_revision": "2026-02",
            "flagged_records": [_FLAGGED],
            "next_cursor": None,
            "notes": [ONLY_DIRECT],
        }
    )

    model_revision: str
    """The revision of the model that was asked again."""

    flagged_records: list[FlaggedOut]
    next_cursor: str | None
    notes: list[str]
    """Sentences to show along with these numbers."""
