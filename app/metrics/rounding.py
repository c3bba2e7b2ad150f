"""Digits that a number needs to appear on its own side of the number it is compared with: 0.796 is not 0.80."""

import math
from collections.abc import Iterable

from .verdicts import TOLERANCE

MOST_DIGITS = 6
"""Max digits after the point; numbers that differ only beyond them look the same."""


def join_of(lower: float) -> str:
    """Returns what joins the ends of an interval: a dash, or " to " where the lower one has a minus sign."""
    return " to " if lower < 0 else "–"


def digits_apart(value: float, marks: Iterable[float | None], least: int) -> int:
    """Returns how many digits after the point show the value on its own side of every mark, at least `least`, at most `MOST_DIGITS`."""
    # A value that differs from a limit only by rounding counts as equal to it.
    others = [mark for mark in marks if mark is not None and not math.isclose(value, mark, rel_tol=TOLERANCE, abs_tol=TOLERANCE)]
    for digits in range(least, MOST_DIGITS):
        rounded = round(value, digits)
        if all((rounded < mark, rounded > mark) == (value < mark, value > mark) for mark in others):
            return digits
    return MOST_DIGITS
