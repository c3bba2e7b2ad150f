"""Counts how often the 95 % intervals of counterfactual figures hold the truth, with several values and draws on a side.

Each record has a value of the attribute, and a merit that is uniform on [0, 1]. The model answers favourably where the merit is below the
chance of the value; with several draws, below a chance that is drawn uniformly around it for each counterfactual. The truth is the chance
of the group over the mean chance of the reference values, weighted by their shares. With the effect `none` the model ignores the attribute:
every figure must be exactly 1 or 0.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from app.statistics.group_labels import FloatArray, Groups, build_groups
from app.statistics.intervals.verdicts import Value
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.tables.record_kinds import CounterfactualCells
from scripts.arguments import make_parser

SIDES = ((1, 1), (1, 2), (2, 3), (4, 4), (3, 1))
DRAWS = (1, 2, 10)
SPREAD = 0.15
"""Max distance of the chance of a drawn counterfactual from that of its value."""
CHANCES = {"small": (0.42, 0.48, 0.5, 0.55), "large": (0.3, 0.4, 0.45, 0.6)}
"""Lowest and highest chance of a monitored value, then of a reference value."""
METRICS = frozenset({"disparate_impact", "statistical_parity_difference", "favourable_rate"})


@dataclass(frozen=True)
class World:
    """Values by share and chance [values], the monitored ones first; `chances` None: the model ignores the value."""

    monitored: int
    shares: FloatArray
    chances: FloatArray | None
    draws: int

    @property
    def groups(self) -> Groups:
        others = len(self.shares) - self.monitored
        monitored = [(f"m{no}", "monitored") for no in range(self.monitored)]
        return build_groups([*monitored, *((f"r{no}", "reference") for no in range(others))])

    def truth(self, scope: str, group: str | None) -> float:
        """Returns the chance of the first monitored value (scope `group`), of all monitored, or of the reference."""
        if self.chances is None:
            return float("nan")
        if scope == "group":
            return float(self.chances[int(str(group)[1:])])
        side = slice(self.monitored) if scope == "pooled" else slice(self.monitored, None)
        return float(np.average(self.chances[side], weights=self.shares[side]))

    def window(self, records: int, random: np.random.Generator) -> CounterfactualCells:
        codes, merit = random.choice(len(self.shares), records, p=self.shares), random.random(records)
        is_monitored = codes < self.monitored
        own = (merit < self._bars(codes, 1, random)[:, 0]).astype(np.int64)
        favourable, classified = (np.zeros((records, len(self.shares)), np.int64) for _ in range(2))
        for value in range(len(self.shares)):
            crosses = is_monitored != (value < self.monitored)
            answers = merit[:, None] < self._bars(np.full(records, value), self.draws, random)
            if self.chances is None:
                answers = np.repeat(own[:, None] == 1, self.draws, axis=1)
            favourable[crosses, value] = answers[crosses].sum(axis=1)
            classified[crosses, value] = self.draws
        return CounterfactualCells.from_records(self.groups, codes, outcome=own, copies_favourable=favourable, copies_classified=classified)

    def _bars(self, values: np.typing.NDArray[np.int64], draws: int, random: np.random.Generator) -> FloatArray:
        chances = np.full(len(self.shares), 0.45) if self.chances is None else self.chances
        spread = SPREAD if self.draws > 1 else 0.0
        bars: FloatArray = chances[values][:, None] + spread * (2 * random.random((len(values), draws)) - 1)
        return bars


def worlds(effects: list[str]) -> Iterator[tuple[str, World]]:
    for effect, (monitored, reference), draws, uneven in product(effects, SIDES, DRAWS, (False, True)):
        weights = np.linspace(1, 3, reference) if uneven else np.ones(reference)
        share = 0.15 if uneven else 0.5
        shares = np.concatenate([np.full(monitored, share / monitored), (1 - share) * weights / weights.sum()])
        chances = None
        if effect != "none":
            low, high, lowest, highest = CHANCES[effect]
            chances = np.concatenate([np.linspace(low, high, monitored), np.linspace(lowest, highest, reference)])
        yield f"{effect}, {'15' if uneven else '50'} %", World(monitored, shares, chances, draws)


def simulate(world: World, records: int, rounds: int, seed: int) -> Counter[tuple[str, bool]]:
    """Counts how often each metric's interval held the truth; for a model that ignores the attribute, how often it was exact equality."""
    tally: Counter[tuple[str, bool]] = Counter()
    for number in range(rounds):
        random = np.random.default_rng([seed, number, records, world.draws, len(world.shares), world.monitored])
        for result in measure_counterfactual(world.window(records, random), metrics=METRICS):
            if isinstance(result.number, Value) and result.details.caution is None and result.scope in {"group", "pooled"}:
                is_rate = result.metric == "favourable_rate"
                if is_rate and (world.chances is None or str(result.group).startswith("r")):
                    continue
                if world.chances is None:
                    tally[result.metric, result.number.value == (1 if result.metric == "disparate_impact" else 0)] += 1
                    continue
                own, other = world.truth(result.scope, result.group), world.truth("reference", None)
                truth = own if is_rate else own / other if result.metric == "disparate_impact" else own - other
                upper = np.inf if result.number.upper is None else result.number.upper
                tally[result.metric, bool(result.number.lower is not None and result.number.lower <= truth <= upper)] += 1
    return tally


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="windows of each size and world")
    parser.add_argument("--windows", type=int, nargs="+", default=[100, 1000], help="records in a window")
    parser.add_argument("--effects", nargs="+", choices=("none", *CHANCES), default=["none", *CHANCES])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.rounds:,} windows of each; of 100 intervals so many held the truth (none: so many figures were exactly equality)")
    for name, world in worlds(options.effects):
        cells = []
        for records in options.windows:
            tally = simulate(world, records, options.rounds, options.seed)
            for metric in sorted({metric for metric, _ in tally}):
                held, missed = tally[metric, True], tally[metric, False]
                cells.append(f"{metric} {records:,}: {100 * held / (held + missed):.1f}")
        values = f"{world.monitored} and {len(world.shares) - world.monitored} values, {world.draws} draws, monitored {name}"
        print(f"{values:58} {'; '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
