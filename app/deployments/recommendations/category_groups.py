"""Groups of a column of categories: the reference is the large group with the highest rate, unless the
customary one may be as well off.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from ...base.values import GroupValue, frozen, join_first, name_problem, name_value
from ...domain.groups import drop_twins, find_twins
from ...domain.monitor_rules import MAX_GROUPS
from ...statistics.intervals.intervals import build_newcombe_interval
from .attribute_kinds import NO_ANSWER, KindRow
from .column_names import fold
from .group_choice import (
    MIN_GROUP_RECORDS,
    MIN_REFERENCE_SHARE,
    Count,
    GroupChoice,
    NoChoice,
    Role,
    build_share,
    warn_of_small_groups,
)
from .suggested_outcomes import MIN_RECOGNISED_SHARE, Fit, ValueMatch, list_values

MIN_GROUPS = 2

_MAX_QUOTED = 3
_MAX_QUOTED_NEITHER = 5

ENOUGH_RECORDS = 100

MAX_PLACES = 20
MIN_COVERED_SHARE = 0.5

PREFIX_CHARACTERS = 3

SAMPLE_VALUES = 50

_DISTINCTIVE = {
    "ZIP+4": re.compile(r"\d{5}-\d{4}"),
    "British postcodes": re.compile(r"[a-z]{1,2}\d[a-z\d]? \d[a-z]{2}"),
    "Canadian postal codes": re.compile(r"[a-z]\d[a-z] \d[a-z]\d"),
}
_AMBIGUOUS = {
    "five digits": re.compile(r"\d{5}"),
    "three digits": re.compile(r"\d{3}"),
    "four digits": re.compile(r"\d{4}"),
    "masked zip codes": re.compile(r"\d{3}x{2}"),
    "Dutch postcodes": re.compile(r"\d{4} ?[a-z]{2}"),
    "Polish or Portuguese postal codes": re.compile(r"\d{2}-\d{3}|\d{4}-\d{3}"),
    "British postcode areas": re.compile(r"[a-z]{1,2}\d{0,2}[a-z]?"),
    "postal codes with blanks left out": re.compile(r"[a-z]\d[a-z]\d[a-z]\d|[a-z]{1,2}\d[a-z\d]?\d[a-z]{2}"),
    "digits": re.compile(r"\d{4,8}"),
}


@frozen
class _Group:
    """Values of one meaning, counted together."""

    meaning: str
    values: tuple[GroupValue, ...]
    count: Count

    @property
    def title(self) -> str:
        return _quote(self.values, _MAX_QUOTED)


@frozen
class _Values:
    """Values of a column: all `counts`, of which `listed` name a group."""

    counts: Mapping[GroupValue, Count]
    listed: Sequence[GroupValue]
    meanings: Mapping[str, str]
    has_outcomes: bool

    def compare_with(self, reference: _Group, because: str) -> GroupChoice:
        reference_values = reference.values[:MAX_GROUPS]
        monitored = tuple(value for value in self.listed if value not in reference.values)[:MAX_GROUPS]
        groups = []
        for value, count in self.counts.items():
            role: Role = "reference" if value in reference_values else "neither"
            role = "monitored" if value in monitored else role
            meaning = self.meanings.get(name_value(value))
            groups.append(
                build_share(value, count, role=role, meaning=meaning, has_outcomes=self.has_outcomes)
            )

        warnings = []
        neither = [value for value in self.counts if value not in monitored and value not in reference_values]
        if neither:
            records = sum(self.counts[value].records for value in neither)
            why = "because they name no group, or are more than a monitor lists; checks count and show them"
            warnings.append(
                f"in neither group: {_quote(neither, _MAX_QUOTED_NEITHER)} ({records:,} records), {why}"
            )
        warnings += warn_of_small_groups(groups)
        return GroupChoice(
            monitored=monitored,
            reference=reference_values,
            groups=tuple(groups),
            because=because,
            warnings=tuple(warnings),
        )


def _quote(values: Sequence[GroupValue], limit: int) -> str:
    return join_first((f"{name_value(value)!r:.60}" for value in values), limit)


def choose_categories(
    row: KindRow, match: ValueMatch, counts: Mapping[GroupValue, Count], *, has_outcomes: bool
) -> GroupChoice:
    """Proposes groups of a column of categories. Raises NoChoice if only one group has records."""
    ordered = {
        value: counts[value]
        for value in sorted(counts, key=lambda value: (-counts[value].records, name_value(value)))
    }
    twins = find_twins(ordered, drop_twins(ordered))
    listed = [
        value
        for value in ordered
        if match.meanings.get(name_value(value)) != NO_ANSWER
        and not (isinstance(value, str) and (value in twins or name_problem(value)))
    ][: 2 * MAX_GROUPS]
    values_by_meaning: dict[str, list[GroupValue]] = {}
    for value in listed:
        values_by_meaning.setdefault(match.meanings.get(name_value(value), name_value(value)), []).append(
            value
        )
    groups = [
        _Group(meaning, tuple(values), sum((counts[value] for value in values), Count()))
        for meaning, values in values_by_meaning.items()
    ]
    if len(groups) < MIN_GROUPS:
        raise NoChoice("all its records are of one group, so there is nobody to compare with")

    values = _Values(ordered, listed, match.meanings, has_outcomes)
    customary = next((group for group in groups if group.meaning == row.customary_reference), None)
    best, because = _choose_reference(groups, customary, has_outcomes=has_outcomes)
    proposed = values.compare_with(best, because)
    doubts = []
    if best.count.rate is not None and all(
        _is_equal_by_chance(best.count, group.count) for group in groups if group is not best
    ):
        doubts.append(
            "the rates do not differ beyond chance: which group is the reference is a choice, not a finding"
        )
    if customary is None:
        return replace(proposed, warnings=(*proposed.warnings, *doubts))

    if customary is not best and best.count.rate is not None:
        doubts.append(
            f"usually {customary.title} is the reference; in these data {best.title} surely fares better."
            " Accept the customary groups if the law says so"
        )
    usual = values.compare_with(customary, f"{customary.title} usually is the reference, whatever the rates")
    better = [
        group.title for group in groups if group is not customary and _is_better(group.count, customary.count)
    ]
    if better:
        against = (
            f"surely better off than {customary.title} in these data: {', '.join(better)}. A check "
            "will show ratios above 1"
        )
        usual = replace(usual, warnings=(*usual.warnings, against))
    return replace(proposed, warnings=(*proposed.warnings, *doubts), customary=usual)


def _choose_reference(
    groups: Sequence[_Group], customary: _Group | None, *, has_outcomes: bool
) -> tuple[_Group, str]:
    total = sum(group.count.records for group in groups)
    large = [
        group
        for group in groups
        if group.count.records >= max(MIN_GROUP_RECORDS, MIN_REFERENCE_SHARE * total)
    ]
    rated = [group for group in large if group.count.rate is not None]
    if not has_outcomes or not rated or len(rated) < len(large):
        why = (
            "favourable rates are not known"
            if not has_outcomes or large
            else f"no group has {MIN_GROUP_RECORDS} records"
        )
        if customary is not None and customary in large:
            return customary, f"{why}, so {customary.title}, which usually is the reference"
        largest = max(groups, key=lambda group: group.count.records)
        return largest, f"{why}, so {largest.title}, the largest group"

    if customary is not None and customary in large:
        # Only what is surely better replaces the customary reference, so that chance does not choose.
        rated = [group for group in rated if group is customary or _is_better(group.count, customary.count)]
    best = max(rated, key=lambda group: (group.count.rate or 0.0, group.count.records))
    rate = best.count.rate or 0.0
    if customary is not None and any((group.count.rate or 0.0) > rate for group in large):
        if best is customary:
            why = "and no large group surely has a higher favourable rate"
            return best, f"{best.title} usually is the reference, {why}"
        sentence = f"{best.title} surely has a higher favourable rate ({rate:.1%}) than {customary.title}"
        return best, f"{sentence}; a still higher one may be chance"
    large_enough = f"of the groups with at least {MIN_REFERENCE_SHARE:.0%} of the records"
    return best, f"{best.title} has the highest favourable rate ({rate:.1%}) {large_enough}"


def _is_better(first: Count, second: Count) -> bool:
    return (first.rate or 0.0) > (second.rate or 0.0) and not _is_equal_by_chance(first, second)


def _is_equal_by_chance(first: Count, second: Count) -> bool:
    if not first.classified or not second.classified:
        return True
    lower, upper, _ = build_newcombe_interval(
        first.favourable, first.classified, second.favourable, second.classified
    )
    return lower <= 0 <= upper


def match_places(counted: Mapping[GroupValue, int]) -> ValueMatch:
    total = sum(counted.values())
    sample = [fold(name_value(value)).strip() for value in islice(counted, SAMPLE_VALUES)]
    for fit, patterns in ((Fit.BY_THEMSELVES, _DISTINCTIVE), (Fit.SPOKEN, _AMBIGUOUS)):
        for title, pattern in patterns.items():
            if not any(map(pattern.fullmatch, sample)):
                continue
            fitting = sum(
                records
                for value, records in counted.items()
                if pattern.fullmatch(fold(name_value(value)).strip())
            )
            if fitting >= MIN_RECOGNISED_SHARE * total and len(counted) > 1:
                return ValueMatch(fit, f"its values are spelled as {title}: {list_values(list(counted))}")
    return ValueMatch(Fit.UNFIT, "its values are not spelled as postal codes")


def choose_places(
    row: KindRow, values: ValueMatch, counts: Mapping[GroupValue, Count], *, has_outcomes: bool
) -> GroupChoice:
    total = sum(count.records for count in counts.values())
    enough = {value: count for value, count in counts.items() if count.records >= ENOUGH_RECORDS}
    covered = sum(count.records for count in enough.values())
    if not 1 < len(enough) <= MAX_PLACES or covered < MIN_COVERED_SHARE * total:
        prefixes = Counter[str]()
        for value, count in counts.items():
            prefixes[name_value(value).strip()[:PREFIX_CHARACTERS]] += count.records
        often = sorted(
            ((records, prefix) for prefix, records in prefixes.items() if records >= ENOUGH_RECORDS),
            reverse=True,
        )
        summary = (
            f"it holds {len(counts):,} postal codes, of which {len(enough):,} have {ENOUGH_RECORDS} records "
            f"or more ({covered:,} of {total:,})"
        )
        if not 1 < len(often) <= MAX_PLACES or len(often) >= len(counts):
            raise NoChoice(f"{summary}: too thin to compare")
        listed = ", ".join(f"{prefix} ({records:,})" for records, prefix in often[:5])
        raise NoChoice(
            f"{summary}. Log the first {PREFIX_CHARACTERS} characters as a field of their own "
            f"to compare areas: {listed}"
        )

    rare = {name_value(value): NO_ANSWER for value in counts if value not in enough}
    choice = choose_categories(
        row, ValueMatch(values.fit, values.sentence, rare), counts, has_outcomes=has_outcomes
    )
    warnings = [
        (
            "a postal code is no protected attribute but may be a proxy for one: which codes are monitored is "
            "for a person to say"
        )
    ]
    if len(counts) > len(enough):
        few = (
            f"{len(counts) - len(enough):,} postal codes of fewer than {ENOUGH_RECORDS} records "
            f"({total - covered:,} records)"
        )
        warnings.append(f"in neither group: {few}")
    # Not the list of values in neither group, which would name every rare code.
    warnings += [warning for warning in choice.warnings if "neither" not in warning]
    groups = tuple(group for group in choice.groups if group.role != "neither")
    return replace(choice, groups=groups, warnings=tuple(warnings), customary=None)
