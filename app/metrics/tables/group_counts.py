"""How often each group of an attribute, or each cell of an intersection, was predicted the favourable outcome."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from app.metrics.groups import NEITHER, Groups, IntArray, Role, as_groups, checked_codes, checked_counts, positions, union

OUTCOMES = 3
"""Unfavourable 0, favourable 1, unclassified 2."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """Counts [groups, 2] (unfavourable, favourable), `unclassified` [groups], and the records of no group in `other`.

    Raises:
        ValueError: the arrays do not fit the groups, or a count is negative.
    """

    groups: Groups
    counts: IntArray
    unclassified: IntArray
    other: int

    def __post_init__(self) -> None:
        size = len(self.groups)
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "counts", checked_counts(self.counts, size, 2))
        object.__setattr__(self, "unclassified", checked_counts(self.unclassified, size))

    @classmethod
    def from_records(cls, groups: Iterable[tuple[str, Role]], codes: npt.ArrayLike, outcomes: npt.ArrayLike) -> Self:
        """Counts the records: per record its group (position in `groups`, or -1 for none) and its outcome (0, 1, 2).

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named = as_groups(groups)
        group_codes = checked_codes(codes, NEITHER, len(named))
        outcome_codes = checked_codes(outcomes, 0, OUTCOMES)
        if group_codes.shape != outcome_codes.shape:
            raise ValueError(f"expected as many outcomes as records, found {outcome_codes.size} for {group_codes.size}")
        # Records of no group fall into the row behind the last group.
        flat = np.bincount((group_codes % (len(named) + 1)) * OUTCOMES + outcome_codes, minlength=(len(named) + 1) * OUTCOMES)
        table = flat.reshape(len(named) + 1, OUTCOMES)
        return cls(named, table[:-1, :2], table[:-1, 2], int(table[-1].sum()))

    @classmethod
    def merged(cls, tables: Sequence["GroupCounts"]) -> "GroupCounts":
        """The sum of the tables, groups aligned by label; of no table, an empty one."""
        groups = union([table.groups for table in tables])
        counts, unclassified = np.zeros((len(groups), 2), np.int64), np.zeros(len(groups), np.int64)
        for table in tables:
            rows = positions(table.groups, groups)
            counts[rows] += table.counts
            unclassified[rows] += table.unclassified
        return cls(groups, counts, unclassified, sum(table.other for table in tables))

    def to_json(self) -> dict[str, Any]:
        """The table as plain JSON values."""
        return {
            "groups": [list(group) for group in self.groups],
            "counts": self.counts.tolist(),
            "unclassified": self.unclassified.tolist(),
            "other": self.other,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The table `to_json` wrote.

        Raises:
            ValueError: the counts do not fit the groups.
        """
        return cls(as_groups(stored["groups"]), stored["counts"], stored["unclassified"], stored["other"])
