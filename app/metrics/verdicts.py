"""From a number, its interval and its limits to a word."""

import math
from enum import StrEnum
from typing import TypeAlias

from app.metrics.values import Undefined, Value

MINIMUM_GROUP_SIZE = 10
"""Fewer original records than this in a group compared, and no verdict on fairness is given."""

TOLERANCE = 1e-9
"""How far beyond a limit, relative to it, rounding may lie: 0.56 / 0.7 is 0.8."""

Limits: TypeAlias = tuple[float | None, float | None]
"""The lowest and the highest fair number of a metric; an absent side is open."""

OPEN: Limits = (None, None)


class Verdict(StrEnum):
    """What a number says about fairness.

    `unwatched`: it is inside the one limit that is set and beyond the mirror image of that limit, on the side that nobody watches.
    """

    FAIR = "fair"
    UNWATCHED = "unwatched"
    SUSPECTED = "suspected"
    UNFAIR = "unfair"
    INSUFFICIENT_DATA = "insufficient_data"
    NOT_COMPUTABLE = "not_computable"


GRAVEST: tuple[Verdict | None, ...] = (
    Verdict.UNFAIR,
    Verdict.SUSPECTED,
    Verdict.UNWATCHED,
    Verdict.FAIR,
    Verdict.INSUFFICIENT_DATA,
    Verdict.NOT_COMPUTABLE,
    None,
)
"""The verdicts, the gravest first; None where no limit is set."""


def verdict(
    number: Value | Undefined,
    *,
    lower_limit: float | None,
    upper_limit: float | None,
    smallest_group: int | None,
    mirror: Limits = OPEN,
) -> Verdict | None:
    """Returns the verdict under the limits, which themselves count as inside; None where the metric has no limit.

    Outside the limits it is `unfair` when the whole interval lies outside, else `suspected`. Inside them it is `fair`, but `unwatched`
    where the value lies beyond `mirror`, the mirror images on the sides without a limit (see `app.metrics.sides.mirror_of`).
    `smallest_group` is the number of original records in the smaller of the groups compared.
    """
    if lower_limit is None and upper_limit is None:
        return None
    if isinstance(number, Undefined):
        return Verdict.NOT_COMPUTABLE
    if smallest_group is not None and smallest_group < MINIMUM_GROUP_SIZE:
        return Verdict.INSUFFICIENT_DATA
    if is_inside(number.value, (lower_limit, upper_limit)):
        return Verdict.FAIR if is_inside(number.value, mirror) else Verdict.UNWATCHED
    overlaps = reaches(number.upper, lower_limit) and keeps_to(number.lower, upper_limit)
    return Verdict.SUSPECTED if overlaps else Verdict.UNFAIR


def is_inside(value: float, limits: Limits) -> bool:
    """Returns whether the value lies inside the limits, but for rounding."""
    lower, upper = limits
    return reaches(value, lower) and keeps_to(value, upper)


def reaches(value: float | None, limit: float | None) -> bool:
    """Returns whether the value is at the lower limit or above it; an unbounded value is, and so is any where no limit is."""
    return value is None or limit is None or value >= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def keeps_to(value: float | None, limit: float | None) -> bool:
    """Returns whether the value is at the upper limit or below it; an unbounded value is, and so is any where no limit is."""
    return value is None or limit is None or value <= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
