"""Distribution of the square of an association when one column is shuffled against the other.

Its mean and variance over all shuffles are known exactly (Kazi-Aoual, Hitier, Sabatier and Lebreton 1995, Computational Statistics & Data
Analysis 20, 643-656). The level that 95 of 100 shuffles stay below is that of a beta distribution with both.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from .cells import Codes

SHARE_BELOW = 0.95

FEWEST_RECORDS = 20
"""Min records: fewer are more than 5 % each, and the level is the highest value."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Shape:
    """Rank of a column's projection (1 of a quantity, categories less one), and the sum of squared leverages."""

    rank: int
    leverage: float


def shape_of_categories(counts: Codes) -> Shape:
    """Returns the shape of categories with that many records each, all above 0."""
    return Shape(len(counts) - 1, float((counts * (1.0 / counts - 1.0 / counts.sum()) ** 2).sum()))


def shape_of_quantity(squares: float, fourths: float) -> Shape:
    """Returns the shape of numbers by the sums of powers of their differences from the mean."""
    return Shape(1, min(fourths / squares**2, 1.0))


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The squared association over all shuffles of that many records, at least two."""

    first: Shape
    second: Shape
    records: int

    @property
    def highest(self) -> int:
        """The most that the square can be: 1, or of categories the smaller number of values less one."""
        return min(self.first.rank, self.second.rank)

    @property
    def mean(self) -> float:
        return self.first.rank * self.second.rank / (self.records - 1)

    @property
    def level(self) -> float:
        """The level that 95 of 100 shuffles stay below; of few records the highest value."""
        if self.records < FEWEST_RECORDS:
            return float(self.highest)
        share, spread = self.mean / self.highest, self.variance / self.highest**2
        if spread < _ROUNDING * share:
            return self.mean
        concentration = share * (1 - share) / spread - 1
        if concentration < _ROUNDING:
            return float(self.highest if share > 1 - SHARE_BELOW else 0)
        return float(self.highest * betaincinv(share * concentration, (1 - share) * concentration, SHARE_BELOW))

    @property
    def variance(self) -> float:
        """The exact variance of the square, of four records at least."""
        n = float(self.records)
        ranks = [shape.rank * (n - 1 - shape.rank) for shape in (self.first, self.second)]
        uneven = [n * (n + 1) * shape.leverage - (n - 1) * shape.rank * (shape.rank + 2) for shape in (self.first, self.second)]
        even = 2 * np.prod(ranks) / ((n - 1) ** 2 * (n + 1) * (n - 2))
        return float(even + np.prod(uneven) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3)))
