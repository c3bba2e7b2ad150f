"""Replays public data hour by hour with a model that is swapped at hour 300, and prints when the detector says so and since when.

A logistic regression is fitted to one file of Adult and of the OpenScale credit data, and the rows of the other file come in random order.
The first model approves women at 0.95 of the men's rate, the second at a lower ratio by another cut-off for women, so both ratios are exact
on all rows. Printed are medians over the orders, which are from fixed seeds.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.statistics.e_values.nulls import Limit, Scale, UnfairSide
from scripts.arguments import make_parser
from tests.builders.evidence_hours import BELOW, follow_months
from tests.builders.replays import ADULT, OPENSCALE, DataSource, Population, fit_and_score

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CHANGE = 300
BEFORE = 0.95
SIZES = (0.75, 0.70, 0.60, 0.50, 0.40)
MARGIN = 0.95
"""The limit of the fitted model, as a part of its true ratio, where that is below the usual limit."""


@dataclass(frozen=True)
class Cut:
    source: DataSource
    records: int
    hours: int
    again: bool

    @property
    def words(self) -> str:
        return f"{self.source.name}, {self.records} records an hour, {'drawn with replacement' if self.again else 'each row at most once'}"


CUTS = (
    Cut(ADULT, records=300, hours=1_000, again=True),
    Cut(ADULT, records=54, hours=600, again=False),
    Cut(OPENSCALE, records=300, hours=1_000, again=True),
)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=20, help="random orders of each replay (default 20)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    given = parser.parse_args()
    is_good = True
    for source in (ADULT, OPENSCALE):
        missing = [name for name in (source.fitted_file, source.replayed_file) if not (given.data / name).is_file()]
        if missing:
            print(f"skipped: {source.name}, because {', '.join(missing)} cannot be found in {given.data}")
            continue
        population = fit_and_score(source, given.data)
        for cut in CUTS:
            if cut.source is source:
                print(f"{cut.words}; {len(population.scores):,} rows, {given.runs} orders", flush=True)
                for line, holds in (*replay_changes(cut, population, given.runs), *replay_steady(cut, population, given.runs)):
                    print(f"  {'ok  ' if holds else 'FAIL'} {line}", flush=True)
                    is_good = is_good and holds
    sys.exit(0 if is_good else 1)


def replay_changes(cut: Cut, population: Population, runs: int) -> Iterator[tuple[str, bool]]:
    """Yields a line for each size of change, and whether it is as it must be: found in each order, if rows are not scarce."""
    before = population.decide(BEFORE)
    for size in SIZES:
        after = population.decide(size)
        decisions = [before] * CHANGE + [after] * (cut.hours - CHANGE)
        delays, errors, false = [], [], 0
        for seed in range(runs):
            episodes = follow_months(population.cut(decisions, seed, records=cut.records, again=cut.again)).episodes
            false += any(episode.alarm < CHANGE for episode in episodes)
            found = [episode for episode in episodes if episode.alarm >= CHANGE]
            delays.append(found[0].alarm - CHANGE + 1 if found else math.inf)
            errors += [abs(found[0].since.hour - CHANGE)] if found else []
        found_in = sum(math.isfinite(delay) for delay in delays)
        middle, shortest, longest = (_say_delay(delay, cut) for delay in (float(np.median(delays)), min(delays), max(delays)))
        onset = f"onset wrong by {np.median(errors):g} h (at most {max(errors)})" if errors else "no onset"
        line = f"{population.ratio_of(before):.3f} to {population.ratio_of(after):.3f}: found in {found_in} of {runs}"
        line += f", delay {middle} h (from {shortest} to {longest}), {onset}, {false} false alarms before"
        yield line, false == 0 and (found_in == runs or not cut.again)


def _say_delay(hours: float, cut: Cut) -> str:
    return f"{hours:g}" if math.isfinite(hours) else f"over {cut.hours - CHANGE}"


def replay_steady(cut: Cut, population: Population, runs: int) -> Iterator[tuple[str, bool]]:
    """Yields a line for each model that does not change and is inside its limit, and whether no order raised an alarm."""
    fitted = population.decide_at_one_cut_off()
    own = Limit(Scale.RATIO, UnfairSide.BELOW, min(BELOW.value, math.floor(100 * MARGIN * population.ratio_of(fitted)) / 100))
    for name, decisions, limit in (("two cut-offs", population.decide(BEFORE), BELOW), ("as fitted", fitted, own)):
        alarms = sum(
            bool(follow_months(population.cut([decisions] * cut.hours, seed, records=cut.records, again=cut.again), limit).episodes)
            for seed in range(runs)
        )
        ratio = f"ratio {population.ratio_of(decisions):.3f}, limit {limit.value:g}"
        yield f"no change ({name}), {ratio}: {alarms} of {runs} orders of {cut.hours:,} h with an alarm", alarms == 0


if __name__ == "__main__":
    main()
