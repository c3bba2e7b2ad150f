"""A table small enough to work out by hand: 100 women of whom 35 were favoured, 100 men of whom 56 were."""

import numpy as np

from app.metrics import FeedbackCells, Measured, measure_feedback
from app.metrics.groups import Role

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
    return measure_feedback(FeedbackCells(tuple(GROUPS), counts), seed=1)  # type: ignore[arg-type]
