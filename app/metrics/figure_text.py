"""Numbers in sentences."""

import math
from collections.abc import Sequence

from ..frozen import frozen
from .rounding import MINUS, write_minus

SMALLEST = 1e-9

_MOST_DECIMALS = 9
_MORE_DECIMALS = 3
"""Decimals that an end may add to the figure's, to be on its own side of 0 and 1."""
_MARKS = (-1.0, 0.0, 1.0)


@frozen(kw_only=True)
class FigureText:
    """A figure and its interval's ends with equally many decimals; an unbounded end is `open`."""

    value: str
    lower: str
    upper: str
    decimals: int

    @property
    def interval(self) -> str:
        """Interval as a range: `0.047 to 0.203`, `0.990 to open`."""
        return f"{self.lower} to {self.upper}"


def format_figure(value: float, lower: float | None, upper: float | None) -> FigureText:
    """Three significant digits of the figure, and the same decimals at both ends.

    Nothing is rounded onto 0 or 1: there are more decimals, or `less than` or `more than`.
    """
    decimals = _count_decimals(value, [end for end in (lower, upper) if end is not None])
    low, high = ("open" if end is None else format_to(end, decimals) for end in (lower, upper))
    return FigureText(value=format_to(value, decimals), lower=low, upper=high, decimals=decimals)


def format_to(value: float, decimals: int) -> str:
    """Number with so many decimals; `less than` or `more than` where it would wrongly appear as 0 or 1."""
    rounded = round(value, decimals)
    if rounded == 0 and value != 0:
        return f"{MINUS if value < 0 else ''}less than {10**-decimals:.{decimals}f}"
    if abs(rounded) == 1 and value != rounded:
        return f"{'less' if value < rounded else 'more'} than {write_minus(f'{rounded:.{decimals}f}')}"
    # Python writes -0.0 with its sign.
    return write_minus(f"{value or 0.0:,.{decimals}f}")


def format_number(value: float | None) -> str:
    """Three significant digits, without exponents; never rounded to 0, nor from below to 1."""
    if value is None:
        return "open"
    if float(value).is_integer():
        return write_minus(f"{value:,.0f}")
    size = abs(value)
    if size >= 100:  # noqa: PLR2004 - three digits
        return write_minus(f"{value:,.1f}")
    if size >= 1:
        return write_minus(f"{value:.2f}")
    if size < SMALLEST:
        return f"{MINUS if value < 0 else ''}less than {SMALLEST:.9f}"
    return write_minus(f"{value:.{_decimals_below_one(size)}f}")


def _count_decimals(value: float, ends: Sequence[float]) -> int:
    if all(float(one).is_integer() for one in (value, *ends)):
        return 0
    size = abs(value)
    if size >= 100:  # noqa: PLR2004 - three digits
        least = 1
    elif size >= 1:
        least = 2
    else:
        least = _decimals_below_one(size) if size else 3
    most = min(_MOST_DECIMALS, least + _MORE_DECIMALS)
    for decimals in range(least, most):
        if all(one in _MARKS or round(one, decimals) not in _MARKS for one in (value, *ends)):
            return decimals
    return most


def _decimals_below_one(size: float) -> int:
    nearest = min(size, 1 - size)
    return _MOST_DECIMALS if nearest < SMALLEST else 2 - math.floor(math.log10(nearest))
