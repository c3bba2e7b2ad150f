"""Records with the outcomes of their counterfactuals, so that both can be resampled as one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..groups import NEITHER, ComparedGroup, FloatArray, Groups, IntArray, as_groups, check_codes, check_counts
from .distinct import distinct_rows
from .group_counts import OUTCOMES
from .kinds import aligned, spread, stacked
from .weighting import check_weights


@dataclass(frozen=True, slots=True, eq=False)
class BalancedCells:
    """Kinds of records, each with the number of records of that kind. K kinds, T = number of groups.

    `group` [K] is the record's own group, `outcome` [K] its prediction (0 unfavourable, 1 favourable),
    `copies_favourable` and `copies_classified` [K, T] the outcomes of its counterfactuals by the group they were changed to, `count` [K]
    the number of such records. An unclassified record is left out together with its counterfactuals, and counted in `unclassified`
    [groups]; a record of no group in `other`. An unclassified counterfactual is in neither count. `weight` [K] is what each record of a
    kind weighs, set where records carry weights: records of one kind weigh the same.

    Raises:
        ValueError: the arrays do not fit each other, more copies are favourable than classified, or a weight is negative or not finite.
    """

    groups: Groups
    group: IntArray
    outcome: IntArray
    copies_favourable: IntArray
    copies_classified: IntArray
    count: IntArray
    unclassified: IntArray
    other: int
    weight: FloatArray | None = None

    def __post_init__(self) -> None:
        size, kinds = len(self.groups), len(self.count)
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "group", check_codes(self.group, 0, size))
        object.__setattr__(self, "outcome", check_codes(self.outcome, 0, 2))
        object.__setattr__(self, "count", check_counts(self.count, kinds))
        object.__setattr__(self, "weight", check_weights(self.weight, kinds))
        object.__setattr__(self, "unclassified", check_counts(self.unclassified, size))
        for name in ("copies_favourable", "copies_classified"):
            object.__setattr__(self, name, check_counts(getattr(self, name), kinds, size))
        if not len(self.group) == len(self.outcome) == kinds:
            raise ValueError(f"expected {kinds} groups and outcomes, found {len(self.group)} and {len(self.outcome)}")
        if (self.copies_favourable > self.copies_classified).any():
            raise ValueError("expected no more favourable copies than classified ones")

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        copies_favourable: npt.ArrayLike,
        copies_classified: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> Self:
        """Counts the records: per record its group (position; -1: none), its outcome (0, 1, 2), and counterfactuals [records, groups].

        `weights` are what each record counts, 1 without.

        Raises:
            ValueError: a code is out of range, or the arrays do not fit each other.
        """
        named = as_groups(groups)
        group_codes, outcome_codes = check_codes(codes, NEITHER, len(named)), check_codes(outcomes, 0, OUTCOMES)
        if group_codes.shape != outcome_codes.shape:
            raise ValueError(f"expected as many outcomes as records, found {outcome_codes.size} for {group_codes.size}")
        favourable = check_counts(copies_favourable, group_codes.size, len(named))
        classified = check_counts(copies_classified, group_codes.size, len(named))
        member = group_codes != NEITHER
        kept = member & (outcome_codes < OUTCOMES - 1)
        unclassified = np.bincount(group_codes[member & ~kept], minlength=len(named)).astype(np.int64)
        parts = (group_codes[kept], outcome_codes[kept], favourable[kept], classified[kept], np.ones(int(kept.sum()), np.int64))
        weighed = check_weights(weights, group_codes.size)
        kinds, weight = _merge_kinds(*parts, weight=None if weighed is None else weighed[kept])
        return cls(named, *kinds, unclassified, int((~member).sum()), weight)

    @classmethod
    def merged(cls, tables: Sequence["BalancedCells"]) -> "BalancedCells":
        """Returns the sum of the tables, with groups aligned by label and equal kinds merged; an empty table for none."""
        groups, places, unclassified = aligned(tables)
        weights = None
        if any(table.weight is not None for table in tables):
            # The records of the tables without weights weigh 1.
            weights = np.concatenate([np.ones(len(table.count)) if table.weight is None else table.weight for table in tables])
        parts, weight = _merge_kinds(
            stacked([place[table.group] for table, place in zip(tables, places, strict=True)]),
            stacked([table.outcome for table in tables]),
            spread([table.copies_favourable for table in tables], places, len(groups)),
            spread([table.copies_classified for table in tables], places, len(groups)),
            stacked([table.count for table in tables]),
            weight=weights,
        )
        return cls(groups, *parts, unclassified, sum(table.other for table in tables), weight)

    @property
    def has_unequal_weights(self) -> bool:
        """Whether some records weigh more than others."""
        return self.weight is not None and self.weight.size > 0 and not np.isclose(self.weight, self.weight[0], rtol=1e-9).all()

    def crossing(self) -> IntArray:
        """Returns 1 [K, groups] where a counterfactual crosses from one side to the other; only such counterfactuals count."""
        monitored = np.array([group.role == "monitored" for group in self.groups], dtype=np.bool_)
        crossing: IntArray = np.not_equal.outer(monitored[self.group], monitored).astype(np.int64)
        return crossing

    def to_json(self) -> dict[str, Any]:
        """Returns the table as plain JSON values."""
        return {
            "groups": [list(group) for group in self.groups],
            "group": self.group.tolist(),
            "outcome": self.outcome.tolist(),
            "copies_favourable": self.copies_favourable.tolist(),
            "copies_classified": self.copies_classified.tolist(),
            "count": self.count.tolist(),
            "unclassified": self.unclassified.tolist(),
            "other": self.other,
        } | ({} if self.weight is None else {"weight": self.weight.tolist()})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Reads the table that `to_json` wrote.

        Raises:
            ValueError: the arrays do not fit each other.
        """
        return cls(
            groups=as_groups(stored["groups"]),
            group=stored["group"],
            outcome=stored["outcome"],
            copies_favourable=stored["copies_favourable"],
            copies_classified=stored["copies_classified"],
            count=stored["count"],
            unclassified=stored["unclassified"],
            other=stored["other"],
            weight=stored.get("weight"),
        )


def _merge_kinds(
    group: IntArray, outcome: IntArray, favourable: IntArray, classified: IntArray, count: IntArray, *, weight: FloatArray | None
) -> tuple[tuple[IntArray, IntArray, IntArray, IntArray, IntArray], FloatArray | None]:
    """Merges equal kinds of equal weights, in an order that does not depend on the order of the records."""
    columns = [group, outcome, *favourable.T, *classified.T]
    if weight is not None:
        columns.append(np.unique(weight, return_inverse=True)[1].astype(np.int64))
    first, total = distinct_rows(columns, count)
    kinds = (group[first], outcome[first], favourable[first], classified[first], total)
    return kinds, None if weight is None else weight[first]
