"""Intervals that are valid at all hours at once, and evidence from records asked with both values."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...base.values import frozen_arrays
from ..group_labels import FloatArray
from ..intervals.intervals import Ends
from .betting import FIRST_RATES, average_log_arrays, compare_with_line
from .nulls import (
    DIFFERENCE_STEPS,
    RATIO_FACTORS,
    SMALLEST_RATE,
    Hours,
    Limit,
    Lines,
    Scale,
    SideHours,
    UnfairSide,
    join_hours,
)

ALPHA = 0.05
"""Chance that an interval ever misses."""

_FAR_RATIOS = np.geomspace(0.01, 0.2, 51)[:-1]
GRIDS = {
    Scale.RATIO: np.concatenate([_FAR_RATIOS, np.geomspace(0.2, 5.0, 801), 1 / _FAR_RATIOS[::-1]]),
    Scale.DIFFERENCE: np.linspace(-1.0, 1.0, 201)[1:-1],
}
"""Values of the figure for which evidence is collected."""

MIN_REFERENCE_RECORDS = 50
MIN_MONITORED_RECORDS = 20
"""With fewer earlier records on a side the hour says nothing, unless it has as many itself."""

FIRST_POINTS = FIRST_RATES[1::3]
"""Reference rates that an hour with too few earlier records bets on."""

MAX_ROWS = 100
"""Hours of one array: larger ones leave the processor's cache and take five times as long."""

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.7])
"""Shares of the capital that one record can lose; each is an alternative."""

PAIRED_RATIOS = np.geomspace(0.2, 5.0, 201)
"""Values of a counterfactual ratio for which evidence is collected."""

Kind = tuple[float, float, int]
"""Outcome with the monitored value, with the reference values, number of records."""


@dataclass(slots=True, eq=False)
class RunningInterval:
    """State of an interval in a chapter.

    `counts` [4]: favourable and all records, monitored first. `below` and `above` [G]: evidence that the
    figure is below, and above, each value of the grid.
    """

    scale: Scale
    counts: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def empty(cls, scale: Scale) -> "RunningInterval":
        size = len(GRIDS[scale])
        return cls(scale, np.zeros(4), np.zeros(size), np.zeros(size))

    def find_ends(self) -> Ends:
        return find_ends(self.below, self.above, GRIDS[self.scale])


@frozen_arrays
class PairedHours:
    """Outcomes [K], 0 to 1, of kinds of records with either value, and the `records` [H, K] of an hour."""

    monitored: FloatArray
    reference: FloatArray
    records: FloatArray

    def __len__(self) -> int:
        return len(self.records)

    def sum_sides(self) -> Hours:
        """Sums of both sides as if of different records, which vary more: an onset's range is too wide."""
        records = self.records.sum(axis=1)
        return Hours(
            *(
                SideHours(np.minimum(_sum_kinds(self.records, outcomes[:, None])[:, 0], records), records)
                for outcomes in (self.monitored, self.reference)
            )
        )


@dataclass(slots=True, eq=False)
class RunningPairedInterval:
    """State of the interval of a counterfactual ratio in a chapter.

    `counts` [4] are sums of outcomes and records, as of `RunningInterval`. `below` and `above` [G, A] are ln
    of the evidence that it is below, and above, each value of the grid, for each stake.
    """

    counts: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def empty(cls) -> "RunningPairedInterval":
        return cls(np.zeros(4), *(np.zeros((len(PAIRED_RATIOS), len(STAKES))) for _ in range(2)))

    def add(self, hours: PairedHours, divisor: FloatArray | float = 1.0) -> None:
        records = hours.records / np.broadcast_to(divisor, len(hours))[:, None]
        ratios = PAIRED_RATIOS[:, None]
        self.below = _add_bets(self.below, records, ratios * hours.reference - hours.monitored)
        self.above = _add_bets(self.above, records, hours.monitored / ratios - hours.reference)
        self.counts = add_rows(self.counts, stack_counts(hours.sum_sides()))

    def find_ends(self) -> Ends:
        below, above = (
            np.logaddexp.reduce(sums, axis=1) - math.log(len(STAKES)) for sums in (self.below, self.above)
        )
        return find_ends(below, above, PAIRED_RATIOS)


def add_hours(
    intervals: Sequence[RunningInterval], hours: Sequence[Hours], divisors: Sequence[FloatArray]
) -> None:
    """Adds the next hours of its chapter to each interval; all have one scale. `divisors` [H] are of ln E."""
    counts = [stack_counts(series) for series in hours]
    weighed = (
        _weigh_grid([interval.counts for interval in intervals], counts, hours, intervals[0].scale, divisors)
        if intervals
        else []
    )
    for interval, added, (below, above) in zip(intervals, counts, weighed, strict=True):
        interval.below = add_rows(interval.below, below)
        interval.above = add_rows(interval.above, above)
        interval.counts = add_rows(interval.counts, added)


def add_rows(total: FloatArray, rows: Iterable[FloatArray]) -> FloatArray:
    """Adds row by row: the same sum to the last digit, however many are added at a time."""
    for row in rows:
        total = total + row
    return total


def find_ends(below: FloatArray, above: FloatArray, grid: FloatArray) -> Ends:
    """Ends of values [G] that are not refuted, moved outwards by one step; None at an end of the grid.

    If all are refuted, as after a change, the lower end is above the upper one.
    """
    limit = math.log(2 / ALPHA)
    not_below = np.flatnonzero(below < limit)
    not_above = np.flatnonzero(above < limit)
    first = int(not_above[0]) if not_above.size else len(grid)
    last = int(not_below[-1]) if not_below.size else -1
    return (
        float(grid[first - 1]) if first > 0 else None,
        float(grid[last + 1]) if last < len(grid) - 1 else None,
    )


def stack_counts(hours: Hours) -> FloatArray:
    """Favourable and all records, monitored first [H, 4]."""
    return np.array([counts for side in hours.sides for counts in (side.favourable, side.records)]).T


def build_paired_hours(kinds: Sequence[Sequence[Kind]]) -> PairedHours:
    pairs = sorted({(monitored, reference) for hour in kinds for monitored, reference, _ in hour})
    columns = {pair: column for column, pair in enumerate(pairs)}
    records = np.zeros((len(kinds), len(columns)))
    for row, hour in zip(records, kinds, strict=True):
        for monitored, reference, count in hour:
            row[columns[monitored, reference]] += count
    outcomes = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return PairedHours(outcomes[:, 0], outcomes[:, 1], records)


def weigh_pairs(
    hours: PairedHours, limit: Limit, divisor: FloatArray | float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Ln E [H, A] against being inside the limit, and against being beyond it, as of `weigh_claims`."""
    divisors = np.broadcast_to(divisor, len(hours))[:, None]
    below = _weigh_stakes(hours.records, limit.value * hours.reference - hours.monitored) / divisors
    above = _weigh_stakes(hours.records, hours.monitored / limit.value - hours.reference) / divisors
    return (below, above) if limit.direction is UnfairSide.BELOW else (above, below)


def _weigh_grid(
    before: Sequence[FloatArray],
    counts: Sequence[FloatArray],
    series: Sequence[Hours],
    scale: Scale,
    divisors: Sequence[FloatArray],
) -> list[tuple[FloatArray, FloatArray]]:
    """Evidence [H, G] of each series that the figure is below, and above, each value of the grid.

    `counts` [H, 4] are of the hours, `before` [4] of those before the series.
    """
    grid, joined = GRIDS[scale], join_hours(series)
    # Earlier hours only, so that the rates are chosen before the hour. A series may have no hours.
    earlier = np.concatenate(
        [
            np.add.accumulate(np.vstack([start, hour_counts[:-1]]), axis=0)[: len(hour_counts)]
            for start, hour_counts in zip(before, counts, strict=True)
        ]
    )
    is_early = (earlier[:, 1] < MIN_MONITORED_RECORDS) | (earlier[:, 3] < MIN_REFERENCE_RECORDS)
    monitored = np.where(is_early, np.nan, (earlier[:, 0] + 0.5) / (earlier[:, 1] + 1))[:, None]
    reference = (earlier[:, 2] + 0.5) / (earlier[:, 3] + 1)
    lines = Lines.of(grid, scale)
    divisor = np.concatenate(divisors)[:, None]
    below, above = np.empty((2, len(joined), len(grid)))
    for start in range(0, len(joined), MAX_ROWS):
        rows = slice(start, start + MAX_ROWS)
        logs = compare_with_line(
            joined.between(start, start + MAX_ROWS), lines, monitored[rows], reference[rows, None]
        )
        # An hour is evidence against one side of each value only.
        is_below = monitored[rows] < lines.slope * reference[rows, None] - lines.slack
        increments = np.where(np.isnan(logs), 0.0, logs / divisor[rows])
        below[rows], above[rows] = np.where(is_below, increments, 0.0), np.where(is_below, 0.0, increments)
    monitored_records, reference_records = (side.records for side in joined.sides)
    is_large = (monitored_records >= MIN_MONITORED_RECORDS) & (reference_records >= MIN_REFERENCE_RECORDS)
    for hour in np.flatnonzero(is_early & is_large).tolist():
        below[hour], above[hour] = _weigh_first_hour(
            joined.between(hour, hour + 1), scale, float(divisor[hour, 0])
        )
    ends = np.cumsum([len(hours) for hours in series])[:-1]
    return list(zip(np.split(below, ends), np.split(above, ends), strict=True))


def _weigh_first_hour(block: Hours, scale: Scale, divisor: float) -> tuple[FloatArray, FloatArray]:
    """Evidence [G], as of `_weigh_grid`, of an hour by itself: a mean over reference rates and bets."""
    lines = Lines.of(GRIDS[scale], scale)
    reference = FIRST_POINTS[:, None]
    on_line = lines.slope * reference - lines.slack
    repeated = block.take(np.zeros(len(FIRST_POINTS), np.intp))
    sides = []
    for is_below in (True, False):
        logs = []
        for factor, step in zip(RATIO_FACTORS, DIFFERENCE_STEPS, strict=True):
            if scale is Scale.DIFFERENCE:
                bets = on_line - step if is_below else on_line + step
            elif is_below:
                bets = on_line * factor
            else:
                bets = np.where(on_line < 1, np.minimum(on_line / factor, (1 + on_line) / 2), np.nan)
            bets = np.clip(bets, SMALLEST_RATE, 1 - SMALLEST_RATE)
            is_bet = bets < on_line if is_below else bets > on_line
            weighed = compare_with_line(repeated, lines, bets, reference) / divisor
            logs.append(np.where(is_bet, weighed, np.nan))
        mean = average_log_arrays(np.array(logs), axis=(0, 1))
        sides.append(np.where(np.isnan(mean), 0.0, mean))
    return sides[0], sides[1]


def _add_bets(total: FloatArray, records: FloatArray, gains: FloatArray) -> FloatArray:
    """Adds logs of products [G, A] of 1 + stake · gain; records are [H, K], gains [G, K]."""
    logs = np.log1p(gains.T[:, :, None] * STAKES)
    return add_rows(total, (np.add.reduce(hour[:, None, None] * logs) for hour in records if hour.any()))


def _weigh_stakes(records: FloatArray, gains: FloatArray) -> FloatArray:
    logs = _sum_kinds(records, np.log1p(gains[:, None] * STAKES))
    return np.where(records.sum(axis=1, keepdims=True) > 0, logs, np.nan)


def _sum_kinds(records: FloatArray, values: FloatArray) -> FloatArray:
    """Sums values [K, A] over records [H, K], kind by kind: the same digits among whichever hours."""
    return np.asarray(np.add.reduce(records.T[:, :, None] * values[:, None]))
