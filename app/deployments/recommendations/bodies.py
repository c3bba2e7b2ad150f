"""Recommended monitors as bodies."""

from datetime import datetime

from pydantic import Field

from ...base.errors import InvalidInput
from ...domain.monitor import OutcomeRule
from ...domain.monitor_rules import MAX_ATTRIBUTES
from ...web.body import GroupValueJson, In, Out, example, read_from
from ..monitor.bodies import FeatureName, WhoseRecordsIn
from .attribute_kinds import Kind
from .detect_kind import Confidence
from .group_choice import CountsOrigin, ProposedGroupOut
from .recommend import Acceptance, NotProposedOut, OfferedGroups
from .suggested_outcomes import OutcomesOrigin

_GROUPS = [
    {
        "value": "male",
        "meaning": "male",
        "role": "reference",
        "records": 60,
        "favourable": 45,
        "rate": 0.75,
        "lower": 0.628,
        "upper": 0.842,
        "reason": None,
    },
    {
        "value": "female",
        "meaning": "female",
        "role": "monitored",
        "records": 40,
        "favourable": 22,
        "rate": 0.55,
        "lower": 0.398,
        "upper": 0.693,
        "reason": None,
    },
]

_PROPOSAL = {
    "feature": "Sex",
    "is_meta": False,
    "kind": "sex",
    "confidence": "high",
    "accepted_by_default": True,
    "monitored": ["female"],
    "reference": ["male"],
    "threshold": 0.8,
    "upper_threshold": 1.25,
    "groups": _GROUPS,
    "evidence": {
        "name": "'sex' in its name",
        "values": "its values are words for sex or gender: male, female",
        "data": "training",
        "records": 100,
        "missing": 0,
        "at": "2026-07-01T12:00:00Z",
        "reference": "'male' has the highest favourable rate (75.0%) of the groups with at least 10% of the "
        "records",
        "threshold": "0.8 is the four-fifths rule; 1.25 mirrors 0.8, so that a disadvantage of the "
        "reference group is seen as well",
    },
    "warnings": [],
    "customary": {
        "monitored": ["female"],
        "reference": ["male"],
        "groups": _GROUPS,
        "reason": "'male' usually is the reference, whatever the rates",
        "warnings": [],
    },
}

_RECOMMENDED = {
    "outcomes": {
        "favourable": ["No Risk"],
        "unfavourable": ["Risk"],
        "origin": "suggestion",
        "is_certain": True,
        "evidence": "the words 'No Risk' and 'Risk' say it; confirm",
    },
    "proposals": [_PROPOSAL],
    "already_monitored": [{"feature": "Age", "kind": "age"}],
    "not_proposed": [
        {"feature": "HouseAge", "kind": "age", "reason": "'age' in its name may mean age, but …"}
    ],
}


class AcceptedAttributeIn(In):
    """A proposed attribute; members that are left out are as proposed, or as the monitor has them already."""

    feature: FeatureName
    groups: OfferedGroups | None = None
    """The choice among the offered groups: the `proposed` or the `customary` ones. `monitored` and
    `reference` override them."""

    monitored: list[GroupValueJson] | None = None
    reference: list[GroupValueJson] | None = None
    """Null: every other value that is seen."""

    threshold: float | None = None
    upper_threshold: float | None = None
    """Null: no upper limit. Left out of a new attribute whose `threshold` is sent: 1/threshold."""

    def to_acceptance(self) -> Acceptance:
        sent = {member: getattr(self, member) for member in self.model_fields_set - {"feature", "groups"}}
        changes = {
            member: tuple(value) if isinstance(value, list) else value
            for member, value in sent.items()
            if value is not None or member in {"reference", "upper_threshold"}
        }
        return Acceptance(self.feature, changes, self.groups)


class AcceptRecommendationsIn(In):
    """The proposals to accept. Without `attributes`, all that are accepted by default."""

    model_config = example(
        {
            "attributes": [{"feature": "Sex", "threshold": 0.9}],
            "favourable": ["No Risk"],
            "unfavourable": ["Risk"],
            "evidence": {"each_record_another_person": True},
        }
    )

    attributes: list[AcceptedAttributeIn] | None = Field(None, json_schema_extra={"minItems": 1})
    favourable: list[GroupValueJson] | None = None
    """Required where no monitor says it and the suggestion is not certain. Replaces what the monitor has."""

    unfavourable: list[GroupValueJson] | None = None
    """Together with `favourable`."""

    evidence: WhoseRecordsIn | None = None
    """Whose the records are. Left out: as the monitor says already."""

    def list_acceptances(self) -> list[Acceptance] | None:
        if self.attributes is None:
            return None
        if not 1 <= len(self.attributes) <= MAX_ATTRIBUTES:
            message = (
                f"must list 1 to {MAX_ATTRIBUTES} attributes, found {len(self.attributes):,}; leave "
                "it out to accept what is sure"
            )
            raise InvalidInput("attributes", message)
        return [attribute.to_acceptance() for attribute in self.attributes]

    def read_outcomes(self) -> OutcomeRule | None:
        if self.favourable is not None and self.unfavourable is not None:
            return self.read_as(OutcomeRule)
        if self.favourable is None and self.unfavourable is None:
            return None
        missing = "favourable" if self.favourable is None else "unfavourable"
        raise InvalidInput(missing, "must be sent together with the other list of outcomes")


class SuggestedOutcomesOut(Out):
    """The outcomes by which rates are counted; null where they are not known."""

    favourable: list[GroupValueJson] | None
    unfavourable: list[GroupValueJson] | None
    origin: OutcomesOrigin
    """`monitor`, or a `suggestion` to be confirmed, or `unknown`."""

    is_certain: bool
    """Whether a monitor may be made of them without sending them."""

    evidence: str


class EvidenceOut(Out):
    """The evidence that the column is of the kind, and the method of the proposal."""

    name: str | None
    """The part of the name that matched; null where the values alone tell."""

    values: str
    data: CountsOrigin = read_from("source.origin")
    records: int = read_from("source.records")
    """That were looked at."""

    missing: int
    """Of these, records without a value."""

    at: datetime = read_from("source.at")
    """When the training data were processed, or the newest record was logged."""

    reference: str
    """Why this reference."""

    threshold: str
    """Why these thresholds."""


class CustomaryOut(Out):
    """The groups that are usually compared, whatever the rates. They may be those that are proposed."""

    monitored: list[GroupValueJson]
    reference: list[GroupValueJson]
    groups: list[ProposedGroupOut]
    reason: str = read_from("because")
    """The custom, in words."""

    warnings: list[str]


class ProposalOut(Out):
    """One attribute that the fairness monitor should watch."""

    feature: FeatureName
    is_meta: bool
    kind: Kind
    confidence: Confidence
    accepted_by_default: bool
    monitored: list[GroupValueJson] = read_from("choice.monitored")
    reference: list[GroupValueJson] = read_from("choice.reference")
    threshold: float
    upper_threshold: float | None
    groups: list[ProposedGroupOut] = read_from("choice.groups")
    evidence: EvidenceOut
    warnings: list[str] = read_from("choice.warnings")
    customary: CustomaryOut | None = read_from("choice.customary")
    """The groups that custom would compare, to be accepted with `groups: customary`; null where no custom
    is known."""


class AlreadyMonitoredOut(Out):
    """An attribute that the fairness monitor has."""

    feature: FeatureName
    kind: Kind | None
    """The kind that was recognised; null where none was."""


class RecommendedMonitorsOut(Out):
    """The attributes that a fairness monitor should watch."""

    model_config = example(_RECOMMENDED)

    outcomes: SuggestedOutcomesOut
    proposals: list[ProposalOut]
    already_monitored: list[AlreadyMonitoredOut]
    not_proposed: list[NotProposedOut]
