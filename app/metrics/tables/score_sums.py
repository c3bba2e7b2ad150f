"""Sums over records with a score, from which every figure of scores is made. A record's place and order leave no trace in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from app.metrics.groups import FloatArray, IntArray, checked_counts
from app.metrics.tables.score_bins import ScoreBins

QUANTITIES = ("score", "squared_error", "log_loss")
"""What is summed of each record: p, (p - y)², and -ln of the probability of what happened."""

SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities are kept this far from 0 and 1 in logarithms, as scikit-learn keeps them."""

DECILES = 10
"""Bins of equal width in p, for the calibration error."""

SUMS_GRAIN, SQUARES_GRAIN = 2.0**40, 2.0**30
"""Each record's part is rounded to these fractions, so that the sums of some thousand records are exact in any order."""

LARGEST_LOSS = -float(np.log(SMALLEST))
"""The log loss of a probability of nothing for what happened."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSums:
    """Sums by column and actual outcome (unfavourable, favourable), of records with a score whose outcome is known.

    `counts`, `weights` and `squares` (of the weights) [C, 2]; `sums` and `sums_of_squares` [C, 2, 3] of the weighted quantities and of
    their squares; `calibration` [C, DECILES, 3] by tenths of the score: the weight, the weighted scores, the weight of the favourable;
    `bins` the weights by score, from which ranks are known.
    """

    counts: IntArray
    weights: FloatArray
    squares: FloatArray
    sums: FloatArray
    sums_of_squares: FloatArray
    calibration: FloatArray
    bins: ScoreBins

    @property
    def arrays(self) -> list[Any]:
        """All but the bins; the first axis of each is the columns."""
        return [self.counts, self.weights, self.squares, self.sums, self.sums_of_squares, self.calibration]

    @classmethod
    def from_records(cls, columns: IntArray, size: int, actual: IntArray, scores: FloatArray, weights: FloatArray | None) -> Self:
        """The sums of records by column in `range(size)`; scores in [0, 1], outcomes 0 or 1."""
        key = columns * 2 + actual
        cells = size * 2

        def summed(part: FloatArray | None, of: IntArray = key, beyond: int = cells) -> FloatArray:
            weighed = weights if part is None else part if weights is None else part * weights
            added: FloatArray = np.bincount(of, weighed, minlength=beyond).astype(np.float64)
            return added

        counts = np.bincount(key, minlength=cells)
        quantities = _quantities(actual, scores)
        tenths = columns * DECILES + np.minimum((scores * DECILES).astype(np.int64), DECILES - 1)
        rounded = [_rounded(part, SUMS_GRAIN) for part in quantities]
        squared = (_rounded(part * part, SQUARES_GRAIN) for part in quantities)
        beyond = size * DECILES
        by_tenth = (None, rounded[0], actual.astype(np.float64))
        return cls(
            counts.reshape(size, 2),
            summed(None).reshape(size, 2),
            (summed(None) if weights is None else summed(weights)).reshape(size, 2),
            np.stack([summed(part) for part in rounded], axis=-1).reshape(size, 2, -1),
            np.stack([summed(part) for part in squared], axis=-1).reshape(size, 2, -1),
            np.stack([summed(part, tenths, beyond) for part in by_tenth], axis=-1).reshape(size, DECILES, -1),
            ScoreBins.from_records(key, cells, scores, weights),
        )

    @classmethod
    def empty(cls, size: int) -> Self:
        """The sums of no record."""
        return cls.from_records(*(np.zeros(0, np.int64), size, np.zeros(0, np.int64), np.zeros(0)), None)

    @classmethod
    def merged(cls, parts: Sequence[tuple["ScoreSums", IntArray]], size: int) -> "ScoreSums":
        """The sum of the parts, each with the column in `range(size)` that each of its columns goes to."""
        total = cls.empty(size)
        for part, columns in parts:
            for array, more in zip(total.arrays, part.arrays, strict=True):
                array[columns] += more
        cells = [(part.bins, (columns[:, None] * 2 + np.arange(2)).ravel()) for part, columns in parts]
        return replace(total, bins=ScoreBins.merged(cells, size * 2))

    def together(self, sets: Sequence[Sequence[int]]) -> "ScoreSums":
        """The sums of each set of columns; the sets are the columns of the result."""
        counts, *others = (np.stack([part[list(columns)].sum(axis=0) for columns in sets]) for part in self.arrays)
        weights, squares, sums, sums_of_squares, calibration = others
        return ScoreSums(counts, weights, squares, sums, sums_of_squares, calibration, self.bins.together(sets))

    def to_json(self) -> dict[str, Any]:
        """The sums as plain JSON values: of the bins only what is filled, of the weights nothing where every record weighs 1."""
        weighed = not (np.array_equal(self.weights, self.counts) and np.array_equal(self.squares, self.counts))
        weights = {"weights": self.weights.tolist(), "squares": self.squares.tolist()} if weighed else {}
        return {
            "counts": self.counts.tolist(),
            **weights,
            "sums": self.sums.tolist(),
            "sums_of_squares": self.sums_of_squares.tolist(),
            "calibration": self.calibration.tolist(),
            "ranked": self.bins.to_json(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], size: int) -> Self:
        """The sums `to_json` wrote of so many columns; before, it wrote a `histogram` even in the logit where `ranked` is now.

        Raises:
            ValueError: they do not fit.
        """
        counts = checked_counts(stored["counts"], size, 2)
        weights, squares = (np.asarray(stored.get(name, counts), dtype=np.float64).reshape(size, 2) for name in ("weights", "squares"))
        cells = (size, 2, len(QUANTITIES))
        sums, sums_of_squares = (np.asarray(stored[name], dtype=np.float64).reshape(cells) for name in ("sums", "sums_of_squares"))
        calibration = np.asarray(stored["calibration"], dtype=np.float64).reshape(size, DECILES, 3)
        ranked = stored.get("ranked")
        bins = ScoreBins.from_even(stored["histogram"], size * 2) if ranked is None else ScoreBins.from_json(ranked, size * 2)
        return cls(counts, weights, squares, sums, sums_of_squares, calibration, bins)


def losses_of(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The log loss of each score if the label is favourable, and if it is not."""
    kept = np.clip(scores, SMALLEST, 1 - SMALLEST)
    return -np.log(kept), -np.log1p(-kept)


def _rounded(part: FloatArray, grain: float) -> FloatArray:
    """The numbers, rounded to fractions of one over the grain, a power of two."""
    rounded = part * grain
    np.rint(rounded, out=rounded)
    rounded *= 1 / grain
    return rounded


def _quantities(actual: IntArray, scores: FloatArray) -> list[FloatArray]:
    """Each record's QUANTITIES."""
    kept = np.clip(scores, SMALLEST, 1 - SMALLEST)
    loss = np.where(actual == 1, kept, 1 - kept)
    np.negative(np.log(loss, out=loss), out=loss)
    distance = scores - actual
    distance *= distance
    return [scores, distance, loss]
