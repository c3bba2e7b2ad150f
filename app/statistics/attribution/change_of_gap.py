"""Why a gap changed: who asked, or how the model answers, before a moment against after it.

Descriptive only: the part after an alarm was selected by the alarm, so that its size is exaggerated.
"""

from math import log1p

from ...base.frozen import frozen
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
    """Change of the difference of rates, and of the logarithm of their ratio; None where a rate is 0 or has no record."""

    of_difference: ChangeParts | None
    of_log_ratio: ChangeParts | None


@frozen(eq=False)
class BeforeAndAfter:
    before: CellCounts
    after: CellCounts


def explain_change_of_gap(monitored: BeforeAndAfter, reference: BeforeAndAfter) -> GapChange:
    rates = [float(counts.rate) for side in (monitored, reference) for counts in (side.before, side.after)]
    if any(rate != rate for rate in rates):  # noqa: PLR0124 - NaN, a side without a record
        return GapChange(None, None)
    has_ratio = min(rates) > 0
    return GapChange(
        _subtract(_measure_change(monitored), _measure_change(reference)),
        _subtract(_measure_change(monitored, is_log=True), _measure_change(reference, is_log=True)) if has_ratio else None,
    )


def _measure_change(side: BeforeAndAfter, *, is_log: bool = False) -> ChangeParts:
    division = divide_difference(side.after, side.before)
    scale = _logarithmic_mean(float(side.after.rate), float(side.before.rate)) if is_log else 1.0
    return ChangeParts(*(float(share) / scale for share in (division.difference, division.who, division.how, division.no_counterpart)))


def _logarithmic_mean(first: float, second: float) -> float:
    """(first - second) / ln(first / second), which turns a difference into one of logarithms."""
    # For equal rates the quotient is 0 / 0; its limit is the rate.
    return first if first == second else (first - second) / log1p((first - second) / second)


def _subtract(first: ChangeParts, second: ChangeParts) -> ChangeParts:
    return ChangeParts(
        first.change - second.change,
        first.who_asked - second.who_asked,
        first.how_answered - second.how_answered,
        first.no_counterpart - second.no_counterpart,
    )
