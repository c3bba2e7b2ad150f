"""Association of two columns, counted piece by piece: three measures from 0 to 1, by the kinds of the
columns.

- Two categories: Cramér's V, corrected as in Bergsma 2013, A bias-correction for Cramér's V and Tschuprow's
T, Journal of the Korean Statistical Society 42, 323-328.
- A category and a quantity: the correlation ratio, corrected to the root of epsilon squared (Kelley 1935,
PNAS 21, 554-559).
- Two quantities: the absolute value of Pearson's correlation, corrected to the root of the adjusted r squared
(Ezekiel 1930).

A correction subtracts the mean that the square has when one column is shuffled, and divides by the most that
the rest can be (the *room*). The level of chance is the square that 95 of 100 shuffles stay below, corrected
in the same way. Records without a value in both columns are left out. If a column then has a single value,
the strength is undefined, not 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import TypeGuard

import numpy as np
from scipy.special import betaincinv

from ...base.values import frozen, frozen_by_name
from ...statistics.group_labels import MISSING, Codes, FloatArray
from ...statistics.intervals.verdicts import Undefined

SHARE_BELOW = 0.95
"""Share of the shuffles below the level of chance."""

MIN_RECORDS_FOR_LEVEL = 20
"""With fewer, one record is more than 5 %: the level then is the highest value."""

_ROUNDING = 1e-12


@frozen
class ProjectionShape:
    """Rank of a column's projection (1 of a quantity, categories less one), and the sum of squared leverages:
    what the variance over shuffles depends on.
    """

    rank: int
    leverage: float


def measure_categories_shape(counts: Codes) -> ProjectionShape:
    return ProjectionShape(len(counts) - 1, float((counts * (1.0 / counts - 1.0 / counts.sum()) ** 2).sum()))


def measure_quantity_shape(squares: float, fourths: float) -> ProjectionShape:
    return ProjectionShape(1, min(fourths / squares**2, 1.0))


@frozen
class ShuffledSquare:
    """Squared association of two columns over all shuffles of one of them."""

    first: ProjectionShape
    second: ProjectionShape
    records: int

    @property
    def highest(self) -> int:
        return min(self.first.rank, self.second.rank)

    @property
    def mean(self) -> float:
        return self.first.rank * self.second.rank / (self.records - 1)

    @property
    def level(self) -> float:
        """Square that 95 of 100 shuffles stay below, by the beta distribution of this mean and variance."""
        if self.records < MIN_RECORDS_FOR_LEVEL:
            return float(self.highest)
        share = self.mean / self.highest
        spread = self.variance / self.highest**2
        if spread < _ROUNDING * share:
            return self.mean
        concentration = share * (1 - share) / spread - 1
        if concentration < _ROUNDING:
            return float(self.highest if share > 1 - SHARE_BELOW else 0)
        return float(
            self.highest * betaincinv(share * concentration, (1 - share) * concentration, SHARE_BELOW)
        )

    @property
    def variance(self) -> float:
        """Variance of the square over the shuffles; exact, as the mean is. Needs four records."""
        n = float(self.records)
        ranks = [shape.rank * (n - 1 - shape.rank) for shape in (self.first, self.second)]
        uneven = [
            n * (n + 1) * shape.leverage - (n - 1) * shape.rank * (shape.rank + 2)
            for shape in (self.first, self.second)
        ]
        even = 2 * np.prod(ranks) / ((n - 1) ** 2 * (n + 1) * (n - 2))
        return float(even + np.prod(uneven) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3)))


def sum_products(first: FloatArray, second: FloatArray) -> float:
    """Sums products in one thread: threads of BLAS are slow on busy processors."""
    return float(np.einsum("i,i", first, second))


class Moments:
    """Added piece by piece (Pébay 2008). Sums that are too large are not finite."""

    def __init__(self) -> None:
        self.records = 0
        self.mean = 0.0
        self.squares = 0.0
        self._cubes = 0.0
        self.fourths = 0.0

    def add(self, numbers: FloatArray) -> None:
        """Adds at least one number, all finite."""
        with np.errstate(all="ignore"):
            mean = float(numbers.mean())
            centred = numbers - mean
            squared = centred * centred
            squares = float(squared.sum())
            cubes = sum_products(squared, centred)
            fourths = sum_products(squared, squared)
            counted_before = self.records
            added = len(numbers)
            total = counted_before + added
            # Distance of the means, over all records. A numpy number overflows to infinity, one of Python's
            # raises an error.
            step = np.float64(mean - self.mean) / total
            self.fourths = float(
                self.fourths
                + fourths
                + step**4
                * counted_before
                * added
                * total
                * (counted_before**2 - counted_before * added + added**2)
                + 6 * step**2 * (counted_before**2 * squares + added**2 * self.squares)
                + 4 * step * (counted_before * cubes - added * self._cubes)
            )
            self._cubes = float(
                self._cubes
                + cubes
                + step**3 * counted_before * added * total * (counted_before - added)
                + 3 * step * (counted_before * squares - added * self.squares)
            )
            self.squares = float(self.squares + squares + step**2 * counted_before * added * total)
            self.mean = float(self.mean + step * added)
        self.records = total


NO_RECORDS = "no record has a value in both"
ONE_VALUE = "one of the two has a single value in all records that are compared"
OUT_OF_BOUNDS = "its numbers are too large, or too close to each other, to be multiplied and added"

_MIN_SUM = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
"""Sums of squares below this have lost digits."""


@frozen_by_name
class Strength:
    """Strength of an association, 0 to 1; the level of chance is corrected in the same way."""

    corrected: float
    chance_level: float
    uncorrected: float


class AssociationCounts(ABC):
    """Counts of two columns, from which the strength of their association is measured."""

    @property
    @abstractmethod
    def records(self) -> int:
        """Number of records with a value in both."""

    def strength(self) -> Strength | Undefined:
        strength = self._measure() if self.records else NO_RECORDS
        return Undefined(strength, self.records) if isinstance(strength, str) else strength

    @abstractmethod
    def _measure(self) -> Strength | str:
        """Returns the strength, or the reason why there is none."""


class CramersV(AssociationCounts):
    def __init__(self, first: int, second: int) -> None:
        self._counts = np.zeros((first, second), np.int64)

    def add(self, first: Codes, second: Codes) -> None:
        has_both = (first != MISSING) & (second != MISSING)
        key = first[has_both] * self._counts.shape[1] + second[has_both]
        self._counts += np.bincount(key, minlength=self._counts.size).reshape(self._counts.shape)

    @property
    def records(self) -> int:
        return int(self._counts.sum())

    def _measure(self) -> Strength | str:
        records = self.records
        counts = self._counts[self._counts.any(axis=1)][:, self._counts.any(axis=0)]
        if min(counts.shape) < 2:  # noqa: PLR2004 - one value
            return ONE_VALUE
        first_counts = counts.sum(axis=1)
        second_counts = counts.sum(axis=0)
        expected = np.outer(first_counts, second_counts) / records
        chi_squared = float(((counts - expected) ** 2 / expected).sum())
        shapes = measure_categories_shape(first_counts), measure_categories_shape(second_counts)
        room = min(shape.rank - shape.rank**2 / (records - 1) for shape in shapes)
        return _build_strength(chi_squared / records, ShuffledSquare(*shapes, records), room)


class CorrelationRatio(AssociationCounts):
    def __init__(self, categories: int) -> None:
        self._records = np.zeros(categories, np.int64)
        self._means = np.zeros(categories)
        self._squares = np.zeros(categories)
        self._numbers = _Quantity()

    def add(self, codes: Codes, numbers: FloatArray) -> None:
        has_both = (codes != MISSING) & np.isfinite(numbers)
        if not has_both.any():
            return
        codes = codes[has_both]
        numbers = self._numbers.add_and_shift(numbers[has_both])
        size = len(self._records)
        with np.errstate(all="ignore"):
            records = np.bincount(codes, minlength=size)
            means = np.bincount(codes, numbers, minlength=size) / np.maximum(records, 1)
            squares = np.bincount(codes, (numbers - means[codes]) ** 2, minlength=size)
            totals = np.maximum(self._records + records, 1)
            distance = means - self._means
            self._squares += squares + distance * distance * self._records * records / totals
            self._means += distance * records / totals
        self._records += records

    @property
    def records(self) -> int:
        return int(self._records.sum())

    def _measure(self) -> Strength | str:
        records = self.records
        if np.count_nonzero(self._records) == 1 or self._numbers.is_one_value:
            return ONE_VALUE
        shape = self._numbers.shape()
        with np.errstate(all="ignore"):
            mean = (self._records * self._means).sum() / records
            between = (self._records * (self._means - mean) ** 2).sum()
            squared = between / (between + self._squares.sum())
        if shape is None or not np.isfinite(squared):
            return OUT_OF_BOUNDS
        return _build_strength(
            float(squared),
            ShuffledSquare(measure_categories_shape(self._records[self._records > 0]), shape, records),
        )


class AbsolutePearson(AssociationCounts):
    def __init__(self) -> None:
        self._product = 0.0
        self._numbers = (_Quantity(), _Quantity())

    def add(self, first: FloatArray, second: FloatArray) -> None:
        has_both = np.isfinite(first) & np.isfinite(second)
        added = int(has_both.sum())
        if not added:
            return
        counted_before = self.records
        means_before = [quantity.moments.mean for quantity in self._numbers]
        pair = [
            quantity.add_and_shift(numbers[has_both])
            for quantity, numbers in zip(self._numbers, (first, second), strict=True)
        ]
        with np.errstate(all="ignore"):
            means = [np.float64(numbers.mean()) for numbers in pair]
            distance = (means[0] - means_before[0]) * (means[1] - means_before[1])
            product = sum_products(pair[0] - means[0], pair[1] - means[1])
            self._product += float(product + distance * (counted_before * added / (counted_before + added)))

    @property
    def records(self) -> int:
        return self._numbers[0].moments.records

    def _measure(self) -> Strength | str:
        if any(quantity.is_one_value for quantity in self._numbers):
            return ONE_VALUE
        first, second = (quantity.shape() for quantity in self._numbers)
        with np.errstate(all="ignore"):
            correlation = float(
                self._product / np.prod([np.sqrt(quantity.moments.squares) for quantity in self._numbers])
            )
        if first is None or second is None or not np.isfinite(correlation):
            return OUT_OF_BOUNDS
        return _build_strength(correlation**2, ShuffledSquare(first, second, self.records))


def measure_strengths(columns: Sequence[Codes | FloatArray]) -> FloatArray:
    """Measures strengths [columns, columns], corrected for chance, 0 to 1; NaN where undefined.

    Integers are places of categories, or MISSING; floats quantities, or NaN.
    """
    strengths = np.zeros((len(columns), len(columns)))
    for first, second in combinations(range(len(columns)), 2):
        strength = associate(columns[first], columns[second]).strength()
        strengths[first, second] = strengths[second, first] = (
            np.nan if isinstance(strength, Undefined) else strength.corrected
        )
    return strengths


def associate(first: Codes | FloatArray, second: Codes | FloatArray) -> AssociationCounts:
    if _is_categories(first) and _is_categories(second):
        categories = CramersV(_count_values(first), _count_values(second))
        categories.add(first, second)
        return categories
    if _is_categories(second):
        first, second = second, first
    if _is_categories(first):
        ratio = CorrelationRatio(_count_values(first))
        ratio.add(first, second.astype(np.float64))
        return ratio
    quantities = AbsolutePearson()
    quantities.add(first.astype(np.float64), second.astype(np.float64))
    return quantities


def _is_categories(column: Codes | FloatArray) -> TypeGuard[Codes]:
    return bool(np.issubdtype(column.dtype, np.integer))


def _count_values(codes: Codes) -> int:
    return int(codes.max(initial=0)) + 1


class _Quantity:
    """Numbers less the first of them: where the mean is huge, sums of squares would lose their digits."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._lowest, self._highest = np.inf, -np.inf
        self.moments = Moments()

    def add_and_shift(self, numbers: FloatArray) -> FloatArray:
        if self._first is None:
            self._first = float(numbers[0])
        self._lowest = min(self._lowest, float(numbers.min()))
        self._highest = max(self._highest, float(numbers.max()))
        with np.errstate(all="ignore"):
            shifted: FloatArray = numbers - self._first
        self.moments.add(shifted)
        return shifted

    @property
    def is_one_value(self) -> bool:
        return self._lowest == self._highest

    def shape(self) -> ProjectionShape | None:
        sums = self.moments.squares, self.moments.fourths
        if not all(np.isfinite(moment) and moment > _MIN_SUM for moment in sums):
            return None
        return measure_quantity_shape(*sums)


def _build_strength(squared: float, shuffled: ShuffledSquare, room: float | None = None) -> Strength:
    """`room` None: that of a quantity, 1 less the mean."""
    room = 1 - shuffled.mean if room is None else room
    highest = shuffled.highest
    squared_strength, level = (min(max(number, 0.0), float(highest)) for number in (squared, shuffled.level))
    return Strength(
        corrected=_correct(squared_strength, shuffled, room),
        chance_level=_correct(level, shuffled, room),
        uncorrected=float(np.sqrt(squared_strength / highest)),
    )


def _correct(squared: float, shuffled: ShuffledSquare, room: float) -> float:
    """0 without room: if each record has a category of its own, chance reaches everything."""
    above = squared - shuffled.mean
    return min(float(np.sqrt(above / room)), 1.0) if above > 0 and room > 0 else 0.0
