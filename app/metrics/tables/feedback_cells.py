"""How the model's predictions compare with the labels that came back, by group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from app.metrics.tables.score_table import ScoreTable
from app.metrics.tables.strata import Strata, check_fit, merged_strata
from app.metrics.tables.weighting import Weighting, checked_each, checked_weights, merged_weighting, slices, tallied

SHAPE = (3, 3, 2)
"""Actual and predicted outcome (unfavourable, favourable, unclassified), and whether the predicted label is the actual one."""


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackCells:
    """Counts [groups + 1, actual 3, predicted 3, correct 2]; the last row holds the records of no group.

    Without groups it is the table of everybody. Whether a label is right is decided by the caller: two labels of one
    outcome are not the same label.

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
        object.__setattr__(self, "counts", checked_counts(self.counts, size + 1, *SHAPE))
        check_fit(self.counts.shape, self.weighting, (size, 2, 2), self.strata)
        if self.scores is not None and [group.label for group in self.scores.groups] != [group.label for group in self.groups]:
            raise ValueError("expected scores of the same groups")

    @classmethod
    def from_records(  # noqa: PLR0913 - one column of the records each
        cls,
        groups: Iterable[tuple[str, Role]],
        codes: npt.ArrayLike,
        *,
        actual: npt.ArrayLike,
        predicted: npt.ArrayLike,
        correct: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        strata: tuple[Sequence[str], npt.ArrayLike] | None = None,
        scores: npt.ArrayLike | None = None,
    ) -> Self:
        """Counts the records: per record its group (position, or -1 for none), both outcomes (0, 1, 2), and correct (0, 1).

        `strata` are the labels of the strata, and per record its position among them (or -1 for none). `scores` are
        probabilities of the favourable outcome, NaN where there is none.

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named = as_groups(groups)
        columns = [np.asarray(column) for column in (codes, actual, predicted, correct)]
        size = columns[0].size
        for part in columns[1:]:
            if part.shape != columns[0].shape:
                raise ValueError(f"expected one code per record, found {part.size} for {size} records")
        weighed = checked_weights(weights, size)
        divided = None if strata is None else (strata[0], checked_each(strata[1], size, "stratum"))
        scored = None if scores is None else checked_each(scores, size, "score")
        parts = (
            _counted(
                named,
                [column[part] for column in columns],
                None if weighed is None else weighed[part],
                None if divided is None else (divided[0], divided[1][part]),
                None if scored is None else scored[part],
            )
            for part in slices(size)
        )
        whole = reduce(lambda earlier, later: FeedbackCells.merged([earlier, later]), parts)
        return cls(whole.groups, whole.counts, whole.weighting, whole.strata, whole.scores)

    @property
    def confusion(self) -> IntArray:
        """Counts [groups + 1, actual 2, predicted 2] of the records whose label and prediction are both among the outcomes."""
        counts: IntArray = self.counts[:, :2, :2].sum(axis=-1)
        return counts

    @property
    def confusion_weighting(self) -> Weighting | None:
        """The weighting of `confusion`."""
        if self.weighting is None:
            return None
        return Weighting(*(part[:, :2, :2].sum(axis=-1) for part in (self.weighting.weights, self.weighting.squares)))

    @classmethod
    def merged(cls, tables: Sequence["FeedbackCells"]) -> "FeedbackCells":
        """The sum of the tables, groups aligned by label; of no table, an empty one."""
        groups = union([table.groups for table in tables])
        counts = np.zeros((len(groups) + 1, *SHAPE), np.int64)
        # The records of no group stand last, before and after.
        rows = [np.append(positions(table.groups, groups), len(groups)) for table in tables]
        for table, places in zip(tables, rows, strict=True):
            counts[places] += table.counts
        weighting = merged_weighting([(t.counts, t.weighting, places) for t, places in zip(tables, rows, strict=True)], counts.shape)
        return cls(
            groups,
            counts,
            weighting,
            merged_strata([(table.strata, table.groups) for table in tables], groups),
            _merged_scores(tables),
        )

    def regrouped(self, groups: Iterable[tuple[str, Role]], places: npt.ArrayLike) -> "FeedbackCells":
        """The same records in other groups: `places` says for each group where it goes, or -1 for among the records of no group.

        Equal to counting the records again.

        Raises:
            ValueError: the places do not fit the groups.
        """
        named = as_groups(groups)
        checked = checked_places(places, len(self.groups), len(named))
        # The records of no group stand last, before and after.
        rows = np.append(np.where(checked == NEITHER, len(named), checked), len(named))
        return FeedbackCells(
            named,
            gathered(self.counts, rows, len(named) + 1),
            self.weighting and self.weighting.regrouped(rows, len(named) + 1),
            self.strata and self.strata.regrouped(len(named), checked),
            None if self.scores is None else self.scores.regrouped(named, rows),
        )

    def to_json(self) -> dict[str, Any]:
        """The table as plain JSON values."""
        optional = (("weighting", self.weighting), ("strata", self.strata), ("scores", self.scores))
        return {"groups": [list(group) for group in self.groups], "counts": self.counts.tolist()} | {
            name: part.to_json() for name, part in optional if part is not None
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The table `to_json` wrote.

        Raises:
            ValueError: the counts do not fit the groups.
        """
        shape, scores = (len(stored["groups"]) + 1, *SHAPE), stored.get("scores")
        counts, weighting = checked_counts(stored["counts"], *shape), Weighting.from_json(stored.get("weighting"), *shape)
        plain = cls(as_groups(stored["groups"]), counts, weighting)
        weighed = plain.confusion_weighting
        return replace(
            plain,
            strata=Strata.from_json(
                stored.get("strata"), plain.confusion[:-1], weighed and Weighting(weighed.weights[:-1], weighed.squares[:-1])
            ),
            scores=None if scores is None else ScoreTable.from_json(scores),
        )


def _counted(
    groups: Groups,
    columns: Sequence[npt.NDArray[Any]],
    weights: FloatArray | None,
    strata: tuple[Sequence[str], npt.NDArray[Any]] | None,
    scores: npt.NDArray[Any] | None,
) -> FeedbackCells:
    """The cells of one slice of the records: columns of their group, label, prediction, and whether it is correct."""
    codes = checked_codes(columns[0], NEITHER, len(groups))
    outcomes = [checked_codes(column, 0, size) for column, size in zip(columns[1:], SHAPE, strict=True)]
    key = codes % (len(groups) + 1)
    for part, size in zip(outcomes, SHAPE, strict=True):
        key = key * size + part
    shape = (len(groups) + 1, *SHAPE)
    counts, weighting = tallied(key, int(np.prod(shape)), weights)
    divided = None if strata is None else Strata.from_records(*strata, codes, outcomes[:2], groups=len(groups), weights=weights)
    scored = None if scores is None else ScoreTable.from_records(groups, codes, outcomes[0], scores, weights=weights)
    return FeedbackCells(groups, counts.reshape(shape), _shaped(weighting, shape), divided, scored)


def _merged_scores(tables: Sequence[FeedbackCells]) -> ScoreTable | None:
    """What is known of any table's scores; an hour without scores takes none from the others, and its records count as unscored."""
    if all(table.scores is None for table in tables):
        return None
    return ScoreTable.merged([table.scores or ScoreTable.unknown(table.groups, table.counts.sum(axis=(1, 2, 3))) for table in tables])


def _shaped(weighting: Weighting | None, shape: tuple[int, ...]) -> Weighting | None:
    return None if weighting is None else Weighting(weighting.weights.reshape(shape), weighting.squares.reshape(shape))
