"""Results of measures: a number with its interval, or the reason why there is none. Judges nothing."""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..details import Details
from .intervals import Interval

Scope: TypeAlias = Literal["group", "worst", "pooled", "worst_pair", "reference", "attribute", "overall"]
"""The groups that a number is about: one, the monitored pooled, the two furthest apart, the reference pooled, all groups, all records.

No number has the scope `worst`: it asks for the number of a group that is marked as the one furthest out.
"""


@dataclass(frozen=True, slots=True)
class Value:
    """A finite number and its 95 % interval, which holds it; an end of None is unbounded.

    `n` counts the records the number rests on (never counterfactuals). `method` names the method of the interval.

    Raises:
        ValueError: a number is not finite, or the interval does not hold the value.
    """

    value: float
    lower: float | None
    upper: float | None
    method: str
    n: int

    def __post_init__(self) -> None:
        # An unbounded end cannot be beyond the value; a NaN fails here too.
        lower, upper = (self.value if end is None else end for end in (self.lower, self.upper))
        if not all(map(math.isfinite, (self.value, lower, upper))) or not lower <= self.value <= upper:
            raise ValueError(f"expected finite lower <= value <= upper, found {self.lower}, {self.value}, {self.upper}")


@dataclass(frozen=True, slots=True)
class Undefined:
    """The reason why there is no number, as a sentence that names the group. `n` counts the records examined."""

    reason: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One metric of one scope.

    `group` is a label in the scope `group`, else None. `smallest_group` is the number of original records in the smaller
    of the groups compared, for the verdict. `cautious_of` is the number that a caution counts, where that differs: records whatever
    their outcome. `details` hold the counts the number was computed from. `worst_of` marks the value of the monitored group that is
    furthest out, of so many with a number (0: none has one). Its `for_choice` is an interval that is valid although the value was
    chosen; the interval of the number itself is that of one group.
    """

    metric: str
    scope: Scope
    group: str | None
    number: Value | Undefined
    smallest_group: int
    details: Details = field(default_factory=Details)
    cautious_of: int | None = None
    worst_of: int | None = None
    for_choice: Interval | None = None
