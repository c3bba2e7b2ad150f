"""Records with their counterfactuals, each with its outcome before and after mitigation, so that both are resampled as one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..groups import NEITHER, ComparedGroup, Groups, IntArray, as_groups, check_codes, check_counts
from .balanced_cells import BalancedCells
from .distinct import distinct_rows
from .group_counts import OUTCOMES
from .kinds import aligned, spread, stacked

_COPIES = ("copies_classified", "copies_before", "copies_after")


@dataclass(frozen=True, slots=True, eq=False)
class DebiasedCells:
    """Kinds of records, each with the number of records of that kind. K kinds, T = number of groups.

    `group` [K] is the record's own group, `before` and `after` [K] its outcome without and with mitigation (0 unfavourable,
    1 favourable), `copies_classified`, `copies_before` and `copies_after` [K, T] its classified counterfactuals, and the favourable ones of
    them without and with mitigation, by the group they were changed to, `count` [K] the number of such records. A record that is
    unclassified before or after is left out together with its counterfactuals, and counted in `unclassified` [groups]; a record of no
    group in `other`. An unclassified counterfactual is in no count.

    Raises:
        ValueError: the arrays do not fit each other, or more copies are favourable than classified.
    """

    groups: Groups
    group: IntArray
    before: IntArray
    after: IntArray
    copies_classified: IntArray
    copies_before: IntArray
    copies_after: IntArray
    count: IntArray
    unclassified: IntArray
    other: int

    def __post_init__(self) -> None:
        size, kinds = len(self.groups), len(self.count)
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "group", check_codes(self.group, 0, size))
        for name in ("before", "after"):
            object.__setattr__(self, name, check_codes(getattr(self, name), 0, 2))
        object.__setattr__(self, "count", check_counts(self.count, kinds))
        object.__setattr__(self, "unclassified", check_counts(self.unclassified, size))
        for name in _COPIES:
            object.__setattr__(self, name, check_counts(getattr(self, name), kinds, size))
        if not len(self.group) == len(self.before) == len(self.after) == kinds:
            found = f"{len(self.group)}, {len(self.before)} and {len(self.after)}"
            raise ValueError(f"expected {kinds} groups, outcomes before and outcomes after, found {found}")
        if (np.maximum(self.copies_before, self.copies_after) > self.copies_classified).any():
            raise ValueError("expected no more favourable copies than classified ones")

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: npt.ArrayLike,
        before: npt.ArrayLike,
        *,
        after: npt.ArrayLike,
        copies_classified: npt.ArrayLike,
        copies_before: npt.ArrayLike,
        copies_after: npt.ArrayLike,
    ) -> Self:
        """Counts the records: per record its group (position; -1: none), both outcomes (0, 1, 2), and counterfactuals [records, groups].

        Raises:
            ValueError: a code is out of range, or the arrays do not fit each other.
        """
        named = as_groups(groups)
        group_codes = check_codes(codes, NEITHER, len(named))
        outcomes = [check_codes(column, 0, OUTCOMES) for column in (before, after)]
        for column in outcomes:
            if column.shape != group_codes.shape:
                raise ValueError(f"expected as many outcomes as records, found {column.size} for {group_codes.size}")
        copies = [check_counts(matrix, group_codes.size, len(named)) for matrix in (copies_classified, copies_before, copies_after)]
        member = group_codes != NEITHER
        kept = member & (np.maximum(*outcomes) < OUTCOMES - 1)
        unclassified = np.bincount(group_codes[member & ~kept], minlength=len(named)).astype(np.int64)
        columns = [column[kept] for column in (group_codes, *outcomes)]
        kinds = _merge_kinds(columns, [matrix[kept] for matrix in copies], np.ones(int(kept.sum()), np.int64))
        return cls(named, *kinds, unclassified, int((~member).sum()))

    @classmethod
    def merged(cls, tables: Sequence["DebiasedCells"]) -> "DebiasedCells":
        """Returns the sum of the tables, with groups aligned by label and equal kinds merged; an empty table for none."""
        groups, places, unclassified = aligned(tables)
        kinds = _merge_kinds(
            [
                stacked([place[table.group] for table, place in zip(tables, places, strict=True)]),
                stacked([table.before for table in tables]),
                stacked([table.after for table in tables]),
            ],
            [spread([getattr(table, name) for table in tables], places, len(groups)) for name in _COPIES],
            stacked([table.count for table in tables]),
        )
        return cls(groups, *kinds, unclassified, sum(table.other for table in tables))

    @property
    def outcomes(self) -> IntArray:
        """Returns counts [groups, before 2, after 2] of the records themselves, without counterfactuals."""
        size = len(self.groups)
        # Exact in floats: the weights are whole numbers far below 2**53.
        counts = np.bincount(self.group * 4 + self.before * 2 + self.after, self.count, minlength=4 * size)
        return counts.astype(np.int64).reshape(size, 2, 2)

    @property
    def balanced_before(self) -> BalancedCells:
        """Returns the records with their counterfactuals as they were, without mitigation."""
        return self._balanced(self.before, self.copies_before)

    @property
    def balanced_after(self) -> BalancedCells:
        """Returns the records with their counterfactuals after mitigation."""
        return self._balanced(self.after, self.copies_after)

    def to_json(self) -> dict[str, Any]:
        """Returns the table as plain JSON values."""
        arrays = ("group", "before", "after", *_COPIES, "count", "unclassified")
        return {
            "groups": [list(group) for group in self.groups],
            **{name: getattr(self, name).tolist() for name in arrays},
            "other": self.other,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Reads the table that `to_json` wrote.

        Raises:
            ValueError: the arrays do not fit each other.
        """
        arrays = ("group", "before", "after", *_COPIES, "count", "unclassified")
        return cls(groups=as_groups(stored["groups"]), other=stored["other"], **{name: stored[name] for name in arrays})

    def _balanced(self, outcome: IntArray, favourable: IntArray) -> BalancedCells:
        kinds = BalancedCells(
            self.groups, self.group, outcome, favourable, self.copies_classified, self.count, self.unclassified, self.other
        )
        # Kinds that differ only on the other side of mitigation merge here: the same table as if this side alone had been counted.
        return BalancedCells.merged([kinds])


def _merge_kinds(
    outcomes: Sequence[IntArray], copies: Sequence[IntArray], count: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Merges equal kinds, in an order that does not depend on the order of the records."""
    first, total = distinct_rows([*outcomes, *(column for matrix in copies for column in matrix.T)], count)
    (group, before, after), (classified, copies_before, copies_after) = outcomes, copies
    return group[first], before[first], after[first], classified[first], copies_before[first], copies_after[first], total
