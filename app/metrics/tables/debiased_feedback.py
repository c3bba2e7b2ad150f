"""Counts of predictions before and after mitigation by their ground-truth labels, by group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..groups import NEITHER, ComparedGroup, Groups, IntArray, as_groups, check_codes, check_counts, positions, union
from .group_counts import OUTCOMES
from .weighting import check_each, slices

SHAPE = (2, 2, 2, 2, 2)
"""Label, outcome before and outcome after (unfavourable, favourable), and whether the predicted label was and is the actual one."""


@dataclass(frozen=True, slots=True, eq=False)
class DebiasedFeedback:
    """Counts [groups + 1, actual 2, before 2, after 2, correct before 2, correct after 2]; the last row holds the records of no group.

    Without groups it is the table of all records. The caller decides whether a label is right: two labels of one outcome are
    different labels. A record whose label or prediction is not among the outcomes, before or after, is left out of both sides
    and counted in `unclassified` [groups + 1].

    Raises:
        ValueError: the counts do not fit the groups, or one is negative.
    """

    groups: Groups
    counts: IntArray
    unclassified: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_groups(self.groups))
        size = len(self.groups) + 1
        object.__setattr__(self, "counts", check_counts(self.counts, size, *SHAPE))
        object.__setattr__(self, "unclassified", check_counts(self.unclassified, size))

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: npt.ArrayLike,
        *,
        actual: npt.ArrayLike,
        before: npt.ArrayLike,
        after: npt.ArrayLike,
        correct_before: npt.ArrayLike,
        correct_after: npt.ArrayLike,
    ) -> Self:
        """Counts the records: per record its group (position, or -1 for none), outcomes (0, 1, 2), and correct before and after (0, 1).

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named, of_group = as_groups(groups), np.asarray(codes)
        columns = [check_each(part, of_group.size, "outcome") for part in (actual, before, after)]
        columns += [check_each(part, of_group.size, "comparison") for part in (correct_before, correct_after)]
        parts = (_count_slice(named, of_group[part], [column[part] for column in columns]) for part in slices(of_group.size))
        whole = reduce(lambda earlier, later: DebiasedFeedback.merged([earlier, later]), parts)
        return cls(whole.groups, whole.counts, whole.unclassified)

    @property
    def corrections(self) -> IntArray:
        """Returns counts [groups + 1, correct before 2, correct after 2]."""
        counts: IntArray = self.counts.sum(axis=(1, 2, 3))
        return counts

    @property
    def label_changes(self) -> IntArray:
        """Returns counts [groups + 1, actual 2, before 2, after 2]."""
        counts: IntArray = self.counts.sum(axis=(-2, -1))
        return counts

    @classmethod
    def merged(cls, tables: Sequence["DebiasedFeedback"]) -> "DebiasedFeedback":
        """Returns the sum of the tables, with groups aligned by label; an empty table for none."""
        groups = union([table.groups for table in tables])
        counts, unclassified = np.zeros((len(groups) + 1, *SHAPE), np.int64), np.zeros(len(groups) + 1, np.int64)
        for table in tables:
            # The row of ungrouped records is last in the parts and in the sum.
            rows = np.append(positions(table.groups, groups), len(groups))
            counts[rows] += table.counts
            unclassified[rows] += table.unclassified
        return cls(groups, counts, unclassified)

    def to_json(self) -> dict[str, Any]:
        """Returns the table as plain JSON values."""
        return {
            "groups": [list(group) for group in self.groups],
            "counts": self.counts.tolist(),
            "unclassified": self.unclassified.tolist(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Reads the table that `to_json` wrote.

        Raises:
            ValueError: the counts do not fit the groups.
        """
        return cls(as_groups(stored["groups"]), stored["counts"], stored["unclassified"])


def _count_slice(groups: Groups, codes: npt.NDArray[Any], columns: Sequence[npt.NDArray[Any]]) -> DebiasedFeedback:
    """Counts one slice of the records: columns of their label, outcomes before and after, and whether these are correct."""
    # Modulo turns -1, the code of ungrouped records, into the row after the last group.
    rows = check_codes(codes, NEITHER, len(groups)) % (len(groups) + 1)
    outcomes = [check_codes(column, 0, OUTCOMES) for column in columns[:3]]
    corrects = [check_codes(column, 0, 2) for column in columns[3:]]
    kept = np.max(outcomes, axis=0) < OUTCOMES - 1
    key = rows[kept]
    for column in (*outcomes, *corrects):
        key = key * 2 + column[kept]
    shape = (len(groups) + 1, *SHAPE)
    counts = np.bincount(key, minlength=int(np.prod(shape))).astype(np.int64).reshape(shape)
    return DebiasedFeedback(groups, counts, np.bincount(rows[~kept], minlength=len(groups) + 1).astype(np.int64))
