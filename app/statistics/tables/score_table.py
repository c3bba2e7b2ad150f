"""Sums over probabilities of the favourable outcome with their labels, whatever the order of records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...base.strict_json import JsonObject
from ...base.values import frozen_arrays
from ..group_labels import (
    NEITHER,
    ComparedGroup,
    FloatArray,
    Groups,
    IntArray,
    as_groups,
    check_codes,
    check_counts,
)
from .score_bins import ScoreBins
from .strata_counts import check_weights

QUANTITIES = ("score", "squared_error", "log_loss")
"""p, (p - y)², and -ln of the probability of the actual outcome."""

SMALLEST = float(np.finfo(np.float64).eps)
"""Distance of probabilities from 0 and 1 in logarithms, as in scikit-learn."""

DECILES = 10

SUMS_GRAIN, SQUARES_GRAIN = 2.0**40, 2.0**30
"""Inverse of the step of each record's part, so that sums are exact in any order."""

LARGEST_LOSS = -float(np.log(SMALLEST))


_SHAPES = {
    "counts": (2,),
    "weights": (2,),
    "squares": (2,),
    "sums": (2, len(QUANTITIES)),
    "sums_of_squares": (2, len(QUANTITIES)),
    "calibration": (DECILES, 3),
}


@frozen_arrays
class ScoreSums:
    """Sums by column and actual outcome (unfavourable, favourable), over records with a score and a known
    outcome.

    `counts`, `weights` and `squares` (of the weights) [C, 2]; `sums` and `sums_of_squares` [C, 2, 3] of the
    weighted quantities and of their squares; `calibration` [C, DECILES, 3]: the weight, the weighted scores,
    the weight of the favourable.
    """

    counts: IntArray
    weights: FloatArray
    squares: FloatArray
    sums: FloatArray
    sums_of_squares: FloatArray
    calibration: FloatArray
    bins: ScoreBins

    @property
    def arrays(self) -> JsonObject:
        return {name: getattr(self, name) for name in _SHAPES}

    @property
    def sizes(self) -> FloatArray:
        """Records of equal weight [C, 2]; NaN without records."""
        return self.weights * self.weights / self.squares

    @property
    def size(self) -> FloatArray:
        """Records of equal weight [C]; NaN without records."""
        size: FloatArray = self.weights.sum(-1) ** 2 / self.squares.sum(-1)
        return size

    @classmethod
    def from_records(
        cls, columns: IntArray, size: int, actual: IntArray, scores: FloatArray, weights: FloatArray | None
    ) -> Self:
        key = columns * 2 + actual
        cells = size * 2

        def summed(quantity: FloatArray | None, of: IntArray = key, beyond: int = cells) -> FloatArray:
            weighed = weights if quantity is None else quantity if weights is None else quantity * weights
            return np.bincount(of, weighed, minlength=beyond).astype(float)

        clipped = np.clip(scores, SMALLEST, 1 - SMALLEST)
        loss = -np.log(np.where(actual == 1, clipped, 1 - clipped))
        quantities = [scores, (scores - actual) ** 2, loss]
        rounded = [_round(quantity, SUMS_GRAIN) for quantity in quantities]
        squared = (_round(quantity * quantity, SQUARES_GRAIN) for quantity in quantities)
        tenth = columns * DECILES + np.minimum((scores * DECILES).astype(int), DECILES - 1)
        by_tenth = (
            summed(quantity, tenth, size * DECILES) for quantity in (None, rounded[0], actual.astype(float))
        )
        return cls(
            np.bincount(key, minlength=cells).reshape(size, 2),
            summed(None).reshape(size, 2),
            summed(weights).reshape(size, 2),
            np.stack([summed(quantity) for quantity in rounded], -1).reshape(size, 2, -1),
            np.stack([summed(quantity) for quantity in squared], -1).reshape(size, 2, -1),
            np.stack(list(by_tenth), -1).reshape(size, DECILES, -1),
            ScoreBins.from_records(key, cells, scores, weights),
        )

    @classmethod
    def empty(cls, size: int) -> Self:
        nothing = np.zeros(0, int)
        return cls.from_records(nothing, size, nothing, np.zeros(0), None)

    @classmethod
    def merged(cls, several: Sequence["ScoreSums"], columns_of: Sequence[IntArray], size: int) -> "ScoreSums":
        """Sum of the parts; `columns_of` hold the new positions of each part's columns."""
        total = cls.empty(size)
        for sums, columns in zip(several, columns_of, strict=True):
            for name, array in total.arrays.items():
                np.add.at(array, columns, sums.arrays[name])
        cells = [(columns[:, None] * 2 + np.arange(2)).ravel() for columns in columns_of]
        return replace(total, bins=ScoreBins.merged([sums.bins for sums in several], cells, size * 2))

    def together(self, sets: Sequence[Sequence[int]]) -> "ScoreSums":
        sums = {
            name: np.stack([array[list(columns)].sum(0) for columns in sets])
            for name, array in self.arrays.items()
        }
        return ScoreSums(bins=self.bins.together(sets), **sums)

    def to_json(self) -> JsonObject:
        """Plain JSON values: only filled bins, and no weights where every record weighs 1."""
        stored = {name: array.tolist() for name, array in self.arrays.items()}
        if np.array_equal(self.weights, self.counts) and np.array_equal(self.squares, self.counts):
            del stored["weights"], stored["squares"]
        return stored | {"ranked": self.bins.to_json()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], size: int) -> Self:
        counts = check_counts(stored["counts"], size, 2)
        complete = {"weights": counts, "squares": counts} | dict(stored)
        sums = {
            name: np.asarray(complete[name], float).reshape(size, *shape) for name, shape in _SHAPES.items()
        }
        return cls(bins=ScoreBins.from_json(stored["ranked"], size * 2), **sums | {"counts": counts})


def measure_losses(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    clipped = np.clip(scores, SMALLEST, 1 - SMALLEST)
    return -np.log(clipped), -np.log1p(-clipped)


def _round(numbers: FloatArray, grain: float) -> FloatArray:
    """Fractions of one over the grain, a power of two."""
    return np.rint(numbers * grain) * (1 / grain)


@frozen_arrays
class ScoreTable:
    """Ungrouped records last. `unscored` [groups + 1]: no score in [0, 1], or a label of neither outcome."""

    groups: Groups
    sums: ScoreSums
    unscored: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "unscored", check_counts(self.unscored, len(self.groups) + 1))
        if len(self.sums.counts) != len(self.groups) + 1:
            raise ValueError(
                f"expected sums of {len(self.groups) + 1} columns, found {len(self.sums.counts)}"
            )

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: ArrayLike,
        actual: ArrayLike,
        scores: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Group (position, or -1), actual outcome (0, 1, 2), and score or NaN."""
        named = as_groups(groups)
        columns = check_codes(codes, NEITHER, len(named)) % (len(named) + 1)
        labels = check_codes(actual, 0, 3)
        probabilities = np.asarray(scores, float)
        if not columns.shape == labels.shape == probabilities.shape:
            raise ValueError(
                f"expected one label and one score per record, found {labels.size} and {probabilities.size} "
                f"for {columns.size} records"
            )
        weighed = check_weights(weights, columns.size)
        is_scored = (labels != 2) & (probabilities >= 0) & (probabilities <= 1)  # noqa: PLR2004 - 2 is neither outcome
        unscored = np.bincount(columns[~is_scored], minlength=len(named) + 1)
        if not is_scored.all():
            columns = columns[is_scored]
            labels = labels[is_scored]
            probabilities = probabilities[is_scored]
            weighed = None if weighed is None else weighed[is_scored]
        return cls(
            named, ScoreSums.from_records(columns, len(named) + 1, labels, probabilities, weighed), unscored
        )

    @classmethod
    def placed(cls, tables: Sequence["ScoreTable"], rows_of: Sequence[IntArray], groups: Groups) -> Self:
        """Sum of the tables; `rows_of` hold the new position of each column, including the ungrouped one."""
        unscored = np.zeros(len(groups) + 1, int)
        for table, rows in zip(tables, rows_of, strict=True):
            np.add.at(unscored, rows, table.unscored)
        return cls(
            groups, ScoreSums.merged([table.sums for table in tables], rows_of, len(groups) + 1), unscored
        )

    def to_json(self) -> JsonObject:
        return {
            "groups": [list(group) for group in self.groups],
            "unscored": self.unscored.tolist(),
            **self.sums.to_json(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            stored["groups"], ScoreSums.from_json(stored, len(stored["groups"]) + 1), stored["unscored"]
        )
