"""Counts how often one of many equal groups is called unfair, or its gap larger than chance explains: 5 of 100 at most.

Sizes: `alike` (300 records a group, 1,000 of the reference), `unlike` (from 10 to 1,000), `few` (12 a group). Predictions and labels of all
groups have the same chances, so every claim is false. Metrics: two rates as logged and by label, and two that have no closed form.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np

from app.library.frame_report import build_judged_figure
from app.statistics.group_labels import build_groups
from app.statistics.intervals.verdicts import Verdict
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.sentences.statements import describe_gap
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.builders.trials import Trial, run_worlds

LOGGED = ("disparate_impact", "statistical_parity_difference", "odds_ratio")
LABELLED = ("true_positive_rate_difference", "average_odds_difference")
CHANCES = ((0.35, 0.15), (0.15, 0.35))
"""Of a record, by label and prediction, unfavourable first."""


def sizes_of(name: str, groups: int) -> list[int]:
    """Records of each group, those of the reference last."""
    each = {"alike": [300] * groups, "unlike": np.geomspace(10, 1_000, groups).astype(int).tolist(), "few": [12] * groups}
    return [*each[name], 1_000]


def simulate(name: str, groups: int, windows: int, seed: int) -> Counter[tuple[str, str]]:
    """Number of windows with a false claim, by metric and claim."""
    random, tally = np.random.default_rng([seed, groups, *name.encode()]), Counter[tuple[str, str]]()
    labels = build_groups([*((str(one), "monitored") for one in range(groups)), ("reference", "reference")])
    for _ in range(windows):
        cells = np.zeros((groups + 2, 3, 3, 2), np.int64)
        for place, size in enumerate(sizes_of(name, groups)):
            cells[place, :2, :2, 0] = random.multinomial(size, np.ravel(CHANCES)).reshape(2, 2)
        measured = measure_as_logged(GroupCounts(labels, cells.sum(axis=(1, 3))), metrics=LOGGED, draws=2_000)
        measured += measure_labelled(LabelledCells(labels, cells), metrics=LABELLED, draws=2_000)
        figures = [build_judged_figure(figure) for figure in measured if figure.scope == "group"]
        claims = {(figure.metric, "unfair") for figure in figures if figure.verdict is Verdict.UNFAIR}
        claims |= {(figure.metric, "larger than chance") for figure in figures if "larger than chance" in str(describe_gap(figure))}
        tally.update(claims)
    return tally


def claim(windows: int, seed: int) -> Iterator[Trial]:
    """Share of windows in which one of the equal groups is unfair, and in which its gap is larger than chance explains."""
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / windows)
    for name, groups in product(("alike", "unlike", "few"), (5, 10, 30)):
        tally = simulate(name, groups, windows, seed)
        for metric in (*LOGGED, *LABELLED):
            unfair, gap = (tally[metric, claim] / windows for claim in ("unfair", "larger than chance"))
            shares = f"unfair {unfair:.1%}, gap {gap:.1%}"
            yield Trial(f"{name}, {groups} groups: {metric}", shares, f"at most {most:.1%}", max(unfair, gap) <= most)


if __name__ == "__main__":
    run_worlds({"claims": claim}, __doc__, runs=1000, seed=52)
