"""Results of measures: numbers with intervals or the reason why there is none, verdicts, and cautions."""

import math
from dataclasses import field
from enum import StrEnum
from typing import Literal

from ...base.values import frozen, frozen_by_name
from ...domain.check import Details
from ..formulas.conditional_disparity import StrataOutcomes

MINIMUM_GROUP_SIZE = 10
"""Original records in each compared group for a verdict."""

MAX_SHARE_LACKING_OUTCOME = 0.1
"""Share of the records in strata that lack an outcome, without a caution.

As in SageMaker Clarify, the share of an outcome that nobody has counts as 0, so such strata move the figure
and its interval away from the truth.
"""

MIN_MEAN_STRATUM_RECORDS = 20
"""Mean records of a stratum for a fit with a term for each."""

TOLERANCE = 1e-9
"""Relative and absolute difference up to which a number equals a limit."""

FigureScope = Literal["group", "worst", "pooled", "worst_pair", "reference", "attribute", "overall"]
"""Records that a figure is of. `worst_pair`: the two groups furthest apart; `worst`: the one marked so."""

Limits = tuple[float | None, float | None]
"""Lower and upper limit; None leaves a side open."""

NO_LIMITS = (None, None)


@frozen
class Value:
    """Number and 95 % interval, which holds it; an end of None is unbounded.

    `n` counts records, never counterfactuals.
    """

    value: float
    lower: float | None
    upper: float | None
    method: str
    n: int

    def __post_init__(self) -> None:
        # An unbounded end cannot be beyond the value; a NaN fails here too.
        lower, upper = (self.value if end is None else end for end in (self.lower, self.upper))
        if not all(map(math.isfinite, (self.value, lower, upper))) or not lower <= self.value <= upper:
            raise ValueError(
                f"expected finite lower <= value <= upper, found {self.lower}, {self.value}, {self.upper}"
            )


@frozen
class Undefined:
    """Reason why a measure has no number, and the records that it is of."""

    reason: str
    n: int


@frozen_by_name
class Measured:
    """Result of one metric in one scope; only the scope `group` has a `group`, its label.

    `smallest_group` counts original records of the smaller group. A caution goes by `caution_records`, of
    either outcome, if set. `worst_of` is set on the monitored group furthest out: the number of groups it was
    chosen from, 0 if none has a value. `interval_of_choice` has the interval that allows for that choice.
    """

    metric: str
    scope: FigureScope
    group: str | None
    number: Value | Undefined
    smallest_group: int
    details: Details = field(default_factory=Details)
    caution_records: int | None = None
    worst_of: int | None = None
    interval_of_choice: Value | None = None


class Verdict(StrEnum):
    """The fairness verdict on a number.

    `unwatched`: inside the only limit that is set, but beyond the mirror image of that limit, on the side
    that has none.
    """

    FAIR = "fair"
    UNDECIDED = "undecided"
    UNWATCHED = "unwatched"
    SUSPECTED = "suspected"
    UNFAIR = "unfair"
    INSUFFICIENT_DATA = "insufficient_data"
    NOT_COMPUTABLE = "not_computable"


ON_FAIRNESS = (Verdict.UNFAIR, Verdict.SUSPECTED, Verdict.UNWATCHED, Verdict.UNDECIDED, Verdict.FAIR)
"""Verdicts that judge, the most serious first."""

GRAVEST = (*ON_FAIRNESS, Verdict.INSUFFICIENT_DATA, Verdict.NOT_COMPUTABLE, None)
"""Verdicts that judge, the most serious first, then those without a judgement (None: no limit is set)."""


def judge_number(
    number: Value | Undefined,
    *,
    lower_limit: float | None,
    upper_limit: float | None,
    smallest_group: int | None,
    mirror: Limits = NO_LIMITS,
) -> Verdict | None:
    """Judges a number by limits, which themselves are inside; None without a limit.

    Outside, `unfair` if the whole interval is, else `suspected`. Inside, `fair` if the whole interval is,
    else `undecided`; beyond `mirror`, on sides without a limit, `unwatched` instead of `fair`.
    `smallest_group` counts original records of the smaller group.
    """
    if lower_limit is None and upper_limit is None:
        return None
    if isinstance(number, Undefined):
        return Verdict.NOT_COMPUTABLE
    if smallest_group is not None and smallest_group < MINIMUM_GROUP_SIZE:
        return Verdict.INSUFFICIENT_DATA
    limits = lower_limit, upper_limit
    low = -math.inf if number.lower is None else number.lower
    high = math.inf if number.upper is None else number.upper
    if not is_inside(number.value, limits):
        return (
            Verdict.SUSPECTED
            if is_at_least(high, lower_limit) and is_at_most(low, upper_limit)
            else Verdict.UNFAIR
        )
    if not (is_inside(low, limits) and is_inside(high, limits)):
        return Verdict.UNDECIDED
    return Verdict.FAIR if is_inside(number.value, mirror) else Verdict.UNWATCHED


def is_inside(value: float, limits: Limits) -> bool:
    """Whether a value is inside limits, or equals one up to rounding."""
    lower, upper = limits
    return is_at_least(value, lower) and is_at_most(value, upper)


def is_at_least(value: float, limit: float | None) -> bool:
    return limit is None or value >= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def is_at_most(value: float, limit: float | None) -> bool:
    return limit is None or value <= limit or math.isclose(value, limit, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def warn_of_few_records(smallest_group: int) -> str | None:
    """Caution about the smallest denominator; None from `MINIMUM_GROUP_SIZE` records on.

    The records of either outcome count: else figures without caution would be those that chance made large or
    small.
    """
    if smallest_group >= MINIMUM_GROUP_SIZE:
        return None
    records = "1 record" if smallest_group == 1 else f"{smallest_group} records"
    return (
        f"rests on {records} in its smallest denominator, fewer than {MINIMUM_GROUP_SIZE}: the interval "
        "may not hold what it promises"
    )


def warn_of_lacking_outcomes(pair: StrataOutcomes) -> str | None:
    """Caution if a large share, by weight, of a pair's records is in strata that lack an outcome."""
    stratum_weights = pair.weights.sum(0)
    lacking = float(stratum_weights[stratum_weights.min(1) <= 0].sum() / stratum_weights.sum())
    if lacking <= MAX_SHARE_LACKING_OUTCOME:
        return None
    share = f"{lacking:.0%} of the records are in strata that lack one of the outcomes"
    return f"{share}, more than {MAX_SHARE_LACKING_OUTCOME:.0%}: the interval may not hold what it promises"


def warn_of_small_strata(pair: StrataOutcomes) -> str | None:
    """Caution if strata have few records each, among those with both groups and both outcomes."""
    is_informative = (pair.weights.sum(0) > 0).all(1) & (pair.weights.sum(2) > 0).all(0)
    strata = int(is_informative.sum())
    records = int(pair.counts[:, is_informative].sum())
    if records >= MIN_MEAN_STRATUM_RECORDS * strata:
        return None
    return (
        f"the fit has a term for each of {strata} strata of {records / strata:.1f} records on average, fewer "
        f"than {MIN_MEAN_STRATUM_RECORDS}: it lies too far from 1; mantel_haenszel_odds_ratio does not"
    )
