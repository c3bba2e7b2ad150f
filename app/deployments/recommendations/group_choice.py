"""The groups that a recommendation proposes, and how ranges of ages are chosen.

Ages are divided where custom divides: the division with the surest disadvantage is proposed, and the first
customary one offered as well.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from ...base.values import GroupValue, Range, frozen, frozen_by_name, join_first, name_value, read_number
from ...domain.deployment import Column
from ...domain.monitor import DEFAULT_THRESHOLD, Outcome, OutcomeRule
from ...statistics.intervals.intervals import build_ratio_interval, build_wilson_interval
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE
from ...web.body import GroupValueJson, Out
from ..training.from_distributions import InexactDistribution, classify_cell_label, find_bounds
from ..training.queries import Cell, Distribution
from .attribute_kinds import NO_ANSWER, Split
from .suggested_outcomes import MIN_RECOGNISED_SHARE, Fit, ValueMatch, is_no_answer, list_values

Role = Literal["monitored", "reference", "neither"]

MIN_GROUP_RECORDS = 30

MIN_REFERENCE_SHARE = 0.1
"""Min share of all groups' records that a reference has, so that chance does not choose it."""


class CountsOrigin(StrEnum):
    """The source of the counts."""

    TRAINING = "training"
    AS_LOGGED = "as_logged"


@frozen
class Source:
    origin: CountsOrigin
    records: int
    at: datetime


@frozen
class Count:
    records: int = 0
    favourable: int = 0
    unfavourable: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.records + other.records,
            self.favourable + other.favourable,
            self.unfavourable + other.unfavourable,
        )

    @property
    def classified(self) -> int:
        return self.favourable + self.unfavourable

    @property
    def rate(self) -> float | None:
        return self.favourable / self.classified if self.classified else None


@frozen
class ObservedColumn:
    """A column with the counts of its values, and the data that they are from."""

    column: Column
    is_meta: bool
    distribution: Distribution | None
    source: Source | None

    def _cells(self) -> Iterator[tuple[GroupValue | None, Cell]]:
        if self.distribution is not None:
            position = self.distribution.columns.index(self.column.name)
            yield from ((cell.values[position], cell) for cell in self.distribution.cells)

    @property
    def missing(self) -> int:
        return sum(cell.records for value, cell in self._cells() if value is None)

    def count_records(self) -> dict[GroupValue, int]:
        return {value: count.records for value, count in self.count_outcomes(None).items()}

    def count_outcomes(self, rule: OutcomeRule | None) -> dict[GroupValue, Count]:
        counted: dict[GroupValue, Count] = {}
        for value, cell in self._cells():
            if value is None:
                continue
            try:
                outcome = (
                    Outcome.UNCLASSIFIED
                    if rule is None or cell.label is None
                    else classify_cell_label(cell.label, rule)
                )
            except InexactDistribution:
                outcome = Outcome.UNCLASSIFIED
            count = Count(
                cell.records,
                cell.records * (outcome is Outcome.FAVOURABLE),
                cell.records * (outcome is Outcome.UNFAVOURABLE),
            )
            counted[value] = counted.get(value, Count()) + count
        return {value: count for value, count in counted.items() if count.records}


class ProposedGroupOut(Out):
    """One group: its records, and the share of favourable outcomes with its 95 % interval."""

    value: GroupValueJson
    meaning: str | None
    """The meaning for which the value is taken; null where it speaks for itself or is not known."""

    role: Role
    records: int
    favourable: int | None
    rate: float | None
    lower: float | None
    upper: float | None
    reason: str | None
    """Why there is no rate."""


@frozen_by_name
class GroupChoice:
    """The groups of one attribute. `because` gives the reason for the reference, `warnings` what a person
    should know first.

    `customary` are the groups that custom compares, whatever the rates.
    """

    monitored: tuple[GroupValue, ...]
    reference: tuple[GroupValue, ...]
    groups: tuple[ProposedGroupOut, ...]
    because: str
    warnings: tuple[str, ...] = field(default=())
    customary: "GroupChoice | None" = None


class NoChoice(Exception):
    """Raised where no groups can be proposed; the message says why."""


def build_share(
    value: GroupValue, count: Count, *, role: Role, meaning: str | None = None, has_outcomes: bool
) -> ProposedGroupOut:
    interval = build_wilson_interval(count.favourable, count.classified) if count.classified else None
    reason = (
        "no record of it has a favourable or unfavourable outcome"
        if has_outcomes
        else "the favourable outcomes are not known"
    )
    return ProposedGroupOut(
        value=value,
        meaning=meaning,
        role=role,
        records=count.records,
        favourable=count.favourable if has_outcomes else None,
        rate=count.rate,
        lower=None if interval is None else interval.lower,
        upper=None if interval is None else interval.upper,
        reason=reason if interval is None else None,
    )


def warn_of_small_groups(groups: list[ProposedGroupOut]) -> list[str]:
    small = [group for group in groups if group.role != "neither" and group.records < MIN_GROUP_RECORDS]
    if not small:
        return []
    listed = join_first((f"{name_value(group.value)!r:.60} ({group.records})" for group in small), 5)
    checked = (
        f"in a check, a group of fewer than {MINIMUM_GROUP_SIZE} records gets no verdict, and a small "
        "one a wide interval"
    )
    return [f"few records: {listed}. They stay in the proposal; {checked}"]


MAX_AGE = 120

MIN_OLDEST_AGE = 16
"""Lowest maximum of a column of ages: numbers that never reach it are codes."""

MIN_AGES = 3
MIN_BANDS = 2

_BAND = re.compile(r"[\[(]?\s*\d{1,3}\s*(-|–|to|,|bis)\s*\d{1,3}\s*[\])]?(\s*(years|yrs|jahre|ans))?")
_OPEN_BAND = re.compile(
    r"(<=?|>=?|under|over|less than|greater than|more than|older than|younger than)\s*\d{1,3}"
    r"|\d{1,3}\s*(\+|and over|and older|or older|plus)"
)

MIN_SIDE_SHARE = 0.02
"""Min share of the records of a side. US agencies do not look at groups below two per cent either (29 CFR
1607.4).
"""

LAST_FRACTION = 0.9999
"""Ends the last whole year of a range of ages with fractions, because both ends of a range belong to it."""


def match_ages(counted: Mapping[GroupValue, int]) -> ValueMatch:
    numbers = Counter[float]()
    for value, records in counted.items():
        for end in (value.lo, value.hi) if isinstance(value, Range) else (read_number(value),):
            if end is not None:
                numbers[end] += records
    total = sum(counted.values())
    if numbers.total() >= MIN_RECOGNISED_SHARE * total:
        plausible = {number: records for number, records in numbers.items() if 0 <= number <= MAX_AGE}
        share = sum(plausible.values()) / numbers.total()
        if (
            share < MIN_RECOGNISED_SHARE
            or not plausible
            or max(plausible) < MIN_OLDEST_AGE
            or len(plausible) < MIN_AGES
        ):
            return ValueMatch(Fit.UNFIT, "its numbers are no ages of people in years")
        return ValueMatch(
            Fit.SPOKEN, f"its numbers are ages in years: from {min(plausible):g} to {max(plausible):g}"
        )

    bands = [value for value in counted if is_band(value)]
    known_records = sum(counted[value] for value in bands) + sum(
        records for value, records in counted.items() if is_no_answer(value)
    )
    if known_records < MIN_RECOGNISED_SHARE * total or len(bands) < MIN_BANDS:
        return ValueMatch(Fit.UNFIT, "its values are neither ages in years nor bands of ages")
    meanings = {name_value(value): NO_ANSWER for value in counted if is_no_answer(value)}
    return ValueMatch(Fit.SPOKEN, f"its values are bands of ages: {list_values(bands)}", meanings)


def is_band(value: GroupValue) -> bool:
    spelled = value.strip().lower() if isinstance(value, str) else ""
    return bool(_BAND.fullmatch(spelled) or _OPEN_BAND.fullmatch(spelled))


@frozen
class _AgeRange:
    range: Range
    count: Count


@frozen
class _Division:
    """The monitored side, the reference, and the upper limit of the ratio of their rates (None: not
    known).
    """

    split: Split
    monitored: _AgeRange
    reference: _AgeRange
    max_ratio: float | None

    @property
    def shows_disadvantage(self) -> bool:
        return self.max_ratio is not None and self.max_ratio < 1

    @property
    def sentence(self) -> str:
        return f"{self.monitored.range.label} against {self.reference.range.label}: {self.split.custom}"


class _Ages:
    def __init__(self, counts: Mapping[GroupValue, Count]) -> None:
        self.intervals: list[tuple[float, float, Count]] = []
        implausible = 0
        for value, count in counts.items():
            bounds = find_bounds(value)
            if bounds is None or bounds.lo < 0 or bounds.hi > MAX_AGE:
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
            numbers = f"numbers that are no ages, such as below 0 or above {MAX_AGE}"
            self.warnings.append(f"{implausible:,} records hold {numbers}; they are in neither group")

    def divide(self, split: Split) -> _Division | None:
        """None if a side has too few records or is there only in part."""
        if not self.lo <= split.upto < self.hi:
            return None
        young = self.find_range(self.lo, self.end_of_year(split.upto))
        old = self.find_range(float(split.upto + 1), self.hi)
        if young is None or old is None:
            return None
        protected, unprotected = (old, young) if split.protects_above else (young, old)
        return _Division(split, protected, unprotected, _max_ratio(protected.count, unprotected.count))

    def find_range(self, lo: float, hi: float) -> _AgeRange | None:
        """None if records are too few, or an interval is there only in part."""
        inside = [interval for interval in self.intervals if interval[0] >= lo and interval[1] <= hi]
        touching = [interval for interval in self.intervals if interval[1] >= lo and interval[0] <= hi]
        count = sum((count for _, _, count in inside), Count())
        # Of an interval that only touches the range, nobody knows how many records lie in it.
        is_enough = count.records >= max(MIN_GROUP_RECORDS, MIN_SIDE_SHARE * self.records)
        return _AgeRange(Range(lo, hi), count) if is_enough and len(inside) == len(touching) else None

    def end_of_year(self, upto: int) -> float:
        return upto + LAST_FRACTION if self.has_fractions else float(upto)


def choose_ages(
    splits: Sequence[Split], counts: Mapping[GroupValue, Count], *, has_outcomes: bool
) -> GroupChoice:
    ages = _Ages(counts)
    divisions = [division for division in map(ages.divide, splits) if division is not None]
    if not divisions:
        raise NoChoice(
            f"no customary division ({', '.join(str(split.upto) for split in splits)}) leaves "
            f"{MIN_GROUP_RECORDS} records and {MIN_SIDE_SHARE:.0%} on both sides, "
            "or its values are counted in intervals that lie on both sides"
        )
    first = divisions[0]
    worse_off = [division for division in divisions if division.shows_disadvantage]
    best = min(worse_off, key=lambda division: (division.max_ratio or 0, division.split.upto), default=first)

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
            because += f"; the other end is far worse off, too: {other.split.custom}"
    elif best.max_ratio is None:
        because += "; favourable rates are not known"
    else:
        warnings.append(
            "no customary division shows a disadvantage beyond chance: this one is a choice, not a finding"
        )
    proposed = _build_choice(monitored, reference, has_outcomes=has_outcomes)

    customary = _build_choice([first.monitored], first.reference, has_outcomes=has_outcomes)
    warnings_of_custom = [*ages.warnings, *customary.warnings]
    reversed_ratio = _max_ratio(first.reference.count, first.monitored.count)
    if reversed_ratio is not None and reversed_ratio < 1:
        sides = f"{first.monitored.range.label} surely fares better than {first.reference.range.label}"
        warnings_of_custom.append(
            f"in these data {sides}: here it is the reference that is at a disadvantage"
        )
    customary = replace(customary, because=first.sentence, warnings=tuple(warnings_of_custom))
    return replace(proposed, because=because, warnings=(*warnings, *proposed.warnings), customary=customary)


def _find_middle(
    ages: _Ages, best: _Division, divisions: Sequence[_Division]
) -> tuple[_Division, _AgeRange] | None:
    """The other end of life and the ages to compare both ends with, if its disadvantage is sure and large,
    too.
    """
    middles: dict[float, tuple[_Division, _AgeRange]] = {}
    for division in divisions:
        if division.split.protects_above == best.split.protects_above:
            continue
        first, last = sorted((best.split.upto, division.split.upto))
        between = ages.find_range(float(first + 1), ages.end_of_year(last))
        if between is None:
            continue
        end = division.monitored.count
        ratio = _max_ratio(end, between.count)
        is_far_worse = (end.rate or 0.0) < DEFAULT_THRESHOLD * (between.count.rate or 0.0)
        if ratio is not None and ratio < 1 and is_far_worse:
            middles.setdefault(ratio, (division, between))
    return middles[min(middles)] if middles else None


def _build_choice(monitored: list[_AgeRange], reference: _AgeRange, *, has_outcomes: bool) -> GroupChoice:
    groups = [
        build_share(
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


def _max_ratio(monitored: Count, reference: Count) -> float | None:
    if not monitored.classified or not reference.favourable:
        return None
    return build_ratio_interval(
        monitored.favourable, monitored.classified, reference.favourable, reference.classified
    ).upper
