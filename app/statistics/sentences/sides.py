"""Group at a disadvantage by a figure, and values on a side without limit."""

from dataclasses import replace
from enum import StrEnum

from ...base.frozen import frozen
from ..catalogue.metric import Direction, Metric
from ..figure_values import Measured, Undefined
from ..intervals.verdicts import ON_FAIRNESS, Limits, Verdict, is_inside, reaches, verdict


class Disadvantaged(StrEnum):
    """The group that gets the favourable outcome less often than the limits allow. In `worst_pair`,
    `monitored` is its first group.
    """

    MONITORED = "monitored"
    REFERENCE = "reference"
    NOBODY = "nobody"


@frozen
class Turned:
    """A ratio seen from the other side, reference / monitored; an end of None is unbounded."""

    value: float
    lower: float | None
    upper: float | None


def judge(result: Measured, metric: Metric, limits: Limits) -> Verdict | None:
    """Verdict on a result; a missing number is not computable even where there are no limits. One that holds
    noise has none.

    Of several groups some lie outside by chance, so `unfair` takes the interval that allows for the choice
    among them.
    """
    number, (lower, upper) = result.number, limits
    if isinstance(number, Undefined):
        return Verdict.NOT_COMPUTABLE
    if metric.data[0] != "counterfactual" and "repeats" in result.details.counts:
        return None
    if metric.is_judged_by_value:
        number = replace(number, lower=number.value, upper=number.value)
    elif result.for_choice and not is_inside(number.value, limits):
        number = result.for_choice
    return verdict(
        number,
        lower_limit=lower,
        upper_limit=upper,
        smallest_group=result.smallest_group,
        mirror=mirror_limits(metric, limits),
    )


def is_ratio(metric: Metric) -> bool:
    return metric.order == "monitored / reference"


def mirror_limits(metric: Metric, limits: Limits) -> Limits:
    """Mirror image of a lone limit for the side without one: 1/limit of a ratio, -limit of a difference.

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
        mirrored = mirrored_ratio(limit)
    else:
        # A range that ends at the ideal has no other side.
        is_two_sided = metric.ideal == 0 and (metric.lowest is None or metric.lowest < 0)
        mirrored = -limit if is_two_sided else None
    return (None, mirrored) if upper is None else (mirrored, None)


def mirrored_ratio(limit: float) -> float | None:
    """1/limit; None for a limit of 0 or below, which limits no ratio."""
    return 1 / limit if limit > 0 else None


def both_sides(metric: Metric, limits: Limits) -> Limits:
    """Limits with the mirror image of a lone one."""
    mirror = mirror_limits(metric, limits)
    return limits[0] if limits[0] is not None else mirror[0], limits[1] if limits[1] is not None else mirror[
        1
    ]


def disadvantaged(
    metric: Metric, value: float | None, limits: Limits, verdict: str | None
) -> Disadvantaged | None:
    """Group at a disadvantage by the value; None where the number does not say, or nothing is judged."""
    if value is None or metric.disadvantage is None or verdict not in ON_FAIRNESS:
        return None
    both = both_sides(metric, limits)
    if is_inside(value, both):
        return Disadvantaged.NOBODY
    side = "above" if reaches(value, both[0]) else "below"
    return Disadvantaged.MONITORED if metric.disadvantage == side else Disadvantaged.REFERENCE


def turned(value: float, lower: float | None, upper: float | None) -> Turned | None:
    """Ratio and 95 % interval seen from the other side; None for a ratio of zero."""
    if value <= 0:
        return None
    return Turned(
        1 / value, 0.0 if upper is None else 1 / upper, 1 / lower if lower is not None and lower > 0 else None
    )
