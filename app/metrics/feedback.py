"""Predictions against the ground-truth labels."""

from collections.abc import Collection

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
    """Every metric of labels and predictions, overall and per group; of predictions alone `measure_payload`.

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
    of_labels = weighting and weighting.changed(lambda part: part.sum(axis=-1))
    cells: dict[Over, DrawnCells] = {
        "confusion": build_cells(counts, weighting, seed=seed, draws=draws, tag=0),
        "labels": build_cells(counts.sum(axis=-1), of_labels, seed=seed, draws=draws, tag=1),
    }
    evidence = TableEvidence(
        groups=table.groups,
        estimates=estimates,
        cells=cells,
        strata={} if strata is None else {"labels": strata.of_labels()},
        scores=scores,
        labels=table,
        limits=limits,
        seed=seed,
        draws=draws,
    )
    return measure_all("feedback", evidence, metrics)
