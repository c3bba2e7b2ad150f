"""Detector of a change at an unknown hour, with a bound on false alarms."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, fsum, inf, isnan, log, log1p

import numpy as np

from .nulls import FloatArray

HOURS_OF_A_YEAR = 8760.0

ROUNDING = 1e-9


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
        """Ln E of each alternative, NaN where skipped."""
        sums, bests = self.sums, self.bests
        for number, log_e in enumerate(log_e_values):
            if not isnan(log_e):  # a skipped hour must not even add 1 to the sum
                total, best = sums[number], bests[number]
                sums[number] = log_e + (total + log1p(exp(-total)) if total > 0 else log1p(exp(total)))
                bests[number] = log_e + (best if best > 0 else 0.0)

    @property
    def log_sum(self) -> float:
        """Ln M."""
        return log_mean(self.sums)

    @property
    def log_best(self) -> float:
        """Ln Q."""
        return log_mean(self.bests)

    def alarms(self, log_threshold: float) -> bool:
        """The sum grows by 1 even in an hour that says nothing, so the best start must reach the root of A as
        well.
        """
        return mean_reaches(self.sums, log_threshold) and self.is_doubtful(log_threshold)

    def is_doubtful(self, log_threshold: float) -> bool:
        return mean_reaches(self.bests, log_threshold / 2)


def mean_reaches(logs: Sequence[float], level: float) -> bool:
    largest = max(logs, default=-inf)
    # Most hours end here, at a tenth of the cost of the logarithms: a mean lies between the largest number
    # and its share of the sum.
    if not largest >= level:
        return False
    return largest >= level + log(len(logs)) + ROUNDING or log_mean(logs) >= level


def log_mean(logs: Sequence[float]) -> float:
    largest = max(logs, default=-inf)
    return (
        largest
        if largest == -inf
        else largest + log(fsum(exp(number - largest) for number in logs) / len(logs))
    )


LOG_SHOWN_FAIR = log(20.0)


@dataclass(slots=True)
class FairnessProof:
    """Product of the e-values against unfairness since the start of the month or chapter.

    Starting again at each doubt would call twice as many months fair at the limit itself. `shown` has the
    first hour of the evidence and the month of the last proof.
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
        return None if self.shown is None else self.shown[0]

    def add(self, log_e_values: Sequence[float], hour: int, month: int, *, is_doubted: bool) -> None:
        """Being shown ends when `is_doubted`, or after the calendar month that follows the last proof."""
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
        if self.shown is not None and month > self.shown[1] + 1:
            self.shown = None


QUIET_HOURS = 168


def is_quiet(unfair: FloatArray, fair: FloatArray) -> bool:
    """Ln E [H, A] of less than 20 to 1 either way."""
    return all(log_mean(np.nansum(side, axis=0).tolist()) < LOG_SHOWN_FAIR for side in (unfair, fair))
