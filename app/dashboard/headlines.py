"""The short summary of a check: of each attribute the group that is treated worst, as logged and with copies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.dashboard.shown import Number, number_of
from app.domain.checks import DataSet, Measurement, Scope
from app.domain.texts import TOGETHER
from app.metrics.verdicts import Verdict
from app.views.figures import limits_in_words, sentence_of, verdict_in_words

IMPACT: Final = "disparate_impact"

NAMES: Final = ((DataSet.PAYLOAD, "As logged"), (DataSet.BALANCED, "With copies"))
GRAVEST: Final = (Verdict.UNFAIR, Verdict.SUSPECTED, Verdict.FAIR, Verdict.INSUFFICIENT_DATA, Verdict.NOT_COMPUTABLE, None)
"""The verdicts, the gravest first; None where no limit is set."""

NOT_TOGETHER: Final = "Attributes that are watched together are not perturbed together."
NOT_MEASURED: Final = "This check measured no comparison here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two groups by name, and on how many records each stands."""

    monitored: str
    reference: str
    records: int
    reference_records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The worst group on one data set. `ratio` is there where the sentence can be told of two groups; else `sentence` tells it."""

    measurement: Measurement
    number: Number
    ratio: Compared | None
    sentence: str
    verdict: str
    limits: str
    chosen_from: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One attribute; of each data set what is told, or why nothing is."""

    attribute: str
    told: tuple[tuple[str, Told | None, str], ...]


def headlines(measurements: Sequence[Measurement]) -> tuple[Headline, ...]:
    """The attributes in the order of the monitor, those that are watched together last."""
    known = {data for data, _ in NAMES}
    worst = [one for one in measurements if one.scope is Scope.WORST and one.data in known]
    attributes = dict.fromkeys(one.attribute for one in worst if one.attribute is not None)
    ordered = sorted(attributes, key=lambda attribute: TOGETHER in attribute)
    return tuple(Headline(attribute=attribute, told=tuple(_each(worst, attribute))) for attribute in ordered)


def summary(shown: Sequence[Headline]) -> list[tuple[str | None, list[str]]]:
    """The attributes by verdict, the gravest first: `sex (as logged, with copies)`."""
    found: dict[str | None, dict[str, list[str]]] = {}
    for one in shown:
        for name, told, _ in one.told:
            if told is not None:
                found.setdefault(told.measurement.verdict, {}).setdefault(one.attribute, []).append(name.lower())
    return [(grade, [f"{attribute} ({', '.join(on)})" for attribute, on in found[grade].items()]) for grade in GRAVEST if grade in found]


def _each(worst: Sequence[Measurement], attribute: str) -> list[tuple[str, Told | None, str]]:
    absent = NOT_TOGETHER if TOGETHER in attribute else NOT_MEASURED
    found = [(name, [one for one in worst if (one.data, one.attribute) == (data, attribute)]) for data, name in NAMES]
    return [(name, _told(_chosen(those)) if those else None, absent) for name, those in found]


def _chosen(those: Sequence[Measurement]) -> Measurement:
    """The disparate impact, or where the monitor does not pick it the first figure that is held against a limit."""
    return min(those, key=lambda one: (one.metric != IMPACT, one.verdict is None))


def _told(one: Measurement) -> Told:
    chosen = one.details.get("chosen_from", 1)
    return Told(
        measurement=one,
        number=number_of(one),
        ratio=_compared(one),
        sentence=sentence_of(one),
        verdict=verdict_in_words(one),
        limits=limits_in_words(one.lower_limit, one.upper_limit),
        chosen_from=chosen if isinstance(chosen, int) else 1,
    )


def _compared(one: Measurement) -> Compared | None:
    names = [one.details.get(name) for name in ("monitored", "reference")]
    counts = [count for name in ("monitored_n", "reference_n") if isinstance(count := one.details.get(name), int)]
    if one.metric != IMPACT or one.value is None or len(counts) < len(names) or None in names:
        return None
    return Compared(monitored=str(names[0]), reference=str(names[1]), records=counts[0], reference_records=counts[1])
