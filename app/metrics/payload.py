"""Measures one outcome per record: a logged prediction, or the label of training data."""

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from .catalogue import CATALOGUE
from .catalogue.metric import Over
from .estimates import DRAWS, Words
from .evidence import TableEvidence, build_cells, build_counted
from .measure import measure_all
from .tables import GroupCounts
from .values import Measured
from .worst import NO_LIMITS, AllLimits

FAVOURABLE = Words(
    noun="favourable",
    empty="no record{of} was classified",
    zero_reference="the reference rate is zero: none of {n} reference records was favourable",
)
LABELLED = Words(noun="actual_favourable", empty="no record{of} has a label among the outcomes")


class _Counted(NamedTuple):
    over: Over
    rate: str
    words: Words


_PREDICTIONS = _Counted("predictions", "favourable", FAVOURABLE)
_LABELS = _Counted("labels", "base", LABELLED)


def measure_payload(
    table: GroupCounts,
    *,
    metrics: Collection[str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = NO_LIMITS,
    scopes: frozenset[str] | None = None,
) -> list[Measured]:
    """Favourable rates of an attribute's or intersection's groups, and their comparisons.

    `metrics` picks by key (None: all that the table supports). The worst value is chosen by `limits` (default: the catalogue's). The same
    `seed` (not negative) gives the same intervals. `scopes` are those that the caller reads (None: all).
    """
    evidence = _build_evidence(table, _PREDICTIONS, limits, seed=seed, draws=draws)
    is_asked = metrics is not None and any("scores" in CATALOGUE[key].needs for key in metrics)
    scores = table.unscored() if table.scores is None and is_asked else table.scores
    return measure_all("payload", replace(evidence, scores=scores), metrics, scopes)


def measure_training(
    table: GroupCounts,
    *,
    metrics: Collection[str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = NO_LIMITS,
) -> list[Measured]:
    """Compares the labels of groups before any model; `table` counts labels."""
    return measure_all("training", _build_evidence(table, _LABELS, limits, seed=seed, draws=draws), metrics)


def _build_evidence(table: GroupCounts, counted: _Counted, limits: AllLimits, *, seed: int, draws: int) -> TableEvidence:
    counts, weighting = table.counts, table.counts_weighting
    rate = build_counted(counted.words, counts, weighting, lambda cells: cells[:, 1], lambda cells: cells.sum(axis=1))
    return TableEvidence(
        groups=table.groups,
        estimates={counted.rate: rate},
        cells={counted.over: build_cells(counts, weighting, seed=seed, draws=draws, tag=1)},
        strata={} if table.strata is None else {counted.over: table.strata},
        unclassified=table.unclassified,
        limits=limits,
        seed=seed,
        draws=draws,
    )
