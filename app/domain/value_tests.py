"""The one comparison of outcomes and groups with values, in Python, in arrays and in SQL."""

from collections.abc import Sequence

from ..base.frozen import frozen
from ..base.values import BOOLEANS, GroupValue, Range, Scalar, canonical, fold, read_number


@frozen
class ValueTest:
    """Values of these canonical texts pass, those that fold to these spellings of booleans, and numbers in these closed ranges.

    `only_numbers`: no other text passes, even if it spells a number.
    """

    texts: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    only_numbers: bool = False
    spellings: tuple[str, ...] = ()

    def passes(self, value: Scalar) -> bool:
        if self.spellings and fold(value) in self.spellings:
            return True
        if self.only_numbers and isinstance(value, str):
            return False
        number = read_number(value) if self.ranges else None
        return (number is not None and any(number in bounds for bounds in self.ranges)) or canonical(value) in self.texts


def outcome_test(members: Sequence[GroupValue], opposite: Sequence[GroupValue] = ()) -> ValueTest:
    """Returns the test that an answer passes among these favourable, or unfavourable, members; those in `opposite` are on the other side.

    Under a number or a range only numbers pass. Under a text anything passes that is written so, such as a number out of CSV; under a
    boolean anything that spells it, such as `True`, `TRUE` and `1`, unless that is listed by itself.
    """
    texts = tuple(canonical(member) for member in members if not isinstance(member, Range))
    ranges = tuple(member for member in members if isinstance(member, Range))
    folded = {fold(member) for member in (*members, *opposite) if not isinstance(member, bool)}
    listed = {canonical(member) for member in members if isinstance(member, bool)}
    spellings = tuple(text for text, value in BOOLEANS.items() if canonical(value) in listed and text not in folded)
    return ValueTest(texts, ranges, any(is_numeric(member) for member in members), spellings)


def is_numeric(member: GroupValue) -> bool:
    """Returns whether the listed outcome is a number or a range, under which no text counts."""
    return not isinstance(member, str | bool)
