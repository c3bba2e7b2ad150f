"""Evidence over time, and a plan for it, as bodies."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ..checks.views.measurement_bodies import RECORDS, RECORDS_MEANING
from ..domain.check import DataSet
from ..domain.monitor import Monitor, find_comparison
from ..statistics.e_values.nulls import UnfairSide
from ..statistics.e_values.state_words import EvidenceState, FigureLabel, IntervalKind
from ..web.body import FollowingCursor, Out, PageOut, example, read_from
from .plan import EvidencePlan, PlannedComparison, WantedDetection
from .present_state import ComparisonState, DeploymentEvidence
from .words import list_figure_notes, list_remarks, say_some_group

_COMPARISON: dict[str, Any] = {
    "id": "0b6f9d38-5f7e-4a66-9b1c-2f4d5e6a7b8c",
    "data": "as_logged",
    "attribute": "Sex",
    "features": ["Sex"],
    "group": "female",
    "reference": "male",
    "metric": "disparate_impact",
    "direction": "below",
    "limit": 0.8,
    "state": "Unfair",
    "row": 1,
    "sentence": "Records with Sex female get the favourable outcome 39 % less often than records with Sex male "
    "(31 against 51 of 100) since 2026-11-19 07:00; the ratio must lie between 0.8 and 1.25. The newest hour "
    "alone lies outside.",
    "evidence": "unfair since",
    "since": "2026-11-19T07:00:00Z",
    "earliest": "2026-11-19T06:00:00Z",
    "latest": "2026-11-19T09:00:00Z",
    "alarm_at": "2026-11-19T14:00:00Z",
    "interval": [0.52, 0.71],
    "interval_kind": "since the onset",
    "more_hours": None,
    "log_evidence": 11.4,
    "log_fairness": 0.0,
    "log_threshold": 10.46,
    "hours": 1200,
    "starts_at": None,
    "until": "2026-11-20T09:00:00Z",
    "is_stale": False,
    "is_quiet": False,
    "resolved_at": None,
    "fair_since": None,
    "alarms": [
        {
            "since": "2026-11-19T07:00:00Z",
            "alarm_at": "2026-11-19T14:00:00Z",
            "resolved_at": None,
            "fair_since": None,
            "closed_at": None,
        }
    ],
    "reason": None,
    "notes": [],
}
_EVIDENCE: dict[str, Any] = {
    "monitor_version": 1,
    "model_revision": "1",
    "starts_at": None,
    "counted_until": "2026-11-20T09:00:00Z",
    "labels_until": "2026-10-21T09:00:00Z",
    "late_labels": 12,
    "problem": None,
    "false_alarm_hours": 8760,
    "guarantee": "At most one false alarm a year on average for all 2 comparisons together (at most H/8,760 in "
    "any H hours), counting each person's first record only.",
    "some_group": None,
    "remarks": [
        "Hours before 2026-11-20 09:00 UTC are counted.",
        "12 labels arrived more than 720 hours after the record and do not count.",
    ],
    "records": {
        "as_logged": {"Sex": {name: member for name, member in RECORDS.items() if name != "not_among"}}
    },
    "comparisons": [_COMPARISON],
    "next_cursor": None,
}
_HOUR: dict[str, Any] = {
    "hour": "2026-11-19T13:00:00Z",
    "monitored_favourable": 31,
    "monitored_records": 92,
    "reference_favourable": 108,
    "reference_records": 211,
    "evidence": [
        {
            "direction": "below",
            "log_e": 1.9,
            "log_evidence": 11.4,
            "log_fairness": 0.0,
            "log_threshold": 10.46,
            "confirmed_fair": False,
            "is_closed": False,
        }
    ],
}


class AlarmOut(Out):
    """One time of unfairness."""

    since: datetime
    """The most likely first unfair hour."""

    alarm_at: datetime
    """When there was enough evidence: the end of that hour."""

    resolved_at: datetime | None
    """When there was enough evidence that it is over: the end of that hour."""

    fair_since: datetime | None
    """The most likely first hour back inside the limit."""

    closed_at: datetime | None
    """The first hour after a person closed it."""


class ComparisonEvidenceOut(Out):
    """Evidence on one metric, group and direction, after its last hour."""

    model_config = example(_COMPARISON)

    id: str | None
    """Names its counts, see `…/evidence/{id}/hours`; null while there are none."""

    data: DataSet
    attribute: str
    """The attribute, or several joined by ' × ' for an intersection."""

    features: list[str]
    """The attribute's columns, one or several."""

    group: str | None
    """The monitored group; null while none has records."""

    reference: str | None
    """The values of the reference group; null where every other value is one."""

    metric: str
    direction: UnfairSide
    """The side of the limit on which the metric is unfair."""

    limit: float
    state: FigureLabel = read_from("statement.state")
    """The one state of the figure, whose limits share it, its sentence and its interval."""

    row: int = read_from("statement.row")
    """The row of the table of states, see the documentation."""

    sentence: str = read_from("statement.sentence")
    """The figure in words, since when and how sure: the same wherever it is shown."""

    evidence: EvidenceState
    """The evidence at this limit."""

    since: datetime | None
    """The most likely start of the unfair hours, or of the hours that showed it fair."""

    earliest: datetime | None
    """Nearly as likely a start of the unfair hours, at the earliest."""

    latest: datetime | None
    """Nearly as likely a start of the unfair hours, at the latest."""

    alarm_at: datetime | None
    """When there was enough evidence: the end of that hour."""

    interval: list[float | None] | None = read_from("statement.interval")
    """The leading 95 % interval of the figure; null is an open end, or no interval. A lower end above the
    upper one says that the metric has changed."""

    interval_kind: IntervalKind | None = read_from("statement.interval_kind")
    """The records that it is of: since the onset, since the chapter began, or the newest hour."""

    more_hours: int | None
    """Of an undecided one: expected hours until it is decided, at the present traffic and rates."""

    log_evidence: float
    """Natural logarithm of the evidence of unfairness; while unfair, that at the alarm."""

    log_fairness: float
    """Natural logarithm of the evidence against unfairness; ln 20 shows it fair."""

    log_threshold: float | None
    """Natural logarithm of the alarm's threshold: `false_alarm_hours` times the comparisons that share it."""

    hours: int
    """Hours that are counted, from the first with records of the group."""

    starts_at: datetime | None
    """The first hour that may count: the first whole one after the monitor began to compare this. Null:
    every hour does."""

    until: datetime | None
    """The end of the last hour that is counted."""

    is_stale: bool
    """A past hour has changed, and the state is about to be computed again."""

    is_quiet: bool
    """Of an unfair one: no new evidence for 7 days, neither of unfairness nor of fairness."""

    resolved_at: datetime | None
    """When there was enough evidence that the last alarm is over: the end of that hour."""

    fair_since: datetime | None
    """The most likely first hour back inside the limit, after the last alarm."""

    alarms: list[AlarmOut]
    """All alarms at this limit, oldest first."""

    reason: str | None
    """Why nothing can be computed."""

    notes: list[str]
    """Further remarks in words, such as that a past hour has changed."""

    @classmethod
    def of(cls, state: ComparisonState, monitor: Monitor) -> "ComparisonEvidenceOut":
        comparison = find_comparison(monitor, state.attribute)
        return cls.from_object(
            state,
            id=state.figure_id,
            notes=list_figure_notes(state),
            features=comparison.features if comparison else [],
            reference=comparison and comparison.reference_label(monitor),
        )


class DeploymentEvidenceOut(Out):
    """Evidence of a deployment under the present model revision; it begins again with another one.

    Another version of the monitor keeps the evidence of each comparison that it does not change.
    """

    model_config = example(_EVIDENCE)

    monitor_version: int
    model_revision: str
    starts_at: datetime | None
    """The first hour that may count; null if every hour does."""

    counted_until: datetime | None
    """The end of the last hour whose records are counted."""

    labels_until: datetime | None
    """The end of the last hour whose labels are counted: its horizon has passed."""

    late_labels: int
    """Labels that arrived after their horizon; they do not count."""

    problem: str | None
    """Why no further hour is counted; null while counting goes on."""

    false_alarm_hours: int
    """All comparisons together raise at most one false alarm in these hours on average."""

    guarantee: str
    """The bound on false alarms, and the condition that it holds under."""

    some_group: str | None
    """That at least one comparison is outside its limit, not yet clear which."""

    remarks: list[str]
    """Remarks on all comparisons, in words: up to when hours are counted, and what does not count."""

    records: dict[str, dict[str, dict[str, Any]]] = Field(
        description=f"By data set and attribute, of all counted hours. {RECORDS_MEANING}"
    )
    comparisons: list[ComparisonEvidenceOut]
    next_cursor: FollowingCursor

    @classmethod
    def of(
        cls, evidence: DeploymentEvidence, page: list[ComparisonState], next_cursor: str | None
    ) -> "DeploymentEvidenceOut":
        return cls.from_object(
            evidence.era,
            monitor_version=evidence.monitor.version,
            false_alarm_hours=evidence.monitor.evidence.false_alarm_hours,
            guarantee=evidence.guarantee,
            some_group=say_some_group(evidence),
            remarks=list(list_remarks(evidence)),
            records={
                data: {records.attribute: records.to_json() for records in counted}
                for data, counted in evidence.records.items()
                if counted
            },
            comparisons=[ComparisonEvidenceOut.of(state, evidence.monitor) for state in page],
            next_cursor=next_cursor,
        )


class DirectionOfHourOut(Out):
    """Evidence after one hour for one limit."""

    direction: UnfairSide
    log_e: float | None
    """ln of the hour's own e-value, the mean of its alternatives; null where the hour says nothing."""

    log_evidence: float
    log_fairness: float
    log_threshold: float
    confirmed_fair: bool
    is_closed: bool
    """A person closed the alarm before this hour: the evidence begins again with it."""


class EvidenceHourOut(Out):
    """Counts of one hour's own records, and the evidence after it."""

    model_config = example(_HOUR)

    hour: datetime
    """The start of the hour."""

    monitored_favourable: float
    """Records of the monitored group that the metric counts; of pairs, their sum of outcomes."""

    monitored_records: float
    reference_favourable: float
    reference_records: float
    evidence: list[DirectionOfHourOut]


class EvidenceHourPage(PageOut):
    """Hours of one comparison, oldest first."""

    hours: list[EvidenceHourOut]
    next_cursor: FollowingCursor


_PLANNED: dict[str, Any] = {
    "attribute": "Sex",
    "group": "female",
    "direction": "below",
    "limit": 0.8,
    "hours": 44,
    "records": 13200,
    "words": "A disparate impact of 0.7 would be found with 90 % probability after about 13,200 records, 44 "
    "hours at this traffic.",
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
    "comparisons": [_PLANNED],
}


class PlannedComparisonOut(Out):
    """One group: the hours and records that suffice, and the counts that they are computed from."""

    model_config = example(_PLANNED)

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
    def of(cls, comparison: PlannedComparison) -> "PlannedComparisonOut":
        return cls.from_object(
            comparison,
            monitored_favourable=comparison.monitored.favourable,
            monitored_records=comparison.monitored.records,
            reference_favourable=comparison.reference.favourable,
            reference_records=comparison.reference.records,
        )


class EvidencePlanOut(Out):
    """Plan for one disparate impact. The records are those logged from `since` to `until`, of the present
    model revision.
    """

    model_config = example(_PLAN)

    ratio: float
    chance: float
    since: datetime | None
    """The start of the hours whose traffic is assumed; null if nothing was logged."""

    until: datetime | None
    traffic_hours: int
    """The number of these hours."""

    false_alarm_comparisons: int
    """Comparisons that share the budget of false alarms: each metric with a limit, of each group with
    records and of several together, on each side."""

    threshold: float
    """Evidence that raises the alarm: the budget in hours times these comparisons, at least one."""

    comparisons: list[PlannedComparisonOut]

    @classmethod
    def of(cls, plan: EvidencePlan, detection: WantedDetection) -> "EvidencePlanOut":
        return cls.from_object(
            plan,
            ratio=detection.ratio,
            chance=detection.chance,
            since=plan.span and plan.span.start,
            until=plan.span and plan.span.end,
            traffic_hours=plan.hours,
            false_alarm_comparisons=plan.shared_by,
            comparisons=[PlannedComparisonOut.of(comparison) for comparison in plan.comparisons],
        )
