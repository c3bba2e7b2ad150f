"""Verdicts, from a number, its interval and its limits."""

import math
from enum import StrEnum
from typing import TypeAlias

from .values import Undefined, Value

MINIMUM_GROUP_SIZE = 10
"""Min original records in each group compared for a verdict on fairness."""

TOLERANCE = 1e-9
"""Max rounding error of a limit, relative to it: 0.56 / 0.7 is 0.8."""

Limits: TypeAlias = tuple[float | None, float | None]
"""The lowest and the highest fair number of a metric; None leaves a side open."""

OPEN: Limits = (None, None)


class Verdict(StrEnum):
    """The fairness verdict on a number.

    `unwatched`: inside the only limit that is set, but beyond the mirror image of that limit, on the side that has none.
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
"""The verdicts, most serious first; None where no limit is set."""


def verdict(
    number: Value | Undefined,
    *,
    lower_limit: float | None,
    upper_limit: float | None,
    smallest_group: int | None,
    mirror: Limits = OPEN,
) -> Verdict | None:
    """Returns the verdict under the limits, which themselves count as inside; None where the metric has no limit.

    Outside the limits it is `unfair` when the whole interval is outside, else `suspected`. Inside them it is `fair`, but `unwatched`
    where the value is beyond `mirror`, the mirror images on the sides without a limit (see `app.metrics.sides.mirror_of`).
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
    """Returns whether the value is inside the limits, allowing for rounding."""
    lower, upper = limits
    return reaches(value, lower) and keeps_to(value, upper)


def reaches(value: float | None, limit: float | None) -> bool:
    """Returns whether the value is at or above the lower limit; True for an unbounded value or an absent limit."""
    return value is None or limit is None or value >= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def keeps_to(value: float | None, limit: float | None) -> bool:
    """Returns whether the value is at or below the upper limit; True for an unbounded value or an absent limit."""
    return value is None or limit is None or value <= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
