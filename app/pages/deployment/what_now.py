"""Causes of the gap of a row: the figures that they are recognised by, and their sentences."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from ...base.clock import HOUR
from ...charts.forest import Forest, ForestRow
from ...checks.views.headlines import IMPACT
from ...domain.alert import Alert, AlertKind, RuleKind
from ...domain.check import SIDES, DataSet
from ...evidence.attribution.attribution import AttributedGap, ChangedGap, PeriodCounts, RevisionBoundary
from ...evidence.attribution.words import list_drivers
from ...evidence.cause_words import CauseNames, say_cause
from ...evidence.causes import (
    MIN_DELAY_RATIO,
    MIN_FAILED_CHECKS,
    NOT_SEEN,
    Availability,
    CauseFigures,
    GapCause,
    LabelQuality,
    RateChange,
    recognise_causes,
)
from ...statistics.e_values.state_words import capitalise
from ...statistics.intervals.verdicts import Verdict
from ...statistics.measures.label_states import LabelState
from ...statistics.sentences.everything_equal import Ratio
from ..words import write_time

CAUSES_WITHOUT_GAP = {GapCause.FEED_AWAY, GapCause.DATA_QUALITY, GapCause.FEW_DATA, GapCause.LABELS}
"""Causes that need no gap outside the limits."""


def find_ratios(row: ForestRow) -> list[Ratio | None]:
    """Ratios as logged and counterfactual, of the same records.

    One is None where it is not known, or its copies are not the same records.
    """
    figures = [row.logged, None if row.is_unseen else row.counterfactual]
    spans = {
        None if figure is None or figure.statement is None else figure.statement.span for figure in figures
    }
    if len(spans) > 1:
        # The hours of their statements differ, those of the check do not.
        figures = [None if figure is None else replace(figure, statement=None) for figure in figures]
    return [
        None
        if figure is None or figure.value is None or figure.measurement.metric != IMPACT
        else (figure.value, *figure.interval)
        for figure in figures
    ]


def find_what_now(
    forest: Forest, row: ForestRow, alerts: Sequence[Alert], gap: AttributedGap | None
) -> list[tuple[GapCause, str]] | None:
    """None where nothing is to be done.

    `alerts` are those of the deployment that are not over.
    """
    figure = row.leading
    measurement = row.main.measurement
    evidence = figure.evidence
    vanished = None if evidence is None else evidence.vanished
    sizes = (figure.count(side)[1] for side in SIDES)
    smallest = min((size for size in sizes if size is not None), default=None)
    explained = next(
        (
            alert
            for alert in alerts
            if alert.change and (alert.attribute, alert.group) == (row.attribute, row.group)
        ),
        None,
    )
    change = boundary = None
    if explained is not None:
        change = msgspec.convert(explained.change, ChangedGap)
        boundary = _find_boundary(explained, change)
    faults = {alert.kind: alert.sentence for alert in alerts}
    feed_fault = faults.get(AlertKind.FAILED_CHECKS) or faults.get(AlertKind.STALE_DATA)
    late_labels = faults.get(AlertKind.LATE_LABELS)
    logged, counterfactual = find_ratios(row)
    labels = measurement.details.labels or {}
    figures = CauseFigures(
        state=figure.state,
        smallest=smallest,
        needed=None if evidence is None else evidence.more_hours,
        logged=logged,
        counterfactual=counterfactual,
        counterfactual_reason=NOT_SEEN if row.is_unseen else None,
        availability=Availability(checks_failed_in_a_row=MIN_FAILED_CHECKS if feed_fault else 0),
        attribute_values_changed=vanished is not None,
        revision_boundary=boundary is not None,
        change=None if change is None else _read_rates(change),
        needs_labels=measurement.data is DataSet.LABELLED,
        labels=LabelQuality(
            one_decision_only=labels.get("state") == LabelState.ONE_DECISION,
            delay_ratio=MIN_DELAY_RATIO if late_labels else 0,
        ),
    )
    is_outside = figure.verdict in {Verdict.UNFAIR, Verdict.SUSPECTED}
    causes = [cause for cause in recognise_causes(figures) if is_outside or cause in CAUSES_WITHOUT_GAP]
    if not (causes or is_outside):
        return None
    last_figures = ""
    if forest.check is not None:
        last_figures = f"The last figures, of {write_time(forest.check.measured_at)}: {figure.state}."
    names = CauseNames(
        attribute=row.attribute,
        group=forest.words.subject(row.attribute, row.group),
        reference=forest.words.subject(row.attribute, row.reference),
        drivers=[] if gap is None else _name_drivers(gap),
        boundary=boundary,
        remarks={
            GapCause.FEED_AWAY: f"{feed_fault} {last_figures}",
            GapCause.DATA_QUALITY: f"{capitalise(vanished or '')}.",
            GapCause.FEW_DATA: f"Too few records to tell: {smallest or 0:,.0f} on the smaller side.",
            GapCause.LABELS: f"{late_labels or ''} {measurement.reason or ''}",
        },
    )
    return [(cause, say_cause(cause, figures, names)) for cause in causes]


def _find_boundary(alert: Alert, change: ChangedGap) -> RevisionBoundary | None:
    facts = (alert.find(RuleKind.EVIDENCE) or alert.worst).facts
    first, last = (
        datetime.fromisoformat(str(facts.get(name) or change.at)) for name in ("earliest", "latest")
    )
    boundary = change.boundary
    return boundary if boundary and first - HOUR <= boundary.at <= last + HOUR else None


def _read_rates(change: ChangedGap) -> RateChange:
    def read(period: PeriodCounts) -> tuple[float, float]:
        return period.monitored.rate or 0.0, period.reference.rate or 0.0

    who = {feature.feature: feature.who_asked_log_ratio or 0.0 for feature in change.features}
    return RateChange(before=read(change.before), after=read(change.after), who=who)


def _name_drivers(gap: AttributedGap) -> list[str]:
    """Names drivers whose parts have the gap's sign for certain, without the attribute itself."""
    return [
        name
        for name, part in list_drivers(gap)
        if min(gap.gap * (end or 0.0) for end in (part.low, part.high)) > 0
        and set(gap.features).isdisjoint(name.split(" with "))
    ]
