"""Kinds of records laid under each other: what tables of records with their copies share."""

from collections.abc import Sequence

import numpy as np

from app.metrics.groups import IntArray


def stacked(columns: Sequence[IntArray]) -> IntArray:
    """The columns one behind the other; of none, an empty one."""
    return np.concatenate([np.zeros(0, np.int64), *columns])


def spread(matrices: Sequence[IntArray], places: Sequence[IntArray], width: int) -> IntArray:
    """The matrices [K, T] under each other, each column moved to its group's place among `width`."""
    rows = [np.zeros((0, width), np.int64)]
    for matrix, place in zip(matrices, places, strict=True):
        wide = np.zeros((len(matrix), width), np.int64)
        wide[:, place] = matrix
        rows.append(wide)
    return np.concatenate(rows)
