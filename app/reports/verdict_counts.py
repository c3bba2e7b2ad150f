"""How often the headlines of a period's checks got each verdict."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..frozen import frozen
from ..metrics.catalogue import CATALOGUE
from ..metrics.sides import Disadvantaged
from ..metrics.verdicts import ON_FAIRNESS
from ..metrics.worst import rank
from ..views.headlines import DATA_NAMES, IMPACT, VERDICT_WORDS
from ..views.series import SeriesPoint, disadvantaged_at
from .source import History

NONE_MEASURED = "No check of this time measured the disparate impact of an attribute that the monitor watches now."

_JUDGED = frozenset(ON_FAIRNESS)
_NOT_FAIR = ON_FAIRNESS[:-1]


@frozen(kw_only=True)
class VerdictCounts:
    """Verdicts on one attribute's headline on one data set.

    `sides` counts the sides at a disadvantage by verdict that is not `fair`.
    """

    attribute: str
    data: str
    verdicts: Mapping[str | None, int]
    sides: Mapping[str | None, Mapping[Disadvantaged | None, int]]


def count_verdicts(histories: Iterable[History]) -> list[VerdictCounts]:
    counted = []
    for history in histories:
        fresh = history.fresh
        if not fresh:
            continue
        sides: dict[str | None, Counter[Disadvantaged | None]] = {}
        for point in (point for point in fresh if point.verdict in _NOT_FAIR):
            sides.setdefault(point.verdict, Counter())[disadvantaged_at(history.series, point)] += 1
        counts = VerdictCounts(
            attribute=history.attribute,
            data=DATA_NAMES[history.data],
            verdicts=Counter(point.verdict for point in fresh),
            sides=sides,
        )
        counted.append(counts)
    return counted


def find_furthest(history: History) -> SeriesPoint | None:
    """Point furthest beyond its limits, or nearest to them; of equals the first. None without a value."""
    ranked = [
        (rank(point.value, CATALOGUE[IMPACT], (point.lower_limit, point.upper_limit)), point.at, point)
        for point in history.fresh
        if point.value is not None
    ]
    # Points have no order, so the third member must not be compared.
    furthest = min(ranked, key=lambda one: one[:2], default=None)
    return None if furthest is None else furthest[2]


def describe_verdicts(counted: Sequence[VerdictCounts]) -> str:
    names = {Disadvantaged.MONITORED: "the monitored group", Disadvantaged.REFERENCE: "the reference"}
    sentences = []
    for verdict in _NOT_FAIR:
        parts = []
        for one in counted:
            checks = one.verdicts.get(verdict)
            if checks:
                sides = [
                    f"{name} at a disadvantage in {count:,}" for side, name in names.items() if (count := one.sides[verdict].get(side, 0))
                ]
                checked = f"{one.attribute} ({one.data}) in {checks:,} check{'' if checks == 1 else 's'}"
                parts.append(f"{checked}, {' and '.join(sides)}" if sides else checked)
        if parts:
            sentences.append(f"{VERDICT_WORDS[verdict].capitalize()}: {'; '.join(parts)}.")
    if not sentences and any(_JUDGED & one.verdicts.keys() for one in counted):
        sentences.append("Everything that was judged was fair.")
    unjudged = [f"{one.attribute} ({one.data})" for one in counted if not _JUDGED & one.verdicts.keys()]
    if unjudged:
        sentences.append(f"Never judged: {'; '.join(unjudged)}.")
    return " ".join(sentences)
