"""Logarithmic axis of ratios: where a ratio lies between the two ends, as a share of the axis."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LogAxis:
    """Axis from the ratio `low` to the ratio `high`, both above 0. Ratios that are far apart as factors are far apart on it."""

    low: float = 0.25
    high: float = 4.0
    _length: float = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_length", math.log(self.high / self.low))

    def place(self, ratio: float) -> float:
        """Returns the place of a ratio of at least 0 as a share of the axis from its low end, 0 to 1; beyond an end, that end."""
        if ratio <= self.low:
            return 0.0
        if ratio >= self.high:
            return 1.0
        return math.log(ratio / self.low) / self._length

    def holds(self, ratio: float) -> bool:
        """Returns whether the axis reaches the ratio."""
        return self.low <= ratio <= self.high
