"""Plan of a monitor as a body."""

from datetime import datetime
from typing import Any

from ...evidence.nulls import UnfairSide
from ...tracking.planning import EvidencePlan, PlannedComparison, WantedDetection
from .base import Out, example

_COMPARISON: dict[str, Any] = {
    "attribute": "Sex",
    "group": "female",
    "direction": "below",
    "limit": 0.8,
    "hours": 44,
    "records": 13200,
    "words": "A disparate impact of 0.7 would be found with 90 % probability after about 13,200 records, 44 hours at this traffic.",
    "monitored_favourable": 7200,
    "monitored_records": 15120,
    "reference_favourable": 17640,
    "reference_records": 35280,
}
_PLAN: dict[str, Any] = {
    "ratio": 0.7,
    "chance": 0.9,
    "since": "2026-11-13T09:00:00Z",
    "until": "2026-11-20T09:00:00Z",
    "traffic_hours": 168,
    "false_alarm_comparisons": 2,
    "threshold": 17520.0,
    "comparisons": [_COMPARISON],
}


class PlannedComparisonOut(Out):
    """One group: the hours and records that suffice, and the counts that they are computed from."""

    model_config = example(_COMPARISON)

    attribute: str
    """The attribute, or several joined by ' × ' for an intersection."""

    group: str | None
    """The monitored group; null where none has records."""

    direction: UnfairSide | None
    """The side of the limit on which such a ratio is; null if it is beyond no limit."""

    limit: float | None
    """The limit that such a ratio is beyond; null if there is none."""

    hours: int | None
    """Hours from the change to the alarm; null where `words` say that no time can be given."""

    records: int | None
    """Records of both groups in these hours."""

    words: str
    monitored_favourable: int
    monitored_records: int
    reference_favourable: int
    reference_records: int

    @classmethod
    def of(cls, one: PlannedComparison) -> "PlannedComparisonOut":
        return cls.from_object(
            one,
            monitored_favourable=one.monitored.favourable,
            monitored_records=one.monitored.records,
            reference_favourable=one.reference.favourable,
            reference_records=one.reference.records,
        )


class EvidencePlanOut(Out):
    """Plan for one disparate impact. The records are those logged from `since` to `until`, of the present model revision."""

    model_config = example(_PLAN)

    ratio: float
    chance: float
    since: datetime | None
    """The start of the hours whose traffic is assumed; null if nothing was logged in the last 168."""

    until: datetime | None
    traffic_hours: int
    """The number of these hours."""

    false_alarm_comparisons: int
    """Comparisons that share the budget of false alarms: each metric with a limit, of each group with
    records, on each side."""

    threshold: float
    """Evidence that raises the alarm: the budget in hours times these comparisons, at least one."""

    comparisons: list[PlannedComparisonOut]

    @classmethod
    def of(cls, plan: EvidencePlan, wanted: WantedDetection) -> "EvidencePlanOut":
        span = plan.span
        return cls(
            ratio=wanted.ratio,
            chance=wanted.chance,
            since=None if span is None else span.start,
            until=None if span is None else span.end,
            traffic_hours=0 if span is None else plan.hours,
            false_alarm_comparisons=plan.shared_by,
            threshold=plan.threshold,
            comparisons=[PlannedComparisonOut.of(one) for one in plan.comparisons],
        )
