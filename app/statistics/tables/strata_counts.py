"""Weights of records, which all tables of counts share, and counts by stratum, to compare like with like."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ...base.values import frozen_arrays
from ..group_labels import NEITHER, AnyArray, FloatArray, IntArray, check_codes, check_counts

MAX_STRATA = 1000
"""Strata that are compared; of more there are none, with a reason."""

MAX_STRATA_TIMES_GROUPS = 100_000
"""Strata × groups that are compared."""


@frozen_arrays
class Weighting:
    """Sums of the weights w and of w² in cells of any shape.

    The effective size of a set of records is (Σw)²/Σw² (Kish 1965): as many of equal weight are as certain.
    """

    weights: FloatArray
    squares: FloatArray

    def __post_init__(self) -> None:
        for name in ("weights", "squares"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if self.weights.shape != self.squares.shape:
            raise ValueError(f"expected equal shapes, found {self.weights.shape} and {self.squares.shape}")
        if not all(np.isfinite(array).all() and (array >= 0).all() for array in (self.weights, self.squares)):
            raise ValueError("expected finite sums of weights, none negative")

    @classmethod
    def of_counts(cls, counts: IntArray) -> Self:
        """Weighting of records that all weigh 1."""
        weights = counts.astype(float)
        return cls(weights, weights)

    def apply(self, change: Callable[[FloatArray], FloatArray]) -> "Weighting":
        return Weighting(change(self.weights), change(self.squares))

    def to_json(self) -> dict[str, Any]:
        return {"weights": self.weights.tolist(), "squares": self.squares.tolist()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None, *shape: int) -> Self | None:
        if stored is None:
            return None
        # JSON cannot distinguish an empty matrix from an empty list.
        return cls(*(np.asarray(stored[name], float).reshape(shape) for name in ("weights", "squares")))


def count_keys(
    key: IntArray, shape: tuple[int, ...], weights: FloatArray | None, repeats: IntArray | None = None
) -> tuple[IntArray, Weighting | None]:
    """Counts records by key, the position in the flat cells of that shape.

    With `repeats`, each entry is that many equal records without weights. Sums below 2**53 are exact.
    """
    size = int(np.prod(shape))
    counts = np.bincount(key, repeats, minlength=size).astype(int).reshape(shape)
    if weights is None:
        return counts, None
    sums, squares = (
        np.bincount(key, powers, minlength=size).astype(float) for powers in (weights, weights * weights)
    )
    return counts, Weighting(sums.reshape(shape), squares.reshape(shape))


def check_each(values: ArrayLike, records: int, noun: str) -> AnyArray:
    """Array of one value per record. Raises ValueError, with the `noun` of a value, if not so many."""
    array = np.asarray(values)
    if array.shape != (records,):
        raise ValueError(f"expected one {noun} per record, found {array.size} for {records} records")
    return array


def check_weights(weights: ArrayLike | None, records: int) -> FloatArray | None:
    """Array of weights. Raises ValueError: their number differs, or one is negative or not finite."""
    if weights is None:
        return None
    array = check_each(np.asarray(weights, float), records, "weight")
    if array.size and not (np.isfinite(array).all() and array.min() >= 0):
        raise ValueError("expected finite weights, none negative")
    return array


class PlacedCells(NamedTuple):
    """Cells of one table, and their positions on the axes of the sum."""

    counts: IntArray
    weighting: Weighting | None
    places: tuple[IntArray, ...]


def sum_cells(placed: Sequence[PlacedCells], shape: tuple[int, ...]) -> tuple[IntArray, Weighting | None]:
    """Sums cells into a table; its weighting is None if none has one, else unweighted records weigh 1."""
    is_weighted = any(cells.weighting for cells in placed)
    counts, weights, squares = np.zeros(shape, int), *np.zeros((2, *shape) if is_weighted else (2, 0))
    for cells in placed:
        np.add.at(counts, cells.places, cells.counts)
        if is_weighted:
            weighting = cells.weighting or Weighting.of_counts(cells.counts)
            np.add.at(weights, cells.places, weighting.weights)
            np.add.at(squares, cells.places, weighting.squares)
    return counts, Weighting(weights, squares) if is_weighted else None


class RecordStrata(NamedTuple):
    """Labels of the strata, and the position of each record's among them, or -1."""

    labels: Sequence[str]
    codes: ArrayLike


@frozen_arrays
class Strata:
    """Counts [S strata, groups, 2] by outcome, or [S, groups, 2, 2] by actual and predicted outcome, and
    their weighting.

    Ungrouped, unclassified and stratumless records are in no cell. Too many strata are none, and `reason`
    says so.
    """

    labels: tuple[str, ...]
    counts: IntArray
    weighting: Weighting | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("expected each stratum once")
        if len(self.labels) > MAX_STRATA:
            raise ValueError(f"expected at most {MAX_STRATA} strata, found {len(self.labels)}")
        shape = np.shape(self.counts)
        if len(shape) < 3 or shape[0] != len(self.labels):  # noqa: PLR2004 - strata, groups and one outcome at least
            raise ValueError(f"expected counts of {len(self.labels)} strata, found the shape {shape}")
        object.__setattr__(self, "counts", check_counts(self.counts, *shape))
        if self.weighting and self.weighting.weights.shape != shape:
            raise ValueError(
                f"expected a weighting of the shape {shape}, found {self.weighting.weights.shape}"
            )

    @classmethod
    def none(cls, reason: str, *shape: int) -> Self:
        """No strata, for cells of that shape (groups and outcomes), with the reason."""
        return cls((), np.zeros((0, *shape), int), None, reason)

    @classmethod
    def from_records(
        cls,
        labels: Sequence[str],
        codes: ArrayLike,
        group_codes: IntArray,
        outcomes: Sequence[IntArray],
        *,
        groups: int,
        weights: FloatArray | None,
        repeats: IntArray | None = None,
    ) -> Self:
        """Counts records by stratum (position in `labels`, or -1), group and outcomes (0, 1, 2).

        With `repeats`, each entry is that many equal records without weights.
        """
        strata = check_codes(codes, NEITHER, len(labels))
        shape = (groups, *(2 for _ in outcomes))
        too_many = _explain_too_many(len(labels), groups)
        if too_many:
            return cls.none(too_many, *shape)
        is_counted = (strata != NEITHER) & (group_codes != NEITHER)
        key = strata * groups + group_codes
        for outcome in outcomes:
            is_counted &= outcome < 2  # noqa: PLR2004 - the two outcomes; 2 is unclassified
            key = key * 2 + outcome
        counted_weights, counted_repeats = (
            None if array is None else array[is_counted] for array in (weights, repeats)
        )
        return cls(
            tuple(labels),
            *count_keys(key[is_counted], (len(labels), *shape), counted_weights, counted_repeats),
        )

    @property
    def full_weighting(self) -> Weighting:
        """Weighting, by which every record weighs 1 if there is none."""
        return self.weighting or Weighting.of_counts(self.counts)

    def sum_labels(self) -> "Strata":
        """Strata by label alone, of those by label and prediction."""
        weighting = self.weighting and self.weighting.apply(lambda cells: cells.sum(-1))
        return Strata(self.labels, self.counts.sum(-1), weighting, self.reason)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: only the cells that hold records, by their place in the flat table."""
        positions = np.flatnonzero(self.counts)
        stored = {
            "labels": list(self.labels),
            "places": positions.tolist(),
            "counts": self.counts.ravel()[positions].tolist(),
        }
        if self.weighting:
            stored |= {
                name: getattr(self.weighting, name).ravel()[positions].tolist()
                for name in ("weights", "squares")
            }
        return stored | ({"reason": self.reason} if self.reason else {})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None, *cell_shape: int) -> Self | None:
        if stored is None:
            return None
        labels = tuple(stored["labels"])
        shape = (len(labels), *cell_shape)
        positions = check_codes(np.asarray(stored["places"], int), 0, int(np.prod(shape)))

        def fill(name: str, kind: type[np.generic]) -> AnyArray:
            cells = np.zeros(int(np.prod(shape)), kind)
            cells[positions] = stored[name]
            return cells.reshape(shape)

        weighting = (
            Weighting(fill("weights", np.float64), fill("squares", np.float64))
            if "weights" in stored
            else None
        )
        return cls(labels, fill("counts", np.int64), weighting, stored.get("reason", ""))


def merge_strata(
    strata_of_tables: Sequence[Strata | None], rows_of: Sequence[IntArray], groups: int
) -> Strata | None:
    """Merges the strata of tables by their labels; None if no table has any.

    `rows_of` hold the new position of each group of a table, and one more number. Tables without strata count
    as records without a stratum.
    """
    present = [(strata, rows[:-1]) for strata, rows in zip(strata_of_tables, rows_of, strict=True) if strata]
    if not present:
        return None
    labels = tuple(dict.fromkeys(label for strata, _ in present for label in strata.labels))
    outcomes = present[0][0].counts.shape[2:]
    reasons = [*(strata.reason for strata, _ in present), _explain_too_many(len(labels), groups)]
    reason = next(filter(None, reasons), "")
    if reason:
        return Strata.none(reason, groups, *outcomes)
    position_of = {label: position for position, label in enumerate(labels)}
    cells = [
        PlacedCells(
            strata.counts,
            strata.weighting,
            np.ix_(np.array([position_of[label] for label in strata.labels], int), rows),
        )
        for strata, rows in present
    ]
    counts, weighting = sum_cells(cells, (len(labels), groups, *outcomes))
    return Strata(labels, counts, weighting)


def _explain_too_many(strata: int, groups: int) -> str:
    if strata > MAX_STRATA:
        return f"the records lie in {strata:,} different strata, where at most {MAX_STRATA:,} are compared"
    if strata * groups > MAX_STRATA_TIMES_GROUPS:
        return (
            f"{strata:,} strata of {groups:,} groups are too many: "
            f"at most {MAX_STRATA_TIMES_GROUPS:,} of strata times groups are compared"
        )
    return ""
