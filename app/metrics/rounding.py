"""How many digits a number needs to be shown on its own side of what it is compared with: 0.796 is not 0.80."""

import math
from collections.abc import Iterable

from app.metrics.verdicts import TOLERANCE

MOST_DIGITS = 6
"""Digits after the point; what these do not tell apart is shown alike."""


def digits_apart(value: float, marks: Iterable[float | None], least: int) -> int:
    """Returns how many digits after the point show the value on its own side of every mark, at least `least`, at most `MOST_DIGITS`."""
    others = [mark for mark in marks if mark is not None]
    return next((digits for digits in range(least, MOST_DIGITS) if _is_apart(value, round(value, digits), others)), MOST_DIGITS)


def _is_apart(value: float, rounded: float, marks: list[float]) -> bool:
    # What lies at a limit but for rounding counts as being there.
    apart = [mark for mark in marks if not math.isclose(value, mark, rel_tol=TOLERANCE, abs_tol=TOLERANCE)]
    return all((rounded < mark, rounded > mark) == (value < mark, value > mark) for mark in apart)
