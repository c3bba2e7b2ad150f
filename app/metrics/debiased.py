"""Outcomes before and after mitigation.

Both figures are of the same records, so a change is drawn from those that changed and those that did not.
"""

from collections.abc import Collection
from functools import partial

import numpy as np

from .balanced import balanced_rate
from .drawing import PRIOR
from .estimates import DRAWS, Counted, Words
from .evidence import Estimate, TableEvidence, build_cells
from .feedback import CORRECT
from .groups import of_role
from .measure import measure_all
from .payload import FAVOURABLE
from .perturbed import UNSEEN
from .tables import DebiasedCells, DebiasedFeedback
from .values import Measured
from .worst import NO_LIMITS, AllLimits

PAIRED = np.array([[PRIOR, UNSEEN], [UNSEEN, PRIOR]])
"""Pseudo-records by outcome before and after: without a change, the rule of three.

The difference of two numbers drawn with one such record each is within three of zero in 95 of 100 draws.
"""

UNCHANGED = np.diag([PRIOR, PRIOR])
"""Pseudo-records that mitigation leaves alone."""


def measure_debiased(
    table: DebiasedCells,
    *,
    seed: int,
    metrics: Collection[str] | None = None,
    limits: AllLimits = NO_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Selection rates and disparate impact before and after, on payload and balanced data, and the changes.

    Keys and limits are as in `measure_payload`. The same table and `seed` (not negative) give the same intervals; those before mitigation
    equal those of payload and balanced data.
    """
    outcomes, reference = table.outcomes, list(of_role(table.groups, "reference"))
    total, lifted, lowered, kept = outcomes.sum(axis=(1, 2)), outcomes[:, 0, 1], outcomes[:, 1, 0], outcomes[:, 1, 1]
    estimates: dict[str, Estimate] = {
        "favourable_before": Counted(FAVOURABLE, lowered + kept, total),
        "favourable_after": Counted(FAVOURABLE, lifted + kept, total),
        "balanced_before": balanced_rate(table.balanced_before),
        "balanced_after": balanced_rate(table.balanced_after),
    }
    for name, count in (("changed", lifted + lowered), ("lifted", lifted), ("lowered", lowered)):
        estimates[name] = Counted(Words(name, FAVOURABLE.empty), count, total)

    prior = np.tile(PAIRED, (len(table.groups), 1, 1))
    if not outcomes[reference][:, [0, 1], [1, 0]].any():
        prior[reference] = UNCHANGED
    evidence = TableEvidence(
        groups=table.groups,
        estimates=estimates,
        cells={"changes": build_cells(outcomes, None, seed=seed, draws=draws, tag=3, prior=prior)},
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
    """Accuracy and balanced accuracy before and after, overall and per group.

    `metrics` picks by key (None: all). The same table and `seed` (not negative) give the same intervals.
    """
    corrections, labels = table.corrections, table.label_changes
    total, build = corrections.sum(axis=(1, 2)), partial(build_cells, weighting=None, seed=seed, draws=draws)
    evidence = TableEvidence(
        groups=table.groups,
        estimates={
            "correct_before": Counted(CORRECT, corrections[:, 1].sum(axis=-1), total),
            "correct_after": Counted(CORRECT, corrections[..., 1].sum(axis=-1), total),
        },
        cells={
            "confusion": build(labels.sum(axis=3), tag=0),
            "confusion_after": build(labels.sum(axis=2), tag=4),
            "corrections": build(corrections, tag=5, prior=np.broadcast_to(PAIRED, corrections.shape)),
            "label_changes": build(labels, tag=6, prior=np.broadcast_to(PAIRED, labels.shape)),
        },
        limits=limits,
        seed=seed,
        draws=draws,
    )
    return measure_all("debiased_feedback", evidence, metrics)
