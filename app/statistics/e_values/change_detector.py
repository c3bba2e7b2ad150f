"""Detector of a change at an unknown hour, with a bound on false alarms."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, fsum, inf, isnan, log, log1p

HOURS_OF_A_YEAR = 8760.0

ROUNDING = 1e-9
"""More than the rounding of a logarithm of a mean."""


@dataclass(slots=True)
class Detector:
    """Per alternative, evidence summed over all starts and of the best start, as logarithms.

    In H hours the chance of a false alarm is at most H / A for the threshold A, if the claim holds in
    every hour. Source: Shin, Ramdas and Rinaldo, E-detectors.
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
        """Adds an hour: ln E of each alternative, NaN where skipped."""
        sums, bests = self.sums, self.bests
        for number, log_e in enumerate(log_e_values):
            if not isnan(log_e):  # a skipped hour must not even add 1 to the sum
                total, best = sums[number], bests[number]
                sums[number] = log_e + (total + log1p(exp(-total)) if total > 0 else log1p(exp(total)))
                bests[number] = log_e + (best if best > 0 else 0.0)

    @property
    def log_sum(self) -> float:
        """Ln M: mean of the sums over all starts."""
        return log_mean(self.sums)

    @property
    def log_best(self) -> float:
        """Ln Q: mean of the best starts."""
        return log_mean(self.bests)

    def alarms(self, log_threshold: float) -> bool:
        """Whether the evidence reaches the threshold, as ln A.

        The sum grows by 1 even in an hour that says nothing, so the best start must reach the root of the
        threshold as well.
        """
        return mean_reaches(self.sums, log_threshold) and self.is_doubtful(log_threshold)

    def is_doubtful(self, log_threshold: float) -> bool:
        """Whether the best start reaches the root of the threshold."""
        return mean_reaches(self.bests, log_threshold / 2)


def mean_reaches(logs: Sequence[float], level: float) -> bool:
    largest = max(logs, default=-inf)
    # Most hours end here, at a tenth of the cost of the logarithms: a mean lies between the largest number
    # and its share of the sum.
    if not largest >= level:
        return False
    return largest >= level + log(len(logs)) + ROUNDING or log_mean(logs) >= level


def log_mean(logs: Sequence[float]) -> float:
    """Ln of the mean of numbers given as logarithms."""
    largest = max(logs, default=-inf)
    return (
        largest
        if largest == -inf
        else largest + log(fsum(exp(number - largest) for number in logs) / len(logs))
    )
