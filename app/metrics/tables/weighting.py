"""Instance weights of counted records: their sums, and the sums of their squares, from which the effective sample size follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from app.metrics.groups import FloatArray, IntArray, gathered


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """Sums of the weights w and of w² in cells of any shape. Records of one cell need not weigh the same.

    The effective size of a set of records is (Σw)²/Σw² (Kish 1965): how many records of equal weight would be as sure.

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
        """The weighting of records that all weigh 1."""
        same: FloatArray = counts.astype(np.float64)
        return cls(same, same)

    def regrouped(self, places: IntArray, size: int) -> "Weighting":
        """The sums of the first axis' cells by their place in `range(size)`."""
        return Weighting(gathered(self.weights, places, size), gathered(self.squares, places, size))

    def to_json(self) -> dict[str, Any]:
        """The sums as plain JSON values."""
        return {"weights": self.weights.tolist(), "squares": self.squares.tolist()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None, *shape: int) -> Self | None:
        """The weighting `to_json` wrote; None of None.

        Raises:
            ValueError: another shape, or the sums do not fit each other.
        """
        if stored is None:
            return None
        # JSON cannot tell an empty matrix from an empty list.
        weights, squares = (np.asarray(stored[name], dtype=np.float64).reshape(shape) for name in ("weights", "squares"))
        return cls(weights, squares)


SLICE = 2**17
"""Records that are counted at a time: what stands in between for each of them is held for so many only."""


def slices(records: int) -> list[slice]:
    """The records, so many at a time; one empty slice of none."""
    return [slice(start, start + SLICE) for start in range(0, max(records, 1), SLICE)]


def tallied(key: IntArray, size: int, weights: FloatArray | None) -> tuple[IntArray, Weighting | None]:
    """How many records have each key in `range(size)`, and their weights where they have any."""
    counts = np.bincount(key, minlength=size).astype(np.int64)
    if weights is None:
        return counts, None
    sums, squares = (np.asarray(np.bincount(key, part, minlength=size), dtype=np.float64) for part in (weights, weights * weights))
    return counts, Weighting(sums, squares)


def checked_each(values: npt.ArrayLike, records: int, noun: str) -> npt.NDArray[Any]:
    """One value per record, as an array.

    Raises:
        ValueError: another number of values.
    """
    array = np.asarray(values)
    if array.shape != (records,):
        raise ValueError(f"expected one {noun} per record, found {array.size} for {records} records")
    return array


def checked_weights(weights: npt.ArrayLike | None, records: int) -> FloatArray | None:
    """One weight per record as float64.

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


def merged_weighting(parts: Sequence[tuple[IntArray, Weighting | None, IntArray]], shape: tuple[int, ...]) -> Weighting | None:
    """The sum of several weightings, each (counts, weighting, the rows of the sum that its rows go to); None where none has one.

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
