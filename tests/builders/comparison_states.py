"""Comparisons with their evidence, not stored anywhere."""

from datetime import UTC, datetime
from typing import Any

from app.domain.check import DataSet
from app.domain.monitor import EvidenceSettings, Monitor, MonitoredAttribute, OutcomeRule
from app.evidence.present_state import ComparisonState, DeploymentEvidence
from app.evidence.queries.eras import Era
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import EvidenceState, FigureLabel, FigureStatement, State, say_start

SINCE = datetime(2026, 11, 19, 7, tzinfo=UTC)
UNTIL = datetime(2026, 11, 20, 9, tzinfo=UTC)
FIGURE_ID = "0b6f9d38-5f7e-4a66-9b1c-2f4d5e6a7b8c"


def comparison_of(state: State, **more: Any) -> ComparisonState:  # noqa: ANN401 - members of a comparison
    """The disparate impact of women as logged, in that state."""
    since = None if state is State.UNDECIDED else more.pop("since", SINCE)
    start = None if since is None else say_start(since, more.get("earliest"), more.get("latest"))
    more_hours, reason = more.pop("more_hours", None), more.pop("reason", None)
    values: dict[str, Any] = {
        "figure_id": FIGURE_ID,
        "data": DataSet.AS_LOGGED,
        "attribute": "sex",
        "group": "female",
        "metric": "disparate_impact",
        "direction": UnfairSide.BELOW,
        "limit": 0.8,
        "state": state,
        "evidence": {State.UNFAIR: EvidenceState.UNFAIR_SINCE, State.SHOWN_FAIR: EvidenceState.CONFIRMED_FAIR}.get(
            state, EvidenceState.UNDECIDED
        ),
        "statement": FigureStatement(
            row={State.UNFAIR: 1, State.SHOWN_FAIR: 6}.get(state, 11),
            state={State.UNFAIR: FigureLabel.UNFAIR, State.SHOWN_FAIR: FigureLabel.CONFIRMED_FAIR}.get(state, FigureLabel.UNDECIDED),
            sentence=f"Women get the favourable outcome 40 % less often than men{f' since {start}' if start else ''}.",
            interval=None,
            interval_kind=None,
        ),
        "since": since,
        "alarm_at": UNTIL if state is State.UNFAIR else None,
        "more_hours": more_hours,
        "reason": reason,
    }
    return ComparisonState(**values | more)


def evidence_of(*comparisons: ComparisonState, settings: EvidenceSettings | None = None, **era: Any) -> DeploymentEvidence:  # noqa: ANN401 - members of an era
    """Evidence of a deployment whose hours before UNTIL are counted. `counted_until=None`: nothing is counted yet."""
    monitor = Monitor(
        outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
        attributes=(MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),),
        evidence=settings or EvidenceSettings(),
        version=3,
    )
    values: dict[str, Any] = {
        "no": 1,
        "monitor_version": 3,
        "model_revision": "2",
        "starts_at": None,
        "counted_until": UNTIL,
        "labels_until": None,
        "late_labels": 0,
        "problem": None,
    }
    return DeploymentEvidence(era=Era(**values | era), monitor=monitor, model_revision="2", comparisons=comparisons)
