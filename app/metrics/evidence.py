"""A table's data, prepared for the measures."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..frozen import frozen
from .catalogue.metric import Over
from .drawing import PRIOR, DrawnCells
from .estimates import Counted, Resampled, Words
from .groups import FloatArray, Groups, IntArray
from .paired import Paired
from .tables import FeedbackCells
from .tables.score_table import ScoreTable
from .tables.strata import Strata
from .tables.weighting import Weighting
from .worst import AllLimits

Estimate: TypeAlias = Counted | Resampled | Paired
"""A rate as the measures use it."""


@frozen(kw_only=True)
class TableEvidence:
    """One table, ready to be measured. `unclassified` [groups] are in no rate; `labels` is the table of figures of labels."""

    groups: Groups
    estimates: Mapping[str, Estimate]
    cells: Mapping[Over, DrawnCells] = field(default_factory=dict)
    strata: Mapping[Over, Strata] = field(default_factory=dict)
    scores: ScoreTable | None = None
    unclassified: IntArray | None = None
    labels: FeedbackCells | None = None
    limits: AllLimits
    seed: int = 0
    draws: int = 0


PartOf: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Sums some of the cells [columns, …] to [columns]."""


def build_counted(words: Words, counts: IntArray, weighting: Weighting | None, part: PartOf, whole: PartOf) -> Counted:
    """First part of the cells [columns, …] as a share of the second."""
    if weighting is None:
        return Counted(words, part(counts), whole(counts))
    columns = (part(weighting.weights), whole(weighting.weights), part(weighting.squares), whole(weighting.squares))
    return Counted(words, part(counts), whole(counts), np.stack(columns, axis=-1))


def build_cells(
    counts: IntArray, weighting: Weighting | None, *, seed: int, draws: int, tag: int, prior: FloatArray | float = PRIOR
) -> DrawnCells:
    """Cells [columns, …] to draw from."""
    known = weighting or Weighting.of_counts(counts)
    return DrawnCells(counts, known.weights, known.squares, seed, draws, tag, prior)
