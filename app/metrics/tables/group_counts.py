"""How often each group of an attribute, or each cell of an intersection, was predicted the favourable outcome."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from app.metrics.groups import (
    NEITHER,
    FloatArray,
    Groups,
    IntArray,
    Role,
    as_groups,
    checked_codes,
    checked_counts,
    checked_places,
    gathered,
    positions,
    union,
)
from app.metrics.tables.strata import Strata, check_fit, merged_strata
from app.metrics.tables.weighting import Weighting, checked_each, checked_weights, merged_weighting, slices, tallied

OUTCOMES = 3
"""Unfavourable 0, favourable 1, unclassified 2."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """Counts [groups, 2] (unfavourable, favourable), `unclassified` [groups], and the records of no group in `other`.

    The outcome is whatever was counted: what the model predicted, or the label of training data. `weighting` [groups, 2] is
    there where records carry weights, `strata` [S, groups, 2] where they are divided for the conditional metrics.

    Raises:
        ValueError: the arrays, the weighting or the strata do not fit the groups, or a count is negative.
    """

    groups: Groups
    counts: IntArray
    unclassified: IntArray
    other: int
    weighting: Weighting | None = None
    strata: Strata | None = None

    def __post_init__(self) -> None:
        size = len(self.groups)
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "counts", checked_counts(self.counts, size, 2))
        object.__setattr__(self, "unclassified", checked_counts(self.unclassified, size))
        check_fit(self.counts.shape, self.weighting, self.counts.shape, self.strata)

    @classmethod
    def from_records(
        cls,
        groups: Iterable[tuple[str, Role]],
        codes: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        strata: tuple[Sequence[str], npt.ArrayLike] | None = None,
    ) -> Self:
        """Counts the records: per record its group (position in `groups`, or -1 for none) and its outcome (0, 1, 2).

        `strata` are the labels of the strata, and per record its position among them (or -1 for none).

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named = as_groups(groups)
        of_group, outcome = np.asarray(codes), np.asarray(outcomes)
        if of_group.shape != outcome.shape:
            raise ValueError(f"expected as many outcomes as records, found {outcome.size} for {of_group.size}")
        weighed = checked_weights(weights, of_group.size)
        divided = None if strata is None else (strata[0], checked_each(strata[1], of_group.size, "stratum"))
        parts = (
            _counted(
                named,
                of_group[part],
                outcome[part],
                None if weighed is None else weighed[part],
                None if divided is None else (divided[0], divided[1][part]),
            )
            for part in slices(of_group.size)
        )
        whole = reduce(lambda earlier, later: GroupCounts.merged([earlier, later]), parts)
        return cls(whole.groups, whole.counts, whole.unclassified, whole.other, whole.weighting, whole.strata)

    @property
    def mass(self) -> FloatArray:
        """The weights [groups, 2]; counts where none were given."""
        return self.counts.astype(np.float64) if self.weighting is None else self.weighting.weights

    @classmethod
    def merged(cls, tables: Sequence["GroupCounts"]) -> "GroupCounts":
        """The sum of the tables, groups aligned by label; of no table, an empty one."""
        groups = union([table.groups for table in tables])
        counts, unclassified = np.zeros((len(groups), 2), np.int64), np.zeros(len(groups), np.int64)
        for table in tables:
            rows = positions(table.groups, groups)
            counts[rows] += table.counts
            unclassified[rows] += table.unclassified
        weighting = merged_weighting([(t.counts, t.weighting, positions(t.groups, groups)) for t in tables], counts.shape)
        strata = merged_strata([(table.strata, table.groups) for table in tables], groups)
        return cls(groups, counts, unclassified, sum(table.other for table in tables), weighting, strata)

    def regrouped(self, groups: Iterable[tuple[str, Role]], places: npt.ArrayLike) -> "GroupCounts":
        """The same records in other groups: `places` says for each group where it goes, or -1 for into none.

        Equal to counting the records again.

        Raises:
            ValueError: the places do not fit the groups.
        """
        named = as_groups(groups)
        checked = checked_places(places, len(self.groups), len(named))
        kept = checked != NEITHER
        left_out = int(self.counts[~kept].sum() + self.unclassified[~kept].sum())
        weighting = self.weighting and Weighting(self.weighting.weights[kept], self.weighting.squares[kept])
        return GroupCounts(
            named,
            gathered(self.counts[kept], checked[kept], len(named)),
            gathered(self.unclassified[kept], checked[kept], len(named)),
            self.other + left_out,
            weighting and weighting.regrouped(checked[kept], len(named)),
            self.strata and self.strata.regrouped(len(named), checked),
        )

    def to_json(self) -> dict[str, Any]:
        """The table as plain JSON values."""
        return {
            "groups": [list(group) for group in self.groups],
            "counts": self.counts.tolist(),
            "unclassified": self.unclassified.tolist(),
            "other": self.other,
        } | {name: part.to_json() for name, part in (("weighting", self.weighting), ("strata", self.strata)) if part is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The table `to_json` wrote.

        Raises:
            ValueError: the counts do not fit the groups.
        """
        size = len(stored["groups"])
        counts, weighting = checked_counts(stored["counts"], size, 2), Weighting.from_json(stored.get("weighting"), size, 2)
        return cls(
            as_groups(stored["groups"]),
            counts,
            stored["unclassified"],
            stored["other"],
            weighting,
            Strata.from_json(stored.get("strata"), counts, weighting),
        )


def _counted(
    groups: Groups,
    codes: npt.NDArray[Any],
    outcomes: npt.NDArray[Any],
    weights: FloatArray | None,
    strata: tuple[Sequence[str], npt.NDArray[Any]] | None,
) -> GroupCounts:
    """The counts of one slice of the records."""
    group_codes, outcome_codes = checked_codes(codes, NEITHER, len(groups)), checked_codes(outcomes, 0, OUTCOMES)
    # Records of no group fall into the row behind the last group.
    size = (len(groups) + 1) * OUTCOMES
    flat, weighting = tallied((group_codes % (len(groups) + 1)) * OUTCOMES + outcome_codes, size, weights)
    table = flat.reshape(len(groups) + 1, OUTCOMES)
    divided = None if strata is None else Strata.from_records(*strata, group_codes, [outcome_codes], groups=len(groups), weights=weights)
    return GroupCounts(groups, table[:-1, :2], table[:-1, 2], int(table[-1].sum()), _of_groups(weighting, len(groups)), divided)


def _of_groups(weighting: Weighting | None, groups: int) -> Weighting | None:
    """The part of a weighting [(groups + 1) · OUTCOMES] that belongs to the groups and the two outcomes."""
    if weighting is None:
        return None
    weights, squares = (part.reshape(groups + 1, OUTCOMES)[:-1, :2] for part in (weighting.weights, weighting.squares))
    return Weighting(weights, squares)
