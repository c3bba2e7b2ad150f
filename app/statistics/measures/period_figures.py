"""Figures of a period, from sums of its hours, never averages of hourly figures; its days and its head."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from ...base.values import frozen, frozen_by_name
from ...domain.check import Counts
from ..catalogue import CATALOGUE
from ..e_values.state_words import State
from ..group_labels import divide_or
from ..intervals.intervals import Z, find_wilson_limits
from ..intervals.verdicts import (
    MINIMUM_GROUP_SIZE,
    Limits,
    Measured,
    Undefined,
    Value,
    is_at_least,
    is_at_most,
    is_inside,
)
from ..tables.count_table import GroupCounts
from .measure import measure_as_logged
from .worst_group import measure_distance

RATIO = "disparate_impact"

MIN_LOG_DISTANCE = 0.05
"""Difference of the logarithms of two ratios beyond which a report says both."""


@frozen
class PeriodEstimate:
    """Number with its 95 % interval, if it has one."""

    value: float
    lower: float | None = None
    upper: float | None = None


@frozen_by_name
class UnitCounts:
    """Counts of days, or of hours of a day, by what their figures say.

    Those `judged` are neither `empty` nor have `few` records of a side. Those `outside` have their ratio
    outside the limits, and those `clearly` outside their whole interval.
    """

    empty: int
    few: int
    judged: int
    outside: int
    clearly: int


@frozen_by_name
class PeriodSide:
    """Records of a group in a period. `decisions` are those that a logged sample is of."""

    favourable: int
    n: int
    rate: float | None
    decisions: float | None

    @classmethod
    def of(cls, counts: Counts) -> "PeriodSide":
        favourable = counts["favourable"] or 0
        n = counts["n"] or 0
        weight = counts.get("weight")
        mass, whole = (favourable, n) if weight is None else (counts["favourable_weight"] or 0.0, weight)
        return cls(
            favourable=int(favourable), n=int(n), rate=mass / whole if whole else None, decisions=weight
        )


@frozen_by_name
class PeriodFigure:
    """One monitored group compared with its reference over a period.

    `chosen` is the interval that allows for the choice of the group furthest out among `chosen_from`. `fewer`
    are the favourable outcomes that the group lacks at the reference's rate, `smallest` the records of the
    smaller side. `within` is the ratio within days; None of weighted records.
    """

    group: str
    monitored: PeriodSide
    reference: PeriodSide
    number: Value | Undefined
    chosen: Value | None
    chosen_from: int | None
    smallest: int
    fewer: PeriodEstimate | None
    units: UnitCounts
    within: PeriodEstimate | None

    @property
    def ratio(self) -> Value | None:
        return self.number if isinstance(self.number, Value) else None


def measure_period(
    table: GroupCounts, units: Sequence[GroupCounts], limits: Limits, *, empty: int = 0
) -> list[PeriodFigure]:
    """Measures each monitored group; `units` are sums of days, and `empty` further days have no record."""
    by_unit = [_measure_groups(unit, limits) for unit in units]
    figures = []
    for group, measured in _measure_groups(table, limits).items():
        monitored, reference = _list_sides(measured)
        group_units = [unit[group] for unit in by_unit if group in unit]
        is_weighted = monitored.decisions is not None
        figures.append(
            PeriodFigure(
                group=group,
                monitored=monitored,
                reference=reference,
                number=measured.number,
                chosen=measured.interval_of_choice,
                chosen_from=measured.worst_of,
                smallest=measured.smallest_group,
                fewer=count_fewer(monitored, reference),
                units=count_units(group_units, limits, empty=empty + len(units) - len(group_units)),
                within=None
                if is_weighted
                else compute_ratio_within([_list_sides(unit) for unit in group_units]),
            )
        )
    return figures


def _measure_groups(table: GroupCounts, limits: Limits) -> Mapping[str, Measured]:
    measured = measure_as_logged(table, metrics=(RATIO,), limits={RATIO: limits})
    return {
        figure.group: figure for figure in measured if figure.scope == "group" and figure.group is not None
    }


def _list_sides(measured: Measured) -> tuple[PeriodSide, PeriodSide]:
    return PeriodSide.of(measured.details.monitored_counts), PeriodSide.of(measured.details.reference_counts)


def count_fewer(monitored: PeriodSide, reference: PeriodSide) -> PeriodEstimate | None:
    """Favourable outcomes that the group lacks at the reference's rate; negative: it has more.

    The interval, by Wilson's limits of the reference's rate, is of records of which none is weighted.
    """
    if monitored.rate is None or reference.rate is None:
        return None
    if monitored.decisions is not None:
        return PeriodEstimate(monitored.decisions * (reference.rate - monitored.rate))
    low, high = (
        monitored.n * end - monitored.favourable
        for end in find_wilson_limits(reference.favourable, reference.n)
    )
    return PeriodEstimate(monitored.n * reference.rate - monitored.favourable, low, high)


def count_units(units: Sequence[Measured], limits: Limits, *, empty: int) -> UnitCounts:
    few = outside = clearly = judged = 0
    for unit in units:
        sides = _list_sides(unit)
        number = unit.number
        if not any(side.n for side in sides):
            empty += 1
        elif unit.smallest_group < MINIMUM_GROUP_SIZE or isinstance(number, Undefined):
            few += 1
        else:
            judged += 1
            outside += not is_inside(number.value, limits)
            clearly += is_clearly_outside(number, limits)
    return UnitCounts(empty=empty, few=few, judged=judged, outside=outside, clearly=clearly)


def is_clearly_outside(number: Value, limits: Limits) -> bool:
    """Whether the whole interval is outside."""
    lower, upper = limits
    low = -math.inf if number.lower is None else number.lower
    high = math.inf if number.upper is None else number.upper
    return not (is_at_least(high, lower) and is_at_most(low, upper))


def compute_ratio_within(units: Sequence[tuple[PeriodSide, PeriodSide]]) -> PeriodEstimate | None:
    """Ratio of two rates within units of time (Mantel and Haenszel; variance of Greenland and Robins 1985).

    None where a side has no favourable record.
    """
    cells = np.array(
        [(side.favourable, side.n, other.favourable, other.n) for side, other in units], float
    ).reshape(-1, 4)
    favourable, n, other_favourable, other_n = cells.T
    total = n + other_n
    above = divide_or(favourable * other_n, total, 0.0).sum()
    below = divide_or(other_favourable * n, total, 0.0).sum()
    if above <= 0 or below <= 0:
        return None
    scatter = n * other_n * (favourable + other_favourable) - favourable * other_favourable * total
    spread = Z * math.sqrt(divide_or(scatter, total**2, 0.0).sum() / (above * below))
    ratio = float(above / below)
    return PeriodEstimate(ratio, ratio * math.exp(-spread), ratio * math.exp(spread))


def count_hours_outside(incidents: Sequence[tuple[int, int | None]], start: int, end: int) -> int:
    """Hours from `start` to `end` (exclusive) in an incident, each once; an end of None is open."""
    hours = [
        range(max(since, start), end if until is None else min(until, end)) for since, until in incidents
    ]
    return len(set().union(*hours))


class PeriodHead(StrEnum):
    """Finding of a period; the first that applies counts, the gravest first."""

    UNFAIR = "unfair"
    WAS_UNFAIR = "was_unfair"
    OUTSIDE_WITHOUT_ALARM = "outside_without_alarm"
    TOO_FEW = "too_few"
    NOTHING_FOUND = "nothing_found"
    CONFIRMED_FAIR = "confirmed_fair"
    NOT_COMPUTABLE = "not_computable"


@frozen_by_name
class HeadFacts:
    """Facts of a comparison: `state` at the end of the period, `ratio` of its last part."""

    limits: Limits
    state: State
    hours_outside: int
    ratio: Value | None
    smallest: int

    @property
    def is_outside(self) -> bool:
        return self.ratio is not None and not is_inside(self.ratio.value, self.limits)

    @property
    def head(self) -> PeriodHead:
        if self.state is State.UNFAIR:
            return PeriodHead.UNFAIR
        if self.hours_outside > 0:
            return PeriodHead.WAS_UNFAIR
        if self.ratio is None:
            return PeriodHead.NOT_COMPUTABLE
        if self.smallest < MINIMUM_GROUP_SIZE:
            return PeriodHead.TOO_FEW
        if is_clearly_outside(self.ratio, self.limits):
            return PeriodHead.OUTSIDE_WITHOUT_ALARM
        if self.is_outside:
            return PeriodHead.TOO_FEW
        return PeriodHead.CONFIRMED_FAIR if self.state is State.SHOWN_FAIR else PeriodHead.NOTHING_FOUND

    @property
    def gravity(self) -> tuple[float, int, float]:
        """Sort key, the gravest first: few records with a ratio outside come before ratios inside."""
        order: float = list(PeriodHead).index(self.head)
        if self.head is PeriodHead.TOO_FEW and not self.is_outside:
            order = list(PeriodHead).index(PeriodHead.NOTHING_FOUND) + 0.5
        beyond = (
            -math.inf
            if self.ratio is None
            else measure_distance(self.ratio.value, CATALOGUE[RATIO], self.limits)
        )
        return order, -self.hours_outside, -beyond
