"""Marks the monitored value whose figure is furthest out, and intervals that allow for the choice."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scipy.special import ndtri

from ..catalogue.metric import Metric
from ..figure_values import Measured, Value
from ..intervals.intervals import LARGEST, Z
from ..intervals.verdicts import MINIMUM_GROUP_SIZE, Limits, is_inside
from ..sentences.sides import both_sides, is_ratio

AllLimits = Mapping[str, Limits]
"""Limits by metric key; others use those of the catalogue."""

DIGITS = 12
"""Digits in which figures must differ: to a computer 0.8 - 0.5 and 0.5 - 0.2 are not equal."""

NO_LIMITS: AllLimits = {}


def mark_worst(metric: Metric, results: Sequence[Measured], limits: AllLimits) -> list[Measured]:
    """Results with the group furthest out marked; without a number, the first one of a group.

    Furthest beyond the set limits (for ratios as a factor); else beyond the mirror image of a lone one;
    else nearest to any. Without limits, furthest from equality. Values below `MINIMUM_GROUP_SIZE` records
    cannot be chosen while there are others. The first of equals wins. Intervals and p-values of all groups
    allow for the choice.
    """
    positions = [position for position, result in enumerate(results) if result.scope == "group"]
    if not positions:
        return list(results)
    bounds = limits.get(metric.key, metric.limits)
    ranked = [
        (result.smallest_group < MINIMUM_GROUP_SIZE, *rank(result.number.value, metric, bounds), position)
        for position, result in enumerate(results)
        if result.scope == "group" and isinstance(result.number, Value)
    ]
    is_small, *_, marked = min(ranked, default=(False, positions[0]))
    chosen_from = sum(rank_of[0] == is_small for rank_of in ranked)
    marked_results = [
        allow_for_choice(result, metric, chosen_from) if result.scope == "group" else result
        for result in results
    ]
    marked_results[marked] = replace(marked_results[marked], worst_of=chosen_from)
    return marked_results


def how_far_out(value: float, metric: Metric, limits: Limits) -> float:
    """Distance of the value beyond the limits, for ratios as the logarithm of a factor; negative inside.

    Inside, the mirror image of a lone limit counts, too. Without limits it is the distance from equality.
    """
    return distance_under(metric, limits)(value)


def distance_under(metric: Metric, limits: Limits) -> Callable[[float], float]:
    """`how_far_out` as a function, for many values under the same limits."""
    of_ratio = is_ratio(metric)

    def scale_limits(sides: Limits) -> Limits:
        lower, upper = (
            None if limit is None or (of_ratio and limit <= 0) else _scale(limit, is_ratio=of_ratio)
            for limit in sides
        )
        return lower, upper

    marks = scale_limits(limits)
    marks_inside = scale_limits(both_sides(metric, limits))

    def measure(value: float) -> float:
        number = _scale(value, is_ratio=of_ratio)
        lower, upper = marks_inside if is_inside(value, limits) else marks
        if lower is None:
            equal = abs(number) if of_ratio else abs(value - (metric.ideal or 0.0))
            return equal if upper is None else number - upper
        return lower - number if upper is None else max(number - upper, lower - number)

    return measure


def rank(value: float, metric: Metric, limits: Limits) -> tuple[bool, float]:
    """Sort key that puts the value further out first: beyond a set limit before beyond none."""
    return is_inside(value, limits), round(-how_far_out(value, metric, limits), DIGITS)


def _scale(value: float, *, is_ratio: bool) -> float:
    if not is_ratio:
        return value
    return math.log(value) if value > 0 else -math.inf


def allow_for_choice(result: Measured, metric: Metric, chosen_from: int) -> Measured:
    """Result with an interval and a p-value that hold for so many figures at once (Bonferroni), and so for
    a chosen one.
    """
    number = result.number
    p_value = result.details.p_value
    if chosen_from <= 1 or not isinstance(number, Value):
        return result
    return replace(
        result,
        for_choice=widen_for_choice(metric, number, chosen_from),
        details=result.details.changed(
            chosen_p_value=None if p_value is None else min(1.0, chosen_from * p_value)
        ),
    )


def widen_for_choice(metric: Metric, figure: Value, chosen_from: int) -> Value:
    """Figure with its 95 % interval stretched to that of one chosen from so many, for ratios on the scale
    of logarithms.
    """
    factor = float(ndtri(1 - 0.025 / chosen_from)) / Z

    def stretch(end: float | None) -> float | None:
        if end is None:
            return None
        if is_ratio(metric) and figure.value > 0 and end > 0:
            logarithm = math.log(figure.value) + factor * math.log(end / figure.value)
            return None if logarithm > LARGEST else math.exp(logarithm)
        far = figure.value + factor * (end - figure.value)
        lowest, highest = (edge if edge is not None else far for edge in (metric.lowest, metric.highest))
        return max(lowest, min(highest, far))

    return replace(figure, lower=stretch(figure.lower), upper=stretch(figure.upper))
