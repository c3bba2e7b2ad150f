"""Probabilities of the favourable outcome with their labels, by group."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...base.frozen import frozen_arrays
from ..group_labels import NEITHER, ComparedGroup, Groups, IntArray, as_groups, check_codes, check_counts
from .score_sums import ScoreSums
from .strata_counts import check_weights


@frozen_arrays
class ScoreTable:
    """Sums by group, ungrouped records last. `unscored` [groups + 1] have no score in [0, 1], or a label of
    neither outcome.

    Raises:
        ValueError: the sums or the counts do not fit the groups.
    """

    groups: Groups
    sums: ScoreSums
    unscored: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "unscored", check_counts(self.unscored, len(self.groups) + 1))
        if len(self.sums.counts) != len(self.groups) + 1:
            raise ValueError(
                f"expected sums of {len(self.groups) + 1} columns, found {len(self.sums.counts)}"
            )

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: ArrayLike,
        actual: ArrayLike,
        scores: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Sums the records: group (position, or -1), actual outcome (0, 1, 2), and score or NaN.

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named = as_groups(groups)
        columns = check_codes(codes, NEITHER, len(named)) % (len(named) + 1)
        labels = check_codes(actual, 0, 3)
        probabilities = np.asarray(scores, float)
        if not columns.shape == labels.shape == probabilities.shape:
            raise ValueError(
                f"expected one label and one score per record, found {labels.size} and {probabilities.size} "
                f"for {columns.size} records"
            )
        weighed = check_weights(weights, columns.size)
        is_scored = (labels != 2) & (probabilities >= 0) & (probabilities <= 1)  # noqa: PLR2004 - 2 is neither outcome
        unscored = np.bincount(columns[~is_scored], minlength=len(named) + 1)
        if not is_scored.all():
            columns = columns[is_scored]
            labels = labels[is_scored]
            probabilities = probabilities[is_scored]
            weighed = None if weighed is None else weighed[is_scored]
        return cls(
            named, ScoreSums.from_records(columns, len(named) + 1, labels, probabilities, weighed), unscored
        )

    @classmethod
    def placed(cls, tables: Sequence["ScoreTable"], rows_of: Sequence[IntArray], groups: Groups) -> Self:
        """Sum of the tables; `rows_of` hold the new position of each column, including the ungrouped one."""
        unscored = np.zeros(len(groups) + 1, int)
        for table, rows in zip(tables, rows_of, strict=True):
            np.add.at(unscored, rows, table.unscored)
        return cls(
            groups, ScoreSums.merged([table.sums for table in tables], rows_of, len(groups) + 1), unscored
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "groups": [list(group) for group in self.groups],
            "unscored": self.unscored.tolist(),
            **self.sums.to_json(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Table that `to_json` wrote.

        Raises:
            ValueError: the sums do not fit the groups.
        """
        return cls(
            stored["groups"], ScoreSums.from_json(stored, len(stored["groups"]) + 1), stored["unscored"]
        )
