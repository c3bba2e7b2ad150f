"""Measures predictions against the ground-truth labels."""

from collections.abc import Collection

import numpy as np

from .confusion import LABELLED
from .estimates import DRAWS, Counted, Words
from .evidence import OfConfusion, TableEvidence
from .measure import measure_all
from .tables import FeedbackCells
from .values import Measured
from .worst import NO_LIMITS, AllLimits

CORRECT = Words(noun="correct", empty=LABELLED)


def measure_feedback(
    table: FeedbackCells,
    *,
    metrics: Collection[str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = NO_LIMITS,
) -> list[Measured]:
    """Measures every metric of labels and predictions, overall and per group; without groups, overall only.

    `metrics` picks by key (None: all that the table supports). Overall includes the ungrouped records, so it is the same for
    every attribute of one window. The worst value of each metric is chosen by its `limits` (those of the catalogue unless given).
    The same `seed` (not negative) gives the same intervals.
    """
    known, strata, scores = OfConfusion(table.confusion, table.confusion_weighting), table.strata, table.scores
    if scores is None and metrics is not None:
        # A table of unscored records gives each metric that is asked for by name its reason.
        scores = table.unscored()

    # A label spelled differently from the outcomes would count as a mistake of the model: labels in neither list are in no rate.
    cells = table.counts[:, :2, :2].sum(axis=(1, 2))
    weighting = None
    if table.weighting is not None:
        weights, squares = (part[:, :2, :2].sum(axis=(1, 2)) for part in (table.weighting.weights, table.weighting.squares))
        weighting = np.stack([weights[:, 1], weights.sum(axis=1), squares[:, 1], squares.sum(axis=1)], axis=-1)
    evidence = TableEvidence(
        groups=table.groups,
        estimates=known.estimates() | {"correct": Counted(CORRECT, cells[:, 1], cells.sum(axis=1), weighting)},
        cells=known.cells(seed=seed, draws=draws),
        strata={} if strata is None else {"labels": strata.over(-1), "predictions": strata.over(-2)},
        scores=scores,
        limits=limits,
        seed=seed,
        draws=draws,
    )
    return measure_all("feedback", evidence, metrics)
