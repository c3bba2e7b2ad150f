"""Counts how often the 95 % intervals of sampled records hold the truth, by the rule of the sample.

    python scripts/coverage_sampling.py [--windows 2000] [--records 4000] [--seed 1]

Each window draws records of two groups with known chances, keeps each with the chance of its rule, and measures the kept ones with the
weights 1/chance.
"""

import argparse
from collections.abc import Callable

import numpy as np

from app.metrics import GroupCounts, Value, measure_payload
from app.metrics.groups import FloatArray, IntArray, as_groups

RATES = np.array([0.18, 0.25])
"""Chances of a favourable outcome: monitored, reference."""
GROUPS = as_groups((("monitored", "monitored"), ("reference", "reference")))
RULES: dict[str, Callable[[IntArray, IntArray, np.random.Generator], FloatArray]] = {
    "every record": lambda group, _outcome, _random: np.ones(group.size),
    "one rate": lambda group, _outcome, _random: np.full(group.size, 0.2),
    "by group": lambda group, _outcome, _random: np.where(group == 0, 0.5, 0.1),
    "unequal within groups": lambda group, _outcome, random: random.choice([0.05, 0.2, 1.0], group.size),
    "by outcome": lambda _group, outcome, _random: np.where(outcome == 1, 0.1, 0.5),
}


def main() -> None:
    """Prints for each rule how many intervals of disparate impact hold the truth, and the mean of the value."""
    parser = argparse.ArgumentParser()
    for name, default in (("windows", 2000), ("records", 4000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    truth = RATES[0] / RATES[1]
    print(f"truth {truth:.3f}")
    for name, rule in RULES.items():
        random = np.random.default_rng(options.seed)
        held, values = 0, []
        for _ in range(options.windows):
            group = random.integers(0, 2, options.records)
            outcome = (random.random(options.records) < RATES[group]).astype(np.int64)
            chance = rule(group, outcome, random)
            kept = random.random(options.records) < chance
            table = GroupCounts.from_records(GROUPS, group[kept], outcome[kept], weights=1 / chance[kept])
            found = next(one.number for one in measure_payload(table, metrics=["disparate_impact"]) if one.scope == "group")
            if isinstance(found, Value):
                values.append(found.value)
                held += found.lower <= truth and (found.upper is None or truth <= found.upper)
        print(f"{name:24} {100 * held / len(values):5.1f} %  mean {np.mean(values):.3f}")


if __name__ == "__main__":
    main()
