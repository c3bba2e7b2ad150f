"""Groups of categories: the reference is the large one with the highest rate, or the customary one if as well
off.
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
from .column_names import fold_letters
from .group_choice import (
    MIN_GROUP_RECORDS,
    MIN_REFERENCE_SHARE,
    Count,
    GroupChoice,
    NoChoice,
    Role,
    build_proposed_group,
    warn_of_small_groups,
)
from .suggested_outcomes import MIN_RECOGNISED_SHARE, Fit, ValueMatch, list_values

MIN_GROUPS = 2

_MAX_QUOTED = 3
_MAX_QUOTED_NEITHER = 5

MIN_RECORDS = 100

MAX_PLACES = 20
MIN_COVERED_PLACES_SHARE = 0.5

PLACE_PREFIX_CHARACTERS = 3

MAX_SAMPLE_VALUES = 50
"""Values of which one must fit a pattern before all are tried."""

_DISTINCTIVE_PATTERNS = {
    "ZIP+4": re.compile(r"\d{5}-\d{4}"),
    "British postcodes": re.compile(r"[a-z]{1,2}\d[a-z\d]? \d[a-z]{2}"),
    "Canadian postal codes": re.compile(r"[a-z]\d[a-z] \d[a-z]\d"),
}
"""Spellings of nothing but postal codes, by title."""

_AMBIGUOUS_PATTERNS = {
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
"""Spellings of other things, too: they need a name that fits."""


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
class _CountedValues:
    """Counted values of a column, of which `listed` name a group; `meanings` are by their labels."""

    counts: Mapping[GroupValue, Count]
    listed: Sequence[GroupValue]
    meanings: Mapping[str, str]
    has_outcomes: bool

    def compare_with(self, reference: _Group, because: str) -> GroupChoice:
        reference_values = reference.values[:MAX_GROUPS]
        monitored = tuple(value for value in self.listed if value not in reference.values)[:MAX_GROUPS]
        groups = []
        for value, count in self.counts.items():
            role: Role = "neither"
            if value in monitored:
                role = "monitored"
            elif value in reference_values:
                role = "reference"
            meaning = self.meanings.get(name_value(value))
            groups.append(
                build_proposed_group(value, count, role=role, meaning=meaning, has_outcomes=self.has_outcomes)
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
    """Raises NoChoice if only one group has records."""
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

    values = _CountedValues(ordered, listed, match.meanings, has_outcomes)
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
    customary_choice = values.compare_with(
        customary, f"{customary.title} usually is the reference, whatever the rates"
    )
    better = [
        group.title for group in groups if group is not customary and _is_better(group.count, customary.count)
    ]
    if better:
        warning = (
            f"surely better off than {customary.title} in these data: {', '.join(better)}. A check "
            "will show ratios above 1"
        )
        customary_choice = replace(customary_choice, warnings=(*customary_choice.warnings, warning))
    return replace(proposed, warnings=(*proposed.warnings, *doubts), customary=customary_choice)


def _choose_reference(
    groups: Sequence[_Group], customary: _Group | None, *, has_outcomes: bool
) -> tuple[_Group, str]:
    total = sum(group.count.records for group in groups)
    large_groups = [
        group
        for group in groups
        if group.count.records >= max(MIN_GROUP_RECORDS, MIN_REFERENCE_SHARE * total)
    ]
    rated_groups = [group for group in large_groups if group.count.rate is not None]
    if not has_outcomes or not rated_groups or len(rated_groups) < len(large_groups):
        why = (
            "favourable rates are not known"
            if not has_outcomes or large_groups
            else f"no group has {MIN_GROUP_RECORDS} records"
        )
        if customary is not None and customary in large_groups:
            return customary, f"{why}, so {customary.title}, which usually is the reference"
        largest = max(groups, key=lambda group: group.count.records)
        return largest, f"{why}, so {largest.title}, the largest group"

    if customary is not None and customary in large_groups:
        # Only what is surely better replaces the customary reference, so that chance does not choose.
        rated_groups = [
            group for group in rated_groups if group is customary or _is_better(group.count, customary.count)
        ]
    best = max(rated_groups, key=lambda group: (group.count.rate or 0.0, group.count.records))
    rate = best.count.rate or 0.0
    if customary is not None and any((group.count.rate or 0.0) > rate for group in large_groups):
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


def match_places(records_by_value: Mapping[GroupValue, int]) -> ValueMatch:
    total = sum(records_by_value.values())
    sample = [
        fold_letters(name_value(value)).strip() for value in islice(records_by_value, MAX_SAMPLE_VALUES)
    ]
    for fit, patterns in ((Fit.BY_THEMSELVES, _DISTINCTIVE_PATTERNS), (Fit.SPOKEN, _AMBIGUOUS_PATTERNS)):
        for title, pattern in patterns.items():
            if not any(map(pattern.fullmatch, sample)):
                continue
            fitting = sum(
                records
                for value, records in records_by_value.items()
                if pattern.fullmatch(fold_letters(name_value(value)).strip())
            )
            if fitting >= MIN_RECOGNISED_SHARE * total and len(records_by_value) > 1:
                return ValueMatch(
                    fit, f"its values are spelled as {title}: {list_values(list(records_by_value))}"
                )
    return ValueMatch(Fit.UNFIT, "its values are not spelled as postal codes")


def choose_places(
    row: KindRow, values: ValueMatch, counts: Mapping[GroupValue, Count], *, has_outcomes: bool
) -> GroupChoice:
    """Raises NoChoice if they are too few, too many, or cover too little."""
    total = sum(count.records for count in counts.values())
    frequent = {value: count for value, count in counts.items() if count.records >= MIN_RECORDS}
    covered = sum(count.records for count in frequent.values())
    if not 1 < len(frequent) <= MAX_PLACES or covered < MIN_COVERED_PLACES_SHARE * total:
        prefixes = Counter[str]()
        for value, count in counts.items():
            prefixes[name_value(value).strip()[:PLACE_PREFIX_CHARACTERS]] += count.records
        frequent_prefixes = sorted(
            ((records, prefix) for prefix, records in prefixes.items() if records >= MIN_RECORDS),
            reverse=True,
        )
        summary = (
            f"it holds {len(counts):,} postal codes, of which {len(frequent):,} have {MIN_RECORDS} records "
            f"or more ({covered:,} of {total:,})"
        )
        if not 1 < len(frequent_prefixes) <= MAX_PLACES or len(frequent_prefixes) >= len(counts):
            raise NoChoice(f"{summary}: too thin to compare")
        listed = ", ".join(f"{prefix} ({records:,})" for records, prefix in frequent_prefixes[:5])
        raise NoChoice(
            f"{summary}. Log the first {PLACE_PREFIX_CHARACTERS} characters as a field of their own "
            f"to compare areas: {listed}"
        )

    rare = {name_value(value): NO_ANSWER for value in counts if value not in frequent}
    choice = choose_categories(
        row, ValueMatch(values.fit, values.sentence, rare), counts, has_outcomes=has_outcomes
    )
    warnings = [
        (
            "a postal code is no protected attribute but may be a proxy for one: which codes are monitored is "
            "for a person to say"
        )
    ]
    if len(counts) > len(frequent):
        warnings.append(
            f"in neither group: {len(counts) - len(frequent):,} postal codes of fewer than "
            f"{MIN_RECORDS} records ({total - covered:,} records)"
        )
    # Not the list of values in neither group, which would name every rare code.
    warnings += [warning for warning in choice.warnings if "neither" not in warning]
    groups = tuple(group for group in choice.groups if group.role != "neither")
    return replace(choice, groups=groups, warnings=tuple(warnings), customary=None)
