"""A table small enough to work out by hand: 100 women of whom 35 were favoured, 100 men of whom 56 were."""

from dataclasses import replace

import numpy as np

from app.statistics.group_labels import Role, build_groups
from app.statistics.intervals.verdicts import Measured
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.tables.count_table import GroupCounts, LabelledCells

GROUPS: list[tuple[str, Role]] = [("women", "monitored"), ("men", "reference")]
WOMEN = ((50, 10), (15, 25))
"""[actual, predicted], unfavourable first: 60 unfavourable labels and 40 favourable ones."""
MEN = ((30, 11), (14, 45))


def worked() -> list[Measured]:
    """Every figure of the table."""
    counts = np.zeros((3, 3, 3, 2), np.int64)
    for group, cells in enumerate((WOMEN, MEN)):
        for actual in (0, 1):
            for predicted in (0, 1):
                counts[group, actual, predicted, int(actual == predicted)] = cells[actual][predicted]
    groups = build_groups(GROUPS)
    labelled = LabelledCells(groups, counts)
    predicted = GroupCounts(groups, counts.sum(axis=(1, 3)))
    return measure_as_logged(predicted, seed=1) + measure_labelled(replace(labelled, cohort=labelled.count_labels()), seed=1)
