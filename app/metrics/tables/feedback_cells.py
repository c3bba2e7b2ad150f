"""Counts of the model's predictions by their ground-truth labels, by group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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

SHAPE = (3, 3, 2)
"""Actual and predicted outcome (unfavourable, favourable, unclassified), and whether the predicted label is the actual one."""


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackCells:
    """Counts [groups + 1, actual 3, predicted 3, correct 2]; the last row holds the records of no group.

    Without groups it is the table of all records. The caller decides whether a label is right: two labels of one
    outcome are different labels.

    Raises:
        ValueError: the counts, the weighting, the strata or the scores do not fit the groups, or a count is negative.
    """

    groups: Groups
    counts: IntArray
    weighting: Weighting | None = None
    strata: Strata | None = None
    scores: ScoreTable | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_groups(self.groups))
        size = len(self.groups)
        object.__setattr__(self, "counts", check_counts(self.counts, size + 1, *SHAPE))
        check_fit(self.counts.shape, self.weighting, (size, 2, 2), self.strata)
        if self.scores is not None and [group.label for group in self.scores.groups] != [group.label for group in self.groups]:
            raise ValueError("expected scores of the same groups")

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: npt.ArrayLike,
        *,
        actual: npt.ArrayLike,
        predicted: npt.ArrayLike,
        correct: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        strata: RecordStrata | None = None,
        scores: npt.ArrayLike | None = None,
    ) -> Self:
        """Counts the records: per record its group (position, or -1 for none), both outcomes (0, 1, 2), and correct (0, 1).

        `scores` are probabilities of the favourable outcome, NaN where there is none.

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named = as_groups(groups)
        columns = [np.asarray(column) for column in (codes, actual, predicted, correct)]
        size = columns[0].size
        for part in columns[1:]:
            if part.shape != columns[0].shape:
                raise ValueError(f"expected one code per record, found {part.size} for {size} records")
        weighed = check_weights(weights, size)
        divided = None if strata is None else RecordStrata(*strata).checked(size)
        scored = None if scores is None else check_each(scores, size, "score")
        parts = (
            _count_slice(
                named,
                [column[part] for column in columns],
                None if weighed is None else weighed[part],
                None if divided is None else divided.slice(part),
                None if scored is None else scored[part],
            )
            for part in slices(size)
        )
        whole = reduce(lambda earlier, later: FeedbackCells.merged([earlier, later]), parts)
        return cls(whole.groups, whole.counts, whole.weighting, whole.strata, whole.scores)

    @property
    def confusion(self) -> IntArray:
        """Returns counts [groups + 1, actual 2, predicted 2] of the records whose label and prediction are both among the outcomes."""
        counts: IntArray = self.counts[:, :2, :2].sum(axis=-1)
        return counts

    @property
    def confusion_weighting(self) -> Weighting | None:
        """Returns the weighting of `confusion`."""
        if self.weighting is None:
            return None
        return Weighting(*(part[:, :2, :2].sum(axis=-1) for part in (self.weighting.weights, self.weighting.squares)))

    @classmethod
    def merged(cls, tables: Sequence["FeedbackCells"]) -> "FeedbackCells":
        """Returns the sum of the tables, with groups aligned by label; an empty table for none."""
        groups = union([table.groups for table in tables])
        counts = np.zeros((len(groups) + 1, *SHAPE), np.int64)
        # The row of ungrouped records is last in the parts and in the sum.
        rows = [np.append(positions(table.groups, groups), len(groups)) for table in tables]
        for table, places in zip(tables, rows, strict=True):
            counts[places] += table.counts
        parts = [WeightedPart(table.counts, table.weighting, places) for table, places in zip(tables, rows, strict=True)]
        weighting = merge_weighting(parts, counts.shape)
        strata = merge_strata([table.strata for table in tables], [table.groups for table in tables], groups)
        if all(table.scores is None for table in tables):
            return cls(groups, counts, weighting, strata)
        # The records of an hour without scores count as unscored.
        scored = [table.scores or ScoreTable.unknown(table.groups, table.counts.sum(axis=(1, 2, 3))) for table in tables]
        return cls(groups, counts, weighting, strata, ScoreTable.merged(scored))

    def regrouped(self, groups: Iterable[ComparedGroup], places: npt.ArrayLike) -> "FeedbackCells":
        """Returns the same records in other groups: `places` holds the new position of each group, or -1 for the ungrouped records.

        Equal to counting the records again.

        Raises:
            ValueError: the places do not fit the groups.
        """
        named = as_groups(groups)
        checked = check_places(places, len(self.groups), len(named))
        # The row of ungrouped records is last, before and after.
        rows = np.append(np.where(checked == NEITHER, len(named), checked), len(named))
        return FeedbackCells(
            named,
            sum_by_place(self.counts, rows, len(named) + 1),
            self.weighting and self.weighting.regrouped(rows, len(named) + 1),
            self.strata and self.strata.regrouped(len(named), checked),
            None if self.scores is None else self.scores.regrouped(named, rows),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the table as plain JSON values."""
        optional = (("weighting", self.weighting), ("strata", self.strata), ("scores", self.scores))
        return {"groups": [list(group) for group in self.groups], "counts": self.counts.tolist()} | {
            name: part.to_json() for name, part in optional if part is not None
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Reads the table that `to_json` wrote.

        Raises:
            ValueError: the counts do not fit the groups.
        """
        shape, scores = (len(stored["groups"]) + 1, *SHAPE), stored.get("scores")
        counts, weighting = check_counts(stored["counts"], *shape), Weighting.from_json(stored.get("weighting"), *shape)
        plain = cls(as_groups(stored["groups"]), counts, weighting)
        weighed = plain.confusion_weighting
        return replace(
            plain,
            strata=Strata.from_json(
                stored.get("strata"), plain.confusion[:-1], weighed and Weighting(weighed.weights[:-1], weighed.squares[:-1])
            ),
            scores=None if scores is None else ScoreTable.from_json(scores),
        )


def _count_slice(
    groups: Groups,
    columns: Sequence[npt.NDArray[Any]],
    weights: FloatArray | None,
    strata: RecordStrata | None,
    scores: npt.NDArray[Any] | None,
) -> FeedbackCells:
    """Counts one slice of the records: columns of their group, label, prediction, and whether it is correct."""
    codes = check_codes(columns[0], NEITHER, len(groups))
    outcomes = [check_codes(column, 0, size) for column, size in zip(columns[1:], SHAPE, strict=True)]
    # Modulo turns -1, the code of ungrouped records, into the row after the last group.
    key = codes % (len(groups) + 1)
    for part, size in zip(outcomes, SHAPE, strict=True):
        key = key * size + part
    shape = (len(groups) + 1, *SHAPE)
    counts, weighting = count_keys(key, int(np.prod(shape)), weights)
    divided = None if strata is None else Strata.from_records(*strata, codes, outcomes[:2], groups=len(groups), weights=weights)
    scored = None if scores is None else ScoreTable.from_records(groups, codes, outcomes[0], scores, weights=weights)
    return FeedbackCells(groups, counts.reshape(shape), weighting and weighting.reshaped(*shape), divided, scored)
