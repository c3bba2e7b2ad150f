"""How strongly two columns go together, counted piece by piece: three measures from 0 to 1, by the kinds of the columns.

- Two categories: Cramér's V, the root of chi-squared / (records x (the smaller number of values - 1)); plain, with no correction of
  its bias, which lets few records look more related than they are.
- A category and a quantity: the correlation ratio, the root of the share of the quantity's variation that lies between the categories.
- Two quantities: the absolute value of Pearson's correlation.

A record without a value in either column is left out. Where either column has a single value left, nothing can go together with it:
that is no number, and not 0.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.metrics.values import Undefined
from app.training.columns import MISSING, Codes, Numbers

NO_RECORDS = "no record has a value in both"
ONE_VALUE = "one of the two has a single value in all records that are compared"
OUT_OF_BOUNDS = "its numbers are too large, or too close to each other, to be squared and added"

_SMALLEST = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
"""Sums of squares below this have lost digits."""


class Association(Protocol):
    """The association of two columns, being counted."""

    @property
    def records(self) -> int:
        """How many records have a value in both."""

    def strength(self) -> float | Undefined:
        """From 0 to 1, or why there is none."""


class CramersV:
    """Of two columns of categories, with that many values each."""

    def __init__(self, first: int, second: int) -> None:
        self._counts = np.zeros((first, second), dtype=np.int64)

    def add(self, first: Codes, second: Codes) -> None:
        """Counts the records of one piece by the places of their values."""
        known = (first != MISSING) & (second != MISSING)
        key = first[known] * self._counts.shape[1] + second[known]
        self._counts += np.bincount(key, minlength=self._counts.size).reshape(self._counts.shape)

    @property
    def records(self) -> int:
        """How many records have a value in both."""
        return int(self._counts.sum())

    def strength(self) -> float | Undefined:
        """From 0 to 1, or why there is none."""
        records = self.records
        if not records:
            return Undefined(NO_RECORDS, 0)
        counts = self._counts[self._counts.any(axis=1)][:, self._counts.any(axis=0)]
        smaller = min(counts.shape)
        if smaller < 2:  # noqa: PLR2004 - one value
            return Undefined(ONE_VALUE, records)
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / records
        chi_squared = float(((counts - expected) ** 2 / expected).sum())
        return _bounded(np.sqrt(chi_squared / (records * (smaller - 1))), records)


class CorrelationRatio:
    """Of a column with that many categories, and a quantity."""

    def __init__(self, categories: int) -> None:
        self._records = np.zeros(categories, dtype=np.int64)
        self._means = np.zeros(categories)
        self._squares = np.zeros(categories)
        self._numbers = _Spread()

    def add(self, codes: Codes, numbers: Numbers) -> None:
        """Counts the records of one piece: the places of their categories, and their numbers."""
        known = (codes != MISSING) & np.isfinite(numbers)
        if not known.any():
            return
        codes, numbers = codes[known], self._numbers.shifted(numbers[known])
        size = len(self._records)
        with np.errstate(all="ignore"):
            records = np.bincount(codes, minlength=size)
            means = np.bincount(codes, numbers, minlength=size) / np.maximum(records, 1)
            squares = np.bincount(codes, (numbers - means[codes]) ** 2, minlength=size)
            together = np.maximum(self._records + records, 1)
            apart = means - self._means
            self._squares += squares + apart * apart * self._records * records / together
            self._means += apart * records / together
        self._records += records

    @property
    def records(self) -> int:
        """How many records have a value in both."""
        return int(self._records.sum())

    def strength(self) -> float | Undefined:
        """From 0 to 1, or why there is none."""
        records = self.records
        if not records:
            return Undefined(NO_RECORDS, 0)
        if np.count_nonzero(self._records) == 1 or self._numbers.is_one_value:
            return Undefined(ONE_VALUE, records)
        with np.errstate(all="ignore"):
            mean = (self._records * self._means).sum() / records
            between = (self._records * (self._means - mean) ** 2).sum()
            total = between + self._squares.sum()
            found = np.sqrt(between / total)
        return _bounded(found, records) if total > _SMALLEST else Undefined(OUT_OF_BOUNDS, records)


class AbsolutePearson:
    """Of two quantities."""

    def __init__(self) -> None:
        self._records = 0
        self._means = np.zeros(2)
        self._products = np.zeros((2, 2))
        self._numbers = (_Spread(), _Spread())

    def add(self, first: Numbers, second: Numbers) -> None:
        """Counts the records of one piece by their numbers."""
        known = np.isfinite(first) & np.isfinite(second)
        records = int(known.sum())
        if not records:
            return
        pair = np.stack([spread.shifted(numbers[known]) for spread, numbers in zip(self._numbers, (first, second), strict=True)])
        with np.errstate(all="ignore"):
            means = pair.mean(axis=1)
            centred = pair - means[:, None]
            apart = means - self._means
            together = self._records + records
            self._products += centred @ centred.T + np.outer(apart, apart) * (self._records * records / together)
            self._means += apart * (records / together)
        self._records = together

    @property
    def records(self) -> int:
        """How many records have a value in both."""
        return self._records

    def strength(self) -> float | Undefined:
        """From 0 to 1, or why there is none."""
        if not self._records:
            return Undefined(NO_RECORDS, 0)
        if any(spread.is_one_value for spread in self._numbers):
            return Undefined(ONE_VALUE, self._records)
        squares = np.diag(self._products)
        with np.errstate(all="ignore"):
            found = abs(self._products[0, 1]) / (np.sqrt(squares[0]) * np.sqrt(squares[1]))
        return _bounded(found, self._records) if (squares > _SMALLEST).all() else Undefined(OUT_OF_BOUNDS, self._records)


class _Spread:
    """The lowest and the highest of the numbers seen, and the first one, from which the others are counted: their mean may be huge."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._lowest, self._highest = np.inf, -np.inf

    def shifted(self, numbers: Numbers) -> Numbers:
        if self._first is None:
            self._first = float(numbers[0])
        self._lowest = min(self._lowest, float(numbers.min()))
        self._highest = max(self._highest, float(numbers.max()))
        with np.errstate(all="ignore"):
            moved: npt.NDArray[np.float64] = numbers - self._first
        return moved

    @property
    def is_one_value(self) -> bool:
        return self._lowest == self._highest


def _bounded(found: float, records: int) -> float | Undefined:
    """The last digits of a perfect association may lie above 1."""
    return min(max(float(found), 0.0), 1.0) if np.isfinite(found) else Undefined(OUT_OF_BOUNDS, records)
