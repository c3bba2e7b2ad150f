"""Counts how often the 95 % intervals of sampled records hold the truth, by the rule of the sample.

Each window draws records of two groups with known chances, keeps each with the chance of its rule, and measures the kept ones with the
weights 1/chance: rates as logged, counterfactual (one for each record), and of labels. The truth of a figure is its value in a world of
four million records.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from app.statistics.group_labels import FloatArray, IntArray, build_groups
from app.statistics.intervals.verdicts import Measured, Value
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from app.statistics.tables.record_kinds import CounterfactualCells
from scripts.arguments import make_parser

GROUPS = build_groups((("monitored", "monitored"), ("reference", "reference")))
RATES = np.array([0.18, 0.25])
LABELS = np.array([0.3, 0.35])
RIGHT = np.array([[0.8, 0.7], [0.85, 0.8]])

TRUTH_RECORDS = 4_000_000
DRAWS = 400
SCOPES = frozenset({"group", "pooled", "overall"})


@dataclass(frozen=True)
class Records:
    """Records by column; `copy` is the outcome of the counterfactual, `label` the observed outcome of a model of its own."""

    group: IntArray
    outcome: IntArray
    copy: IntArray
    label: IntArray
    predicted: IntArray


RULES: dict[str, Callable[[Records, np.random.Generator], FloatArray]] = {
    "every record": lambda drawn, _random: np.ones(drawn.group.size),
    "one rate": lambda drawn, _random: np.full(drawn.group.size, 0.2),
    "by group": lambda drawn, _random: np.where(drawn.group == 0, 0.5, 0.1),
    "unequal within groups": lambda drawn, random: random.choice([0.05, 0.2, 1.0], drawn.group.size),
    "by outcome": lambda drawn, _random: np.where(drawn.outcome == 1, 0.1, 0.5),
    "by prediction": lambda drawn, _random: np.where(drawn.predicted == 1, 0.1, 0.5),
    "by label": lambda drawn, _random: np.where(drawn.label == 1, 0.5, 0.1),
}
OF_LABELS = frozenset({"by prediction", "by label"})


def draw_records(size: int, random: np.random.Generator) -> Records:
    """Returns records of the world. The model answers by a merit of the record and a bar of the group, and by its counterfactual's."""
    group, merit = random.integers(0, 2, size), random.random(size)
    label = (random.random(size) < LABELS[group]).astype(np.int64)
    right = random.random(size) < RIGHT[group, label]
    outcome, copy = (merit < RATES[group]).astype(np.int64), (merit < RATES[1 - group]).astype(np.int64)
    return Records(group, outcome, copy, label, np.where(right, label, 1 - label))


def measure(side: str, drawn: Records, kept: np.typing.NDArray[np.bool_], weights: FloatArray | None, seed: int) -> list[Measured]:
    group = drawn.group[kept]
    if side == "as_logged":
        counts = GroupCounts.from_records(GROUPS, group, outcome=drawn.outcome[kept], weights=weights)
        return measure_as_logged(counts, seed=seed, draws=DRAWS)
    if side == "counterfactual":
        favourable, classified = (np.zeros((group.size, 2), np.int64) for _ in range(2))
        favourable[np.arange(group.size), 1 - group] = drawn.copy[kept]
        classified[np.arange(group.size), 1 - group] = 1
        cells = CounterfactualCells.from_records(
            GROUPS, group, outcome=drawn.outcome[kept], copies_favourable=favourable, copies_classified=classified, weights=weights
        )
        return measure_counterfactual(cells)
    label, predicted = drawn.label[kept], drawn.predicted[kept]
    correct = (label == predicted).astype(np.int64)
    table = LabelledCells.from_records(GROUPS, group, actual=label, predicted=predicted, correct=correct, weights=weights)
    return measure_labelled(table, seed=seed, draws=DRAWS)


def figures(found: list[Measured]) -> Iterator[tuple[str, Value]]:
    """Yields the figures that are numbers and no counts, of one group or of all records, under their name."""
    for figure in found:
        if (
            isinstance(figure.number, Value)
            and figure.scope in SCOPES
            and figure.details.caution is None
            and not figure.metric.endswith("_count")
        ):
            yield f"{figure.metric}, {figure.group or figure.scope}", figure.number


def main() -> None:
    parser = make_parser(__doc__)
    for name, default in (("windows", 300), ("records", 4000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    whole = draw_records(TRUTH_RECORDS, np.random.default_rng(0))
    for side in ("as_logged", "counterfactual", "labelled"):
        truths = {name: number.value for name, number in figures(measure(side, whole, np.ones(TRUTH_RECORDS, bool), None, 0))}
        for rule_name, rule in RULES.items():
            if rule_name in OF_LABELS and side != "labelled":
                continue
            random = np.random.default_rng(options.seed)
            held, seen = Counter[str](), Counter[str]()
            for number in range(options.windows):
                drawn = draw_records(options.records, random)
                chance = rule(drawn, random)
                kept = random.random(options.records) < chance
                for name, value in figures(measure(side, drawn, kept, 1 / chance[kept], number)):
                    seen[name] += 1
                    margin = 2e-3 * abs(truths[name])
                    is_above = value.lower is None or value.lower - margin <= truths[name]
                    held[name] += is_above and (value.upper is None or truths[name] <= value.upper + margin)
            shares = sorted((held[name] / seen[name], name) for name in seen)
            mean = sum(share for share, _ in shares) / len(shares)
            least, lowest = shares[0]
            print(
                f"{side}, {rule_name}: {len(shares)} figures hold the truth in {mean:.1%} of their windows, at least {least:.1%} ({lowest})"
            )


if __name__ == "__main__":
    main()
