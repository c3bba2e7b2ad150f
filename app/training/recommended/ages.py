"""Ranges of ages: divided where custom divides, and there where the disadvantage is surest. The first division stands beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.domain.monitors import DEFAULT_THRESHOLD
from app.domain.values import GroupValue, Range, number_of
from app.metrics.intervals import log_ratio
from app.training.recommended.choice import SMALL, Choice, NoChoice, Role, share_of, small_warnings
from app.training.recommended.detecting import Detected
from app.training.recommended.kinds import Split
from app.training.recommended.observed import Count
from app.training.recommended.values import OLDEST

LEAST_SHARE = 0.02
"""Of the records: the smallest part that is compared. US agencies do not look at groups below two per cent either (29 CFR 1607.4)."""

ALMOST = 0.9999
"""Behind the last whole year of a range of ages with fractions, because both ends of a range belong to it."""


@dataclass(frozen=True, slots=True)
class _Part:
    range: Range
    count: Count


@dataclass(frozen=True, slots=True)
class _Divided:
    """A division: who is monitored, who is the reference, and how large the ratio of their rates may still be (None: not known)."""

    split: Split
    monitored: _Part
    reference: _Part
    ratio_at_most: float | None


def choose_ages(detected: Detected, counts: Mapping[GroupValue, Count], *, has_outcomes: bool) -> Choice:
    """The ranges of a column of ages.

    Raises:
        NoChoice: no customary division leaves enough records on both sides, or the ages are counted too coarsely.
    """
    ages = _Ages(counts)
    divided = [one for one in (_divide(ages, split) for split in detected.row.splits) if one is not None]
    if not divided:
        raise NoChoice(
            f"no customary division ({', '.join(str(split.upto) for split in detected.row.splits)}) leaves {SMALL} records and"
            f" {LEAST_SHARE:.0%} on both sides, or its values are counted in intervals that lie on both sides"
        )
    worse_off = [(one.ratio_at_most, one.split.upto, one) for one in divided if one.ratio_at_most is not None and one.ratio_at_most < 1]
    best = min(worse_off, key=lambda one: one[:2])[2] if worse_off else divided[0]
    monitored, reference, also = _with_the_other_end(ages, best, divided)
    proposed = _compared(monitored, reference, has_outcomes=has_outcomes)
    first = divided[0]
    customary = _compared([first.monitored], first.reference, has_outcomes=has_outcomes)
    return replace(
        proposed,
        because="; ".join([_because(best), *also]),
        warnings=(*_warnings(ages, best), *proposed.warnings),
        customary=replace(customary, because=_side(first), warnings=(*_of_ages(ages), *customary.warnings, *_upside_down(first))),
    )


def _compared(monitored: list[_Part], reference: _Part, *, has_outcomes: bool) -> Choice:
    roles: list[tuple[_Part, Role]] = [*((part, "monitored") for part in monitored), (reference, "reference")]
    groups = [share_of(part.range, part.count, role=role, has_outcomes=has_outcomes) for part, role in roles]
    groups.sort(key=lambda group: group.value.lo if isinstance(group.value, Range) else 0.0)
    ranges = tuple(part.range for part in monitored)
    return Choice(monitored=ranges, reference=(reference.range,), groups=tuple(groups), because="", warnings=tuple(small_warnings(groups)))


class _Ages:
    """The counts by age. Ages with fractions, and intervals of ages, are looked at by where they lie."""

    def __init__(self, counts: Mapping[GroupValue, Count]) -> None:
        self.places: list[tuple[float, float, Count]] = []
        self.implausible = 0
        for value, count in counts.items():
            lo, hi = (value.lo, value.hi) if isinstance(value, Range) else (number_of(value),) * 2
            if lo is None or hi is None or lo < 0 or hi > OLDEST:
                self.implausible += count.records
            else:
                self.places.append((float(lo), float(hi), count))
        self.has_fractions = any(not (lo.is_integer() and hi.is_integer()) for lo, hi, _ in self.places)
        self.lo = min((lo for lo, _, _ in self.places), default=0.0)
        self.hi = max((hi for _, hi, _ in self.places), default=0.0)
        self.records = sum(count.records for _, _, count in self.places)

    def part(self, lo: float, hi: float) -> _Part | None:
        """The records from `lo` to `hi`; None where an interval lies there only in part."""
        inside = [place for place in self.places if place[0] >= lo and place[1] <= hi]
        touching = [place for place in self.places if place[1] >= lo and place[0] <= hi]
        return _Part(Range(lo, hi), sum((count for _, _, count in inside), Count())) if len(inside) == len(touching) else None

    def last(self, upto: int) -> float:
        """The end of a range that holds everybody up to that age."""
        return upto + ALMOST if self.has_fractions else float(upto)


def _divide(ages: _Ages, split: Split) -> _Divided | None:
    if not ages.lo <= split.upto < ages.hi:
        return None
    young, old = ages.part(ages.lo, ages.last(split.upto)), ages.part(float(split.upto + 1), ages.hi)
    if young is None or old is None or not (_is_enough(young, ages) and _is_enough(old, ages)):
        return None
    protected, others = (old, young) if split.protects_above else (young, old)
    return _Divided(split, protected, others, _ratio_at_most(protected.count, others.count))


def _is_enough(part: _Part, ages: _Ages) -> bool:
    return part.count.records >= max(SMALL, LEAST_SHARE * ages.records)


def _ratio_at_most(one: Count, other: Count) -> float | None:
    """The upper end of the 95 % interval of the ratio of rates; None where there is none."""
    if not one.classified or not other.favourable:
        return None
    upper = log_ratio(one.favourable, one.classified, other.favourable, other.classified).upper
    return float("inf") if upper is None else upper


def _with_the_other_end(ages: _Ages, best: _Divided, divided: list[_Divided]) -> tuple[list[_Part], _Part, list[str]]:
    """The other end of life is monitored, too, where its disadvantage is sure and large."""
    found: list[tuple[float, _Part, _Part, str]] = []
    for other in divided:
        if other.split.protects_above == best.split.protects_above or best.ratio_at_most is None or best.ratio_at_most >= 1:
            continue
        first, last = sorted((best.split.upto, other.split.upto))
        between, end = ages.part(float(first + 1), ages.last(last)), other.monitored
        ratio = None if between is None else _ratio_at_most(end.count, between.count)
        if between is not None and ratio is not None and ratio < 1 and _is_far_worse(end, between) and _is_enough(between, ages):
            found.append((ratio, end, between, f"the other end is far worse off, too: {other.split.custom}"))
    if not found:
        return [best.monitored], best.reference, []
    _, end, between, also = min(found, key=lambda one: one[0])
    return sorted((best.monitored, end), key=lambda part: part.range.lo), between, [also]


def _is_far_worse(end: _Part, middle: _Part) -> bool:
    return (end.count.rate or 0.0) < DEFAULT_THRESHOLD * (middle.count.rate or 0.0)


def _because(best: _Divided) -> str:
    side = _side(best)
    if best.ratio_at_most is None:
        return f"{side}; favourable rates are not known"
    return f"{side}; of the customary divisions, the disadvantage is surest here" if best.ratio_at_most < 1 else side


def _side(one: _Divided) -> str:
    return f"{one.monitored.range.label} against {one.reference.range.label}: {one.split.custom}"


def _upside_down(one: _Divided) -> list[str]:
    """What is to be known of a division whose protected side fares surely better."""
    turned = _ratio_at_most(one.reference.count, one.monitored.count)
    if turned is None or turned >= 1:
        return []
    sides = f"{one.monitored.range.label} surely fares better than {one.reference.range.label}"
    return [f"in these data {sides}: here it is the reference that is at a disadvantage"]


def _warnings(ages: _Ages, best: _Divided) -> list[str]:
    found = _of_ages(ages)
    if best.ratio_at_most is not None and best.ratio_at_most >= 1:
        found.append("no customary division shows a disadvantage beyond chance: this one is a choice, not a finding")
    return found


def _of_ages(ages: _Ages) -> list[str]:
    found = [f"ages below {ages.lo:g} or above {ages.hi:g} were not seen; records with such an age are in neither group"]
    if ages.implausible:
        found.append(
            f"{ages.implausible:,} records hold numbers that are no ages, such as below 0 or above {OLDEST}; they are in neither group"
        )
    return found
