"""Payload records as bodies."""

from datetime import datetime
from typing import Any, Literal, Self

from ..base.strict_json import JsonObject
from ..domain.groups import GroupWords, Role
from ..domain.mitigation import ONLY_DIRECT
from ..web.body import Out, example
from .record_list import Change, OutcomeWord, RecordSummary, name_cells
from .second_look.bodies import FLAG, LOGGED, FlagOut

_RECORD = {
    **LOGGED,
    "outcome": "unfavourable",
    "groups": [{"attribute": "Sex", "group": "female", "role": "monitored"}],
    "changes": {"Sex": "gained"},
    "mitigated": None,
    "sample_rate": 0.1,
    "flags": [FLAG],
    "window_part": "span",
}
_COUNTERFACTUAL = {
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
_DETAILS = {
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
    features: JsonObject
    meta: JsonObject
    prediction: Any
    probability: Any
    """As the model gave it: one number, a list of them, or null."""

    label: Any
    """The decoded form of the prediction, where there is one; not the ground-truth label."""

    outcome: OutcomeWord | None
    """Null where no monitor says what is favourable."""

    groups: list[RecordGroupOut]
    """One for each watched attribute."""

    changes: dict[str, Change]
    """The change by the copies of each attribute. `gained`: with another value the outcome would be
    favourable. `lost`: unfavourable. `none`: the same. An attribute is left out where no copy of the
    record was scored."""

    mitigated: JsonObject | None
    """The mitigated answer, where one was asked for."""

    sample_rate: float | None
    """The share of records that is logged where this one comes from: it counts as 1/sample_rate records.
    Null where every record is logged."""

    flags: list[FlagOut]
    """Changes that mitigation by substitution would make, as checks found."""

    window_part: Literal["span", "additional"] | None
    """Part of the window of the check that was named: its own span, or the additional earlier records.
    Null where it did not read the record."""

    @classmethod
    def of(cls, summary: RecordSummary, names: GroupWords, **members: object) -> Self:
        record = summary.record
        schema = summary.schema
        return cls.from_object(
            record,
            id=record.record_id,
            features=name_cells(schema.features, record.features),
            meta=name_cells(schema.meta, record.meta),
            outcome=summary.outcome,
            groups=summary.groups,
            changes=summary.changes,
            flags=[FlagOut.of(flag, names) for flag in summary.flags],
            window_part=summary.part,
            **members,
        )


class CounterfactualOut(Out):
    """The model's answer to a copy of the record with another value of one attribute."""

    model_config = example(_COUNTERFACTUAL)

    attribute: str
    group: str
    """The value or range that the copy was changed into."""

    role: Role | None
    draw: int
    """The number of this one of several copies into one range, from 0."""

    values: JsonObject | None
    """The values of the changed features; null where `values_reason` says why."""

    values_reason: str | None
    prediction: Any
    probability: Any
    label: Any
    outcome: OutcomeWord | None
    change: Change | None
    """Null where one of the two outcomes is unclassified."""

    in_present_figures: bool
    """False for a copy that an earlier monitor asked for."""


class ObservedOut(Out):
    """The ground-truth label of the record."""

    label: Any
    outcome: OutcomeWord | None
    logged_at: datetime


class PayloadRecordDetailsOut(PayloadRecordOut):
    """One record with everything known of it."""

    model_config = example(_DETAILS)

    feedback: ObservedOut | None
    counterfactuals: list[CounterfactualOut]
    """Those of the model revision and schema that the record was logged under."""

    notes: list[str]
    """Sentences to show along with the changes of mitigation."""


class PayloadRecordPage(Out):
    """A page of records, newest first."""

    model_config = example({"payload_records": [_RECORD], "next_cursor": None, "count": None})

    payload_records: list[PayloadRecordOut]
    next_cursor: str | None
    """Null at the end of the log. A page may be short, or empty, and still have one."""

    count: int | None
    """Records of the window, where the request asks for it."""
