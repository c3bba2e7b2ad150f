"""Counts how often the interval of the worst of several counterfactual figures holds the truth of the group that was chosen.

The worst group of a window is chosen by the limits 0.8 to 1.25, as a check does. Two intervals of the chosen figure are compared with its
true value: the one that allows for the choice, of which 95 of 100 are promised, and its own. The last columns do the same for the choice of
the overview, from figures as logged and counterfactual figures together.

Each record has a group and a bar in each group: records with the lowest bars are favourable. The bars of one record correlate, and every
group is compared with the same reference records, so the figures depend on each other. Both true ratios of a group are its chance over that
of the reference.

Worlds: `equal` (all groups have the chance of the reference), `shifted` (all have the same lower one), `one bad`, `spread` (from far below
to above), `rare` (chances of 6 %), `few` (some 15 records a group), `dependent` (all groups have nearly the same bars), `loose` (a
counterfactual is nearly independent of its record), `values` (three reference values with chances of their own), `draws` (five
counterfactuals of each record in each group).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from app.statistics.catalogue import CATALOGUE
from app.statistics.group_labels import FloatArray, Groups, build_groups
from app.statistics.intervals.verdicts import Measured, Value
from app.statistics.measures.measure import measure_as_logged
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.measures.worst_group import rank_value, widen_for_choice
from app.statistics.tables.count_table import GroupCounts
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.trials import Trial, run_worlds

METRICS = ("disparate_impact", "statistical_parity_difference")
LIMITS = {"disparate_impact": (0.8, 1.25), "statistical_parity_difference": (-0.1, 0.1)}
SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class World:
    """Chances of the monitored groups and of the reference values, which are equally frequent.

    `correlation` is that of a record's bars; a window has `per_group` records of each monitored group, and as many of the reference.
    """

    chances: FloatArray
    references: tuple[float, ...] = (0.5,)
    correlation: float = 0.95
    per_group: int = 100
    draws: int = 1

    @property
    def groups(self) -> Groups:
        """The groups by name, the reference values last."""
        others = ((f"r{no}", "reference") for no in range(len(self.references)))
        return build_groups([*((f"m{no}", "monitored") for no in range(len(self.chances))), *others])

    def truth(self, metric: str, group: str | None) -> float:
        own, reference = float(self.chances[int(str(group)[1:])]), float(np.mean(self.references))
        return own / reference if metric == "disparate_impact" else own - reference

    def window(self, random: np.random.Generator) -> tuple[CounterfactualCells, GroupCounts]:
        monitored, values = len(self.chances), len(self.groups)
        records = 2 * self.per_group * monitored
        is_reference = random.random(records) < SHARE
        codes = np.where(is_reference, random.integers(monitored, values, records), random.integers(0, monitored, records))
        common, own = random.standard_normal((records, 1, 1)), random.standard_normal((records, values, self.draws))
        bars = np.sqrt(self.correlation) * common + np.sqrt(1 - self.correlation) * own
        answers = (bars < ndtri(np.append(self.chances, self.references))[:, None]).astype(np.int64)
        crosses = np.not_equal.outer(is_reference, np.arange(values) >= monitored).astype(np.int64)
        outcomes = answers[np.arange(records), codes, 0]
        counterfactual = CounterfactualCells.from_records(
            self.groups, codes, outcome=outcomes, copies_favourable=answers.sum(axis=2) * crosses, copies_classified=self.draws * crosses
        )
        return counterfactual, GroupCounts.from_records(self.groups, codes, outcome=outcomes)


def worlds(groups: int) -> Iterator[tuple[str, World]]:
    same = np.full(groups, 1.0)
    bad = np.where(np.arange(groups) == groups // 2, 0.6, 1.0)
    yield "equal", World(chances=0.5 * same)
    yield "shifted", World(chances=0.4 * same)
    yield "one bad", World(chances=0.5 * bad)
    yield "spread", World(chances=np.linspace(0.35, 0.6, groups))
    yield "rare", World(chances=0.06 * same, references=(0.06,))
    yield "few", World(chances=0.5 * bad, per_group=15)
    yield "dependent", World(chances=0.4 * same, correlation=0.999)
    yield "loose", World(chances=0.45 * same, correlation=0.2)
    yield "values", World(chances=0.45 * same, references=(0.4, 0.5, 0.6))
    yield "draws", World(chances=0.45 * same, draws=5)


def simulate(world: World, metric: str, rounds: int, seed: int) -> Counter[tuple[str, bool]]:
    tally: Counter[tuple[str, bool]] = Counter()
    limits = {metric: LIMITS[metric]}
    for window in range(rounds):
        counterfactual, logged = world.window(np.random.default_rng([seed, window, len(world.chances)]))
        measured = measure_counterfactual(counterfactual, metrics=(metric,), limits=limits)
        as_logged = measure_as_logged(logged, metrics=(metric,), limits=limits, seed=0, draws=10)
        worst = next(figure for figure in measured if figure.worst_of is not None)
        if isinstance(worst.number, Value):
            truth = world.truth(metric, worst.group)
            tally["own", _holds(worst.number, truth)] += 1
            tally["chosen", _holds(worst.interval_of_choice or worst.number, truth)] += 1
            several = [figure for figure in (*as_logged, *measured) if figure.scope == "group"]
            tally["overview", _holds_overview(world, metric, several)] += 1
    return tally


def _holds_overview(world: World, metric: str, several: list[Measured]) -> bool:
    known = [(figure, figure.number) for figure in several if isinstance(figure.number, Value)]
    worst, number = min(known, key=lambda pair: rank_value(pair[1].value, CATALOGUE[metric], LIMITS[metric]))
    return _holds(widen_for_choice(CATALOGUE[metric], number, len(several)), world.truth(metric, worst.group))


def _holds(interval: Value, truth: float) -> bool:
    is_above = interval.lower is None or interval.lower - 1e-9 <= truth
    return is_above and (interval.upper is None or truth <= interval.upper + 1e-9)


def choose(windows: int, seed: int) -> Iterator[Trial]:
    """Share of windows in which the interval of the worst figure held the truth: its own, for the choice, and for that of the overview."""
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / windows)
    for groups in (1, 4, 20):
        for (name, world), metric in product(worlds(groups), METRICS):
            tally = simulate(world, metric, windows, seed)
            own, *allowing = (tally[kind, True] / max(tally[kind, True] + tally[kind, False], 1) for kind in ("own", "chosen", "overview"))
            shares = f"{allowing[0]:.1%}, overview {allowing[1]:.1%} (own {own:.1%})"
            yield Trial(f"{name}, {groups} groups: {metric}", shares, f"at least {least:.1%}", min(allowing) >= least)


if __name__ == "__main__":
    run_worlds({"choice": choose}, __doc__, runs=1000, seed=1)
