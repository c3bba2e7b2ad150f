"""Last sections of a report."""

from collections.abc import Sequence

from ..domain.alerts import Alert
from ..domain.checks import CheckRun
from ..metrics.verdicts import MINIMUM_GROUP_SIZE
from .configuration import versions
from .document import Block, Bullets, Paragraph, ReportTable, Section
from .second_page import MOST_ALERTS, alert_row, describe_alerts

LIMITS = (
    (
        "A difference between groups is a correlation. It does not say why the groups differ, nor that anybody was wronged; "
        "that takes people who look at the decisions."
    ),
    (
        "Counterfactual figures show what the model does when the attribute of a record is changed, and the correlated features where "
        "that is said. They show direct bias only: what a model takes from other features that go together with the attribute stays in "
        "both."
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
    """Alerts that people were sent, newest first. Those of `waiting` checks are not known yet."""
    blocks: list[Block] = [Paragraph(note, is_caution=waiting > 0) for note in describe_alerts(alerts, waiting)]
    if alerts:
        rows = [alert_row(alert) for alert in alerts[:MOST_ALERTS]]
        cells = tuple((row.opened, row.about, row.sentence, row.acknowledged, row.resolved) for row in rows)
        note = f"The newest {MOST_ALERTS} of {len(alerts):,}." if len(alerts) > MOST_ALERTS else None
        caption = "Alerts that were open in this time, or that a check of it opened"
        blocks.append(ReportTable(caption, ("Opened", "Rule and subject", "What it says", "Acknowledged", "Resolved"), cells, note))
    return Section("Alerts", tuple(blocks))


def limits_section() -> Section:
    return Section("What these figures cannot say", (Bullets(LIMITS),))


def tracing_section(check: CheckRun | None) -> Section:
    blocks: list[Block] = [Paragraph(f"This report was made with {versions()}")]
    if check is not None:
        address = f"/v1/deployments/{check.deployment_id}/checks/{check.id}"
        blocks.append(
            Paragraph(
                f"The figures of the views are those of check {check.id}. GET {address} has its window, count tables and measurements as"
                f" JSON, {address}/trace.csv every measurement with its formula and counts; the PDF carries that file. Every figure is its"
                " formula with these counts put in; the intervals can be repeated exactly from the counts and the monitor's seed."
            )
        )
    return Section("How to trace a figure", tuple(blocks))
