"""Payload records as bodies: a list to look through, and one with its counterfactuals."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from app.api.schemas.base import Out, example
from app.api.schemas.flagged_records import FlagOut
from app.domain.groups import Role
from app.domain.mitigation import ONLY_DIRECT
from app.views.one_record import Counterfactual, RecordDetails
from app.views.record_lens import Change, OutcomeWord
from app.views.transactions import RecordSummary

_RECORD: dict[str, Any] = {
    "id": "application-1041",
    "logged_at": "2026-11-20T14:12:31.104512Z",
    "scored_at": "2026-11-20T14:12:31Z",
    "model_revision": "2026-02",
    "features": {"Age": 44, "Sex": "female", "Owner": True},
    "meta": {"Postcode": "1011"},
    "prediction": 0,
    "probability": 0.4113,
    "label": "Risk",
    "outcome": "unfavourable",
    "groups": [{"attribute": "Sex", "group": "female", "role": "monitored"}],
    "changes": {"Sex": "gained"},
    "debiased": None,
    "flags": [
        {
            "attribute": "Sex",
            "group": "female",
            "kind": "changed",
            "direction": "lifted",
            "own_score": 0.4113,
            "reference_score": 0.6241,
            "gap": 0.2128,
            "bias_score": None,
            "why": "Asked again with reference values of Sex instead of female, the model is favourable.",
        }
    ],
    "window_part": "span",
}
_COUNTERFACTUAL: dict[str, Any] = {
    "attribute": "Sex",
    "group": "male",
    "role": "reference",
    "draw": 0,
    "values": {"Sex": "male"},
    "values_reason": None,
    "prediction": 1,
    "probability": 0.6241,
    "label": "No Risk",
    "outcome": "favourable",
    "change": "gained",
    "in_present_figures": True,
}
_DETAILS: dict[str, Any] = {
    **_RECORD,
    "feedback": {"label": "No Risk", "outcome": "favourable", "logged_at": "2026-12-20T09:00:00Z"},
    "counterfactuals": [_COUNTERFACTUAL],
    "notes": [ONLY_DIRECT],
}


class RecordGroupOut(Out):
    """The record's group of an attribute; nulls where its value is in neither group, or missing."""

    attribute: str
    group: str | None
    role: Role | None


class PayloadRecordOut(Out):
    """A logged record, in the words of the present monitor."""

    model_config = example(_RECORD)

    id: str
    logged_at: datetime
    scored_at: datetime
    model_revision: str
    features: dict[str, Any]
    meta: dict[str, Any]
    prediction: Any
    probability: Any = Field(description="As the model gave it: one number, a list of them, or null.")
    label: Any = Field(description="The decoded form of the prediction, where there is one; not what came of it.")
    outcome: OutcomeWord | None = Field(description="Null where no monitor says what is favourable.")
    groups: list[RecordGroupOut] = Field(description="One for each watched attribute.")
    changes: dict[str, Change] = Field(
        description="By attribute, what its copies changed. `gained`: with another value the outcome would be favourable. `lost`:"
        " unfavourable. `none`: the same. An attribute is left out where no copy of the record was scored."
    )
    debiased: dict[str, Any] | None = Field(description="What the debiased endpoint answered, where the record came through it.")
    flags: list[FlagOut] = Field(description="What checks found that mitigation by substitution would change.")
    window_part: Literal["span", "additional"] | None = Field(
        description="Of the asked-for check's window: its own span, or the additional records of before. Null where it did not read it."
    )

    @classmethod
    def of(cls, found: RecordSummary) -> "PayloadRecordOut":
        """The body of a record."""
        return cls(**_members(found))


class CounterfactualOut(Out):
    """The model's answer to a copy of the record that was changed in one attribute."""

    model_config = example(_COUNTERFACTUAL)

    attribute: str
    group: str = Field(description="The value or range that the copy was changed into.")
    role: Role | None
    draw: int = Field(description="Which of several copies into one range, from 0.")
    values: dict[str, Any] | None = Field(description="What stood in the changed features; null where `values_reason` says why.")
    values_reason: str | None
    prediction: Any
    probability: Any
    label: Any
    outcome: OutcomeWord | None
    change: Change | None = Field(description="Null where one of the two outcomes is unclassified.")
    in_present_figures: bool = Field(description="False for a copy that an earlier monitor asked for.")

    @classmethod
    def of(cls, one: Counterfactual) -> "CounterfactualOut":
        """The body of a copy."""
        return cls(
            attribute=one.attribute,
            group=one.group,
            role=one.role,
            draw=one.draw,
            values=None if one.values is None else dict(one.values),
            values_reason=one.values_reason,
            prediction=one.prediction,
            probability=one.probability,
            label=one.label,
            outcome=one.outcome,
            change=one.change,
            in_present_figures=one.is_present,
        )


class ObservedOut(Out):
    """The label that was observed of the record."""

    label: Any
    outcome: OutcomeWord | None
    logged_at: datetime


class PayloadRecordDetailsOut(PayloadRecordOut):
    """One record with all that is known of it."""

    model_config = example(_DETAILS)

    feedback: ObservedOut | None
    counterfactuals: list[CounterfactualOut] = Field(description="Those of the model revision and schema that the record was logged under.")
    notes: list[str] = Field(description="What has to be said beside what mitigation changes.")

    @classmethod
    def with_details(cls, found: RecordDetails) -> "PayloadRecordDetailsOut":
        """The body of a record with its copies."""
        feedback = found.feedback
        return cls(
            **_members(found.summary),
            feedback=None
            if feedback is None
            else ObservedOut(label=feedback.label, outcome=feedback.outcome, logged_at=feedback.logged_at),
            counterfactuals=[CounterfactualOut.of(one) for one in found.counterfactuals],
            notes=[ONLY_DIRECT],
        )


class PayloadRecordPage(Out):
    """A page of records, newest first."""

    model_config = example({"payload_records": [_RECORD], "next_cursor": None})

    payload_records: list[PayloadRecordOut]
    next_cursor: str | None = Field(description="Null at the end of the log. A page may be short, or empty, and still have one.")


def _members(found: RecordSummary) -> dict[str, Any]:
    record, schema = found.record, found.schema
    return {
        "id": record.record_id,
        "logged_at": record.logged_at,
        "scored_at": record.scored_at,
        "model_revision": record.model_revision,
        "features": {column.name: value for column, value in zip(schema.features, record.features, strict=True)},
        "meta": {column.name: value for column, value in zip(schema.meta, record.meta or [None] * len(schema.meta), strict=True)},
        "prediction": record.prediction,
        "probability": record.probability,
        "label": record.label,
        "outcome": found.outcome,
        "groups": [RecordGroupOut(attribute=one.attribute, group=one.group, role=one.role) for one in found.groups],
        "changes": dict(found.changes),
        "debiased": record.debiased,
        "flags": [FlagOut.of(flag) for flag in found.flags],
        "window_part": found.part,
    }
