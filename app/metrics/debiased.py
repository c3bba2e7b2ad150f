"""Measures outcomes before and after mitigation, of the same records: of payload and balanced data, and against labels.

A figure before and the same one after it are of the same records, so a change is drawn from the records that changed and those
that did not, and not from two figures as if they had nothing to do with each other.
"""

from collections.abc import Collection

import numpy as np

from app.metrics.balanced import balanced_rate
from app.metrics.drawing import PRIOR, Cells
from app.metrics.estimates import DRAWS, Counted, Estimate, Words
from app.metrics.evidence import Evidence
from app.metrics.feedback import CORRECT
from app.metrics.groups import FloatArray, IntArray, of_role
from app.metrics.measure import measure_all
from app.metrics.payload import FAVOURABLE
from app.metrics.perturbed import UNSEEN
from app.metrics.tables import DebiasedCells, DebiasedFeedback
from app.metrics.values import Measured
from app.metrics.worst import NO_LIMITS, AllLimits

PAIRED = np.array([[PRIOR, UNSEEN], [UNSEEN, PRIOR]])
"""Pseudo-records by outcome before and after. Where none changed, a change is within three records: the rule of three.

The difference of two numbers drawn with one such record each is within three of zero in 95 of 100 draws.
"""

UNCHANGED = np.diag([PRIOR, PRIOR])
"""The same of records that mitigation leaves alone."""


def measure_debiased(
    table: DebiasedCells,
    *,
    seed: int,
    metrics: Collection[str] | None = None,
    limits: AllLimits = NO_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Selection rates and disparate impact before and after mitigation, on payload and balanced data, and what it changed.

    `metrics` picks by key (None: all). By the `limits` of each metric (those of the catalogue unless given) its worst value is
    chosen. The same table and `seed` (not negative) give the same intervals; those before are those of payload and balanced data.
    """
    evidence = Evidence(
        groups=table.groups,
        estimates=_estimates(table)
        | {
            "balanced_before": balanced_rate(table.balanced_before),
            "balanced_after": balanced_rate(table.balanced_after),
        },
        cells={"changes": _cells(table.outcomes, _prior_of_outcomes(table), (seed, draws), tag=3)},
        limits=limits,
        seed=seed,
        draws=draws,
    )
    return measure_all("debiased", evidence, metrics)


def measure_debiased_feedback(
    table: DebiasedFeedback,
    *,
    seed: int,
    metrics: Collection[str] | None = None,
    limits: AllLimits = NO_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Accuracy and balanced accuracy before and after mitigation, overall and per group; of a table without groups, overall only.

    `metrics` picks by key (None: all). The same table and `seed` (not negative) give the same intervals.
    """
    corrections, labels = table.corrections, table.label_changes
    total, drawing = corrections.sum(axis=(1, 2)), (seed, draws)
    evidence = Evidence(
        groups=table.groups,
        estimates={
            "correct_before": Counted(CORRECT, corrections[:, 1].sum(axis=-1), total),
            "correct_after": Counted(CORRECT, corrections[..., 1].sum(axis=-1), total),
        },
        cells={
            "confusion": _cells(labels.sum(axis=3), PRIOR, drawing, tag=0),
            "confusion_after": _cells(labels.sum(axis=2), PRIOR, drawing, tag=4),
            "corrections": _cells(corrections, np.broadcast_to(PAIRED, corrections.shape), drawing, tag=5),
            "label_changes": _cells(labels, np.broadcast_to(PAIRED, labels.shape), drawing, tag=6),
        },
        limits=limits,
        seed=seed,
        draws=draws,
    )
    return measure_all("debiased_feedback", evidence, metrics)


def _estimates(table: DebiasedCells) -> dict[str, Estimate]:
    """The rates of which every record counts once."""
    outcomes = table.outcomes
    total, lifted, lowered, kept = outcomes.sum(axis=(1, 2)), outcomes[:, 0, 1], outcomes[:, 1, 0], outcomes[:, 1, 1]
    return {
        "favourable_before": Counted(FAVOURABLE, lowered + kept, total),
        "favourable_after": Counted(FAVOURABLE, lifted + kept, total),
        **{
            name: Counted(Words(name, FAVOURABLE.empty), count, total)
            for name, count in (("changed", lifted + lowered), ("lifted", lifted), ("lowered", lowered))
        },
    }


def _prior_of_outcomes(table: DebiasedCells) -> FloatArray:
    """Pseudo-records [groups, 2, 2]: reference records keep their outcome, unless they were monitored when it was counted."""
    outcomes, reference = table.outcomes, list(of_role(table.groups, "reference"))
    prior = np.tile(PAIRED, (len(table.groups), 1, 1))
    if not outcomes[reference][:, [0, 1], [1, 0]].any():
        prior[reference] = UNCHANGED
    return prior


def _cells(counts: IntArray, prior: FloatArray | float, drawing: tuple[int, int], *, tag: int) -> Cells:
    weights: FloatArray = counts.astype(np.float64)
    return Cells(counts, weights, weights, *drawing, tag, prior)
