"""How a monitored rate is set against the reference rate: as a point, in closed form, and over many draws at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.metrics.groups import FloatArray
from app.metrics.intervals import Interval, log_ratio, newcombe, paired_difference, paired_ratio

ROUNDING = 1e-9
"""How far an effective size may fall short of a whole number by rounding."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `total` records, synthetic copies included where there are any; `original` counts the records without them.

    Where records are weighed, `weight` is the weight of the counted, `weight_total` of all, and `effective` the size of the
    whole in records of equal weight; unweighted they follow from the counts. `left_out` records of the groups have no outcome that
    could be compared.
    """

    count: int
    total: int
    original: int
    weight: float | None = None
    weight_total: float | None = None
    effective: float | None = None
    left_out: int = 0

    @property
    def rate(self) -> float:
        """The share as a number in [0, 1].

        Raises:
            ZeroDivisionError: the total is zero; ask `is_empty` first.
        """
        return self.mass / self.mass_total

    @property
    def mass(self) -> float:
        """The weight of the counted."""
        return self.count if self.weight is None else self.weight

    @property
    def mass_total(self) -> float:
        """The weight of all."""
        return self.total if self.weight_total is None else self.weight_total

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take a share of: no record, or none that weighs anything."""
        return self.original == 0 or self.mass_total <= 0 or self.effective == 0

    @property
    def certain(self) -> int:
        """The original records, or fewer where some weigh so much more than others that they are as sure as fewer."""
        return self.original if self.effective is None else min(self.original, int(self.effective + ROUNDING))

    @property
    def size(self) -> tuple[float, float]:
        """The counted and the whole in records of equal weight, for closed forms."""
        if self.effective is None:
            return self.count, self.total
        return self.rate * self.effective, self.effective


@dataclass(frozen=True, slots=True)
class Comparison:
    """One way to compare two shares, monitored first. `divides` says that a reference rate of zero leaves it undefined.

    `interval` takes the counted and the whole of both, and how many standard errors it reaches. `paired` is that of two rates of
    the same records: it takes how many have both outcomes, only the monitored one, only the reference one, and neither. `slopes`
    are how fast the comparison, a ratio on the scale of logarithms, grows with either rate.
    """

    name: str
    divides: bool
    point: Callable[[Share, Share], float]
    interval: Callable[[float, float, float, float, float], Interval]
    over_draws: Callable[[FloatArray, FloatArray], FloatArray]
    paired: Callable[[float, float, float, float], Interval]
    slopes: Callable[[float, float], tuple[float, float]]


def _over_draws(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    # A draw without a favourable reference record counts as unboundedly large; 0/0 says nothing and becomes NaN.
    with np.errstate(divide="ignore", invalid="ignore"):
        return monitored / reference


def _slopes_of_logarithms(monitored: float, reference: float) -> tuple[float, float]:
    # A rate of zero has no logarithm; the other rate decides alone how sure the ratio is.
    return (1 / monitored if monitored > 0 else 0.0, -1 / reference)


RATIO = Comparison(
    "ratio",
    divides=True,
    point=lambda monitored, reference: monitored.rate / reference.rate,
    interval=log_ratio,
    over_draws=_over_draws,
    paired=lambda both, monitored, reference, _: paired_ratio(both, monitored, reference),
    slopes=_slopes_of_logarithms,
)
DIFFERENCE = Comparison(
    "difference",
    divides=False,
    point=lambda monitored, reference: monitored.rate - reference.rate,
    interval=newcombe,
    over_draws=np.subtract,
    paired=paired_difference,
    slopes=lambda *_: (1.0, -1.0),
)


def _reversed(count: float, total: float, other_count: float, other_total: float, z: float) -> Interval:
    return newcombe(other_count, other_total, count, total, z)


def _paired_reversed(both: float, monitored: float, reference: float, neither: float) -> Interval:
    return paired_difference(both, reference, monitored, neither)


REVERSED_DIFFERENCE = Comparison(
    "reversed_difference",
    divides=False,
    point=lambda monitored, reference: reference.rate - monitored.rate,
    interval=_reversed,
    over_draws=lambda monitored, reference: np.subtract(reference, monitored),
    paired=_paired_reversed,
    slopes=lambda *_: (-1.0, 1.0),
)
"""Reference - monitored, as Clarify has it for what is good to have."""
