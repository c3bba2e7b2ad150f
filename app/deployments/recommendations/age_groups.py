"""Groups of a column of ages, which are divided where custom divides.

The division with the surest disadvantage is proposed, and the first customary one offered as well.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...base.values import GroupValue, Range, frozen, name_value, read_number
from ...domain.monitor import DEFAULT_THRESHOLD
from ...statistics.intervals.intervals import build_ratio_interval
from ..training.from_distributions import find_bounds
from .attribute_kinds import NO_ANSWER, CustomarySplit
from .group_choice import (
    MIN_GROUP_RECORDS,
    Count,
    GroupChoice,
    NoChoice,
    build_proposed_group,
    warn_of_small_groups,
)
from .suggested_outcomes import MIN_RECOGNISED_SHARE, Fit, ValueMatch, is_no_answer, list_values

MAX_AGE_YEARS = 120

MIN_OLDEST_AGE_YEARS = 16
"""Lowest maximum of a column of ages: numbers that never reach it are codes."""

MIN_DISTINCT_AGES = 3
MIN_BANDS = 2

_BAND = re.compile(r"[\[(]?\s*\d{1,3}\s*(-|–|to|,|bis)\s*\d{1,3}\s*[\])]?(\s*(years|yrs|jahre|ans))?")
_OPEN_BAND = re.compile(
    r"(<=?|>=?|under|over|less than|greater than|more than|older than|younger than)\s*\d{1,3}"
    r"|\d{1,3}\s*(\+|and over|and older|or older|plus)"
)

MIN_SIDE_SHARE = 0.02
"""Of the records. US agencies do not look at groups below two per cent either (29 CFR 1607.4)."""

_LAST_FRACTION = 0.9999
"""Ends the last whole year of a range of ages with fractions, because both ends of a range belong to it."""


def match_ages(records_by_value: Mapping[GroupValue, int]) -> ValueMatch:
    numbers = Counter[float]()
    for value, records in records_by_value.items():
        for end in (value.lo, value.hi) if isinstance(value, Range) else (read_number(value),):
            if end is not None:
                numbers[end] += records
    total = sum(records_by_value.values())
    if numbers.total() >= MIN_RECOGNISED_SHARE * total:
        plausible = {number: records for number, records in numbers.items() if 0 <= number <= MAX_AGE_YEARS}
        share = sum(plausible.values()) / numbers.total()
        if (
            share < MIN_RECOGNISED_SHARE
            or not plausible
            or max(plausible) < MIN_OLDEST_AGE_YEARS
            or len(plausible) < MIN_DISTINCT_AGES
        ):
            return ValueMatch(Fit.UNFIT, "its numbers are no ages of people in years")
        return ValueMatch(
            Fit.SPOKEN, f"its numbers are ages in years: from {min(plausible):g} to {max(plausible):g}"
        )

    bands = [value for value in records_by_value if is_band(value)]
    known_records = sum(records_by_value[value] for value in bands) + sum(
        records for value, records in records_by_value.items() if is_no_answer(value)
    )
    if known_records < MIN_RECOGNISED_SHARE * total or len(bands) < MIN_BANDS:
        return ValueMatch(Fit.UNFIT, "its values are neither ages in years nor bands of ages")
    meanings = {name_value(value): NO_ANSWER for value in records_by_value if is_no_answer(value)}
    return ValueMatch(Fit.SPOKEN, f"its values are bands of ages: {list_values(bands)}", meanings)


def is_band(value: GroupValue) -> bool:
    spelled = value.strip().lower() if isinstance(value, str) else ""
    return bool(_BAND.fullmatch(spelled) or _OPEN_BAND.fullmatch(spelled))


@frozen
class _AgeRange:
    """Ages of a group, both ends included, with its records."""

    range: Range
    count: Count


@frozen
class _Division:
    """`max_ratio` is the upper limit of the interval of monitored / reference rate; None: not known."""

    split: CustomarySplit
    monitored: _AgeRange
    reference: _AgeRange
    max_ratio: float | None

    @property
    def shows_disadvantage(self) -> bool:
        return self.max_ratio is not None and self.max_ratio < 1

    @property
    def sentence(self) -> str:
        return f"{self.monitored.range.label} against {self.reference.range.label}: {self.split.reason}"


class _AgeIntervals:
    """Counted ages as intervals of years (lowest, highest, counts); other values only make a warning."""

    def __init__(self, counts: Mapping[GroupValue, Count]) -> None:
        self.intervals: list[tuple[float, float, Count]] = []
        implausible = 0
        for value, count in counts.items():
            bounds = find_bounds(value)
            if bounds is None or bounds.lo < 0 or bounds.hi > MAX_AGE_YEARS:
                implausible += count.records
            else:
                self.intervals.append((float(bounds.lo), float(bounds.hi), count))
        self.has_fractions = any(not (lo.is_integer() and hi.is_integer()) for lo, hi, _ in self.intervals)
        self.lo = min((lo for lo, _, _ in self.intervals), default=0.0)
        self.hi = max((hi for _, hi, _ in self.intervals), default=0.0)
        self.records = sum(count.records for _, _, count in self.intervals)

        self.warnings = [
            (
                f"ages below {self.lo:g} or above {self.hi:g} were not seen; records with such an age are in "
                "neither group"
            )
        ]
        if implausible:
            numbers = f"numbers that are no ages, such as below 0 or above {MAX_AGE_YEARS}"
            self.warnings.append(f"{implausible:,} records hold {numbers}; they are in neither group")

    def divide(self, split: CustomarySplit) -> _Division | None:
        if not self.lo <= split.up_to < self.hi:
            return None
        young = self.find_range(self.lo, self.end_of_year(split.up_to))
        old = self.find_range(float(split.up_to + 1), self.hi)
        if young is None or old is None:
            return None
        protected, unprotected = (old, young) if split.protects_above else (young, old)
        return _Division(split, protected, unprotected, _find_max_ratio(protected.count, unprotected.count))

    def find_range(self, lo: float, hi: float) -> _AgeRange | None:
        """None if there are too few records, or an interval of the counts is only partly in the range."""
        inside = [interval for interval in self.intervals if interval[0] >= lo and interval[1] <= hi]
        touching = [interval for interval in self.intervals if interval[1] >= lo and interval[0] <= hi]
        count = sum((count for _, _, count in inside), Count())
        # Of an interval that only touches the range, nobody knows how many records lie in it.
        has_enough_records = count.records >= max(MIN_GROUP_RECORDS, MIN_SIDE_SHARE * self.records)
        if not has_enough_records or len(inside) < len(touching):
            return None
        return _AgeRange(Range(lo, hi), count)

    def end_of_year(self, up_to: int) -> float:
        return up_to + _LAST_FRACTION if self.has_fractions else float(up_to)


def choose_ages(
    splits: Sequence[CustomarySplit], counts: Mapping[GroupValue, Count], *, has_outcomes: bool
) -> GroupChoice:
    """Raises NoChoice if no customary division leaves enough records."""
    ages = _AgeIntervals(counts)
    divisions = [division for division in map(ages.divide, splits) if division is not None]
    if not divisions:
        raise NoChoice(
            f"no customary division ({', '.join(str(split.up_to) for split in splits)}) leaves "
            f"{MIN_GROUP_RECORDS} records and {MIN_SIDE_SHARE:.0%} on both sides, "
            "or its values are counted in intervals that lie on both sides"
        )
    first = divisions[0]
    worse_off = [division for division in divisions if division.shows_disadvantage]
    best = min(worse_off, key=lambda division: (division.max_ratio or 0, division.split.up_to), default=first)

    because = best.sentence
    warnings = list(ages.warnings)
    monitored = [best.monitored]
    reference = best.reference
    if best.shows_disadvantage:
        because += "; of the customary divisions, the disadvantage is surest here"
        middle = _find_middle(ages, best, divisions)
        if middle is not None:
            other, reference = middle
            monitored = sorted((best.monitored, other.monitored), key=lambda side: side.range.lo)
            because += f"; the other end is far worse off, too: {other.split.reason}"
    elif best.max_ratio is None:
        because += "; favourable rates are not known"
    else:
        warnings.append(
            "no customary division shows a disadvantage beyond chance: this one is a choice, not a finding"
        )
    proposed = _build_choice(monitored, reference, has_outcomes=has_outcomes)

    customary = _build_choice([first.monitored], first.reference, has_outcomes=has_outcomes)
    warnings_of_custom = [*ages.warnings, *customary.warnings]
    reversed_ratio = _find_max_ratio(first.reference.count, first.monitored.count)
    if reversed_ratio is not None and reversed_ratio < 1:
        sides = f"{first.monitored.range.label} surely fares better than {first.reference.range.label}"
        warnings_of_custom.append(
            f"in these data {sides}: here it is the reference that is at a disadvantage"
        )
    customary = replace(customary, because=first.sentence, warnings=tuple(warnings_of_custom))
    return replace(proposed, because=because, warnings=(*warnings, *proposed.warnings), customary=customary)


def _find_middle(
    ages: _AgeIntervals, best: _Division, divisions: Sequence[_Division]
) -> tuple[_Division, _AgeRange] | None:
    """Finds a division at the other end of life whose disadvantage is sure and large, too, and the ages
    between to compare both ends with; None without any.
    """
    middles: dict[float, tuple[_Division, _AgeRange]] = {}
    for division in divisions:
        if division.split.protects_above == best.split.protects_above:
            continue
        first, last = sorted((best.split.up_to, division.split.up_to))
        between = ages.find_range(float(first + 1), ages.end_of_year(last))
        if between is None:
            continue
        other_end = division.monitored.count
        ratio = _find_max_ratio(other_end, between.count)
        is_far_worse = (other_end.rate or 0.0) < DEFAULT_THRESHOLD * (between.count.rate or 0.0)
        if ratio is not None and ratio < 1 and is_far_worse:
            middles.setdefault(ratio, (division, between))
    return middles[min(middles)] if middles else None


def _build_choice(monitored: list[_AgeRange], reference: _AgeRange, *, has_outcomes: bool) -> GroupChoice:
    groups = [
        build_proposed_group(
            side.range,
            side.count,
            role="reference" if side is reference else "monitored",
            has_outcomes=has_outcomes,
        )
        for side in sorted([*monitored, reference], key=lambda side: side.range.lo)
    ]
    return GroupChoice(
        monitored=tuple(side.range for side in monitored),
        reference=(reference.range,),
        groups=tuple(groups),
        because="",
        warnings=tuple(warn_of_small_groups(groups)),
    )


def _find_max_ratio(monitored: Count, reference: Count) -> float | None:
    if not monitored.classified or not reference.favourable:
        return None
    return build_ratio_interval(
        monitored.favourable, monitored.classified, reference.favourable, reference.classified
    ).upper
