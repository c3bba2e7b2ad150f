"""Hours of records, claims about them with the rates to bet on, and evidence against the claims."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp, fsum, inf, isnan, log, log1p

import numpy as np

from ...base.values import frozen, frozen_arrays
from ..group_labels import FloatArray, IntArray

HOURS_OF_A_YEAR = 8760.0

RATIO_FACTORS = (0.975, 0.9, 0.8125, 0.6875, 0.5)
"""Parts of a ratio's lower limit that are bet on as unfair; an upper one is divided by them."""

DIFFERENCE_STEPS = (0.01, 0.03, 0.07, 0.15, 0.3)
"""Distances from a difference's limit that are bet on as unfair."""

INSIDE_LOWER = (1.025, 1.0625, 1.125, 1.25)
INSIDE_UPPER = (0.975, 0.9, 0.85, 0.8)
"""Multiples of a ratio's lower and upper limit that are bet on as fair."""

INSIDE_STEPS = (0.01, 0.03, 0.07, 0.15)
"""Distances from a difference's limit that are bet on as fair."""

SMALLEST_RATE = 1e-4
"""Bound on the rates that are bet on, so that one record cannot end all evidence."""

MAX_LOG_ROUNDING = 1e-9
"""Error of `average_logs` that `mean_reaches` allows for."""

LOG_SHOWN_FAIR = log(20.0)
"""Logarithm of the evidence against unfairness that shows a figure fair."""

QUIET_HOURS = 168
"""Hours without new evidence after which an alarm is called quiet."""


@frozen_arrays
class SideHours:
    """`records` [H] of one side and those `favourable` [H]; both may be sums of weights up to 1."""

    favourable: FloatArray
    records: FloatArray


@frozen_arrays
class Hours:
    """Successive hours without gaps; each record is in one hour only."""

    monitored: SideHours
    reference: SideHours

    def __len__(self) -> int:
        return len(self.monitored.records)

    @property
    def sides(self) -> tuple[SideHours, SideHours]:
        return self.monitored, self.reference

    def between(self, start: int, end: int) -> "Hours":
        """Hours from `start` to `end` (exclusive)."""
        return self if start == 0 and end >= len(self) else self.take(slice(start, end))

    def take(self, rows: slice | IntArray) -> "Hours":
        return Hours(*(SideHours(side.favourable[rows], side.records[rows]) for side in self.sides))


def join_hours(several: Sequence[Hours]) -> Hours:
    return Hours(
        *(
            SideHours(
                np.concatenate([side.favourable for side in sides]),
                np.concatenate([side.records for side in sides]),
            )
            for sides in zip(*(hours.sides for hours in several), strict=True)
        )
    )


class UnfairSide(StrEnum):
    """Side of the limit on which a comparison is unfair."""

    BELOW = "below"
    ABOVE = "above"


class Scale(StrEnum):
    RATIO = "ratio"
    DIFFERENCE = "difference"


@frozen
class Null:
    """Rate of a ≥ slope · rate of b - slack; `monitored_first`: a is the monitored side."""

    monitored_first: bool
    slope: float
    slack: float = 0.0


@frozen_arrays
class Lines:
    """Monitored = slope · reference - slack, one line for each value [G] of a figure."""

    slope: FloatArray
    slack: FloatArray
    monitored_first: bool = True

    @classmethod
    def of(cls, values: FloatArray, scale: Scale) -> "Lines":
        return (
            cls(values, np.zeros(len(values))) if scale is Scale.RATIO else cls(np.ones(len(values)), -values)
        )


@frozen
class Limit:
    """One limit of a figure, with the side of it that is unfair.

    Bets on fairness must not go beyond `opposite`, the figure's other limit.
    """

    scale: Scale
    direction: UnfairSide
    value: float
    opposite: float | None = None

    def __post_init__(self) -> None:
        if self.scale is Scale.RATIO and not 0 < self.value < np.inf:
            raise ValueError(f"a limit of a ratio must be above 0, not {self.value}")
        if self.scale is Scale.DIFFERENCE and not -1 < self.value < 1:
            raise ValueError(f"a limit of a difference must be between -1 and 1, not {self.value}")

    @property
    def inside(self) -> Null:
        """Claim to be inside the limit; evidence against it says `unfair`."""
        return self._claim(at_least=self.direction is UnfairSide.BELOW)

    @property
    def outside(self) -> Null:
        """Claim to be outside the limit; evidence against it says `shown fair`."""
        return self._claim(at_least=self.direction is UnfairSide.ABOVE)

    def _claim(self, *, at_least: bool) -> Null:
        if self.scale is Scale.RATIO:
            return Null(at_least, self.value if at_least else 1 / self.value)
        return Null(at_least, 1.0, -self.value if at_least else self.value)

    @property
    def bet_counts(self) -> tuple[int, int]:
        """Alternatives that are bet on outside and inside the limit."""
        unfair = RATIO_FACTORS if self.scale is Scale.RATIO else DIFFERENCE_STEPS
        return len(unfair), len(self._list_figures_inside())

    def bet_outside(self, reference: FloatArray) -> FloatArray:
        """Monitored rates [H, A] outside the limit for reference rates [H]; NaN where there is none."""
        rates = reference[:, None]
        if self.scale is Scale.DIFFERENCE:
            steps = np.array(DIFFERENCE_STEPS)
            return _clip(rates + self.value + (-steps if self.direction is UnfairSide.BELOW else steps))
        if self.direction is UnfairSide.BELOW:
            return _clip(rates * self.value * np.array(RATIO_FACTORS))
        at_limit = self.value * rates
        bets = np.minimum(at_limit / np.array(RATIO_FACTORS), (1 + at_limit) / 2)
        return np.where(at_limit < 1, _clip(bets), np.nan)

    def bet_inside(self, reference: FloatArray) -> FloatArray:
        """Monitored rates [H, A] inside both limits, for reference rates [H]."""
        combine = np.multiply if self.scale is Scale.RATIO else np.add
        return _clip(combine(reference[:, None], self._list_figures_inside()))

    def _list_figures_inside(self) -> FloatArray:
        below = self.direction is UnfairSide.BELOW
        if self.scale is Scale.RATIO:
            figures = self.value * np.array(INSIDE_LOWER if below else INSIDE_UPPER)
        else:
            figures = self.value + np.array(INSIDE_STEPS) * (1 if below else -1)
        if self.opposite is not None:
            figures = figures[figures < self.opposite] if below else figures[figures > self.opposite]
        return figures


def _clip(rates: FloatArray) -> FloatArray:
    return np.clip(rates, SMALLEST_RATE, 1 - SMALLEST_RATE)


@dataclass(slots=True)
class Detector:
    """Per alternative, logarithms of the evidence summed over all starts and of the best start.

    In H hours the chance of a false alarm is at most H / A for the threshold A. Source: Shin, Ramdas and
    Rinaldo, E-detectors.
    """

    alternatives: int
    sums: list[float] = field(default_factory=list)
    bests: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.sums:
            self.restart()

    def restart(self) -> None:
        self.sums, self.bests = [-inf] * self.alternatives, [-inf] * self.alternatives

    def add(self, log_e_values: Sequence[float]) -> None:
        """Adds the ln E of an hour by each alternative, NaN where skipped."""
        sums, bests = self.sums, self.bests
        for number, log_e in enumerate(log_e_values):
            if not isnan(log_e):  # a skipped hour must not even add 1 to the sum
                total, best = sums[number], bests[number]
                sums[number] = log_e + (total + log1p(exp(-total)) if total > 0 else log1p(exp(total)))
                bests[number] = log_e + (best if best > 0 else 0.0)

    @property
    def log_sum(self) -> float:
        """Ln M, of the sum over all starts."""
        return average_logs(self.sums)

    @property
    def log_best(self) -> float:
        """Ln Q, of the best start."""
        return average_logs(self.bests)

    def has_alarm(self, log_threshold: float) -> bool:
        """Whether the sum reaches the threshold A, and the best start its root.

        The sum alone grows by 1 even in an hour without evidence.
        """
        return mean_reaches(self.sums, log_threshold) and self.is_doubtful(log_threshold)

    def is_doubtful(self, log_threshold: float) -> bool:
        """Whether the best start reaches the root of the threshold; without that there is no alarm."""
        return mean_reaches(self.bests, log_threshold / 2)


def mean_reaches(logs: Sequence[float], level: float) -> bool:
    """Whether `average_logs` is at least the level."""
    largest = max(logs, default=-inf)
    # Most hours end without logarithms: a mean lies between the largest number and its share of the sum.
    if largest < level:
        return False
    return largest >= level + log(len(logs)) + MAX_LOG_ROUNDING or average_logs(logs) >= level


def average_logs(logs: Sequence[float]) -> float:
    """Logarithm of the mean of numbers, from their logarithms."""
    largest = max(logs, default=-inf)
    if largest == -inf:
        return largest
    return largest + log(fsum(exp(number - largest) for number in logs) / len(logs))


@dataclass(slots=True)
class FairnessProof:
    """Product of the e-values against unfairness since the start of the month or chapter.

    `shown` is the first hour of the evidence, and the month of the last proof.
    """

    alternatives: int
    month: int | None = None
    start: int | None = None
    shown: tuple[int, int] | None = None
    products: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.products:
            self.restart()

    def restart(self) -> None:
        self.products = [0.0] * self.alternatives
        self.start = self.shown = None

    @property
    def since(self) -> int | None:
        """First hour of the evidence that shows the figure fair; None if it is not shown."""
        return None if self.shown is None else self.shown[0]

    def add(self, log_e_values: Sequence[float], hour: int, month: int, *, is_doubted: bool) -> None:
        """Adds the ln E of an hour. The proof ends if `is_doubted`, or after the month that follows it."""
        if month != self.month:
            self.month, self.start = month, None
            self.products = [0.0] * self.alternatives
        if is_doubted:
            self.shown = None
        self.expire(month)
        self.start = hour if self.start is None else self.start
        self.products = [
            product + (0.0 if isnan(log_e) else log_e)
            for product, log_e in zip(self.products, log_e_values, strict=True)
        ]
        if mean_reaches(self.products, LOG_SHOWN_FAIR) and not is_doubted:
            self.shown = (self.start if self.shown is None else self.shown[0], month)

    def expire(self, month: int) -> None:
        """Ends a proof older than the month before."""
        if self.shown is not None and month > self.shown[1] + 1:
            self.shown = None


def is_quiet(unfair: FloatArray, fair: FloatArray) -> bool:
    """Whether the evidence of hours, ln E [H, A], is less than 20 to 1 against either claim."""
    return all(average_logs(np.nansum(side, axis=0).tolist()) < LOG_SHOWN_FAIR for side in (unfair, fair))


def find_own_side(limit: Limit, *, is_reversed: bool) -> UnfairSide:
    """Unfair side of a metric's own limit; a reversed one is above where monitored - reference is below."""
    is_below = (limit.direction is UnfairSide.BELOW) is not is_reversed
    return UnfairSide.BELOW if is_below else UnfairSide.ABOVE
