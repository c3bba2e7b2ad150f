"""Questions to the model about a window's gaps, and their cost in rows."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...base.errors import InvalidInput
from ...base.values import Scalar, canonical, frozen_arrays, read_number
from ...database.engine import ArrowReader
from ...domain.deployment import Column, FieldKind
from ...domain.monitor import Monitor
from ...domain.monitor_rules import MAX_ATTRIBUTED_ROWS
from ...sources.arrays.association import measure_strengths
from ...sources.stored.window_queries import read_record_features
from ...statistics.attribution.hybrid_values import (
    MAX_PLAYERS,
    HybridPlan,
    count_hybrids,
    plan_hybrids,
    usual_pairs,
)
from ...statistics.attribution.players import join_players
from ...statistics.attribution.sampled_pairs import MIN_UNITS, RecordPairs, count_pairs, draw_pairs
from ...statistics.group_labels import MISSING, FloatArray, IntArray
from .attribution import AttributionCost, AttributionLimits
from .compared_records import GapRecords, WindowRecords

MAX_ASSOCIATED = 2_000
"""Max records, the newest, by which correlated features are found."""

PART = 10_000
"""Max rows sent together and whose answers are kept together."""

MAX_COMPARED = 100
"""Max records of each gap asked about as they are, to see whether the model still answers as logged."""


@frozen_arrays
class GapQuestions:
    """One gap, its pairs by positions in the window, and their hybrids; `own` are asked about as they are."""

    gap: GapRecords
    monitored: IntArray
    reference: IntArray
    pairs: RecordPairs
    plan: HybridPlan
    own: IntArray

    @classmethod
    def draw(cls, gap: GapRecords, players: int, max_pairs: int, rng: np.random.Generator) -> "GapQuestions":
        pairs = draw_pairs(len(gap.monitored), len(gap.reference), max_pairs, rng)
        monitored = gap.monitored[pairs.monitored]
        reference = gap.reference[pairs.reference]
        compared = np.unique(np.concatenate([side[: MAX_COMPARED // 2] for side in (monitored, reference)]))
        return cls(gap, monitored, reference, pairs, plan_hybrids(len(pairs), players, rng), compared)

    @property
    def rows(self) -> int:
        return self.plan.masks.size + len(self.own)

    def chunks(self) -> Iterator[slice]:
        for start in range(0, self.rows, PART):
            yield slice(start, min(start + PART, self.rows))


@frozen_arrays
class AttributionPlan:
    """Questions of an attribution. `players` are features that move together, by place in the schema."""

    players: tuple[tuple[int, ...], ...]
    questions: tuple[GapQuestions, ...]

    @property
    def rows(self) -> int:
        return sum(gap.rows for gap in self.questions)

    def cost(self, page_size: int) -> AttributionCost:
        sizes = [chunk.stop - chunk.start for gap in self.questions for chunk in gap.chunks()]
        return AttributionCost(rows=self.rows, requests=sum(-(-size // page_size) for size in sizes))


def plan_attribution(
    reader: ArrowReader, records: WindowRecords, limits: AttributionLimits, *, seed: int = 0
) -> AttributionPlan:
    """Questions about every gap of a window, the same for the same window and seed.

    Raises:
        InvalidInput: the limits leave fewer pairs than an interval needs, the model has too many features, or
            the monitor has not all of the comparisons.
    """
    # The newest come first in a window.
    associated = np.flatnonzero(records.is_usable)[:MAX_ASSOCIATED]
    if not len(associated):
        return AttributionPlan((), ())
    deployment = records.deployment
    window = records.window
    record_nos = window.record_nos()[associated].tolist()
    features = read_record_features(reader, deployment.no, window.reach(), record_nos)
    values = zip(*(features[no] for no in record_nos), strict=True)
    columns = [
        _read_column(column, column_values)
        for column, column_values in zip(deployment.schema.features, values, strict=True)
    ]
    players = join_players(measure_strengths(columns))
    if len(players) > MAX_PLAYERS:
        raise InvalidInput(
            "features",
            f"of the deployment move in {len(players)} ways, and at most {MAX_PLAYERS} are attributed; send "
            "the model fewer",
        )
    gaps = records.list_gaps(limits.comparisons)
    max_pairs = usual_pairs(len(players)) if limits.pairs is None else limits.pairs
    max_pairs = _fit_pairs(gaps, len(players), max_pairs, limits.max_rows or MAX_ATTRIBUTED_ROWS)
    rng = np.random.default_rng(seed)
    return AttributionPlan(
        players, tuple(GapQuestions.draw(gap, len(players), max_pairs, rng) for gap in gaps)
    )


def _fit_pairs(gaps: Sequence[GapRecords], players: int, max_pairs: int, max_rows: int) -> int:

    def max_cost(pairs: int) -> int:
        counts = [count_pairs(len(gap.monitored), len(gap.reference), pairs) for gap in gaps]
        return sum(count * count_hybrids(players) + min(2 * count, MAX_COMPARED) for count in counts)

    fewest = min(max_pairs, MIN_UNITS)
    if max_cost(fewest) > max_rows:
        raise InvalidInput(
            "max_rows",
            f"must be at least {max_cost(fewest):,} for this window, found {max_rows:,}: {fewest} pairs of "
            f"each gap (here {len(gaps)}) are the fewest that say something. Raise it, or watch fewer values",
        )
    fits = fewest
    too_many = max_pairs + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if max_cost(middle) <= max_rows else (fits, middle)
    return fits


def _read_column(column: Column, values: Sequence[Scalar | None]) -> IntArray | FloatArray:
    if column.kind is FieldKind.NUMERIC:
        numbers = [None if value is None else read_number(value) for value in values]
        return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)
    codes: dict[str, int] = {}
    return np.array(
        [MISSING if value is None else codes.setdefault(canonical(value), len(codes)) for value in values],
        dtype=np.int64,
    )


def attribution_seed(monitor: Monitor) -> int:
    """Seed of the pairs and the resampling, as one that numpy takes."""
    return monitor.seed % 2**63
