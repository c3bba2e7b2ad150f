"""Judges figures by limits, marks the monitored value furthest out, and widens intervals for that choice."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from scipy.special import ndtri

from ...base.values import frozen
from ..catalogue.metric import Direction, Metric
from ..intervals.intervals import MAX_LOGARITHM, TAIL, Z
from ..intervals.verdicts import (
    MINIMUM_GROUP_SIZE,
    ON_FAIRNESS,
    Limits,
    Measured,
    Undefined,
    Value,
    Verdict,
    is_at_least,
    is_inside,
    judge_number,
)

AllLimits = Mapping[str, Limits]
"""Limits by metric key; metrics without an entry use those of the catalogue."""

CATALOGUE_LIMITS: AllLimits = {}
"""Limits that set none: every metric uses those of the catalogue."""

_RANK_DIGITS = 12
"""Digits after the point in which equal figures agree: to a computer 0.8 - 0.5 and 0.5 - 0.2 differ."""


class Disadvantaged(StrEnum):
    """Side favoured less often than the limits allow; of a `worst_pair`, the first is `monitored`."""

    MONITORED = "monitored"
    REFERENCE = "reference"
    NOBODY = "nobody"


@frozen
class InvertedRatio:
    """Reference / monitored; an end of None is unbounded."""

    value: float
    lower: float | None
    upper: float | None


def judge(result: Measured, metric: Metric, limits: Limits) -> Verdict | None:
    """Judges a result by limits, with the interval that allows for the choice if it was chosen.

    A missing number is not computable even without limits; one that contains the model's noise has no
    verdict.
    """
    number = result.number
    lower, upper = limits
    if isinstance(number, Undefined):
        return Verdict.NOT_COMPUTABLE
    if metric.data[0] != "counterfactual" and "repeats" in result.details.counts:
        return None
    if metric.is_judged_by_value:
        number = replace(number, lower=number.value, upper=number.value)
    elif result.interval_of_choice and not is_inside(number.value, limits):
        number = result.interval_of_choice
    return judge_number(
        number,
        lower_limit=lower,
        upper_limit=upper,
        smallest_group=result.smallest_group,
        mirror=mirror_limits(metric, limits),
    )


def is_ratio(metric: Metric) -> bool:
    return metric.order == "monitored / reference"


def mirror_limits(metric: Metric, limits: Limits) -> Limits:
    """Mirrors a lone limit, for the side without one: 1/limit of a ratio, -limit of a difference.

    None on both sides where both or neither have a limit, where the figure is one-sided (a distance,
    smaller to larger), and where the lone limit leaves equality outside.
    """
    lower, upper = limits
    if (
        (lower is None) == (upper is None)
        or metric.direction is not Direction.TOWARDS_IDEAL
        or metric.ideal is None
    ):
        return None, None
    limit = lower if lower is not None else upper
    if limit is None or not (limit <= metric.ideal if upper is None else limit >= metric.ideal):
        return None, None
    if is_ratio(metric):
        mirrored = mirror_ratio(limit)
    else:
        # A range that ends at the ideal has no other side.
        is_two_sided = metric.ideal == 0 and (metric.lowest is None or metric.lowest < 0)
        mirrored = -limit if is_two_sided else None
    return (None, mirrored) if upper is None else (mirrored, None)


def mirror_ratio(limit: float) -> float | None:
    """Mirror image of a ratio's limit; None for one of 0 or below, which limits no ratio."""
    return 1 / limit if limit > 0 else None


def add_mirror_limits(metric: Metric, limits: Limits) -> Limits:
    """The limits, and the mirror image of a lone one."""
    lower, upper = limits
    mirrored_lower, mirrored_upper = mirror_limits(metric, limits)
    return mirrored_lower if lower is None else lower, mirrored_upper if upper is None else upper


def find_disadvantaged(
    metric: Metric, value: float | None, limits: Limits, judged_as: str | None
) -> Disadvantaged | None:
    """Finds who is favoured less often; None if the figure does not say, or nothing is judged."""
    if value is None or metric.disadvantage is None or judged_as not in ON_FAIRNESS:
        return None
    complete = add_mirror_limits(metric, limits)
    if is_inside(value, complete):
        return Disadvantaged.NOBODY
    side = "above" if is_at_least(value, complete[0]) else "below"
    return Disadvantaged.MONITORED if metric.disadvantage == side else Disadvantaged.REFERENCE


def invert_ratio(value: float, lower: float | None, upper: float | None) -> InvertedRatio | None:
    """Inverts a ratio and its interval; None for a ratio of 0."""
    if value <= 0:
        return None
    inverted_upper = 1 / lower if lower is not None and lower > 0 else None
    return InvertedRatio(1 / value, 0.0 if upper is None else 1 / upper, inverted_upper)


def mark_worst(metric: Metric, results: Sequence[Measured], limits: AllLimits) -> list[Measured]:
    """Marks the group's figure furthest beyond the set limits (of ratios as a factor); else beyond the mirror
    image of a lone one; else nearest to any.

    Without limits, the one furthest from equality. Values below `MINIMUM_GROUP_SIZE` records cannot be chosen
    while there are others. The first of equals wins. Without a number, the first one of a group is marked.
    Intervals and p-values of all groups allow for the choice.
    """
    positions = [position for position, result in enumerate(results) if result.scope == "group"]
    if not positions:
        return list(results)
    bounds = limits.get(metric.key, metric.limits)
    ranked = [
        (
            result.smallest_group < MINIMUM_GROUP_SIZE,
            *rank_value(result.number.value, metric, bounds),
            position,
        )
        for position, result in enumerate(results)
        if result.scope == "group" and isinstance(result.number, Value)
    ]
    is_small, *_, worst = min(ranked, default=(False, positions[0]))
    chosen_from = sum(rank_of[0] == is_small for rank_of in ranked)
    judged = [
        allow_for_choice(result, metric, chosen_from) if result.scope == "group" else result
        for result in results
    ]
    judged[worst] = replace(judged[worst], worst_of=chosen_from)
    return judged


def measure_distance(value: float, metric: Metric, limits: Limits) -> float:
    """Distance beyond the limits, negative inside; of ratios the logarithm of a factor.

    Inside, the mirror image of a lone limit counts, too. Without limits it is the distance from equality.
    """
    return build_distance(metric, limits)(value)


def build_distance(metric: Metric, limits: Limits) -> Callable[[float], float]:
    """Builds `measure_distance` for many values under one pair of limits."""
    is_of_ratio = is_ratio(metric)

    def scale_limits(sides: Limits) -> Limits:
        lower, upper = (
            None if limit is None or (is_of_ratio and limit <= 0) else _scale(limit, is_ratio=is_of_ratio)
            for limit in sides
        )
        return lower, upper

    scaled_limits = scale_limits(limits)
    limits_with_mirror = scale_limits(add_mirror_limits(metric, limits))

    def measure(value: float) -> float:
        number = _scale(value, is_ratio=is_of_ratio)
        lower, upper = limits_with_mirror if is_inside(value, limits) else scaled_limits
        if lower is None:
            from_equality = abs(number) if is_of_ratio else abs(value - (metric.ideal or 0.0))
            return from_equality if upper is None else number - upper
        return lower - number if upper is None else max(number - upper, lower - number)

    return measure


def rank_value(value: float, metric: Metric, limits: Limits) -> tuple[bool, float]:
    """Sort key that puts the value further out first: beyond a set limit before beyond none."""
    return is_inside(value, limits), round(-measure_distance(value, metric, limits), _RANK_DIGITS)


def _scale(value: float, *, is_ratio: bool) -> float:
    if not is_ratio:
        return value
    return math.log(value) if value > 0 else -math.inf


def allow_for_choice(result: Measured, metric: Metric, chosen_from: int) -> Measured:
    """Adds the interval and the p-value that are valid for `chosen_from` figures at once (Bonferroni)."""
    number = result.number
    p_value = result.details.p_value
    if chosen_from <= 1 or not isinstance(number, Value):
        return result
    return replace(
        result,
        interval_of_choice=widen_for_choice(metric, number, chosen_from),
        details=result.details.changed(
            chosen_p_value=None if p_value is None else min(1.0, chosen_from * p_value)
        ),
    )


def widen_for_choice(metric: Metric, figure: Value, chosen_from: int) -> Value:
    """Stretches a 95 % interval to be valid for `chosen_from` figures at once; of ratios on the log scale."""
    factor = float(ndtri(1 - TAIL / chosen_from)) / Z

    def stretch(end: float | None) -> float | None:
        if end is None:
            return None
        if is_ratio(metric) and figure.value > 0 and end > 0:
            logarithm = math.log(figure.value) + factor * math.log(end / figure.value)
            return None if logarithm > MAX_LOGARITHM else math.exp(logarithm)
        far = figure.value + factor * (end - figure.value)
        lowest, highest = (far if edge is None else edge for edge in (metric.lowest, metric.highest))
        return max(lowest, min(highest, far))

    return replace(figure, lower=stretch(figure.lower), upper=stretch(figure.upper))
