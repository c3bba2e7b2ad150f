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
    build_groups,
    check_codes,
    check_counts,
)
from .score_bins import ScoreBins
from .strata_counts import check_weights

QUANTITIES = ("score", "squared_error", "log_loss")
"""p, (p - y)², and -ln of the probability of the actual outcome."""

MIN_PROBABILITY = float(np.finfo(np.float64).eps)
"""Distance of probabilities from 0 and 1 in logarithms, as in scikit-learn."""

DECILES = 10
"""Bins of equal width for the calibration."""

SUMS_GRAIN, SQUARES_GRAIN = 2.0**40, 2.0**30
"""Inverse of the step of each record's part, so that sums are exact in any order."""

LARGEST_LOSS = -float(np.log(MIN_PROBABILITY))

_SHAPES = {
    "unscored": (),
    "counts": (2,),
    "weights": (2,),
    "squares": (2,),
    "sums": (2, len(QUANTITIES)),
    "sums_of_squares": (2, len(QUANTITIES)),
    "calibration": (DECILES, 3),
}
"""Shape of each array after the columns."""


@frozen_arrays
class ScoreTable:
    """Sums by column (the groups and, last, no group) and actual outcome (unfavourable, favourable).

    `unscored` [C]: no score in [0, 1], or a label of neither outcome. All others count the further records:
    `counts`, `weights` and `squares` (of the weights) [C, 2]; `sums` and `sums_of_squares` [C, 2, 3] of the
    weighted quantities and of their squares; `calibration` [C, DECILES, 3]: the weight, the weighted scores,
    the weight of the favourable.
    """

    groups: Groups
    unscored: IntArray
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
        cls,
        groups: Iterable[ComparedGroup],
        codes: ArrayLike,
        actual: ArrayLike,
        scores: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Sums records: of each its group (position, or -1), actual outcome (0, 1, 2), and score or NaN."""
        listed = build_groups(groups)
        size = len(listed) + 1
        columns = check_codes(codes, NEITHER, len(listed)) % size
        labels = check_codes(actual, 0, 3)
        values = np.asarray(scores, float)
        if not columns.shape == labels.shape == values.shape:
            raise ValueError(
                f"expected one label and one score per record, found {labels.size} and {values.size} "
                f"for {columns.size} records"
            )
        given = check_weights(weights, columns.size)
        is_scored = (labels != 2) & (values >= 0) & (values <= 1)  # noqa: PLR2004 - 2 is neither outcome
        unscored = np.bincount(columns[~is_scored], minlength=size)
        columns = columns[is_scored]
        labels = labels[is_scored]
        values = values[is_scored]
        ones = np.ones(columns.size)
        record_weights = ones if given is None else given[is_scored]
        key = columns * 2 + labels
        cells = 2 * size

        def sum_each(quantities: Iterable[FloatArray], keys: IntArray, beyond: int) -> FloatArray:
            sums = [np.bincount(keys, quantity * record_weights, beyond) for quantity in quantities]
            return np.stack(sums, -1).astype(float).reshape(size, beyond // size, -1)

        clipped = np.clip(values, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        loss = -np.log(np.where(labels == 1, clipped, 1 - clipped))
        quantities = [values, (values - labels) ** 2, loss]
        rounded = [_round(quantity, SUMS_GRAIN) for quantity in quantities]
        squared = (_round(quantity * quantity, SQUARES_GRAIN) for quantity in quantities)
        decile_keys = columns * DECILES + np.minimum((values * DECILES).astype(int), DECILES - 1)
        weight_sums = sum_each((ones, record_weights), key, cells)
        return cls(
            listed,
            unscored,
            np.bincount(key, minlength=cells).reshape(size, 2),
            weight_sums[..., 0],
            weight_sums[..., 1],
            sum_each(rounded, key, cells),
            sum_each(squared, key, cells),
            sum_each((ones, rounded[0], labels.astype(float)), decile_keys, size * DECILES),
            ScoreBins.from_records(key, cells, values, record_weights),
        )

    @classmethod
    def empty(cls, groups: Iterable[ComparedGroup]) -> Self:
        return cls.from_records(groups, [], [], [])

    @classmethod
    def place(
        cls, tables: Sequence["ScoreTable"], rows_of: Sequence[IntArray], groups: Groups
    ) -> "ScoreTable":
        """Sum of the tables; `rows_of` hold the new position of each column, including the ungrouped one."""
        total = cls.empty(groups)
        for table, rows in zip(tables, rows_of, strict=True):
            for name, array in total.arrays.items():
                np.add.at(array, rows, table.arrays[name])
        cells = [(rows[:, None] * 2 + np.arange(2)).ravel() for rows in rows_of]
        bins = ScoreBins.merge([table.bins for table in tables], cells, 2 * len(total.counts))
        return replace(total, bins=bins)

    def join_columns(self, sets: Sequence[Sequence[int]]) -> "ScoreTable":
        """Table with a column for each of these sets of columns, instead of the groups."""
        sums = {
            name: np.stack([array[list(columns)].sum(0) for columns in sets])
            for name, array in self.arrays.items()
        }
        return ScoreTable((), bins=self.bins.join_columns(sets), **sums)

    def to_json(self) -> JsonObject:
        """Plain JSON values: only filled bins, and no weights where every record weighs 1."""
        stored = {name: array.tolist() for name, array in self.arrays.items()}
        if np.array_equal(self.weights, self.counts) and np.array_equal(self.squares, self.counts):
            del stored["weights"], stored["squares"]
        return {"groups": [list(group) for group in self.groups], **stored, "ranked": self.bins.to_json()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        groups = build_groups(stored["groups"])
        size = len(groups) + 1
        counts = check_counts(stored["counts"], size, 2)
        complete = {"weights": counts, "squares": counts} | dict(stored)
        arrays = {
            name: np.asarray(complete[name], float).reshape(size, *shape) for name, shape in _SHAPES.items()
        }
        arrays |= {"counts": counts, "unscored": check_counts(stored["unscored"], size)}
        return cls(groups, bins=ScoreBins.from_json(stored["ranked"], size * 2), **arrays)


def measure_losses(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log losses of these probabilities with a favourable label, and with an unfavourable one."""
    clipped = np.clip(scores, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return -np.log(clipped), -np.log1p(-clipped)


def _round(numbers: FloatArray, grain: float) -> FloatArray:
    """Rounds to multiples of one over the grain, a power of two."""
    return np.rint(numbers * grain) * (1 / grain)
