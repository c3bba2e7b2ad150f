"""Why a gap changed: who asked, or how the model answers, before a moment against after it.

Descriptive only: the part after an alarm was selected by the alarm, so that its size is exaggerated.
"""

from math import log1p

import numpy as np

from ...base.values import frozen
from .cell_parts import CellCounts, divide_difference


@frozen
class ChangeParts:
    """Change of a figure and its three parts, which sum to it: after - before, monitored - reference."""

    change: float
    who_asked: float
    how_answered: float
    no_counterpart: float


@frozen
class GapChange:
    """Change of the difference of rates, and of the logarithm of their ratio; None where a rate is 0 or
    has no record.
    """

    of_difference: ChangeParts | None
    of_log_ratio: ChangeParts | None


def explain_change_of_gap(
    before: CellCounts, after: CellCounts, reference_before: CellCounts, reference_after: CellCounts
) -> GapChange:
    sides = ((before, after), (reference_before, reference_after))
    rates = [[float(counts.rate) for counts in side] for side in sides]
    if np.isnan(rates).any():
        return GapChange(None, None)
    monitored, reference = (np.array(divide_difference(late, early)) for early, late in sides)
    of_difference = ChangeParts(*(monitored - reference).tolist())
    if not np.all(rates):
        return GapChange(of_difference, None)
    mean, reference_mean = (_logarithmic_mean(late, early) for early, late in rates)
    return GapChange(of_difference, ChangeParts(*(monitored / mean - reference / reference_mean).tolist()))


def _logarithmic_mean(first: float, second: float) -> float:
    """(first - second) / ln(first / second), which turns a difference into one of logarithms."""
    # For equal rates the quotient is 0 / 0; its limit is the rate.
    return first if first == second else (first - second) / log1p((first - second) / second)
