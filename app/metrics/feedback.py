"""Measures predictions against the labels that came back."""

from collections.abc import Collection

import numpy as np

from app.metrics.confusion import LABELLED
from app.metrics.estimates import DRAWS, Counted, Words
from app.metrics.evidence import Evidence, OfConfusion
from app.metrics.measure import measure_all
from app.metrics.tables import FeedbackCells
from app.metrics.tables.score_table import ScoreTable
from app.metrics.values import Measured
from app.metrics.worst import NO_LIMITS, AllLimits

CORRECT = Words(noun="correct", empty=LABELLED)


def measure_feedback(
    table: FeedbackCells,
    *,
    metrics: Collection[str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = NO_LIMITS,
) -> list[Measured]:
    """Every metric of labels and predictions, overall and per group; of a table without groups, overall only.

    `metrics` picks by key (None: all the table can answer). Overall counts the records of no group too, so it is the same for
    every attribute of one window. By the `limits` of each
    metric (those of the catalogue unless given) its worst value is chosen. The same `seed`
    (not negative) gives the same intervals.
    """
    known = OfConfusion(table.confusion, table.confusion_weighting)
    strata = table.strata
    evidence = Evidence(
        groups=table.groups,
        estimates=known.estimates() | {"correct": _correct(table)},
        cells=known.cells(seed=seed, draws=draws),
        strata={} if strata is None else {"labels": strata.over(-1), "predictions": strata.over(-2)},
        scores=_scores(table, metrics),
        limits=limits,
        seed=seed,
        draws=draws,
    )
    return measure_all("feedback", evidence, metrics)


def _scores(table: FeedbackCells, metrics: Collection[str] | None) -> ScoreTable | None:
    """The scores; where there are none and metrics are asked for by name, those of records that have none, which give each its reason."""
    if table.scores is not None or metrics is None:
        return table.scores
    return ScoreTable.unknown(table.groups, table.counts.sum(axis=(1, 2, 3)))


def _correct(table: FeedbackCells) -> Counted:
    # A label spelt otherwise than the outcomes would count as a mistake of the model: what is in neither list is in no rate.
    cells = table.counts[:, :2, :2].sum(axis=(1, 2))
    if table.weighting is None:
        return Counted(CORRECT, cells[:, 1], cells.sum(axis=1))
    weights, squares = (part[:, :2, :2].sum(axis=(1, 2)) for part in (table.weighting.weights, table.weighting.squares))
    weighting = np.stack([weights[:, 1], weights.sum(axis=1), squares.sum(axis=1)], axis=-1)
    return Counted(CORRECT, cells[:, 1], cells.sum(axis=1), weighting)
