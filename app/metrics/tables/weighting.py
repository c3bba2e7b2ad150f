"""Instance weights of counted records: sums, and sums of squares."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...frozen import frozen
from ..groups import FloatArray, IntArray


@frozen(eq=False)
class Weighting:
    """Sums of the weights w and of w² in cells of any shape.

    The effective size of a set of records is (Σw)²/Σw² (Kish 1965): as many of equal weight are as certain.

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
        """Weighting of records that all weigh 1."""
        same: FloatArray = counts.astype(np.float64)
        return cls(same, same)

    def changed(self, change: Callable[[FloatArray], FloatArray]) -> "Weighting":
        """Other cells: a selection, or sums of these."""
        return Weighting(change(self.weights), change(self.squares))

    def to_json(self) -> dict[str, Any]:
        return {"weights": self.weights.tolist(), "squares": self.squares.tolist()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None, *shape: int) -> Self | None:
        """Weighting that `to_json` wrote.

        Raises:
            ValueError: another shape, or the sums do not fit each other.
        """
        if stored is None:
            return None
        # JSON cannot distinguish an empty matrix from an empty list.
        weights, squares = (np.asarray(stored[name], dtype=np.float64).reshape(shape) for name in ("weights", "squares"))
        return cls(weights, squares)


SLICE = 2**17
"""Records counted at a time, for memory."""


def slices(records: int) -> list[slice]:
    """Slices of `SLICE` records; one empty slice for none."""
    return [slice(start, start + SLICE) for start in range(0, max(records, 1), SLICE)]


def count_keys(
    key: IntArray, shape: tuple[int, ...], weights: FloatArray | None, repeats: IntArray | None = None
) -> tuple[IntArray, Weighting | None]:
    """Counts the records with each key, a place in cells of that shape, and sums their weights, if any.

    With `repeats`, each entry is that many equal records without weights. Sums below 2**53 are exact.
    """
    size = int(np.prod(shape))
    counts = np.bincount(key, repeats, minlength=size).astype(np.int64).reshape(shape)
    if weights is None:
        return counts, None
    sums, squares = (np.bincount(key, part, minlength=size).astype(np.float64) for part in (weights, weights * weights))
    return counts, Weighting(sums.reshape(shape), squares.reshape(shape))


def check_each(values: npt.ArrayLike, records: int, noun: str) -> npt.NDArray[Any]:
    """One value per record, as an array.

    Raises:
        ValueError: another number of values.
    """
    array = np.asarray(values)
    if array.shape != (records,):
        raise ValueError(f"expected one {noun} per record, found {array.size} for {records} records")
    return array


def check_weights(weights: npt.ArrayLike | None, records: int) -> FloatArray | None:
    """One weight per record as float64.

    Raises:
        ValueError: another number of weights, or one is negative or not finite.
    """
    if weights is None:
        return None
    array = check_each(np.asarray(weights, dtype=np.float64), records, "weight")
    if array.size and not (np.isfinite(array).all() and array.min() >= 0):
        raise ValueError("expected finite weights, none negative")
    return array


class PlacedCells(NamedTuple):
    """Counts of one table, their weighting, and the cells of a sum that they are added to."""

    counts: IntArray
    weighting: Weighting | None
    places: tuple[IntArray, ...]


def sum_cells(parts: Sequence[PlacedCells], shape: tuple[int, ...]) -> tuple[IntArray, Weighting | None]:
    """Sum of the counts and weightings; None where none has one, else unweighted records weigh 1."""
    is_weighted = any(part.weighting is not None for part in parts)
    counts, weights, squares = np.zeros(shape, np.int64), *np.zeros((2, *shape) if is_weighted else (2, 0))
    for part in parts:
        np.add.at(counts, part.places, part.counts)
        if is_weighted:
            weighting = part.weighting or Weighting.of_counts(part.counts)
            np.add.at(weights, part.places, weighting.weights)
            np.add.at(squares, part.places, weighting.squares)
    return counts, Weighting(weights, squares) if is_weighted else None
