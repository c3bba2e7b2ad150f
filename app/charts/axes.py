"""Logarithmic axis of ratios."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LogAxis:
    """Axis from `low` to `high`, both above 0."""

    low: float = 0.25
    high: float = 4.0
    _length: float = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_length", math.log(self.high / self.low))

    def place(self, ratio: float) -> float:
        """Share from the low end of a ratio of at least 0; beyond an end, that end."""
        if ratio <= self.low:
            return 0.0
        if ratio >= self.high:
            return 1.0
        return math.log(ratio / self.low) / self._length

    def holds(self, ratio: float) -> bool:
        """Whether the axis reaches the ratio."""
        return self.low <= ratio <= self.high
