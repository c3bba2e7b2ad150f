"""Counts how often the 95 % intervals hold the truth: draws windows from known chances, measures them, and compares.

A window is a number of records, drawn independently: each has a group (the monitored one with the given share), a stratum, a label, a
prediction and a score, and the outcome of its counterfactual. The truth is the same metric of the chances themselves.
Measurements with a caution are counted separately.
"""

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from app.statistics.catalogue import CATALOGUE, Metric
from app.statistics.catalogue.metric import (
    CountFigure,
    PairFigure,
    RateComparison,
    RateFigure,
    ScoreFigure,
    SetFigure,
    SpreadFigure,
    StrataFigure,
)
from app.statistics.group_labels import FloatArray, Groups, IntArray, build_groups
from app.statistics.intervals.verdicts import Measured, Value
from app.statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from app.statistics.measures.perturbed_data import measure_counterfactual, measure_openscale
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from app.statistics.tables.record_kinds import CounterfactualCells
from app.statistics.tables.strata_counts import RecordStrata
from scripts.arguments import make_parser

NOMINAL = (0.93, 0.97)
SCOPES = {"group", "reference", "attribute", "overall"}
"""The worst value and the worst pair are chosen by what was drawn, so they have no truth of their own; the pooled are the group."""
STRATA = ("first", "second", "third")
SCORES = 50
WHOLE = 10**12
DRAWS = 1000
ENTROPY = ("entropy_index", "theil_index", "coefficient_of_variation")
FAMILIES = {RateFigure: "rates", CountFigure: "counts", StrataFigure: "conditional on strata", ScoreFigure: "scores"}
BATCH = 50


@dataclass(frozen=True)
class Scenario:
    """Chances by group (first the monitored one): of a favourable label, and of a favourable prediction for either label.

    `flips` are the chances that the counterfactual of an unfavourable record is favourable, and that of a favourable one unfavourable.
    `strata` are the shares of the strata of the monitored group and of the others; `weights` the weight of a record of each.
    """

    base: tuple[float, ...]
    true_positive: tuple[float, ...]
    false_positive: tuple[float, ...]
    flips: tuple[tuple[float, float], tuple[float, float]] = ((0.12, 0.02), (0.02, 0.12))
    strata: tuple[tuple[float, float, float], tuple[float, float, float]] = ((0.5, 0.3, 0.2), (0.3, 0.3, 0.4))
    weights: tuple[float, float, float] | None = None

    @property
    def groups(self) -> Groups:
        return build_groups([("monitored", "monitored"), *((f"reference {place}", "reference") for place in range(1, len(self.base)))])


_ALIKE = (0.4, 0.3, 0.3)
SCENARIOS = {
    "moderate": Scenario((0.4, 0.5), (0.7, 0.8), (0.2, 0.3)),
    "apart": Scenario((0.3, 0.6), (0.6, 0.9), (0.1, 0.3)),
    "close": Scenario((0.42, 0.45), (0.72, 0.75), (0.22, 0.24), ((0.06, 0.03), (0.03, 0.06))),
    "equal": Scenario((0.45, 0.45), (0.75, 0.75), (0.25, 0.25), ((0.04, 0.04), (0.04, 0.04)), (_ALIKE, _ALIKE)),
    "half": Scenario((0.4, 0.4), (0.75, 0.75), (0.15, 0.35)),
    "several": Scenario((0.4, 0.5, 0.45, 0.5, 0.55), (0.7, 0.8, 0.75, 0.8, 0.8), (0.2, 0.3, 0.25, 0.3, 0.25)),
    "rare": Scenario((0.1, 0.15), (0.5, 0.6), (0.04, 0.06)),
    "scarce": Scenario((0.04, 0.05), (0.6, 0.7), (0.02, 0.02)),
    "plenty": Scenario((0.95, 0.94), (0.98, 0.97), (0.4, 0.3)),
    "weighted": Scenario((0.4, 0.5), (0.7, 0.8), (0.2, 0.3), weights=(1.0, 2.0, 4.0)),
}


class Where(NamedTuple):
    """Key of the measurements counted together."""

    scenario: str
    window: int
    share: float
    data: str
    metric: str
    scope: str
    group: str | None


class Kinds(NamedTuple):
    """Every kind of record there can be, with its chance; or the records of a window."""

    chance: FloatArray
    group: IntArray
    stratum: IntArray
    label: IntArray
    prediction: IntArray
    copy: IntArray
    score: FloatArray

    def at(self, places: IntArray) -> "Kinds":
        columns = {name: column[places] for name, column in self._asdict().items()}
        return Kinds(**columns)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=1000, help="windows of each size, share and scenario")
    parser.add_argument("--windows", type=int, nargs="+", default=[200, 1000, 10_000], help="records in a window")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.1], help="shares of the monitored group")
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    options = parser.parse_args()
    tallies: defaultdict[Where, Counter[str]] = defaultdict(Counter)
    with ProcessPoolExecutor(options.processes) as pool:
        for part in pool.map(simulate, *zip(*_jobs(options), strict=True)):
            for where, counter in part.items():
                tallies[where].update(counter)
    print(f"{options.rounds:,} windows of each scenario ({', '.join(options.scenarios)}), {DRAWS:,} draws, seed {options.seed}")
    _print_table(tallies, options.windows, options.shares)


def _jobs(options: argparse.Namespace) -> Iterator[tuple[str, int, float, range, int]]:
    for name, window, share in product(options.scenarios, options.windows, options.shares):
        for start in range(0, options.rounds, BATCH):
            yield name, window, share, range(start, min(start + BATCH, options.rounds)), options.seed


def simulate(name: str, window: int, share: float, rounds: range, seed: int) -> dict[Where, Counter[str]]:
    scenario = SCENARIOS[name]
    kinds = every_kind(scenario, share)
    truths = {_place(name, window, share, data, result): result for data, result in _measured_truth(kinds, scenario)}
    tallies: defaultdict[Where, Counter[str]] = defaultdict(Counter)
    for number in rounds:
        generator = np.random.default_rng([seed, number, window, int(1000 * share)])
        sample = kinds.at(generator.choice(len(kinds.chance), window, p=kinds.chance))
        for data, result in _measured(sample, scenario, seed=number):
            where = _place(name, window, share, data, result)
            truth = truths[where].number if where in truths else None
            if isinstance(truth, Value) and where.scope in SCOPES:
                tallies[where].update(_found(result, truth.value * (window / WHOLE if result.metric.endswith("_count") else 1)))
    return tallies


def every_kind(scenario: Scenario, share: float) -> Kinds:
    others = len(scenario.base) - 1
    sizes = np.array([share, *[(1 - share) / others] * others])
    own = [0] + [1] * others
    base, strata = np.array(scenario.base), np.array(scenario.strata)[own]
    # A later stratum has more favourable labels, the same in both groups.
    tilt = np.array([[1.1, 1.0, 0.9], [0.9, 1.0, 1.1]])
    labels = np.stack([1 - base, base], axis=1)
    divided = strata[:, None] * tilt
    divided /= divided.sum(axis=2, keepdims=True)
    predicted = np.array([scenario.false_positive, scenario.true_positive]).T
    predictions = np.stack([1 - predicted, predicted], axis=2)
    flips = np.array(scenario.flips)[own]
    copies = np.stack([np.stack([1 - flips[:, 0], flips[:, 0]], axis=1), np.stack([flips[:, 1], 1 - flips[:, 1]], axis=1)], axis=1)
    # Whatever the prediction, favourable labels have the higher scores.
    rising = np.linspace(0.5, 1.5, SCORES) / SCORES
    scores = np.array([[rising[::-1], rising[::-1]], [rising, rising]])
    chance = np.einsum("g,gl,gls,glp,gpc,lpk->gslpck", sizes, labels, divided, predictions, copies, scores)
    group, stratum, label, prediction, copy, place = (axis.ravel() for axis in np.indices(chance.shape))
    score = (place + 0.5) / SCORES / 2 + prediction / 2
    return Kinds(chance.ravel() / chance.sum(), group, stratum, label, prediction, copy, score)


def _measured_truth(kinds: Kinds, scenario: Scenario) -> Iterator[tuple[str, Measured]]:
    """Yields the metrics of the chances: as weights of one record of each kind, or as so many records that no share is rounded."""
    weights = kinds.chance * WHOLE
    if scenario.weights is not None:
        weights = weights * np.array(scenario.weights)[kinds.stratum]
    yield from _of_tables(kinds, scenario.groups, weights, seed=0, draws=1)
    if _has_counterfactual(scenario):
        yield from _counterfactual(kinds, np.round(kinds.chance * WHOLE).astype(np.int64), seed=0, draws=1)


def _measured(sample: Kinds, scenario: Scenario, *, seed: int) -> Iterator[tuple[str, Measured]]:
    weights = None if scenario.weights is None else np.array(scenario.weights)[sample.stratum]
    yield from _of_tables(sample, scenario.groups, weights, seed=seed, draws=DRAWS)
    if _has_counterfactual(scenario):
        yield from _counterfactual(sample, np.ones(len(sample.group), np.int64), seed=seed, draws=DRAWS)


def _has_counterfactual(scenario: Scenario) -> bool:
    return scenario.weights is None and len(scenario.groups) == 2  # noqa: PLR2004 - one copy each


def _of_tables(kinds: Kinds, groups: Groups, weights: FloatArray | None, *, seed: int, draws: int) -> Iterator[tuple[str, Measured]]:
    strata = RecordStrata(STRATA, kinds.stratum)
    for data, measure, outcomes in (("as_logged", measure_as_logged, kinds.prediction), ("training", measure_training, kinds.label)):
        counts = GroupCounts.from_records(groups, kinds.group, outcome=outcomes, weights=weights, strata=strata)
        yield from ((data, result) for result in measure(counts, seed=seed, draws=draws))
    cells = LabelledCells.from_records(
        groups,
        kinds.group,
        actual=kinds.label,
        predicted=kinds.prediction,
        correct=(kinds.label == kinds.prediction).astype(np.int64),
        weights=weights,
        strata=strata,
        scores=kinds.score,
    )
    yield from (("labelled", result) for result in measure_labelled(cells, seed=seed, draws=draws))


def _counterfactual(kinds: Kinds, counts: IntArray, *, seed: int, draws: int) -> Iterator[tuple[str, Measured]]:
    """Measures counterfactual data in which each record has one counterfactual, in the other group."""
    key = (kinds.group * 2 + kinds.prediction) * 2 + kinds.copy
    count = np.bincount(key, counts, minlength=8).astype(np.int64)
    group, outcome, copy = (axis.ravel() for axis in np.indices((2, 2, 2)))
    present = count > 0
    classified = np.eye(2, dtype=np.int64)[1 - group]
    table = CounterfactualCells(
        groups=SCENARIOS["equal"].groups,
        group=group[present],
        outcome=outcome[present],
        copies_favourable=(classified * copy[:, None])[present],
        copies_classified=classified[present],
        count=count[present],
        unclassified=np.zeros(2, np.int64),
        other=0,
    )
    yield from (("counterfactual", result) for result in measure_counterfactual(table))
    yield from (("openscale", result) for result in measure_openscale(table, seed=seed, draws=draws))


def _place(name: str, window: int, share: float, data: str, result: Measured) -> Where:
    return Where(name, window, share, data, result.metric, result.scope, result.group)


def _found(result: Measured, truth: float) -> Iterable[str]:
    number = result.number
    if not isinstance(number, Value):
        return ("undefined",)
    if number.method == "counted":
        return ()
    # Rounding of the truth is no miss.
    slack = 1e-9 * max(1.0, abs(truth))
    if number.lower is not None and truth < number.lower - slack:
        side = "below"
    elif number.upper is not None and truth > number.upper + slack:
        side = "above"
    else:
        side = "held"
    prefix = "cautioned " if result.details.caution is not None else ""
    return (f"{prefix}measured", f"{prefix}{side}")


def family(where: Where) -> str:
    row = CATALOGUE[where.metric]
    if where.data == "counterfactual" and not where.metric.startswith("flip"):
        return "counterfactual: records with their counterfactuals"
    if isinstance(row.measure, PairFigure | SetFigure | SpreadFigure):
        return _composite(row)
    if isinstance(row.measure, RateComparison):
        return "ratios of rates" if row.measure.by.divides else "differences of rates"
    return FAMILIES[type(row.measure)]


def _composite(row: Metric) -> str:
    if row.key.endswith(ENTROPY):
        return "entropy, of everybody" if isinstance(row.measure, SetFigure) else "entropy, between groups"
    if isinstance(row.measure, PairFigure):
        return "distances that cannot fall below 0" if row.measure.vanishing else "composites of two groups"
    return "composites of one group" if isinstance(row.measure, SetFigure) else "differential fairness"


def _print_table(tallies: dict[Where, Counter[str]], windows: list[int], shares: list[float]) -> None:
    names = {where: family(where) + (", at equality" if where.scenario == "equal" else "") for where in tallies}
    width = max(map(len, names.values()), default=0)
    places = list(product(windows, shares))
    print(f"{'records, share of the monitored group':<{width}}" + "".join(f"{f'{window:,}, {share:.0%}':>20}" for window, share in places))
    print(f"{'':<{width}}" + f"{'held (cautioned)':>20}" * len(places))
    for name in sorted(set(names.values())):
        mine = [where for where in names if names[where] == name]
        cells = [_cell([tallies[where] for where in mine if (where.window, where.share) == place]) for place in places]
        print(name.ljust(width) + "".join(cells))
    print("held: of the measurements without a caution; (cautioned): how many of all carry one, and how often theirs held")
    print(f"* outside {NOMINAL[0]:.0%} to {NOMINAL[1]:.0%}")


def _cell(several: list[Counter[str]]) -> str:
    """Formats how often figures without a caution held the truth, the share with a caution, and how often those held it."""
    counted = sum(several, Counter[str]())
    plain, cautioned = counted["measured"], counted["cautioned measured"]
    held = "-"
    if plain:
        share = counted["held"] / plain
        held = f"{share:.1%}{' ' if NOMINAL[0] <= share <= NOMINAL[1] else '*'}"
    aside = f"({cautioned / (plain + cautioned):.0%}: {counted['cautioned held'] / cautioned:.0%})" if cautioned else ""
    return f"{held:>8}{aside:>12}"


if __name__ == "__main__":
    main()
