"""Results of measures: a number with its interval, or the reason why there is none."""

import math
from dataclasses import field
from typing import Literal

from ..base.values import frozen, frozen_by_name
from ..domain.check import Details

Scope = Literal["group", "worst", "pooled", "worst_pair", "reference", "attribute", "overall"]
"""The two furthest apart are `worst_pair`. `worst` only asks for the group marked as furthest out."""


@frozen
class Value:
    """Number and 95 % interval, which holds it; an end of None is unbounded.

    `n` counts records, never counterfactuals.

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
            raise ValueError(
                f"expected finite lower <= value <= upper, found {self.lower}, {self.value}, {self.upper}"
            )


@frozen
class Undefined:
    reason: str
    n: int


@frozen_by_name
class Measured:
    """`group` is a label in the scope `group`. `smallest_group` counts original records of the smaller group.

    `cautious_of`: records of a caution, whatever their outcome. `worst_of` marks the monitored value furthest
    out of so many (0: none); `for_choice` is the interval that allows for the choice.
    """

    metric: str
    scope: Scope
    group: str | None
    number: Value | Undefined
    smallest_group: int
    details: Details = field(default_factory=Details)
    cautious_of: int | None = None
    worst_of: int | None = None
    for_choice: Value | None = None
