"""The fit of a column's values with ages: numbers of years, or bands as texts."""

import re
from collections.abc import Mapping

from ..domain.values import GroupValue, Range, label_of, number_of
from .kinds import NO_ANSWER
from .values import ENOUGH, Fit, ValueMatch, is_no_answer, list_values

OLDEST = 120

LEAST_OLDEST = 16
"""Lowest maximum of a column of ages: numbers that never reach it are codes."""

MIN_AGES = 3
MIN_BANDS = 2

_BAND = re.compile(r"[\[(]?\s*\d{1,3}\s*(-|–|to|,|bis)\s*\d{1,3}\s*[\])]?(\s*(years|yrs|jahre|ans))?")
_OPEN_BAND = re.compile(
    r"(<=?|>=?|under|over|less than|greater than|more than|older than|younger than)\s*\d{1,3}"
    r"|\d{1,3}\s*(\+|and over|and older|or older|plus)"
)


def match_ages(counted: Mapping[GroupValue, int]) -> ValueMatch:
    numbers: list[tuple[float, int]] = []
    for value, records in counted.items():
        ends = (value.lo, value.hi) if isinstance(value, Range) else (number_of(value),)
        numbers += [(end, records) for end in ends if end is not None]
    whole = sum(counted.values())
    if sum(records for _, records in numbers) >= ENOUGH * whole:
        plausible = [number for number, _ in numbers if 0 <= number <= OLDEST]
        share = sum(records for number, records in numbers if 0 <= number <= OLDEST) / sum(records for _, records in numbers)
        if share < ENOUGH or not plausible or max(plausible) < LEAST_OLDEST or len(set(plausible)) < MIN_AGES:
            return ValueMatch(Fit.UNFIT, "its numbers are no ages of people in years")
        return ValueMatch(Fit.SPOKEN, f"its numbers are ages in years: from {min(plausible):g} to {max(plausible):g}")

    bands = [value for value in counted if is_band(value)]
    known = sum(counted[value] for value in bands) + sum(records for value, records in counted.items() if is_no_answer(value))
    if known < ENOUGH * whole or len(bands) < MIN_BANDS:
        return ValueMatch(Fit.UNFIT, "its values are neither ages in years nor bands of ages")
    meanings = {label_of(value): NO_ANSWER for value in counted if is_no_answer(value)}
    return ValueMatch(Fit.SPOKEN, f"its values are bands of ages: {list_values(bands)}", meanings)


def is_band(value: GroupValue) -> bool:
    spelled = value.strip().lower() if isinstance(value, str) else ""
    return bool(_BAND.fullmatch(spelled) or _OPEN_BAND.fullmatch(spelled))
