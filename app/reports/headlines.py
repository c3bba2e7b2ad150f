"""Headlines of each attribute: the group furthest out, how sure that is, and its meaning."""

from collections.abc import Sequence
from typing import TypeAlias

from ..domain.checks import CheckRun, Measurement
from ..views.check_views import CheckView, ViewKind
from ..views.headlines import VERDICT_WORDS, headlines, summary
from ..views.viewing import CARRIED
from .document import Block, Bullets, Paragraph, ReportTable, Section
from .numbers import ABSENT, interval_of, value_of

Views: TypeAlias = dict[ViewKind, CheckView]

NOTHING = "the check measured no figure that compares a monitored group with the reference"


def headline_section(check: CheckRun, views: Views, measurements: Sequence[Measurement], *, of: str) -> Section:
    """`of` names the check, as the end of a sentence."""
    shown = headlines(measurements, check.window)
    if not shown:
        why = next((view.reason for view in views.values() if view.reason is not None), NOTHING)
        return Section("In short", (Paragraph(f"There is no figure {of}: {why}", is_caution=True),))
    blocks: list[Block] = []
    if check.carried_from is not None:
        blocks.append(Paragraph(CARRIED.format(check_id=check.carried_from), is_caution=True))
    counts = [f"{VERDICT_WORDS[grade].capitalize()}: {', '.join(names)}." for grade, names in summary(shown)]
    blocks.append(Paragraph(f"Verdicts {of}. {' '.join(counts)}"))

    rows = []
    for one in shown:
        sentences: list[str] = []
        for part in one.parts:
            if part.figure is None:
                continue
            name, furthest, figure = part.name.lower(), part.figure, part.figure.measurement
            sentences.append(f"{one.attribute}, {name}: {furthest.text}")
            side = furthest.disadvantaged_group or furthest.disadvantaged or ABSENT
            about = (one.attribute, name, furthest.group or ABSENT, figure.metric.replace("_", " "))
            rows.append(
                (*about, value_of(figure), interval_of(figure), f"{figure.n:,}", furthest.limits, VERDICT_WORDS[figure.verdict], side)
            )
        reading = [] if one.reading is None else [f"{one.attribute}: {one.reading}"]
        blocks.append(Bullets((*sentences, *reading, *one.notes)))
    columns = (
        "Attribute",
        "Records",
        "Furthest out",
        "Metric",
        "Value",
        "95 %",
        "Records counted",
        "Limits",
        "Verdict",
        "At a disadvantage",
    )
    blocks.append(ReportTable("The monitored group furthest out, of each attribute", columns, tuple(rows)))
    blocks.append(Paragraph(_READ_BOTH))
    return Section("In short", tuple(blocks))


_READ_BOTH = (
    "As logged and counterfactual figures answer different questions. As logged: are the groups favoured alike? Counterfactual: does the"
    " model answer alike when the attribute of a record is changed? Read both, and the notes on the counterfactual figures. A disparate"
    " impact of 0.8 says that the group gets 80 favourable outcomes where the reference group gets 100, from equally many records; one of"
    " 1.25 says that the reference group gets 80 where the group gets 100."
)
