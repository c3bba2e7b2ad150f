"""Simulates worlds of predicted numbers whose truth is known, and counts how often the intervals of their errors contain it."""

import argparse
import sys
from collections.abc import Callable, Mapping

import numpy as np

from app.metrics.answers.answer_data import NumberAnswers
from app.metrics.answers.distances import DISTANCES

SIZES = (10, 30, 100, 500)
METRICS = ("mean_absolute_error", "root_mean_squared_error", "r2")
POPULATION = 4_000_000

Draw = Callable[[np.random.Generator, int], np.ndarray]

ERRORS: Mapping[str, Draw] = {
    "normal": lambda random, size: random.normal(size=size),
    "Laplace": lambda random, size: random.laplace(size=size),
    "Student's t, 5 degrees": lambda random, size: random.standard_t(5, size=size),
    "lognormal, sigma 0.5": lambda random, size: random.lognormal(0, 0.5, size) * random.choice([-1, 1], size),
    "lognormal, sigma 1": lambda random, size: random.lognormal(0, 1, size) * random.choice([-1, 1], size),
}


def answers_of(draw: Draw, random: np.random.Generator, size: int) -> NumberAnswers:
    """Returns a window: predictions that are normal, and labels that differ from them by the errors."""
    predicted = random.normal(0, 2, size)
    return NumberAnswers(predicted + draw(random, size), predicted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=int, default=2000)
    windows: int = parser.parse_args().windows
    lowest = 1.0
    for name, draw in ERRORS.items():
        population = answers_of(draw, np.random.default_rng(1), POPULATION)
        truth = {metric: DISTANCES[metric](population).value for metric in METRICS}
        for size in SIZES:
            random = np.random.default_rng(size)
            holds = dict.fromkeys(METRICS, 0)
            for _ in range(windows):
                window = answers_of(draw, random, size)
                for metric in METRICS:
                    found = DISTANCES[metric](window)
                    above = found.lower is None or found.lower <= truth[metric]
                    holds[metric] += above and (found.upper is None or truth[metric] <= found.upper)
            lowest = min(lowest, *(count / windows for count in holds.values()))
            print(f"{name:24} {size:4} records", *(f"{metric} {100 * count / windows:5.1f} %" for metric, count in holds.items()))
    print(f"lowest: {100 * lowest:.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
