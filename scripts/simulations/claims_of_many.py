"""Counts how often one of many equal groups is called unfair, or its gap larger than chance explains: 5 of 100 at most.

Sizes: `alike` (300 records a group, 1,000 of the reference), `unlike` (from 10 to 1,000), `few` (12 a group). Predictions and labels of all
groups have the same chances, so every claim is false. Metrics: two rates as logged and by label, and two that have no closed form.
"""

import argparse
from collections import Counter

import numpy as np

from app.library.frame_report import judged_figure
from app.statistics.group_labels import as_groups
from app.statistics.intervals.verdicts import Verdict
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.sentences.statements import gap_statement
from app.statistics.tables.count_table import GroupCounts, LabelledCells

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
    random, found = np.random.default_rng([seed, groups, *name.encode()]), Counter[tuple[str, str]]()
    labels = as_groups([*((str(one), "monitored") for one in range(groups)), ("reference", "reference")])
    for _ in range(windows):
        cells = np.zeros((groups + 2, 3, 3, 2), np.int64)
        for place, size in enumerate(sizes_of(name, groups)):
            cells[place, :2, :2, 0] = random.multinomial(size, np.ravel(CHANCES)).reshape(2, 2)
        measured = measure_as_logged(GroupCounts(labels, cells.sum(axis=(1, 3))), metrics=LOGGED, draws=2_000)
        measured += measure_labelled(LabelledCells(labels, cells), metrics=LABELLED, draws=2_000)
        figures = [judged_figure(figure) for figure in measured if figure.scope == "group"]
        claims = {(figure.metric, "unfair") for figure in figures if figure.verdict is Verdict.UNFAIR}
        claims |= {(figure.metric, "larger than chance") for figure in figures if "larger than chance" in str(gap_statement(figure))}
        found.update(claims)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=1000, help="windows of each kind")
    parser.add_argument("--groups", type=int, nargs="+", default=[5, 10, 30])
    parser.add_argument("--seed", type=int, default=52)
    options = parser.parse_args()
    print(f"{options.windows:,} windows of each kind; in so many of 100 one of the equal groups")
    print(f"{'sizes':20} {'metric':36} {'is unfair':>10} {'has a gap larger than chance explains':>40}")
    worst, most = 0.0, 0.05 + 3 * np.sqrt(0.05 * 0.95 / options.windows)
    for name in ("alike", "unlike", "few"):
        for groups in options.groups:
            found = simulate(name, groups, options.windows, options.seed)
            for metric in (*LOGGED, *LABELLED):
                unfair, gap = (found[metric, claim] / options.windows for claim in ("unfair", "larger than chance"))
                worst = max(worst, unfair, gap)
                print(f"{f'{name}, {groups} groups':20} {metric:36} {100 * unfair:>10.1f} {100 * gap:>40.1f}", flush=True)
    if worst > most:
        raise SystemExit(f"a false claim was made in {100 * worst:.1f} of 100 windows")


if __name__ == "__main__":
    main()
