"""What a table offers to the measures: rates in closed form, cells to draw from, strata, and scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from app.metrics.catalogue.metric import Over
from app.metrics.confusion import PARTS, RATES, Part
from app.metrics.drawing import Cells
from app.metrics.estimates import Counted, Estimate, Words
from app.metrics.groups import FloatArray, Groups, IntArray
from app.metrics.tables.score_table import ScoreTable
from app.metrics.tables.strata import Strata
from app.metrics.tables.weighting import Weighting
from app.metrics.worst import RatioLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One table, ready to be measured. What it does not offer is absent."""

    groups: Groups
    estimates: Mapping[str, Estimate]
    cells: Mapping[Over, Cells] = field(default_factory=dict)
    strata: Mapping[Over, Strata] = field(default_factory=dict)
    scores: ScoreTable | None = None
    limits: RatioLimits = field(default_factory=RatioLimits)
    seed: int = 0
    draws: int = 0


class OfOutcomes:
    """Counts [columns, 2] of one outcome a record, with their weighting: estimates and cells of them."""

    def __init__(self, counts: IntArray, weighting: Weighting | None) -> None:
        self.counts, self.weighting = counts, weighting

    def counted(self, words: Words) -> Counted:
        """The share of the favourable ones."""
        return _counted(words, self.counts[:, 1], self.counts.sum(axis=1), self.weighting, _FAVOURABLE, _BOTH)

    def cells(self, *, seed: int, draws: int, tag: int) -> Cells:
        """Cells to draw from."""
        known = self.weighting or Weighting.of_counts(self.counts)
        return Cells(self.counts, known.weights, known.squares, seed, draws, tag)


_FAVOURABLE, _BOTH = np.array([0.0, 1.0]), np.array([1.0, 1.0])


class OfConfusion:
    """Counts [columns, actual 2, predicted 2] with their weighting: every rate of labelled records, and cells."""

    def __init__(self, counts: IntArray, weighting: Weighting | None) -> None:
        self.counts, self.weighting = counts, weighting

    def estimates(self) -> dict[str, Estimate]:
        """Every rate by its name, and each part of the cells as a share of all records, under the part's own name."""
        rates: dict[str, Estimate] = {
            name: self._counted(rate.words, PARTS[rate.counted], PARTS[rate.of_part]) for name, rate in RATES.items()
        }
        everything = PARTS["records"]
        shares: dict[str, Estimate] = {
            f"part:{name}": self._counted(Words(name, everything.empty), part, everything) for name, part in PARTS.items()
        }
        return rates | shares

    def cells(self, *, seed: int, draws: int) -> dict[Over, Cells]:
        """Cells by label and prediction, and by each alone."""
        known = self.weighting or Weighting.of_counts(self.counts)
        labels, predictions = (
            Cells(self.counts.sum(axis=axis), known.weights.sum(axis=axis), known.squares.sum(axis=axis), seed, draws, tag)
            for tag, axis in ((1, -1), (2, -2))
        )
        whole = Cells(self.counts, known.weights, known.squares, seed, draws, 0)
        return {"confusion": whole, "labels": labels, "predictions": predictions}

    def _counted(self, words: Words, part: Part, of_part: Part) -> Counted:
        counts, totals = (np.asarray(each.of(self.counts), dtype=np.int64) for each in (part, of_part))
        return _counted_cells(words, counts, totals, self.weighting, (part, of_part))


def _counted(words: Words, counts: IntArray, totals: IntArray, weighting: Weighting | None, counted: FloatArray, of: FloatArray) -> Counted:
    if weighting is None:
        return Counted(words, counts, totals)
    columns = (weighting.weights @ counted, weighting.weights @ of, weighting.squares @ of)
    return Counted(words, counts, totals, np.stack(columns, axis=-1))


def _counted_cells(words: Words, counts: IntArray, totals: IntArray, weighting: Weighting | None, parts: tuple[Part, Part]) -> Counted:
    if weighting is None:
        return Counted(words, counts, totals)
    columns = (parts[0].of(weighting.weights), parts[1].of(weighting.weights), parts[1].of(weighting.squares))
    return Counted(words, counts, totals, np.stack(columns, axis=-1))
