"""The first page of a report: of each attribute the group furthest out, who is at a disadvantage, how sure that is, and what it means."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from app.domain.checks import Measurement
from app.reports.document import Block, Bullets, Paragraph, Section, Table
from app.reports.numbers import ABSENT, interval_of, value_of
from app.views.check_views import CheckView, ViewKind
from app.views.headlines import VERDICT_WORDS, Headline, OnData, Told, headlines, summary
from app.views.viewing import CARRIED

Views: TypeAlias = dict[ViewKind, CheckView]

NOTHING = "the check measured no figure that compares a monitored group with the reference"


def headline_section(views: Views, measurements: Sequence[Measurement], *, of: str, window: Mapping[str, Any] | None = None) -> Section:
    """The headlines of the check's measurements. `of` names the check, as the end of a sentence; `window` is the check's."""
    shown = headlines(measurements, window)
    if not shown:
        why = next((view.reason for view in views.values() if view.reason is not None), NOTHING)
        return Section("In short", (Paragraph(f"There is no figure {of}: {why}", is_caution=True),))
    blocks: list[Block] = [*_carried(views), Paragraph(_counted(shown, of))]
    blocks += [Bullets(tuple(_sentences(one))) for one in shown]
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
    rows = tuple(_row(one, part, part.told) for one in shown for part in one.parts if part.told is not None)
    blocks.append(Table("The monitored group furthest out, of each attribute", columns, rows))
    blocks.append(Paragraph(_READ_BOTH))
    return Section("In short", tuple(blocks))


_READ_BOTH = (
    "As logged and with copies answer different questions. As logged: are the groups favoured alike? With copies: does the model answer"
    " alike when the attribute of a record is changed? Read both, and what is said beside the figures with copies. A disparate impact of"
    " 0.8 says that the group gets 80 favourable outcomes where the reference group gets 100, from equally many records; one of 1.25 says"
    " that the reference group gets 80 where the group gets 100."
)


def _carried(views: Views) -> list[Block]:
    """That nothing was measured anew, before any figure is read."""
    origin = next((view.check.carried_from for view in views.values() if view.check.carried_from is not None), None)
    return [] if origin is None else [Paragraph(CARRIED.format(check_id=origin), is_caution=True)]


def _counted(shown: Sequence[Headline], of: str) -> str:
    told = [f"{VERDICT_WORDS[grade].capitalize()}: {', '.join(names)}." for grade, names in summary(shown)]
    return f"Verdicts {of}. {' '.join(told)}"


def _sentences(one: Headline) -> Iterator[str]:
    yield from (f"{one.attribute}, {part.name.lower()}: {part.told.text}" for part in one.parts if part.told is not None)
    if one.reading is not None:
        yield f"{one.attribute}: {one.reading}"
    yield from one.notes


def _row(one: Headline, part: OnData, told: Told) -> tuple[str, ...]:
    figure = told.measurement
    return (
        *(one.attribute, part.name.lower(), told.group or ABSENT, figure.metric.replace("_", " "), value_of(figure), interval_of(figure)),
        *(f"{figure.n:,}", told.limits, VERDICT_WORDS[figure.verdict], told.disadvantaged_group or told.disadvantaged or ABSENT),
    )
