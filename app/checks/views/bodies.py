"""The four views of a check as bodies."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, model_validator

from ...domain.check import CheckState
from ...web.body import Out, example, read_from
from .measurement_bodies import MEASUREMENT, RECORDS, RECORDS_MEANING, MeasurementOut
from .view_shapes import GroupShare, MitigatedOut, ViewKind, ViewStateOut

_OUTCOMES = {
    "favourable": 120,
    "unfavourable": 80,
    "records": 200,
    "share": 0.6,
    "lower": 0.5309,
    "upper": 0.6654,
    "interval_method": "wilson",
    "reason": None,
}
_GROUP = {
    **_OUTCOMES,
    "group": "female",
    "role": "monitored",
    "after": None,
    "original_records": 200,
    "additional_records": 0,
    "additional_favourable": 0,
    "unclassified": 2,
    "comparison": MEASUREMENT,
    "comparison_after": None,
    "openscale_fairness": None,
    "sub_ranges": [],
}
_VIEW = {
    "kind": "as_logged",
    "check_id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11",
    "state": "succeeded",
    "from": "2026-03-01T09:00:00Z",
    "to": "2026-03-01T10:00:00Z",
    "carried_from": None,
    "reason": None,
    "records": 412,
    "additional_records": 0,
    "logged_in_span": 412,
    "oldest_record_at": "2026-03-01T09:00:02.104512Z",
    "newest_record_at": "2026-03-01T09:59:58.730011Z",
    "processed_at": None,
    "mitigation_mode": None,
    "monitor_version": 1,
    "model_revision": "2026-02",
    "notes": [],
    "attributes": [
        {
            "attribute": "Sex",
            "features": ["Sex"],
            "reason": None,
            "groups": [_GROUP],
            "pooled": [{**_GROUP, "group": None}],
            "worst": None,
            "worst_after": None,
            "records": RECORDS,
            "perturbed_records": None,
            "unclassified_copies": None,
            "perfect_equality": None,
            "accuracy": [],
            "mitigated": None,
        }
    ],
    "counterfactual": [],
}

_Count = int | float


class ViewStatesOut(Out):
    """The availability of the four views."""

    model_config = example({"views": [{"kind": kind.value, "reason": None} for kind in ViewKind]})

    views: list[ViewStateOut]


class OutcomesOut(Out):
    """Favourable and unfavourable outcomes of some records."""

    favourable: _Count
    """Of weighted training data the sum of the weights, as the two below."""

    unfavourable: _Count
    records: _Count
    """Classified records, with their copies where the view has copies."""

    share: float | None
    """The favourable rate; where it is null, `reason` says why."""

    lower: float | None
    """The lower end of its 95 % interval."""

    upper: float | None
    interval_method: str | None
    reason: str | None


class SubRangeOut(Out):
    """One interval of a numeric group."""

    label: str = Field(examples=["20-21"])
    favourable: int
    unfavourable: int
    records: int
    unclassified: int
    share: float | None
    lower: float | None
    upper: float | None
    reason: str | None


class GroupShareOut(OutcomesOut):
    """One group, or all monitored or reference groups together; where there is an `after`, the outcomes
    are before mitigation.
    """

    group: str | None
    """Null for all groups of the role together."""

    role: Literal["monitored", "reference"]
    after: OutcomesOut | None
    """The outcomes after mitigation; in the mitigated view only."""

    original_records: int
    """The classified records without copies."""

    additional_records: int
    """Those of them that come from earlier hours."""

    additional_favourable: int
    unclassified: int
    """Records in neither outcome list; they are in no share."""

    comparison: MeasurementOut | None
    """How a monitored group compares with the reference: the disparate impact with its verdict, as the
    check measured it; of training data the difference in proportions of labels. Null for the reference,
    and where the monitor does not measure it."""

    comparison_after: MeasurementOut | None
    openscale_fairness: MeasurementOut | None
    """With copies: OpenScale's own figure of these outcomes, every copy counted as a record. It bears no
    verdict; that of `comparison`, the counterfactual disparate impact, counts every record once on each
    side.
    """

    sub_ranges: list[SubRangeOut]
    """A range of a numeric attribute by intervals inside it; in the view as_logged only."""

    @model_validator(mode="before")
    @classmethod
    def _join_outcomes(cls, source: object) -> object:
        if not isinstance(source, GroupShare):
            return source
        return {
            name: getattr(source.outcomes if name in OutcomesOut.model_fields else source, name)
            for name in cls.model_fields
        }


class ChangeOut(Out):
    """One figure before and after mitigation, and the change."""

    before: MeasurementOut
    after: MeasurementOut | None
    change: MeasurementOut | None


class AttributeViewOut(Out):
    """One attribute, or several watched together."""

    attribute: str
    """Several are joined by ` × `."""

    features: list[str]
    reason: str | None
    """Why there are no groups."""

    groups: list[GroupShareOut]
    """In the order of the monitor."""

    pooled: list[GroupShareOut]
    """The monitored, then the reference groups together."""

    worst: MeasurementOut | None
    """The headline: the comparison of the monitored group that is furthest out."""

    worst_after: MeasurementOut | None
    records: dict[str, Any] | None = Field(description=RECORDS_MEANING)
    perturbed_records: int | None
    """The copies of the window's records; null in a view without copies."""

    unclassified_copies: int | None
    """Those of them in neither outcome list."""

    perfect_equality: MeasurementOut | None
    """In views with copies."""

    accuracy: list[ChangeOut]
    """Of labelled records, everybody first; in the mitigated view only."""

    mitigated: MitigatedOut | None


class CheckViewOut(Out):
    """One view of one check."""

    model_config = example(_VIEW)

    kind: ViewKind
    check_id: str = read_from("check.id")
    state: CheckState = read_from("check.state")
    from_: datetime = read_from("check.span.start", serialization_alias="from")
    """The beginning of the check's range of logging times."""

    to: datetime = read_from("check.span.end")
    monitor_version: int | None = read_from("check.monitor_version")
    model_revision: str | None = read_from("check.model_revision")
    carried_from: str | None = read_from("check.carried_from")
    """The check whose figures these are, where nothing has changed since; the counts are its own."""

    reason: str | None
    """Why there is nothing to show; then `attributes` is empty."""

    records: int | None
    """Records of the check's own span; of training data, those of the upload."""

    additional_records: int | None
    """Records of earlier hours that topped the window up."""

    logged_in_span: int | None
    oldest_record_at: datetime | None = read_from("oldest")
    newest_record_at: datetime | None = read_from("newest")
    processed_at: datetime | None
    """When the training data were processed; in their view only."""

    mitigation_mode: str | None
    """In the mitigated view only."""

    notes: list[str]
    """Sentences to show along with the figures."""

    attributes: list[AttributeViewOut]
    counterfactual: list[AttributeViewOut]
    """The attributes with copies, before and after; in the mitigated view only."""
