"""Causes of the gap of a row: the figures that they are recognised by, and their sentences."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from ...alerts.gravity import read_number
from ...base.clock import HOUR
from ...base.values import frozen_by_name
from ...charts.forest import Forest, ForestRow
from ...checks.views.headlines import IMPACT
from ...deployments.queries import WatchedDeployment
from ...domain.alert import Alert, AlertKind, RuleKind
from ...domain.check import DataSet
from ...domain.monitor import find_comparison
from ...evidence.attribution.attribution import AttributedGap, ChangedGap
from ...evidence.cause_words import NO_CAUSE, CauseNames, say_cause
from ...evidence.causes import (
    FAILED_IN_A_ROW,
    MIN_DELAY_RATIO,
    NOT_SEEN,
    Availability,
    CauseFigures,
    GapCause,
    LabelQuality,
    RateChange,
    Ratio,
    recognise_causes,
)
from ...statistics.intervals.verdicts import Verdict
from ...statistics.measures.labelled_figures import LabelState
from ..words import moment

MOST_DRIVERS = 3
"""Max drivers that a sentence names."""

DAYS = timedelta(days=2)
"""Time from which on it is said in days."""

OF_ANY_FIGURE = {GapCause.FEED_AWAY, GapCause.DATA_QUALITY, GapCause.FEW_DATA, GapCause.LABELS}
"""Causes that need no gap outside the limits."""


@frozen_by_name
class WhatNow:
    """Causes with their sentences; without any, `remark` says so. `alert_id` is of one that says why it
    changed.
    """

    causes: Sequence[tuple[GapCause, str]]
    remark: str
    alert_id: str | None


def find_ratios(row: ForestRow) -> tuple[Ratio | None, Ratio | None]:
    """Ratios as logged and counterfactual, of the same records; None where one is not known, or its copies
    are not the same records.
    """
    figures = (row.logged, None if row.is_unseen else row.counterfactual)
    statements = [figure and figure.statement for figure in figures]
    spans = {said and said.compared and (said.interval_kind, said.compared.since) for said in statements}
    ratios: list[Ratio | None] = []
    for figure in figures:
        ratio = None
        if figure is not None and figure.measurement.metric == IMPACT:
            # All hours of one must not be compared with other hours of the other: a check has the same.
            shown = figure.measurement
            value, ends = shown.value, (shown.lower, shown.upper)
            if len(spans) == 1:
                value, ends = figure.value, figure.interval
            ratio = None if value is None else (value, *ends)
        ratios.append(ratio)
    return ratios[0], ratios[1]


def find_what_now(
    watched: WatchedDeployment,
    forest: Forest,
    row: ForestRow,
    alerts: Sequence[Alert],
    gap: AttributedGap | None,
) -> WhatNow | None:
    """None where nothing is to be done. `alerts` are those of the deployment that are not over."""
    figure = row.leading
    explained = next(
        (
            alert
            for alert in alerts
            if alert.change is not None and (alert.attribute, alert.group) == (row.attribute, row.group)
        ),
        None,
    )
    change = None if explained is None else msgspec.convert(explained.change, ChangedGap)
    boundary = None
    if explained is not None and change is not None and change.boundary is not None:
        facts = (explained.find(RuleKind.EVIDENCE) or explained.worst).facts
        first, last = (
            datetime.fromisoformat(str(facts.get(name) or change.at)) for name in ("earliest", "latest")
        )
        if first - HOUR <= change.boundary.at <= last + HOUR:
            boundary = change.boundary
    evidence = figure.evidence
    vanished = "" if evidence is None else evidence.vanished or ""
    more_hours = None if evidence is None else evidence.more_hours
    sizes = [count for side in ("monitored", "reference") if (count := figure.count(side)[1]) is not None]
    smallest = round(min(sizes)) if sizes else None
    labels = row.main.measurement.details.labels or {}
    away = [alert.sentence for alert in alerts if _stops_figures(alert)]
    late = [alert.sentence for alert in alerts if alert.kind is AlertKind.LATE_LABELS]
    logged, counterfactual = find_ratios(row)
    figures = CauseFigures(
        state=figure.state,
        smallest=smallest,
        needed=more_hours,
        logged=logged,
        counterfactual=counterfactual,
        counterfactual_reason=None if _is_seen(watched, row) else NOT_SEEN,
        availability=Availability(checks_failed_in_a_row=FAILED_IN_A_ROW if away else 0),
        attribute_values_changed=bool(vanished),
        revision_boundary=boundary is not None,
        change=None if change is None else _read_rates(change),
        needs_labels=row.main.measurement.data is DataSet.LABELLED,
        labels=LabelQuality(
            one_decision_only=labels.get("state") == LabelState.ONE_DECISION,
            delay_ratio=MIN_DELAY_RATIO if late else None,
        ),
    )
    is_outside = figure.verdict in {Verdict.UNFAIR, Verdict.SUSPECTED}
    causes = [cause for cause in recognise_causes(figures) if is_outside or cause in OF_ANY_FIGURE]
    if not causes and not is_outside:
        return None
    group, reference = (forest.words.subject(row.attribute, name) for name in (row.group, row.reference))
    last_figure = (
        ""
        if forest.check is None
        else f" The last figures, of {moment(forest.check.measured_at)}: {figure.state}."
    )
    names = CauseNames(
        attribute=row.attribute,
        group=group,
        reference=reference,
        drivers=_list_drivers(gap),
        boundary=None if boundary is None else (boundary.after, boundary.at),
        remarks={
            GapCause.FEED_AWAY: " ".join(away) + last_figure,
            GapCause.DATA_QUALITY: f"{vanished[:1].upper()}{vanished[1:]}.",
            GapCause.FEW_DATA: _say_few(smallest, more_hours),
            GapCause.LABELS: " ".join([*late, *filter(None, [row.main.measurement.reason])]),
        },
    )
    return WhatNow(
        causes=[(cause, say_cause(cause, figures, names)) for cause in causes],
        remark=NO_CAUSE,
        alert_id=None if explained is None else explained.id,
    )


def _stops_figures(alert: Alert) -> bool:
    """Whether checks fail in a row, or no records come."""
    in_a_row = read_number(alert.facts.get("checks_in_a_row")) or 0
    is_failing = alert.kind is AlertKind.FAILED_CHECKS and in_a_row >= FAILED_IN_A_ROW
    return is_failing or alert.kind is AlertKind.STALE_DATA


def _read_rates(change: ChangedGap) -> RateChange:
    before, after = (
        (period.monitored.rate or 0.0, period.reference.rate or 0.0)
        for period in (change.before, change.after)
    )
    who = {feature.feature: feature.who_asked_log_ratio for feature in change.features}
    return RateChange(
        before=before, after=after, who={name: part for name, part in who.items() if part is not None}
    )


def _is_seen(watched: WatchedDeployment, row: ForestRow) -> bool:
    """Whether the model sees a column of the attribute."""
    monitor = watched.monitor
    comparison = None if monitor is None else find_comparison(monitor, row.attribute)
    if monitor is None or comparison is None:
        return True
    seen = {column.name for column in watched.deployment.schema.features}
    return any(not seen.isdisjoint(member.columns) for member in comparison.members(monitor))


def _list_drivers(gap: AttributedGap | None) -> list[str]:
    """Features whose parts have the gap's sign for certain, without the attribute itself."""
    if gap is None or gap.hybrids is None:
        return []
    return [
        " with ".join(driver.features)
        for driver in gap.hybrids.shares
        if min((driver.share.low or 0.0) * gap.gap, (driver.share.high or 0.0) * gap.gap) > 0
        and set(gap.features).isdisjoint(driver.features)
    ][:MOST_DRIVERS]


def _say_few(smallest: int | None, more_hours: int | None) -> str:
    few = "" if smallest is None else f": {smallest:,} on the smaller side"
    if not more_hours:
        return f"Too few records to tell{few}."
    time = f"{more_hours / 24:.0f} days" if more_hours * HOUR >= DAYS else f"{more_hours:,} hours"
    return f"Too few records to tell{few}; at this traffic and ratio a decision takes about {time} more."
