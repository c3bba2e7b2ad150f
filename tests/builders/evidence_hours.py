"""Simulated hours of a comparison whose truth is known."""

import math
from collections.abc import Sequence

import numpy as np

from app.statistics.e_values.betting import HourEstimates
from app.statistics.e_values.confidence import RunningInterval, add_hours
from app.statistics.e_values.follow import ComparisonFamily, EvidenceSeries, begin_comparison, follow_family
from app.statistics.e_values.nulls import HOURS_OF_A_YEAR, Hours, Limit, Scale, SideHours, UnfairSide
from app.statistics.group_labels import FloatArray

BELOW = Limit(Scale.RATIO, UnfairSide.BELOW, 0.8, 1.25)
ABOVE = Limit(Scale.RATIO, UnfairSide.ABOVE, 1.25, 0.8)


def simulate(
    ratios: Sequence[float] | FloatArray, seed: int, *, base: float | FloatArray = 0.5, records: int = 300, share: float = 0.3
) -> Hours:
    """Returns hours in which the monitored group has these ratios of the reference group's rate."""
    rng = np.random.default_rng(seed)
    monitored = rng.binomial(records, share, len(ratios))
    reference = records - monitored
    favourable = rng.binomial(monitored, np.clip(base * np.asarray(ratios), 0, 1)), rng.binomial(reference, base, len(ratios))
    return Hours(
        *(SideHours(part.astype(float), total.astype(float)) for part, total in zip(favourable, (monitored, reference), strict=True))
    )


def follow_months(hours: Hours, limit: Limit = BELOW, comparisons: int = 1) -> EvidenceSeries:
    """Follows hours whose months have 720 hours."""
    return follow(hours, limit, comparisons=comparisons, months=[hour // 720 for hour in range(len(hours))])


def follow(
    hours: Hours,
    limit: Limit,
    *,
    comparisons: int,
    months: Sequence[int],
    budget_hours: float = HOURS_OF_A_YEAR,
    divisor: float = 1.0,
    past: HourEstimates | None = None,
) -> EvidenceSeries:
    """Follows one of several comparisons over hours of one model revision and one monitor version.

    `comparisons` share the budget of false alarms, a figure with two limits counting as two: at most one
    in `budget_hours` on average. The others are taken to say nothing. `months` are calendar months per
    hour, counted without gaps: evidence against unfairness starts again in each. `past` may reach back before
    the first hour; absent: that of `hours`.
    """
    together = ComparisonFamily(math.log(budget_hours))
    comparison, blocks = begin_comparison(hours, limit, months, divisor=divisor, estimates=past)
    return follow_family(together, [(comparison, blocks)], months, total=lambda _: comparisons)[0]


def follow_interval(hours: Hours, scale: Scale, divisor: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Returns both ends [H] after each hour of a chapter; NaN for an open end."""
    running, ends = RunningInterval.empty(scale), np.full((2, len(hours)), np.nan)
    for hour in range(len(hours)):
        add_hours([running], [hours.between(hour, hour + 1)], [np.full(1, divisor)])
        ends[:, hour] = [np.nan if end is None else end for end in running.find_ends()]
    return ends[0], ends[1]
