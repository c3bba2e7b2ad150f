"""Scalar values as records and configurations carry them, and the one form in which they are compared.

JSON, CSV and numpy disagree about `1`, `1.0` and `"1"`; a group or an outcome must not. `canonical()` is that agreement.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool
"""One cell of a record; a missing cell is None."""


@dataclass(frozen=True, slots=True)
class Range:
    """A closed interval [lo, hi] of a numeric feature or of a regression's prediction."""

    lo: float
    hi: float

    def __contains__(self, value: float) -> bool:
        return self.lo <= value <= self.hi

    def overlaps(self, other: "Range") -> bool:
        """Whether any number lies in both."""
        return self.lo <= other.hi and other.lo <= self.hi

    @property
    def label(self) -> str:
        """The range as people and OpenScale write it: `18-25`."""
        return f"{canonical(self.lo)}-{canonical(self.hi)}"


GroupValue: TypeAlias = Scalar | Range
"""What a configuration lists: one value, or one closed range."""


def canonical(value: Scalar) -> str:
    """The text under which a value is compared and shown: integral floats lose `.0`, booleans are `true`/`false`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def normalised(value: Scalar) -> Scalar:
    """The value as it is stored: integral floats become integers, so that the stored text is `canonical()`."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def label_of(value: GroupValue) -> str:
    """The name of a group in series, tables and pages."""
    return value.label if isinstance(value, Range) else canonical(value)


def number_of(value: Scalar | None) -> float | None:
    """The value as a finite number, or None where it is none (text that spells a number counts)."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):  # no number, or an integer larger than any float
        return None
    return number if math.isfinite(number) else None
