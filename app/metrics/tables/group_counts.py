"""Counts of the favourable outcome in each group of an attribute, or each cell of an intersection."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..groups import (
    NEITHER,
    ComparedGroup,
    FloatArray,
    Groups,
    IntArray,
    as_groups,
    check_codes,
    check_counts,
    check_places,
    positions,
    sum_by_place,
    union,
)
from .score_table import ScoreTable
from .strata import RecordStrata, Strata, check_fit, merge_strata
from .weighting import WeightedPart, Weighting, check_each, check_weights, count_keys, merge_weighting, slices

OUTCOMES = 3
"""Unfavourable 0, favourable 1, unclassified 2."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """Counts [groups, 2] (unfavourable, favourable), `unclassified` [groups], and the records of no group in `other`.

    The outcome is whatever was counted: the model's prediction, or the label of training data. `weighting` [groups, 2] is
    set where records carry weights, `strata` [S, groups, 2] where they are divided for the conditional metrics, `scores` where the
    model's scores are compared: those of every record that has one, whatever its outcome.

    Raises:
        ValueError: the arrays, the weighting, the strata or the scores do not fit the groups, or a count is negative.
    """

    groups: Groups
    counts: IntArray
    unclassified: IntArray
    other: int
    weighting: Weighting | None = None
    strata: Strata | None = None
    scores: ScoreTable | None = None

    def __post_init__(self) -> None:
        size = len(self.groups)
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "counts", check_counts(self.counts, size, 2))
        object.__setattr__(self, "unclassified", check_counts(self.unclassified, size))
        check_fit(self.counts.shape, self.weighting, self.counts.shape, self.strata)
        if self.scores is not None and [group.label for group in self.scores.groups] != [group.label for group in self.groups]:
            raise ValueError("expected scores of the same groups")

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        strata: RecordStrata | None = None,
        repeats: IntArray | None = None,
        scores: npt.ArrayLike | None = None,
    ) -> Self:
        """Counts the records: per record its group (position in `groups`, or -1 for none) and its outcome (0, 1, 2).

        With `repeats`, each entry is that many equal records without weights and scores. `scores` are probabilities of the favourable
        outcome, NaN where there is none.

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named = as_groups(groups)
        of_group, outcome = np.asarray(codes), np.asarray(outcomes)
        if of_group.shape != outcome.shape:
            raise ValueError(f"expected as many outcomes as records, found {outcome.size} for {of_group.size}")
        weighed = check_weights(weights, of_group.size)
        divided = None if strata is None else RecordStrata(*strata).checked(of_group.size)
        scored = None if scores is None else check_each(scores, of_group.size, "score")
        parts = (
            _count_slice(
                named,
                of_group[part],
                outcome[part],
                None if weighed is None else weighed[part],
                None if divided is None else divided.slice(part),
                None if repeats is None else repeats[part],
                None if scored is None else scored[part],
            )
            for part in slices(of_group.size)
        )
        whole = reduce(lambda earlier, later: GroupCounts.merged([earlier, later]), parts)
        return cls(whole.groups, whole.counts, whole.unclassified, whole.other, whole.weighting, whole.strata, whole.scores)

    @property
    def mass(self) -> FloatArray:
        """The weights [groups, 2]; counts where records carry none."""
        return self.counts.astype(np.float64) if self.weighting is None else self.weighting.weights

    @classmethod
    def merged(cls, tables: Sequence["GroupCounts"]) -> "GroupCounts":
        """Returns the sum of the tables, with groups aligned by label; an empty table for none."""
        groups = union([table.groups for table in tables])
        counts, unclassified = np.zeros((len(groups), 2), np.int64), np.zeros(len(groups), np.int64)
        for table in tables:
            rows = positions(table.groups, groups)
            counts[rows] += table.counts
            unclassified[rows] += table.unclassified
        parts = [WeightedPart(table.counts, table.weighting, positions(table.groups, groups)) for table in tables]
        weighting = merge_weighting(parts, counts.shape)
        strata = merge_strata([table.strata for table in tables], [table.groups for table in tables], groups)
        other = sum(table.other for table in tables)
        if all(table.scores is None for table in tables):
            return cls(groups, counts, unclassified, other, weighting, strata)
        # The records of an hour without scores count as unscored.
        scored = [table.scores or table.unknown_scores() for table in tables]
        return cls(groups, counts, unclassified, other, weighting, strata, ScoreTable.merged(scored))

    def unknown_scores(self) -> ScoreTable:
        """Returns the table of the same records as if none had a score."""
        return ScoreTable.unknown(self.groups, np.append(self.counts.sum(axis=1) + self.unclassified, self.other))

    def regrouped(self, groups: Iterable[ComparedGroup], places: npt.ArrayLike) -> "GroupCounts":
        """Returns the same records in other groups: `places` holds the new position of each group, or -1 for none.

        Equal to counting the records again.

        Raises:
            ValueError: the places do not fit the groups.
        """
        named = as_groups(groups)
        checked = check_places(places, len(self.groups), len(named))
        kept = checked != NEITHER
        left_out = int(self.counts[~kept].sum() + self.unclassified[~kept].sum())
        weighting = self.weighting and Weighting(self.weighting.weights[kept], self.weighting.squares[kept])
        return GroupCounts(
            named,
            sum_by_place(self.counts[kept], checked[kept], len(named)),
            sum_by_place(self.unclassified[kept], checked[kept], len(named)),
            self.other + left_out,
            weighting and weighting.regrouped(checked[kept], len(named)),
            self.strata and self.strata.regrouped(len(named), checked),
            # The column of ungrouped records is last, before and after.
            self.scores and self.scores.regrouped(named, np.append(np.where(kept, checked, len(named)), len(named))),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the table as plain JSON values."""
        optional = (("weighting", self.weighting), ("strata", self.strata), ("scores", self.scores))
        return {
            "groups": [list(group) for group in self.groups],
            "counts": self.counts.tolist(),
            "unclassified": self.unclassified.tolist(),
            "other": self.other,
        } | {name: part.to_json() for name, part in optional if part is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Reads the table that `to_json` wrote.

        Raises:
            ValueError: the counts do not fit the groups.
        """
        size = len(stored["groups"])
        counts, weighting = check_counts(stored["counts"], size, 2), Weighting.from_json(stored.get("weighting"), size, 2)
        return cls(
            as_groups(stored["groups"]),
            counts,
            stored["unclassified"],
            stored["other"],
            weighting,
            Strata.from_json(stored.get("strata"), counts, weighting),
            None if (scores := stored.get("scores")) is None else ScoreTable.from_json(scores),
        )


def _count_slice(
    groups: Groups,
    codes: npt.NDArray[Any],
    outcomes: npt.NDArray[Any],
    weights: FloatArray | None,
    strata: RecordStrata | None,
    repeats: IntArray | None,
    scores: npt.NDArray[Any] | None,
) -> GroupCounts:
    """Counts one slice of the records."""
    group_codes, outcome_codes = check_codes(codes, NEITHER, len(groups)), check_codes(outcomes, 0, OUTCOMES)
    # Modulo turns -1, the code of ungrouped records, into the row after the last group.
    size = (len(groups) + 1) * OUTCOMES
    flat, weighting = count_keys((group_codes % (len(groups) + 1)) * OUTCOMES + outcome_codes, size, weights, repeats)
    table = flat.reshape(len(groups) + 1, OUTCOMES)
    divided = None
    if strata is not None:
        divided = Strata.from_records(*strata, group_codes, [outcome_codes], groups=len(groups), weights=weights, repeats=repeats)
    if weighting is not None:
        # Only the groups and the two outcomes keep their weights.
        whole = weighting.reshaped(len(groups) + 1, OUTCOMES)
        weighting = Weighting(whole.weights[:-1, :2], whole.squares[:-1, :2])
    # Scores are compared whatever the outcome is, and no record is left out for being in neither list.
    is_favourable = (outcome_codes == 1).astype(np.int64)
    scored = None if scores is None else ScoreTable.from_records(groups, group_codes, is_favourable, scores, weights=weights)
    return GroupCounts(groups, table[:-1, :2], table[:-1, 2], int(table[-1].sum()), weighting, divided, scored)
