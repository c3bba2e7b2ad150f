"""The one comparison of outcomes and groups with values, in Python, in arrays and in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass

from .values import GroupValue, Range, Scalar, canonical, number_of


@dataclass(frozen=True, slots=True)
class ValueTest:
    """Values of these canonical texts pass, and numbers in these closed ranges. `only_numbers`: no text does, even if it spells one."""

    texts: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    only_numbers: bool = False

    def passes(self, value: Scalar) -> bool:
        if self.only_numbers and isinstance(value, str):
            return False
        number = number_of(value) if self.ranges else None
        return canonical(value) in self.texts or (number is not None and any(number in bounds for bounds in self.ranges))


def outcome_test(members: Sequence[GroupValue]) -> ValueTest:
    """Returns the test that an answer passes which is among these favourable, or unfavourable, members.

    Under a number or a range only numbers pass. Under a text anything passes that is written so, such as a number out of CSV.
    """
    texts = tuple(canonical(member) for member in members if not isinstance(member, Range))
    ranges = tuple(member for member in members if isinstance(member, Range))
    return ValueTest(texts, ranges, only_numbers=any(is_numeric(member) for member in members))


def is_numeric(member: GroupValue) -> bool:
    """Returns whether the listed outcome is a number or a range, under which no text counts."""
    return not isinstance(member, str | bool)
