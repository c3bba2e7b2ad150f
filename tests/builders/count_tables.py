from collections.abc import Iterable, Sequence

import numpy as np

from app.statistics.group_labels import build_groups
from app.statistics.tables.count_table import GroupCounts


def count_groups(groups: Iterable[Sequence[str]], counts: Iterable[Sequence[int]]) -> GroupCounts:
    """A table of (unfavourable, favourable) records per group, and of no others."""
    cells = np.array(list(counts), np.int64).reshape(-1, 2)
    return GroupCounts(build_groups(groups), np.pad(cells, ((0, 1), (0, 1))))
