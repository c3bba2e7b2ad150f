"""Which monitored value is the headline of an attribute."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.metrics.values import Measured, Value
from app.metrics.verdicts import MINIMUM_GROUP_SIZE


class RatioLimits(NamedTuple):
    """The limits of an attribute's disparate impact; an absent side is open."""

    lower: float | None = None
    upper: float | None = None


def worst_group(ratios: Sequence[Measured], limits: RatioLimits) -> str | None:
    """The label whose ratio lies furthest to the unfair side; None where no ratio is a number.

    That is the lowest ratio, or with an upper limit the one furthest beyond either limit as a factor. Values of fewer than
    `MINIMUM_GROUP_SIZE` records stand back while there are others, lest two odd records hide what happens to two hundred.
    The first of equals wins.
    """
    numbers = [
        (ratio.smallest_group < MINIMUM_GROUP_SIZE, ratio.number.value, ratio.group) for ratio in ratios if isinstance(ratio.number, Value)
    ]
    ranked = sorted(numbers, key=lambda entry: (entry[0], -_violation(entry[1], limits)))
    return ranked[0][2] if ranked else None


def furthest_group(results: Sequence[Measured], ideal: float) -> str | None:
    """The label whose number lies furthest from the ideal, whichever way; None where there is no number.

    Small groups stand back as above; the first of equals wins.
    """
    numbers = [
        (result.smallest_group < MINIMUM_GROUP_SIZE, -abs(result.number.value - ideal), result.group)
        for result in results
        if isinstance(result.number, Value)
    ]
    return min(numbers, key=lambda entry: entry[:2])[2] if numbers else None


def _violation(ratio: float, limits: RatioLimits) -> float:
    """How far beyond the limits, as the logarithm of a factor; negative inside. A limit of zero limits nothing."""
    log = math.log(ratio) if ratio > 0 else -math.inf
    beyond = []
    if limits.upper is not None and limits.upper > 0:
        beyond.append(log - math.log(limits.upper))
    if limits.lower is not None and limits.lower > 0:
        beyond.append(math.log(limits.lower) - log)
    return max(beyond, default=-log)
