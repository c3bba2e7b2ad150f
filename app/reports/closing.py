"""The end of a report: alerts, what the figures cannot say, and how to trace each of them."""

from collections.abc import Iterable, Sequence

from app.domain.alerts import Alert
from app.domain.checks import CheckRun, Measurement
from app.metrics.verdicts import MINIMUM_GROUP_SIZE
from app.reports.configuration import versions
from app.reports.document import Block, Bullets, Paragraph, Section, Table
from app.reports.numbers import ABSENT, interval_of, moment, value_of
from app.views.figures import Explanation, explained

MOST_FIGURES = 200
"""Figures that the appendix lists; the CSV has all."""

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
    """Alerts that people were sent, newest first, as they are when the report is made. Those of `waiting` checks are not known yet."""
    of_checks = "the alerts of one check" if waiting == 1 else f"the alerts of {waiting:,} checks"
    late = f"The worker has not decided on {of_checks} of this time yet. Make the report again in a minute."
    blocks: list[Block] = [Paragraph(late, is_caution=True)] if waiting else []
    if not alerts:
        return Section("Alerts", (*blocks, Paragraph("No alert was open in this time, and no check of it opened one.")))
    note = f"The newest {MOST_ALERTS} of {len(alerts):,}." if len(alerts) > MOST_ALERTS else None
    columns = ("Opened", "Rule", "About", "What it says", "Acknowledged", "Resolved")
    caption = "Alerts that were open in this time, or that a check of it opened"
    return Section("Alerts", (*blocks, Table(caption, columns, tuple(_alert(one) for one in alerts[:MOST_ALERTS]), note)))


def limits_section() -> Section:
    """What nobody may read out of the figures."""
    return Section("What these figures cannot say", (Bullets(LIMITS),))


def tracing_section(check: CheckRun | None, measurements: Sequence[Measurement]) -> Section:
    """Where each figure comes from: the check, the formula, the counts."""
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
    if measurements:
        note = f"The first {MOST_FIGURES} of {len(measurements):,}; the CSV has all." if len(measurements) > MOST_FIGURES else None
        columns = ("Figure", "Whom", "On", "Value", "95 %", "Formula and counts")
        blocks.append(Table("The figures of the check", columns, tuple(_figures(measurements[:MOST_FIGURES])), note, is_last_wide=True))
    return Section("How to trace a figure", tuple(blocks))


def _alert(alert: Alert) -> tuple[str, ...]:
    about = [part for part in (alert.subject.metric, alert.subject.data, alert.subject.attribute, alert.subject.group) if part is not None]
    taken = ABSENT if alert.acknowledged_at is None else f"{moment(alert.acknowledged_at)} by {alert.acknowledged_by}: {alert.note or ''}"
    over = "not yet" if alert.resolved_at is None else moment(alert.resolved_at)
    reason = "" if alert.resolution is None else f", {alert.resolution.value.replace('_', ' ')}"
    said = str(alert.facts.get("sentence", ABSENT))
    return (moment(alert.opened_at), alert.rule_name, " / ".join(about) or alert.kind.value, said, taken, f"{over}{reason}")


def _figures(measurements: Iterable[Measurement]) -> Iterable[tuple[str, ...]]:
    for one in measurements:
        told = explained(one)
        carried = ", carried forward" if one.carried_forward else ""
        yield (told.title, told.whom, told.data, f"{value_of(one)}{carried}", interval_of(one), _counted(told))


def _counted(told: Explanation) -> str:
    counts = ", ".join(f"{one.label} {_plain(one.value)}" for one in told.counts)
    return f"{told.formula}; {counts}" if counts else told.formula


def _plain(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("_", " ")
