"""Last sections of a report: alerts, limits of the figures, and how to trace each figure."""

from collections.abc import Sequence

from ..domain.alerts import Alert
from ..domain.checks import CheckRun, Measurement
from ..metrics.verdicts import MINIMUM_GROUP_SIZE
from ..views.figures import explained
from .configuration import versions
from .document import Block, Bullets, Paragraph, Section, Table
from .numbers import ABSENT, interval_of, moment, value_of

MOST_FIGURES = 200
"""Max figures that the appendix lists; the CSV has all."""

MOST_ALERTS = 100

LIMITS = (
    (
        "A difference between groups is a correlation. It does not say why the groups differ, nor that anybody was wronged; "
        "that takes people who look at the decisions."
    ),
    (
        "Figures with copies show what the model does when the attribute of a record is changed, and the correlated features where that is "
        "said. They show direct bias only: what a model takes from other features that go together with the attribute stays in both."
    ),
    (
        f"Small groups say little. With fewer than {MINIMUM_GROUP_SIZE} records in a group that is compared there is no verdict, and with "
        "few favourable or few unfavourable outcomes an interval may not hold what it promises."
    ),
    (
        "The intervals are 95 % intervals: about one in twenty does not hold the truth, and with many figures some lie outside "
        "their limits by chance. They speak of chance in who happened to be in the window, and not of wrong labels or of "
        "records that depend on each other."
    ),
    (
        "Without labels nothing is known of whether predictions were right. Accuracy and all that is made of it rests on the "
        "labels that came back, which may differ from those that did not."
    ),
    (
        "Records whose prediction is in neither outcome list, and records whose value is in neither group, are counted and take "
        "part in no rate. Many of them may hide a difference."
    ),
    (
        "A check reads the newest records of its span up to a limit, and adds earlier ones where they are few. Where nothing has "
        "changed since, the figures of the check before are carried forward and marked so."
    ),
    ("Mitigation by substitution removes direct bias only. Its figures say what would have been; they are no promise for other records."),
)


def alerts_section(alerts: Sequence[Alert], *, waiting: int) -> Section:
    """Returns the alerts that people were sent, newest first, as they are now. Those of `waiting` checks are not known yet."""
    of_checks = "the alerts of one check" if waiting == 1 else f"the alerts of {waiting:,} checks"
    late = f"The worker has not decided on {of_checks} of this time yet. Make the report again in a minute."
    blocks: list[Block] = [Paragraph(late, is_caution=True)] if waiting else []
    if not alerts:
        return Section("Alerts", (*blocks, Paragraph("No alert was open in this time, and no check of it opened one.")))
    rows = []
    for alert in alerts[:MOST_ALERTS]:
        subject = alert.subject
        about = [part for part in (subject.metric, subject.data, subject.attribute, subject.group) if part is not None]
        sentence = str(alert.facts.get("sentence", ABSENT))
        acknowledged, resolved = ABSENT, "not yet"
        if alert.acknowledged_at is not None:
            acknowledged = f"{moment(alert.acknowledged_at)} by {alert.acknowledged_by}: {alert.note or ''}"
        if alert.resolved_at is not None:
            resolved = moment(alert.resolved_at)
        if alert.resolution is not None:
            resolved += f", {alert.resolution.value.replace('_', ' ')}"
        if alert.closed_by is not None:
            resolved += f" by {alert.closed_by}: {alert.closing_note or ''}"
        opened = (moment(alert.opened_at), alert.rule_name, " / ".join(about) or alert.kind.value)
        rows.append((*opened, sentence, acknowledged, resolved))
    note = f"The newest {MOST_ALERTS} of {len(alerts):,}." if len(alerts) > MOST_ALERTS else None
    columns = ("Opened", "Rule", "About", "What it says", "Acknowledged", "Resolved")
    caption = "Alerts that were open in this time, or that a check of it opened"
    return Section("Alerts", (*blocks, Table(caption, columns, tuple(rows), note)))


def limits_section() -> Section:
    """Returns the conclusions that the figures do not allow."""
    return Section("What these figures cannot say", (Bullets(LIMITS),))


def tracing_section(check: CheckRun | None, measurements: Sequence[Measurement]) -> Section:
    """Returns the origin of each figure: the check, the formula, the counts."""
    blocks: list[Block] = [Paragraph(f"This report was made with {versions()}")]
    if check is not None:
        address = f"/v1/deployments/{check.deployment_id}/checks/{check.id}"
        blocks.append(
            Paragraph(
                f"The figures of the views are those of check {check.id}. GET {address} has its window, count tables and measurements as"
                f" JSON, {address}/measurements.csv the measurements as CSV. Every figure is its formula with these counts put in; the"
                " intervals can be repeated exactly from the counts and the monitor's seed."
            )
        )
    rows = []
    for measurement in measurements[:MOST_FIGURES]:
        figure = explained(measurement)
        # A float is rounded for the page; a count stays as it is, so that it can be compared with the API's.
        counts = [
            f"{one.label} {f'{one.value:.6g}' if isinstance(one.value, float) else str(one.value).replace('_', ' ')}"
            for one in figure.counts
        ]
        formula = f"{figure.formula}; {', '.join(counts)}" if counts else figure.formula
        value = f"{value_of(measurement)}{', carried forward' if measurement.carried_forward else ''}"
        rows.append((figure.title, figure.subject, figure.data, value, interval_of(measurement), formula))
    if rows:
        note = f"The first {MOST_FIGURES} of {len(measurements):,}; the CSV has all." if len(measurements) > MOST_FIGURES else None
        columns = ("Figure", "Group", "On", "Value", "95 %", "Formula and counts")
        blocks.append(Table("The figures of the check", columns, tuple(rows), note, is_last_wide=True))
    return Section("How to trace a figure", tuple(blocks))
