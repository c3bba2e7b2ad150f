"""Instance weights of counted records: their sums, and sums of squares, which give the effective sample size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..groups import FloatArray, IntArray, sum_by_place


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """Sums of the weights w and of w² in cells of any shape. Records of one cell may have different weights.

    The effective size of a set of records is (Σw)²/Σw² (Kish 1965): the number of records of equal weight that are as certain.

    Raises:
        ValueError: the shapes differ, or a sum is negative or not finite.
    """

    weights: FloatArray
    squares: FloatArray

    def __post_init__(self) -> None:
        for name in ("weights", "squares"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if self.weights.shape != self.squares.shape:
            raise ValueError(f"expected equal shapes, found {self.weights.shape} and {self.squares.shape}")
        if not all(np.isfinite(part).all() and (part >= 0).all() for part in (self.weights, self.squares)):
            raise ValueError("expected finite sums of weights, none negative")

    @classmethod
    def of_counts(cls, counts: IntArray) -> Self:
        """Returns the weighting of records that all weigh 1."""
        same: FloatArray = counts.astype(np.float64)
        return cls(same, same)

    def regrouped(self, places: IntArray, size: int) -> "Weighting":
        """Sums the cells of the first axis by their place in `range(size)`."""
        return Weighting(sum_by_place(self.weights, places, size), sum_by_place(self.squares, places, size))

    def reshaped(self, *shape: int) -> "Weighting":
        """Returns the same cells in another shape."""
        return Weighting(self.weights.reshape(shape), self.squares.reshape(shape))

    def to_json(self) -> dict[str, Any]:
        """Returns the sums as plain JSON values."""
        return {"weights": self.weights.tolist(), "squares": self.squares.tolist()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None, *shape: int) -> Self | None:
        """Reads the weighting that `to_json` wrote; None for None.

        Raises:
            ValueError: another shape, or the sums do not fit each other.
        """
        if stored is None:
            return None
        # JSON cannot distinguish an empty matrix from an empty list.
        weights, squares = (np.asarray(stored[name], dtype=np.float64).reshape(shape) for name in ("weights", "squares"))
        return cls(weights, squares)


SLICE = 2**17
"""Records counted at a time; bounds the memory of intermediate arrays."""


def slices(records: int) -> list[slice]:
    """Divides the records into slices of `SLICE`; one empty slice for none."""
    return [slice(start, start + SLICE) for start in range(0, max(records, 1), SLICE)]


def count_keys(key: IntArray, size: int, weights: FloatArray | None, repeats: IntArray | None = None) -> tuple[IntArray, Weighting | None]:
    """Counts the records with each key in `range(size)`, and sums their weights where they carry any.

    With `repeats`, each entry is that many equal records without weights. Sums below 2**53 are exact.
    """
    counts = np.bincount(key, repeats, minlength=size).astype(np.int64)
    if weights is None:
        return counts, None
    sums, squares = (np.asarray(np.bincount(key, part, minlength=size), dtype=np.float64) for part in (weights, weights * weights))
    return counts, Weighting(sums, squares)


def check_each(values: npt.ArrayLike, records: int, noun: str) -> npt.NDArray[Any]:
    """Returns one value per record, as an array.

    Raises:
        ValueError: another number of values.
    """
    array = np.asarray(values)
    if array.shape != (records,):
        raise ValueError(f"expected one {noun} per record, found {array.size} for {records} records")
    return array


def check_weights(weights: npt.ArrayLike | None, records: int) -> FloatArray | None:
    """Returns one weight per record as float64.

    Raises:
        ValueError: another number of weights, or one is negative or not finite.
    """
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (records,):
        raise ValueError(f"expected one weight per record, found {array.size} for {records} records")
    if array.size and not (np.isfinite(array).all() and array.min() >= 0):
        raise ValueError("expected finite weights, none negative")
    return array


class WeightedPart(NamedTuple):
    """Counts of one table, their weighting if it has one, and the rows of a sum that its rows go to."""

    counts: IntArray
    weighting: Weighting | None
    rows: IntArray


def merge_weighting(parts: Sequence[WeightedPart], shape: tuple[int, ...]) -> Weighting | None:
    """Returns the sum of several weightings; None where none has one.

    Where only some tables are weighted, each record of the others weighs 1.
    """
    if all(weighting is None for _, weighting, _ in parts):
        return None
    weights, squares = np.zeros(shape), np.zeros(shape)
    for counts, weighting, rows in parts:
        part = Weighting.of_counts(counts) if weighting is None else weighting
        weights[rows] += part.weights
        squares[rows] += part.squares
    return Weighting(weights, squares)
