"""From a number, its interval and its limits to a word."""

import math
from enum import StrEnum

from app.metrics.values import Undefined, Value

MINIMUM_GROUP_SIZE = 10
"""Fewer original records than this in a group compared, and no verdict on fairness is given."""

TOLERANCE = 1e-9
"""How far beyond a limit, relative to it, rounding may lie: 0.56 / 0.7 is 0.8."""


class Verdict(StrEnum):
    """What a number says about fairness."""

    FAIR = "fair"
    SUSPECTED = "suspected"
    UNFAIR = "unfair"
    INSUFFICIENT_DATA = "insufficient_data"
    NOT_COMPUTABLE = "not_computable"


def verdict(
    number: Value | Undefined, *, lower_limit: float | None, upper_limit: float | None, smallest_group: int | None
) -> Verdict | None:
    """The verdict under the limits, which themselves count as inside; None where the metric has no limit.

    Outside the limits it is `unfair` when the whole interval lies outside, else `suspected`. `smallest_group` is the number
    of original records in the smaller of the groups compared.
    """
    if lower_limit is None and upper_limit is None:
        return None
    if isinstance(number, Undefined):
        return Verdict.NOT_COMPUTABLE
    if smallest_group is not None and smallest_group < MINIMUM_GROUP_SIZE:
        return Verdict.INSUFFICIENT_DATA
    if _reaches(number.value, lower_limit) and _within(number.value, upper_limit):
        return Verdict.FAIR
    overlaps = _reaches(number.upper, lower_limit) and _within(number.lower, upper_limit)
    return Verdict.SUSPECTED if overlaps else Verdict.UNFAIR


def _reaches(value: float | None, limit: float | None) -> bool:
    return value is None or limit is None or value >= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _within(value: float | None, limit: float | None) -> bool:
    return value is None or limit is None or value <= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
