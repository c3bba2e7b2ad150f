"""Chance in the association of two columns: the distribution of its square when one column is shuffled against the other.

Each of the three measures is, squared, the overlap of two projections: onto the indicators of a column's categories, or onto the
line of a quantity, both without their mean. So the mean and the variance over all shuffles of the records are known exactly
(Kazi-Aoual, Hitier, Sabatier and Lebreton 1995, Computational Statistics & Data Analysis 20, 643-656), from two figures of each
column. The level that 95 of 100 shuffles stay below is that of a beta distribution with this mean and variance.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from .cells import Codes

SHARE_BELOW = 0.95
"""Share of all shuffles that stay below the level of chance."""

FEWEST_RECORDS = 20
"""Min records. Among fewer, a single one is more than 5 % of them and may decide an association, so the level is then the highest value."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Shape:
    """The facts of a column that shuffling depends on: the rank of its projection, and the sum of its records' squared leverages.

    The rank is one less than the number of categories, and 1 of a quantity. Rare categories and outlying numbers have high leverage.
    """

    rank: int
    leverage: float


def shape_of_categories(counts: Codes) -> Shape:
    """Returns the shape of a column of categories with that many records each, all above 0."""
    return Shape(len(counts) - 1, float((counts * (1.0 / counts - 1.0 / counts.sum()) ** 2).sum()))


def shape_of_quantity(squares: float, fourths: float) -> Shape:
    """Returns the shape of numbers with these sums of squared and of fourth powers of their differences from the mean."""
    return Shape(1, min(fourths / squares**2, 1.0))


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The squared association of two columns over all shuffles of that many records, at least two."""

    first: Shape
    second: Shape
    records: int

    @property
    def highest(self) -> int:
        """The highest that the square can be: 1, or of two columns of categories the smaller number of values less one."""
        return min(self.first.rank, self.second.rank)

    @property
    def mean(self) -> float:
        """The mean of the square, from 0 to its highest value."""
        return self.first.rank * self.second.rank / (self.records - 1)

    @property
    def level(self) -> float:
        """The level that 95 of 100 shuffles stay below, from 0 to the highest value of the square.

        That of few records is the highest value, so nothing is above it.
        """
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
        """The variance of the square, exact as its mean is; of four records at least."""
        n = float(self.records)
        ranks = [shape.rank * (n - 1 - shape.rank) for shape in (self.first, self.second)]
        uneven = [n * (n + 1) * shape.leverage - (n - 1) * shape.rank * (shape.rank + 2) for shape in (self.first, self.second)]
        even = 2 * np.prod(ranks) / ((n - 1) ** 2 * (n + 1) * (n - 2))
        return float(even + np.prod(uneven) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3)))
