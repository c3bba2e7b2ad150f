"""Digits that a number needs to appear on its own side of another: 0.796 is not 0.80."""

import math
from collections.abc import Iterable

from ...base.values import frozen
from ..intervals.verdicts import TOLERANCE

MINUS = "\u2212"

MOST_DIGITS = 6


MOST_OF_GAP = 2


@frozen
class RoundedGap:
    """Two numbers and the first less the second, which agree as they are shown."""

    first: float
    second: float
    gap: float
    digits: int


def round_gap(first: float, second: float) -> RoundedGap:
    """Rounds two percentages and their gap to the fewest digits, at least one, at which they agree.

    35.94 and 80.56 are -44.62 apart, but -44.6 is not 35.9 less 80.6. With `MOST_OF_GAP` digits the gap is
    taken from the rounded numbers.
    """
    for digits in range(1, MOST_OF_GAP):
        first_rounded, second_rounded, gap = (
            round(number, digits) for number in (first, second, first - second)
        )
        if round(first_rounded - second_rounded, digits) == gap:
            return RoundedGap(first_rounded, second_rounded, gap, digits)
    first_rounded = round(first, MOST_OF_GAP)
    second_rounded = round(second, MOST_OF_GAP)
    return RoundedGap(
        first_rounded, second_rounded, round(first_rounded - second_rounded, MOST_OF_GAP), MOST_OF_GAP
    )


def write_minus(text: str) -> str:
    """Lines break at Python's hyphen."""
    return f"{MINUS}{text[1:]}" if text.startswith("-") else text


def say_how_often(ratio: float) -> str:
    """`53 % less often than`, for a ratio of rates."""
    percent = round(100 * abs(1 - ratio))
    if not percent:
        return "as often as" if ratio == 1 else "about as often as"
    return f"{percent:,} % {'less' if ratio < 1 else 'more'} often than"


def say_of_100(rate: float, reference_rate: float) -> str:
    """`(40 against 84 of 100)`."""
    return f"({say_percent(rate)} against {say_percent(reference_rate)} of 100)"


def say_percent(rate: float) -> str:
    """Per cent of a rate; below 10 with a decimal."""
    percent = 100 * rate
    return f"{percent:.{0 if percent >= _WHOLE or not percent else 1}f}"


_WHOLE = 10
"""Per cent from which a rate is said without decimals."""


def choose_joint(lower: float) -> str:
    """A dash, or " to " where the lower end has a minus sign."""
    return " to " if lower < 0 else "–"


def digits_apart(value: float, marks: Iterable[float | None], least: int) -> int:
    """Digits after the point that show the value on its own side of every mark, from `least` to
    `MOST_DIGITS`.
    """
    other_marks = [
        mark
        for mark in marks
        if mark is not None and not math.isclose(value, mark, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    ]
    for digits in range(least, MOST_DIGITS):
        rounded = round(value, digits)
        if all((rounded < mark, rounded > mark) == (value < mark, value > mark) for mark in other_marks):
            return digits
    return MOST_DIGITS
