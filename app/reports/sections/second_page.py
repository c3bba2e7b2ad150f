"""Second page and last sections of a report."""

from collections.abc import Iterator
from dataclasses import astuple
from datetime import datetime
from itertools import pairwise

from ...charts.pictures.period_charts import GAP_HEIGHT, ReportRowMarks, build_axis, draw_row, draw_row_axis
from ...charts.pictures.timeline_picture import (
    build_level_axis,
    draw_panel,
    draw_stretches,
    name_step,
    say_panel,
)
from ...charts.series import rename_gap
from ...charts.timeline import TimePanel, find_step_start, join_points
from ...checks.views.headlines import DATA_NAMES, IMPACT
from ...domain.alert import Alert
from ...domain.check import CheckRun, CheckState, Scope, Span
from ...evidence.attribution.words import sum_up_gap
from ...statistics.e_values.state_words import State
from ...statistics.intervals.verdicts import GRAVEST, MINIMUM_GROUP_SIZE
from ..document import (
    ABSENT,
    Block,
    Paragraph,
    ReportedAlert,
    ReportTable,
    SecondPage,
    Section,
    TimeRow,
    write_time,
)
from ..report_source import NO_IMPACT_MEASURED, History, ReportSource, choose_step
from .configuration_sections import list_origin, name_versions
from .evidence_section import EVIDENCE_MEANING

MAX_TIME_ROWS = 6
"""Rows over time, the gravest first."""

MAX_ALERTS = 100

ALERT_COLUMNS = ("Opened", "Rule and subject", "What it says", "Acknowledged", "Resolved")

METHOD = (
    (
        "Disparate impact is the group's share of favourable outcomes divided by the reference's. As logged "
        "(●) it counts the outcomes that were logged. Counterfactual (○) it asks the model again about "
        "copies of the same records in which the attribute is changed."
    ),
    (
        "Each ratio has a 95 % interval. Unfair: ratio and whole interval are beyond a limit. Suspected: the "
        "ratio is, its interval is not; of several groups, by the wider interval that allows for the choice "
        f"among them. With fewer than {MINIMUM_GROUP_SIZE} records in a group that is compared there is no "
        "verdict."
    ),
    EVIDENCE_MEANING,
)

NO_CAUSE = "This is arithmetic on the model's answers and says nothing about causes."

LIMITS_IN_SHORT = (
    (
        "A difference between groups is a correlation: it does not say why they differ, nor that anybody was "
        "wronged."
    ),
    (
        "Counterfactual figures show direct bias only: what a model takes from other features that go "
        "together with the attribute stays."
    ),
    (
        "About one in twenty 95 % intervals does not hold the truth; of many figures some lie outside their "
        "limits by chance."
    ),
    (
        "Records whose outcome is in neither list, or whose value is in no group, take part in no rate; many "
        "of them may hide a difference."
    ),
    "A figure inside its limits is no proof of fairness: outcomes, groups and limits are chosen by people.",
)

LIMITS = (
    (
        "A difference between groups is a correlation. It does not say why the groups differ, nor that "
        "anybody was wronged; that takes people who look at the decisions."
    ),
    (
        "Counterfactual figures show what the model does when the attribute of a record is changed, and the "
        "correlated features where that is said. They show direct bias only: what a model takes from other "
        "features that go together with the attribute stays in both."
    ),
    (
        f"Small groups say little. With fewer than {MINIMUM_GROUP_SIZE} records in a group that is compared "
        "there is no verdict, and with few favourable or few unfavourable outcomes an interval may not hold "
        "what it promises."
    ),
    (
        "The intervals are 95 % intervals: about one in twenty does not hold the truth, and with many "
        "figures some lie outside their limits by chance. They speak of chance in who happened to be in the "
        "window, and not of wrong labels or of records that depend on each other."
    ),
    (
        "Without labels nothing is known of whether predictions were right. Accuracy and all that is made of "
        "it rests on the labels that came back, which may differ from those that did not."
    ),
    (
        "Records whose prediction is in neither outcome list, and records whose value is in neither group, "
        "are counted and take part in no rate. Many of them may hide a difference."
    ),
    (
        "A check reads the newest records of its span up to a limit, and adds earlier ones where they are "
        "few. Where nothing has changed since, the figures of the check before are carried forward and "
        "marked so."
    ),
    (
        "Mitigation by substitution removes direct bias only. Its figures say what would have been; they "
        "are no promise for other records."
    ),
)


def write_second_page(source: ReportSource, digest: str) -> SecondPage:
    ranked = sorted(
        (history for history in source.histories if history.points),
        key=lambda history: min(GRAVEST.index(point.verdict) for point in history.points),
    )
    lead = (
        f"Times in {source.zone.key}. Each bar reaches from the lowest to the highest ratio of the group "
        f"furthest out in the checks of one {name_step(choose_step(source.span))} (UTC), in the colour of "
        "the gravest verdict, with a line at 1 and the fair band. Grey: 95 % intervals. Tinted: a group of the "
        "attribute is outside, by evidence. Triangle: alert opened. Dashed line: new model revision or "
        "monitor version. Dark at the bottom: check without figures."
    )
    notes = [lead]
    if not ranked:
        notes = [NO_IMPACT_MEASURED]
    elif len(ranked) > MAX_TIME_ROWS:
        notes.append(
            f"The {MAX_TIME_ROWS} with the gravest verdicts of {len(ranked)}; the report of checks with its "
            "annex has all."
        )
    open_first = sorted(
        source.alerts, key=lambda alert: (alert.resolved_at is not None, -alert.opened_at.timestamp())
    )
    return SecondPage(
        time_notes=tuple(notes),
        axis=draw_row_axis(build_axis(source.span), source.zone) if ranked else "",
        times=draw_time_rows(source, ranked[:MAX_TIME_ROWS]),
        alert_notes=tuple(describe_alerts(source)),
        alerts=tuple(describe_alert(alert) for alert in open_first[:MAX_ALERTS]),
        method=METHOD,
        limits=LIMITS_IN_SHORT,
        origin=tuple(list_origin(source, digest)),
        drivers=say_drivers(source),
    )


def say_drivers(source: ReportSource) -> str:
    """Words on the worst attributed group; empty without one."""
    run = source.attribution
    if run is None or run.result is None:
        return ""
    gaps = {(gap.attribute, gap.monitored.label): gap for gap in reversed(run.result.gaps)}
    subjects = [(row.attribute, row.group) for row in source.forest.rows]
    subject = next((subject for subject in subjects if subject in gaps), None)
    if subject is None:
        return ""
    gap = rename_gap(source.forest.words, gaps[subject])
    group = gap.monitored.label or gaps[subject].attribute
    window = (
        f"records of {write_time(run.span.start)} to {write_time(run.span.end)}, attributed on "
        f"{write_time(run.finished_at)}"
    )
    return f"Drivers of the gap of {group} ({window}): {sum_up_gap(gap)} {NO_CAUSE}"


def describe_alerts(source: ReportSource) -> Iterator[str]:
    alerts = source.alerts
    if source.waiting:
        waiting = (
            "the alerts of one check" if source.waiting == 1 else f"the alerts of {source.waiting:,} checks"
        )
        yield (
            f"The worker has not decided on {waiting} of this time yet. Make the report again in a minute."
        )
    if not alerts:
        yield "No alert was open in this time, and no check of it opened one."
        return
    resolved = sum(alert.resolved_at is not None for alert in alerts)
    acknowledged = sum(alert.acknowledged_at is not None for alert in alerts)
    ended = f"of them {acknowledged:,} acknowledged and {resolved:,} resolved"
    yield f"Alerts that were open in this time, or that a check of it opened: {len(alerts):,}, {ended}."


def name_subject(alert: Alert) -> str:
    """As `women (sex), disparate impact, as logged`; else the kind of the alert."""
    worst = alert.worst
    if alert.attribute is None:
        return alert.kind.value.replace("_", " ")
    group = alert.attribute if alert.group_name is None else f"{alert.group_name} ({alert.attribute})"
    metric = None if worst.metric is None else worst.metric.replace("_", " ")
    data = None if worst.data is None else DATA_NAMES.get(worst.data, worst.data.value.replace("_", " "))
    more = len(alert.figures) - 1
    others = f"and {more} more figure{'' if more == 1 else 's'}" if more else None
    return ", ".join(filter(None, (group, metric, data, others)))


def describe_alert(alert: Alert) -> ReportedAlert:
    acknowledged = ABSENT
    resolved = "not yet"
    if alert.acknowledged_at is not None:
        note = f": {alert.note}" if alert.note else ""
        acknowledged = f"{write_time(alert.acknowledged_at)} by {alert.acknowledged_by}{note}"
    if alert.resolved_at is not None:
        resolved = write_time(alert.resolved_at)
    if alert.resolution is not None:
        resolved += f", {alert.resolution.value.replace('_', ' ')}"
    if alert.closed_by is not None:
        note = f": {alert.closing_note}" if alert.closing_note else ""
        resolved += f" by {alert.closed_by}{note}"
    return ReportedAlert(
        opened=write_time(alert.opened_at),
        about=f"{alert.worst.rule_name}: {name_subject(alert)}",
        sentence=alert.sentence or ABSENT,
        acknowledged=acknowledged,
        resolved=resolved,
    )


def draw_time_rows(source: ReportSource, histories: list[History]) -> tuple[TimeRow, ...]:
    span = source.span
    step = choose_step(span)
    axis = build_axis(span)
    panels = [
        TimePanel(
            attribute=history.attribute,
            group=None,
            scope=Scope.WORST,
            name=f"{history.attribute}, {DATA_NAMES[history.data]}",
            steps=join_points(history.points, span, step),
        )
        for history in histories
    ]
    levels = build_level_axis(IMPACT, panels)
    succeeded = [run for run in source.runs if run.state == CheckState.SUCCEEDED]
    changed = [
        after.span_end
        for before, after in pairwise(succeeded)
        if (before.monitor_version, before.model_revision) != (after.monitor_version, after.model_revision)
    ]
    failed = sorted(
        {find_step_start(run.span_end, step) for run in source.runs if run.state != CheckState.SUCCEEDED}
    )
    gaps = draw_stretches(failed, step, axis, height=GAP_HEIGHT)
    rows = []
    for history, panel in zip(histories, panels, strict=True):
        opened = [
            alert.opened_at
            for alert in source.alerts
            if alert.attribute == history.attribute
            and any(figure.data == history.data for figure in alert.figures)
            and span.start <= alert.opened_at <= span.end
        ]
        drawn = draw_panel(panel, IMPACT, axis, levels)
        outside = list(list_outside(source, history.attribute))
        marks = ReportRowMarks(outside=outside, changes=changed, alerts=opened, gaps=gaps)
        rows.append(TimeRow(panel.name, draw_row(drawn, axis, marks), say_panel(IMPACT, panel, drawn)))
    return tuple(rows)


def list_outside(source: ReportSource, attribute: str) -> Iterator[Span]:
    """Yields the times in which a group of the attribute is outside by evidence, ended by the report's."""
    end = source.span.end
    onsets: list[tuple[datetime | None, datetime | None]]
    if source.is_of_check:
        onsets = [
            (state.since, None)
            for state in (source.evidence.comparisons if source.evidence else ())
            if state.attribute == attribute and state.state is State.UNFAIR
        ]
    else:
        onsets = [
            (incident.since, incident.until)
            for (of_attribute, _), past in source.states.items()
            for incident in past.incidents
            if of_attribute == attribute
        ]
    for since, until in onsets:
        if since is not None and since < min(until or end, end):
            yield Span(start=since, end=min(until or end, end))


def write_alerts_section(source: ReportSource) -> Section:
    """Writes alerts that people were sent, newest first. Those of waiting checks are not known yet."""
    alerts = source.alerts
    blocks: list[Block] = [Paragraph(note, is_caution=source.waiting > 0) for note in describe_alerts(source)]
    if alerts:
        rows = [astuple(describe_alert(alert)) for alert in alerts[:MAX_ALERTS]]
        note = f"The newest {MAX_ALERTS} of {len(alerts):,}." if len(alerts) > MAX_ALERTS else None
        caption = "Alerts that were open in this time, or that a check of it opened"
        blocks.append(ReportTable(caption, ALERT_COLUMNS, rows, note))
    return Section("Alerts", blocks)


def write_tracing_section(check: CheckRun | None) -> Section:
    blocks = [Paragraph(f"This report was made with {name_versions()}")]
    if check is not None:
        address = f"/v1/deployments/{check.deployment_id}/checks/{check.id}"
        blocks.append(
            Paragraph(
                f"The figures of the views are those of check {check.id}. GET {address} has its window, "
                f"count tables and measurements as JSON, {address}/trace.csv every measurement with its "
                "formula and counts; the PDF carries that file. Every figure is its formula with these "
                "counts put in; the intervals can be repeated exactly from the counts and the monitor's seed."
            )
        )
    return Section("How to trace a figure", blocks)
