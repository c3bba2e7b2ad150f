"""Equal rows of many columns, found and counted quickly."""

from collections.abc import Sequence

import numpy as np

from ..groups import IntArray

KEY_SPACE = 2**62
"""Max packed key that fits in an int64."""

DENSE = 2**20
"""Max possible keys counted in one array; more are sorted."""


def distinct_rows(columns: Sequence[IntArray], weights: IntArray) -> tuple[IntArray, IntArray]:
    """Returns one position of each distinct row, in lexicographic order, and the summed weight of its equals.

    `columns` hold numbers >= 0, one per row. The rows are packed into one integer each, digit by digit.
    """
    key, size = np.zeros(weights.size, np.int64), 1
    for column in columns:
        base = int(column.max(initial=0)) + 1
        if size * base > KEY_SPACE:
            key, size = _renumber(key)
        key, size = key * base + column, size * base
    if size > DENSE:
        key, size = _renumber(key)
    position, total, seen = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.bool_)
    position[key] = np.arange(key.size)
    seen[key] = True
    np.add.at(total, key, weights)
    return position[seen], total[seen]


def _renumber(key: IntArray) -> tuple[IntArray, int]:
    distinct, renumbered = np.unique(key, return_inverse=True)
    return renumbered.astype(np.int64), max(1, distinct.size)
