"""What a measure answers: a number with its interval, or the reason why there is none. It judges nothing."""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["group", "worst", "pooled", "worst_pair", "reference", "attribute", "overall"]
"""The groups that a number is about: one, the monitored one furthest out (`worst`), the monitored pooled, the two furthest apart, the
reference pooled, all groups, everybody."""


@dataclass(frozen=True, slots=True)
class Value:
    """A finite number and its 95 % interval, which holds it; an end of None is unbounded.

    `n` counts the records the number rests on (never synthetic copies). `method` names how the interval was made.

    Raises:
        ValueError: a number is not finite, or the interval does not hold the value.
    """

    value: float
    lower: float | None
    upper: float | None
    method: str
    n: int

    def __post_init__(self) -> None:
        lower, upper = (self.value if end is None else end for end in (self.lower, self.upper))
        if not all(map(math.isfinite, (self.value, lower, upper))) or not lower <= self.value <= upper:
            raise ValueError(f"expected finite lower <= value <= upper, found {self.lower}, {self.value}, {self.upper}")


@dataclass(frozen=True, slots=True)
class Undefined:
    """Why there is no number, as a sentence that names the group. `n` counts the records looked at."""

    reason: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One metric of one scope.

    `group` is a label in the scope `group`, else None. `smallest_group` is the number of original records in the smaller
    of the groups compared, for the verdict. `cautious_of` is the number that a caution looks at, where that is another: records whatever
    their outcome. `details` holds the counts the number was computed from (JSON-safe).
    """

    metric: str
    scope: Scope
    group: str | None
    number: Value | Undefined
    smallest_group: int
    details: dict[str, object] = field(default_factory=dict)
    cautious_of: int | None = None
