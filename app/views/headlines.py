"""The headlines of a check: of each attribute the group that is furthest out, as logged and with copies, in sentences.

Pages, reports and the overview of a deployment say them in these words; nobody else words a verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain.checks import DataSet, Measurement, Scope
from app.domain.texts import TOGETHER
from app.metrics.sides import Disadvantaged
from app.metrics.verdicts import GRAVEST, Verdict
from app.views.figures import judged_figure, limits_of, sentence_of, statements_of
from app.views.payload_view import notes_on_unseen

IMPACT: Final = "disparate_impact"

NAMES: Final = ((DataSet.PAYLOAD, "As logged"), (DataSet.BALANCED, "With copies"))

NOT_TOGETHER: Final = "Attributes that are watched together are not perturbed together."
NOT_MEASURED: Final = "This check measured no comparison here."

VERDICT_WORDS: Final[Mapping[str | None, str]] = {
    Verdict.FAIR: "fair",
    Verdict.UNWATCHED: "other side not watched",
    Verdict.SUSPECTED: "suspected",
    Verdict.UNFAIR: "unfair",
    Verdict.INSUFFICIENT_DATA: "not enough data",
    Verdict.NOT_COMPUTABLE: "not computable",
    None: "no limit set",
}
"""The verdicts in a word or two."""

_READINGS: Mapping[tuple[str | None, str | None], str] = {
    (
        Verdict.UNFAIR,
        Verdict.UNFAIR,
    ): "Both are outside the limits: with everything else equal a gap stays, so at least part of it comes from the attribute itself.",
    (
        Verdict.UNFAIR,
        Verdict.FAIR,
    ): "Only the first is outside the limits: with everything else equal the groups fare alike enough, so the gap "
    "comes through other things in which they differ.",
    (
        Verdict.FAIR,
        Verdict.UNFAIR,
    ): "Only the second is outside the limits: with everything else equal the groups do not fare alike; as logged, "
    "other things in which they differ make up for it.",
}
"""What the verdicts as logged and with copies say together. Where either is unsure nothing is said."""

_TURNED_ROUND = (
    "Both are outside the limits, on opposite sides: as logged {logged} is at a disadvantage, with everything else equal {equal}; other"
    " things in which the groups differ turn it round."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One figure in sentences. `group` is the one that it is of, `sentence` says what it says, `statements` how sure what is.

    `disadvantaged` is who is at a disadvantage by it; None where nothing says so.
    """

    measurement: Measurement
    group: str
    sentence: str
    statements: tuple[str, ...]
    limits: str
    disadvantaged: Disadvantaged | None
    disadvantaged_group: str | None

    @property
    def text(self) -> str:
        """All of it, in the order in which it is read."""
        return " ".join((self.sentence, *self.statements, self.limits))


@dataclass(frozen=True, slots=True, kw_only=True)
class OnData:
    """One data set's part of a headline: its name in words, and its sentences, or why nothing is there (`absent`)."""

    data: DataSet
    name: str
    told: Told | None
    absent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One attribute; of each data set its sentences. `reading` says what they mean together, where that is sure.

    `notes` say of an attribute that the model does not see what its figure with copies means.
    """

    attribute: str
    parts: tuple[OnData, ...]
    reading: str | None
    notes: tuple[str, ...] = ()


def headlines(measurements: Sequence[Measurement], window: Mapping[str, Any] | None = None) -> tuple[Headline, ...]:
    """Returns the headlines of a check's measurements, in the order of the monitor, attributes that are watched together last.

    `window` is that of the check: it says which attributes the model does not see.
    """
    notes = notes_on_unseen(window or {})
    known = {data for data, _ in NAMES}
    worst = [one for one in measurements if one.scope is Scope.WORST and one.data in known]
    attributes = dict.fromkeys(one.attribute for one in worst if one.attribute is not None)
    ordered = sorted(attributes, key=lambda attribute: TOGETHER in attribute)
    return tuple(
        _headline(attribute, [one for one in worst if one.attribute == attribute], notes.get(attribute, ())) for attribute in ordered
    )


def told_of(one: Measurement) -> Told:
    """Returns the measurement in sentences."""
    figure = judged_figure(one)
    return Told(
        measurement=one,
        group=str(one.group or one.details.get("worst_group") or one.details.get("monitored") or ""),
        sentence=sentence_of(one),
        statements=statements_of(one),
        limits=limits_of(one),
        disadvantaged=figure.disadvantaged,
        disadvantaged_group=figure.disadvantaged_group,
    )


def summary(shown: Sequence[Headline]) -> list[tuple[str | None, list[str]]]:
    """Returns the attributes by verdict, the gravest first: `sex (as logged, with copies)`."""
    found: dict[str | None, dict[str, list[str]]] = {}
    for one in shown:
        for part in one.parts:
            if part.told is not None:
                found.setdefault(part.told.measurement.verdict, {}).setdefault(one.attribute, []).append(part.name.lower())
    return [(grade, [f"{attribute} ({', '.join(on)})" for attribute, on in found[grade].items()]) for grade in GRAVEST if grade in found]


def _headline(attribute: str, worst: Sequence[Measurement], notes: tuple[str, ...]) -> Headline:
    absent = NOT_TOGETHER if TOGETHER in attribute else NOT_MEASURED
    parts = tuple(_on_data(data, name, [one for one in worst if one.data is data], absent) for data, name in NAMES)
    known = [part.told for part in parts if part.told is not None]
    # Of an attribute that the model does not see, copies hold nothing or other features changed: the readings would be untrue.
    reading = _reading(*known) if len(known) == len(NAMES) and not notes else None
    has_copies = any(part.data is DataSet.BALANCED and part.told is not None for part in parts)
    return Headline(attribute=attribute, parts=parts, reading=reading, notes=notes if has_copies else ())


def _on_data(data: DataSet, name: str, those: Sequence[Measurement], absent: str) -> OnData:
    return OnData(data=data, name=name, told=told_of(_chosen(those)) if those else None, absent=absent)


def _chosen(those: Sequence[Measurement]) -> Measurement:
    """The disparate impact, or where the monitor does not pick it the first figure that is held against a limit."""
    return min(those, key=lambda one: (one.metric != IMPACT, one.verdict is None))


def _reading(logged: Told, equal: Told) -> str | None:
    if logged.group != equal.group or logged.measurement.metric != IMPACT or equal.measurement.metric != IMPACT:
        return None
    verdicts = (logged.measurement.verdict, equal.measurement.verdict)
    if verdicts == (Verdict.UNFAIR, Verdict.UNFAIR) and logged.disadvantaged is not equal.disadvantaged:
        return _TURNED_ROUND.format(logged=logged.disadvantaged_group, equal=equal.disadvantaged_group)
    return _READINGS.get(verdicts)
