"""Comparisons of a monitored rate with the reference rate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..frozen import frozen
from .groups import FloatArray, divide
from .intervals import Interval, log_ratio, newcombe, paired_difference, paired_ratio

_PAIRS = "pairs_"

ROUNDING = 1e-9
"""Max shortfall, by rounding, of an effective size that is a whole number."""


@frozen
class Share:
    """`count` of `total` records, including counterfactuals; `original` counts records without them.

    Of weighted records, `weight` is that of the counted, `weight_total` of all, `effective` the size of the whole in records of equal
    weight. `left_out` records have no outcome to compare.
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
        """Share in [0, 1].

        Raises:
            ZeroDivisionError: the total is zero; ask `is_empty` first.
        """
        return self.mass / self.mass_total

    @property
    def mass(self) -> float:
        return self.count if self.weight is None else self.weight

    @property
    def mass_total(self) -> float:
        return self.total if self.weight_total is None else self.weight_total

    @property
    def is_empty(self) -> bool:
        """Whether there is no record, or none with any weight."""
        return self.original == 0 or self.mass_total <= 0 or self.effective == 0

    @property
    def certain(self) -> int:
        """Original records, or fewer where unequal weights make them less informative."""
        return self.original if self.effective is None else min(self.original, int(self.effective + ROUNDING))

    @property
    def size(self) -> tuple[float, float]:
        """Counted and whole in records of equal weight."""
        if self.effective is None:
            return self.count, self.total
        return self.rate * self.effective, self.effective


class Pairs(NamedTuple):
    """Records with an outcome on either side, by those favourable: both, only that side's, or neither.

    Not always whole numbers: means over several copies count as so many pairs as have the same variance.
    """

    both: float
    monitored: float
    reference: float
    neither: float

    def to_counts(self) -> dict[str, float]:
        return {f"{_PAIRS}{name}": number for name, number in self._asdict().items()}


@frozen
class ShareComparison:
    """Comparison of two shares, monitored first. `divides`: undefined at a reference rate of zero.

    `interval` takes the counted and the whole of both, and the number of standard errors; `paired` is for two rates of the same records.
    `slopes` are the derivatives of the comparison (of a ratio's logarithm) by either rate.
    """

    name: str
    divides: bool
    point: Callable[[Share, Share], float]
    interval: Callable[[float, float, float, float, float], Interval]
    over_draws: Callable[[FloatArray, FloatArray], FloatArray]
    paired: Callable[[Pairs, float], Interval]
    slopes: Callable[[float, float], tuple[float, float]]


RATIO = ShareComparison(
    "ratio",
    divides=True,
    point=lambda monitored, reference: monitored.rate / reference.rate,
    interval=log_ratio,
    over_draws=divide,
    paired=lambda pairs, z: paired_ratio(pairs.both, pairs.monitored, pairs.reference, z),
    # A rate of zero has no logarithm; the other rate alone decides.
    slopes=lambda monitored, reference: (1 / monitored if monitored > 0 else 0.0, -1 / reference),
)
DIFFERENCE = ShareComparison(
    "difference",
    divides=False,
    point=lambda monitored, reference: monitored.rate - reference.rate,
    interval=newcombe,
    over_draws=np.subtract,
    paired=lambda pairs, z: paired_difference(*pairs, z),
    slopes=lambda *_: (1.0, -1.0),
)


REVERSED_DIFFERENCE = ShareComparison(
    "reversed_difference",
    divides=False,
    point=lambda monitored, reference: reference.rate - monitored.rate,
    interval=lambda count, total, other_count, other_total, z: newcombe(other_count, other_total, count, total, z),
    over_draws=lambda monitored, reference: np.subtract(reference, monitored),
    paired=lambda pairs, z: paired_difference(pairs.both, pairs.reference, pairs.monitored, pairs.neither, z),
    slopes=lambda *_: (-1.0, 1.0),
)
"""Reference - monitored, as in Clarify for outcomes that are good to have."""
