"""How a monitored rate is set against the reference rate: as a point, in closed form, and over many draws at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.metrics.intervals import Interval, log_ratio, newcombe

FloatArray: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `total`, synthetic copies included where there are any; `original` counts the records without them."""

    count: int
    total: int
    original: int

    @property
    def rate(self) -> float:
        """The share as a number in [0, 1].

        Raises:
            ZeroDivisionError: the total is zero; ask `original` first.
        """
        return self.count / self.total


@dataclass(frozen=True, slots=True)
class Comparison:
    """One way to compare two shares, monitored first. `divides` says that a reference rate of zero leaves it undefined."""

    name: str
    divides: bool
    point: Callable[[Share, Share], float]
    interval: Callable[[int, int, int, int], Interval]
    over_draws: Callable[[FloatArray, FloatArray], FloatArray]


def _over_draws(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    # A draw without a favourable reference record counts as unboundedly large; 0/0 says nothing and becomes NaN.
    with np.errstate(divide="ignore", invalid="ignore"):
        return monitored / reference


RATIO = Comparison("ratio", True, lambda monitored, reference: monitored.rate / reference.rate, log_ratio, _over_draws)
DIFFERENCE = Comparison("difference", False, lambda monitored, reference: monitored.rate - reference.rate, newcombe, np.subtract)
