"""Predictions against the ground-truth labels."""

from collections.abc import Collection
from functools import partial

import numpy as np

from .catalogue.metric import Over
from .confusion import LABELLED, PARTS, RATES
from .drawing import DrawnCells
from .estimates import DRAWS, Words
from .evidence import Estimate, TableEvidence, build_cells, build_counted
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
    """Every metric of labels and predictions, overall and per group.

    Arguments are as in `measure_payload`. Overall includes ungrouped records: it is the same for every attribute.
    """
    counts, weighting, strata, scores = table.confusion, table.confusion_weighting, table.strata, table.scores
    if scores is None and metrics is not None:
        scores = table.unscored()

    everything = PARTS["records"]
    estimates: dict[str, Estimate] = {
        name: build_counted(rate.words, counts, weighting, PARTS[rate.counted].of, PARTS[rate.of_part].of) for name, rate in RATES.items()
    }
    for name, part in PARTS.items():
        estimates[f"part:{name}"] = build_counted(Words(name, everything.empty), counts, weighting, part.of, everything.of)
    # Labels in neither list are in no rate: one spelled differently would count as a mistake.
    estimates["correct"] = build_counted(
        CORRECT,
        table.cells,
        table.weighting,
        lambda cells: cells[:, :2, :2].sum(axis=(1, 2))[:, 1],
        lambda cells: cells[:, :2, :2].sum(axis=(1, 2)).sum(axis=1),
    )
    cells: dict[Over, DrawnCells] = {"confusion": build_cells(counts, weighting, seed=seed, draws=draws, tag=0)}
    sides: tuple[tuple[Over, int], ...] = (("labels", -1), ("predictions", -2))
    for tag, (over, axis) in enumerate(sides, start=1):
        of_side = weighting and weighting.changed(partial(np.sum, axis=axis))
        cells[over] = build_cells(counts.sum(axis=axis), of_side, seed=seed, draws=draws, tag=tag)
    evidence = TableEvidence(
        groups=table.groups,
        estimates=estimates,
        cells=cells,
        strata={} if strata is None else {over: strata.over(axis) for over, axis in sides},
        scores=scores,
        limits=limits,
        seed=seed,
        draws=draws,
    )
    return measure_all("feedback", evidence, metrics)
