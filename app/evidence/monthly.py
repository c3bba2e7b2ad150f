"""Evidence of one period at one look: a second detector that starts from nothing with the period, for the rule on many groups."""

import math

from .betting import weigh_against_fairness
from .detector import Detector
from .hours import Hours
from .nulls import Limit


def weigh_period(hours: Hours, limit: Limit, *, start: int, period_hours: int) -> float:
    """Returns the e-value of the hours from `start` to the last one, against the claim that the comparison is inside the limit.

    It is the detector's sum over all starting hours divided by `period_hours`, the hours of the whole period, which must be known before
    it begins. Its expectation is at most 1 at any hour of the period. Hours before `start` are used to choose bets only. Pass its values
    of one look to `flag_groups`; never the largest of several looks, which is no e-value.
    """
    logs = weigh_against_fairness(hours, limit)[start:].tolist()
    detector = Detector(len(logs[0]) if logs else 1)
    for log_e_values in logs:
        detector.add(log_e_values)
    # Beyond this, exp overflows; e-values of that size are flagged whatever the others are.
    return math.exp(min(detector.log_sum, 700.0)) / period_hours
