"""Measures one outcome a record: what was predicted on logged records, or the labels of training data."""

from collections.abc import Collection

from app.metrics.catalogue.metric import Over
from app.metrics.estimates import DRAWS, Words
from app.metrics.evidence import Evidence, OfOutcomes
from app.metrics.measure import measure_all
from app.metrics.tables import GroupCounts
from app.metrics.values import Measured
from app.metrics.worst import NO_LIMITS, AllLimits

FAVOURABLE = Words(
    noun="favourable",
    empty="no record{of} was classified",
    zero_reference="the reference rate is zero: none of {n} reference records was favourable",
)
LABELLED = Words(noun="actual_favourable", empty="no record{of} has a label among the outcomes")


def measure_payload(
    table: GroupCounts,
    *,
    metrics: Collection[str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = NO_LIMITS,
) -> list[Measured]:
    """The favourable rates of an attribute's or intersection's groups, and how they compare.

    `metrics` picks by key (None: all the table can answer). By the `limits` of each metric (those of the catalogue unless given)
    its worst value is chosen. The same `seed` (not negative) gives the same intervals.
    """
    return measure_all("payload", _evidence(table, ("predictions", "favourable", FAVOURABLE), limits, (seed, draws)), metrics)


def measure_training(
    table: GroupCounts,
    *,
    metrics: Collection[str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = NO_LIMITS,
) -> list[Measured]:
    """How the labels of an attribute's or intersection's groups compare, before any model; `table` counts labels."""
    return measure_all("training", _evidence(table, ("labels", "base", LABELLED), limits, (seed, draws)), metrics)


def _evidence(table: GroupCounts, what: tuple[Over, str, Words], limits: AllLimits, drawing: tuple[int, int]) -> Evidence:
    over, rate, words = what
    outcomes = OfOutcomes(table.counts, table.weighting)
    return Evidence(
        groups=table.groups,
        estimates={rate: outcomes.counted(words)},
        cells={over: outcomes.cells(seed=drawing[0], draws=drawing[1], tag=1)},
        strata={} if table.strata is None else {over: table.strata},
        unclassified=table.unclassified,
        limits=limits,
        seed=drawing[0],
        draws=drawing[1],
    )
