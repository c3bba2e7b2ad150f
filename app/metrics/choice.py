"""Intervals and p-values of several figures together, valid for one that was chosen among them."""

import math
from dataclasses import replace

from scipy.special import ndtri

from .catalogue.metric import Metric
from .intervals import LARGEST, Z
from .sides import is_ratio
from .values import Measured, Value


def allow_for_choice(result: Measured, metric: Metric, chosen_from: int) -> Measured:
    """Result with an interval and a p-value that hold for so many figures at once (Bonferroni), and so for a chosen one."""
    number, p_value = result.number, result.details.p_value
    if chosen_from <= 1 or not isinstance(number, Value):
        return result
    together = None if p_value is None else min(1.0, chosen_from * p_value)
    return replace(
        result, for_choice=widen_for_choice(metric, number, chosen_from), details=result.details.changed(chosen_p_value=together)
    )


def widen_for_choice(metric: Metric, own: Value, chosen_from: int) -> Value:
    """Figure with its 95 % interval stretched to that of one chosen from so many, for ratios on the scale of logarithms."""
    factor = float(ndtri(1 - 0.025 / chosen_from)) / Z

    def stretch(end: float | None) -> float | None:
        if end is None:
            return None
        if is_ratio(metric) and own.value > 0 and end > 0:
            logarithm = math.log(own.value) + factor * math.log(end / own.value)
            return None if logarithm > LARGEST else math.exp(logarithm)
        far = own.value + factor * (end - own.value)
        lowest, highest = (edge if edge is not None else far for edge in (metric.lowest, metric.highest))
        return max(lowest, min(highest, far))

    return replace(own, lower=stretch(own.lower), upper=stretch(own.upper))
