"""The first page of a report: who is treated worst, how sure that is, and what it means."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from app.domain.checks import Measurement
from app.metrics.verdicts import Verdict
from app.reports.document import Block, Bullets, Paragraph, Section, Table
from app.reports.numbers import ABSENT, interval_of, value_of, verdict_of
from app.views.check_views import AttributeView, CheckView, ViewKind
from app.views.figures import limits_in_words, sentence_of, verdict_in_words
from app.views.viewing import CARRIED

Views: TypeAlias = dict[ViewKind, CheckView]

_DATA = {ViewKind.PAYLOAD: "as logged", ViewKind.PAYLOAD_PERTURBED: "with copies"}


def headline_section(views: Views, *, of: str) -> Section:
    """The worst group of each attribute, as logged and with copies. `of` says what the figures are of, as the end of a sentence."""
    found = [(kind, one) for kind in _DATA for one in views[kind].attributes]
    known = [(kind, one, one.worst) for kind, one in found if one.worst is not None]
    if not known:
        why = next((view.reason for view in views.values() if view.reason is not None), "the check measured no disparate impact")
        return Section("In short", (Paragraph(f"There is no figure {of}: {why}", is_caution=True),))
    blocks: list[Block] = [*_carried(views), Paragraph(_counted(known, of))]
    for attribute in dict.fromkeys(one.attribute for _, one, _ in known):
        mine = [(kind, one, worst) for kind, one, worst in known if one.attribute == attribute]
        told = [_told(attribute, kind, worst) for kind, _, worst in mine]
        blocks.append(Bullets((*told, *(note for _, one, _ in mine for note in one.notes))))
    columns = ("Attribute", "Records", "Treated worst", "Disparate impact", "95 %", "Records counted", "Fair", "Verdict")
    blocks.append(Table("The monitored group treated worst, of each attribute", columns, tuple(_rows(known))))
    blocks.append(Paragraph(_READ_BOTH))
    return Section("In short", tuple(blocks))


_READ_BOTH = (
    "As logged and with copies answer different questions. As logged: are the groups favoured alike? With copies: does the model answer"
    " alike when the attribute of a record is changed? Read both, and what is said beside the figures with copies. A disparate impact of"
    " 0.8 says that the group gets 80 favourable outcomes where the reference group gets 100, from equally many records."
)


def _carried(views: Views) -> list[Block]:
    """That nothing was measured anew, before any figure is read."""
    origin = next((view.check.carried_from for view in views.values() if view.check.carried_from is not None), None)
    return [] if origin is None else [Paragraph(CARRIED.format(check_id=origin), is_caution=True)]


def _counted(known: Iterable[tuple[ViewKind, AttributeView, Measurement]], of: str) -> str:
    verdicts: dict[str, list[str]] = {}
    for kind, one, worst in known:
        verdicts.setdefault(worst.verdict or "", []).append(f"{one.attribute} ({_DATA[kind]})")
    told = [
        f"{_WORDS[verdict]}: {', '.join(verdicts[verdict])}."
        for verdict in (Verdict.UNFAIR, Verdict.SUSPECTED, Verdict.FAIR, Verdict.INSUFFICIENT_DATA, Verdict.NOT_COMPUTABLE, "")
        if verdict in verdicts
    ]
    return f"Verdicts {of}. {' '.join(told)}"


_WORDS = {
    Verdict.UNFAIR: "Unfair",
    Verdict.SUSPECTED: "Suspected, may be chance",
    Verdict.FAIR: "Fair",
    Verdict.INSUFFICIENT_DATA: "Too few records for a verdict",
    Verdict.NOT_COMPUTABLE: "Not computable",
    "": "No limit set",
}


def _told(attribute: str, kind: ViewKind, worst: Measurement) -> str:
    limits = limits_in_words(worst.lower_limit, worst.upper_limit)
    return f"{attribute}, {_DATA[kind]}: {sentence_of(worst)} {verdict_in_words(worst)} {limits}"


def _rows(known: Iterable[tuple[ViewKind, AttributeView, Measurement]]) -> Iterator[tuple[str, ...]]:
    for kind, one, worst in known:
        group = str(worst.details.get("worst_group") or worst.details.get("monitored") or ABSENT)
        limits = limits_in_words(worst.lower_limit, worst.upper_limit)
        yield (one.attribute, _DATA[kind], group, value_of(worst), interval_of(worst), f"{worst.n:,}", limits, verdict_of(worst))
