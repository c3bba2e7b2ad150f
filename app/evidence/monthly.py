"""Evidence of one period at one look: a second detector that starts from nothing with the period, for the rule on many groups."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .betting import weigh_against_fairness
from .detector import Detector
from .hours import Hours
from .nulls import Limit

MAX_LOG = 700.0
"""Largest logarithm of an evidence that is turned into a number; e-values of that size are flagged whatever the others are."""


@dataclass(slots=True)
class MonthlyEvidence:
    """Evidence of one calendar month, after its hours so far. It starts from nothing with each month; `month` is None before the first."""

    detector: Detector
    month: int | None = None

    def add(self, log_e_values: Sequence[float], month: int) -> None:
        """Adds an hour of that month: ln E of each alternative, NaN where it is skipped."""
        if month != self.month:
            self.month = month
            self.detector.restart()
        self.detector.add(log_e_values)

    def e_value(self, period_hours: int) -> float:
        """Returns the e-value at this look; `period_hours` are the hours of the whole month."""
        return math.exp(min(self.detector.log_sum, MAX_LOG)) / period_hours


def weigh_period(hours: Hours, limit: Limit, *, start: int, period_hours: int) -> float:
    """Returns the e-value of the hours from `start` to the last one, against the claim that the comparison is inside the limit.

    It is the detector's sum over all starting hours divided by `period_hours`, the hours of the whole period, which must be known before
    it begins. Its expectation is at most 1 at any hour of the period. Hours before `start` are used to choose bets only. Pass its values
    of one look to `flag_groups`; never the largest of several looks, which is no e-value.
    """
    logs = weigh_against_fairness(hours, limit)[start:].tolist()
    period = MonthlyEvidence(Detector(len(logs[0]) if logs else 1))
    for log_e_values in logs:
        period.add(log_e_values, month=0)
    return period.e_value(period_hours)
