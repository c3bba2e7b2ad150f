"""Postal codes: their spellings, and groups of a column of them, only if a few hold the records."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from ..domain.values import GroupValue, label_of
from .categories import choose_categories
from .choice import GroupChoice, NoChoice
from .kinds import NO_ANSWER, KindRow
from .names import fold
from .observed import Count
from .values import ENOUGH, Fit, ValueMatch, list_values

ENOUGH_RECORDS = 100

MAX_PLACES = 20
COVERED = 0.5

PREFIX = 3

LOOKED_AT_FIRST = 50
"""Values by which a spelling of postal codes is ruled out, before all are looked at."""

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


def match_places(counted: Mapping[GroupValue, int]) -> ValueMatch:
    whole = sum(counted.values())
    some = [fold(label_of(value)).strip() for value in islice(counted, LOOKED_AT_FIRST)]
    for fit, patterns in ((Fit.BY_THEMSELVES, _DISTINCTIVE), (Fit.SPOKEN, _AMBIGUOUS)):
        for title, pattern in patterns.items():
            if not any(map(pattern.fullmatch, some)):
                continue
            fitting = sum(records for value, records in counted.items() if pattern.fullmatch(fold(label_of(value)).strip()))
            if fitting >= ENOUGH * whole and len(counted) > 1:
                return ValueMatch(fit, f"its values are spelled as {title}: {list_values(list(counted))}")
    return ValueMatch(Fit.UNFIT, "its values are not spelled as postal codes")


def choose_places(row: KindRow, values: ValueMatch, counts: Mapping[GroupValue, Count], *, has_outcomes: bool) -> GroupChoice:
    whole = sum(count.records for count in counts.values())
    enough = {value: count for value, count in counts.items() if count.records >= ENOUGH_RECORDS}
    covered = sum(count.records for count in enough.values())
    if not 1 < len(enough) <= MAX_PLACES or covered < COVERED * whole:
        prefixes: dict[str, int] = {}
        for value, count in counts.items():
            prefix = label_of(value).strip()[:PREFIX]
            prefixes[prefix] = prefixes.get(prefix, 0) + count.records
        often = sorted(((records, prefix) for prefix, records in prefixes.items() if records >= ENOUGH_RECORDS), reverse=True)
        found = (
            f"it holds {len(counts):,} postal codes, of which {len(enough):,} have {ENOUGH_RECORDS} records or more"
            f" ({covered:,} of {whole:,})"
        )
        if not 1 < len(often) <= MAX_PLACES or len(often) >= len(counts):
            raise NoChoice(f"{found}: too thin to compare")
        listed = ", ".join(f"{prefix} ({records:,})" for records, prefix in often[:5])
        raise NoChoice(f"{found}. Log the first {PREFIX} characters as a field of their own to compare areas: {listed}")

    rare = {label_of(value): NO_ANSWER for value in counts if value not in enough}
    chosen = choose_categories(row, ValueMatch(values.fit, values.sentence, rare), counts, has_outcomes=has_outcomes)
    warnings = ["a postal code is no protected attribute but may be a proxy for one: which codes are monitored is for a person to say"]
    if len(counts) > len(enough):
        few = f"{len(counts) - len(enough):,} postal codes of fewer than {ENOUGH_RECORDS} records ({whole - covered:,} records)"
        warnings.append(f"in neither group: {few}")
    # Not the list of values in neither group, which would name every rare code.
    warnings += [one for one in chosen.warnings if "neither" not in one]
    groups = tuple(group for group in chosen.groups if group.role != "neither")
    return replace(chosen, groups=groups, warnings=tuple(warnings), customary=None)
