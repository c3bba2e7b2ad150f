"""Sums over records with a score, from which every figure of scores is made. A record's place and order leave no trace in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from app.metrics.groups import FloatArray, IntArray, checked_counts

QUANTITIES = ("score", "squared_error", "log_loss")
"""What is summed of each record: p, (p - y)², and -ln of the probability of what happened."""

SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities are kept this far from 0 and 1 in logarithms, as scikit-learn keeps them."""

PER_LOGIT, REACH = 50, 16
"""Bins of the histogram to a unit of ln(p / (1 - p)), up to this far from p = ½; beyond it one bin at each end takes the rest."""

BINS = 2 * REACH * PER_LOGIT + 2
DECILES = 10
"""Bins of equal width in p, for the calibration error."""

SUMS_GRAIN, SQUARES_GRAIN = 2.0**40, 2.0**30
"""Each record's part is rounded to these fractions, so that the sums of some thousand records are exact in any order."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSums:
    """Sums by column and actual outcome (unfavourable, favourable), of records with a score whose outcome is known.

    `counts`, `weights` and `squares` (of the weights) [C, 2]; `sums` and `sums_of_squares` [C, 2, 3] of the weighted quantities and of
    their squares; `histogram` [C, 2, BINS] of weights by score, even in its logit; `calibration` [C, DECILES, 3] by tenths of the
    score: the weight, the weighted scores, the weight of the favourable.
    """

    counts: IntArray
    weights: FloatArray
    squares: FloatArray
    sums: FloatArray
    sums_of_squares: FloatArray
    histogram: FloatArray
    calibration: FloatArray

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
        quantities, logits = _quantities(actual, scores)
        tenths = columns * DECILES + np.minimum((scores * DECILES).astype(np.int64), DECILES - 1)
        bins = np.clip(logits * PER_LOGIT + (BINS // 2), 0, BINS - 1).astype(np.int64)
        rounded = [np.rint(part * SUMS_GRAIN) / SUMS_GRAIN for part in quantities]
        squared = (np.rint(part * part * SQUARES_GRAIN) / SQUARES_GRAIN for part in quantities)
        beyond = size * DECILES
        by_tenth = (None, rounded[0], actual.astype(np.float64))
        return cls(
            counts.reshape(size, 2),
            summed(None).reshape(size, 2),
            (summed(None) if weights is None else summed(weights)).reshape(size, 2),
            np.stack([summed(part) for part in rounded], axis=-1).reshape(size, 2, -1),
            np.stack([summed(part) for part in squared], axis=-1).reshape(size, 2, -1),
            summed(None, key * BINS + bins, cells * BINS).reshape(size, 2, BINS),
            np.stack([summed(part, tenths, beyond) for part in by_tenth], axis=-1).reshape(size, DECILES, -1),
        )

    @classmethod
    def empty(cls, size: int) -> Self:
        """The sums of no record."""
        return cls.from_records(*(np.zeros(0, np.int64), size, np.zeros(0, np.int64), np.zeros(0)), None)

    def together(self, sets: Sequence[Sequence[int]]) -> "ScoreSums":
        """The sums of each set of columns; the sets are the columns of the result."""
        return ScoreSums(*(np.stack([part[list(columns)].sum(axis=0) for columns in sets]) for part in _parts(self)))

    def added(self, other: "ScoreSums", columns: IntArray) -> None:
        """Adds the other's columns to those columns of this one, in place."""
        for part, more in zip(_parts(self), _parts(other), strict=True):
            part[columns] += more

    def to_json(self) -> dict[str, Any]:
        """The sums as plain JSON values: of the histogram only what is filled, of the weights nothing where every record weighs 1."""
        filled = np.flatnonzero(self.histogram)
        weighed = not (np.array_equal(self.weights, self.counts) and np.array_equal(self.squares, self.counts))
        weights = {"weights": self.weights.tolist(), "squares": self.squares.tolist()} if weighed else {}
        return {
            "counts": self.counts.tolist(),
            **weights,
            "sums": self.sums.tolist(),
            "sums_of_squares": self.sums_of_squares.tolist(),
            "histogram": {"bins": filled.tolist(), "weights": self.histogram.ravel()[filled].tolist()},
            "calibration": self.calibration.tolist(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], size: int) -> Self:
        """The sums `to_json` wrote of so many columns.

        Raises:
            ValueError: they do not fit.
        """
        counts = checked_counts(stored["counts"], size, 2)
        histogram = np.zeros(size * 2 * BINS)
        bins = np.asarray(stored["histogram"]["bins"], dtype=np.int64)
        if bins.size and not (bins.min() >= 0 and bins.max() < histogram.size):
            raise ValueError(f"expected bins from 0 to {histogram.size - 1}, found {bins.min()} to {bins.max()}")
        histogram[bins] = stored["histogram"]["weights"]
        weights, squares = (np.asarray(stored.get(name, counts), dtype=np.float64).reshape(size, 2) for name in ("weights", "squares"))
        cells = (size, 2, len(QUANTITIES))
        sums, sums_of_squares = (np.asarray(stored[name], dtype=np.float64).reshape(cells) for name in ("sums", "sums_of_squares"))
        calibration = np.asarray(stored["calibration"], dtype=np.float64).reshape(size, DECILES, 3)
        return cls(counts, weights, squares, sums, sums_of_squares, histogram.reshape(size, 2, BINS), calibration)


def scores_of_bins() -> FloatArray:
    """The score in the middle of each bin of the histogram."""
    middles: FloatArray = 1 / (1 + np.exp(-(np.arange(BINS) + 0.5 - BINS // 2) / PER_LOGIT))
    return middles


def _quantities(actual: IntArray, scores: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Each record's QUANTITIES, and the logit of its score."""
    kept = np.clip(scores, SMALLEST, 1 - SMALLEST)
    favourable, unfavourable = np.log(kept), np.log1p(-kept)
    loss = -np.where(actual == 1, favourable, unfavourable)
    return [scores, (scores - actual) ** 2, loss], favourable - unfavourable


def _parts(sums: ScoreSums) -> list[Any]:
    return [getattr(sums, field.name) for field in fields(sums)]
