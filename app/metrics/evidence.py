"""A table's data, prepared for the measures: rates in closed form, cells to draw from, strata, and scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .catalogue.metric import Over
from .confusion import PARTS, RATES, CellPart
from .drawing import DrawnCells
from .estimates import Counted, Estimate, Words
from .groups import Groups, IntArray
from .tables.score_table import ScoreTable
from .tables.strata import Strata
from .tables.weighting import Weighting
from .worst import AllLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEvidence:
    """One table, ready to be measured. Parts the table lacks are absent. `unclassified` [groups] counts records that are in no rate."""

    groups: Groups
    estimates: Mapping[str, Estimate]
    cells: Mapping[Over, DrawnCells] = field(default_factory=dict)
    strata: Mapping[Over, Strata] = field(default_factory=dict)
    scores: ScoreTable | None = None
    unclassified: IntArray | None = None
    limits: AllLimits = field(default_factory=dict)
    seed: int = 0
    draws: int = 0


_PartOf: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Sums some of the cells [columns, …] to [columns]."""


class OfOutcomes:
    """Builds estimates and cells from counts [columns, 2] of one outcome a record, with their weighting."""

    def __init__(self, counts: IntArray, weighting: Weighting | None) -> None:
        self.counts, self.weighting = counts, weighting

    def counted(self, words: Words) -> Counted:
        """Returns the share of the favourable records."""
        return _build_counted(words, self.counts, self.weighting, (lambda cells: cells[:, 1], lambda cells: cells.sum(axis=1)))

    def cells(self, *, seed: int, draws: int, tag: int) -> DrawnCells:
        """Returns cells to draw from."""
        known = self.weighting or Weighting.of_counts(self.counts)
        return DrawnCells(self.counts, known.weights, known.squares, seed, draws, tag)


class OfConfusion:
    """Builds every rate of labelled records, and cells, from counts [columns, actual 2, predicted 2] with their weighting."""

    def __init__(self, counts: IntArray, weighting: Weighting | None) -> None:
        self.counts, self.weighting = counts, weighting

    def estimates(self) -> dict[str, Estimate]:
        """Returns every rate by name, and each part of the cells as a share of all records, keyed by the part's name."""
        rates: dict[str, Estimate] = {
            name: self._build_counted(rate.words, PARTS[rate.counted], PARTS[rate.of_part]) for name, rate in RATES.items()
        }
        everything = PARTS["records"]
        shares: dict[str, Estimate] = {
            f"part:{name}": self._build_counted(Words(name, everything.empty), part, everything) for name, part in PARTS.items()
        }
        return rates | shares

    def cells(self, *, seed: int, draws: int) -> dict[Over, DrawnCells]:
        """Returns cells by label and prediction, and by each alone."""
        known = self.weighting or Weighting.of_counts(self.counts)
        labels, predictions = (
            DrawnCells(self.counts.sum(axis=axis), known.weights.sum(axis=axis), known.squares.sum(axis=axis), seed, draws, tag)
            for tag, axis in ((1, -1), (2, -2))
        )
        whole = DrawnCells(self.counts, known.weights, known.squares, seed, draws, 0)
        return {"confusion": whole, "labels": labels, "predictions": predictions}

    def _build_counted(self, words: Words, part: CellPart, of_part: CellPart) -> Counted:
        return _build_counted(words, self.counts, self.weighting, (part.of, of_part.of))


def _build_counted(words: Words, counts: IntArray, weighting: Weighting | None, parts: tuple[_PartOf, _PartOf]) -> Counted:
    """Returns the first part of the cells as a share of the second."""
    part, whole = parts
    if weighting is None:
        return Counted(words, part(counts), whole(counts))
    columns = (part(weighting.weights), whole(weighting.weights), part(weighting.squares), whole(weighting.squares))
    return Counted(words, part(counts), whole(counts), np.stack(columns, axis=-1))
