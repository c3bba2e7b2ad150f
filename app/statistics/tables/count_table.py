"""Tables of records counted by group and by outcomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..group_labels import (
    NEITHER,
    AnyArray,
    ComparedGroup,
    Groups,
    IntArray,
    align_groups,
    build_groups,
    check_codes,
    check_counts,
)
from .score_table import ScoreTable
from .strata_counts import (
    PlacedCells,
    RecordStrata,
    Strata,
    Weighting,
    check_each,
    check_weights,
    count_keys,
    merge_strata,
    sum_cells,
)

OUTCOMES = 3
"""Number of the codes: unfavourable 0, favourable 1, unclassified 2."""

MAX_RECORDS_AT_ONCE = 2**18
"""More records are counted in pieces, as each takes some 300 bytes."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts [groups + 1, …] by the codes of `AXES`; the last row holds the records of no group.

    `weighting` has the shape of the cells; that of `counts` alone is stored. `strata` [S, groups, 2, …]
    divide the first `DIVIDED` axes. `scores` are of every record that has one. `STORED` selects the cells
    stored one by one; of the others each row stores only the sum. `SCORES_BY_LABEL`: a record with a label of
    neither outcome has no score.
    """

    AXES: ClassVar[Mapping[str, int]]
    DIVIDED: ClassVar[int] = 1
    STORED: ClassVar[tuple[slice, ...]]
    SCORES_BY_LABEL: ClassVar[bool] = True

    groups: Groups
    cells: IntArray
    weighting: Weighting | None = None
    strata: Strata | None = None
    scores: ScoreTable | None = None
    cohort: IntArray | None = None

    def __post_init__(self) -> None:
        size = len(self.groups)
        object.__setattr__(self, "groups", build_groups(self.groups))
        object.__setattr__(self, "cells", check_counts(self.cells, size + 1, *self.AXES.values()))
        if self.weighting and self.weighting.weights.shape != self.cells.shape:
            raise ValueError(
                f"expected a weighting of the shape {self.cells.shape}, found {self.weighting.weights.shape}"
            )
        divided_shape = (size, *[2] * self.DIVIDED)
        if self.strata and self.strata.counts.shape[1:] != divided_shape:
            raise ValueError(
                f"expected strata of cells of the shape {divided_shape}, found {self.strata.counts.shape[1:]}"
            )
        if self.scores and [group.label for group in self.scores.groups] != [
            group.label for group in self.groups
        ]:
            raise ValueError("expected scores of the same groups")

    @property
    def counts(self) -> IntArray:
        return self.cells[self.STORED]

    @property
    def counts_weighting(self) -> Weighting | None:
        return self.weighting and self.weighting.apply(lambda cells: cells[self.STORED])

    @property
    def unclassified(self) -> IntArray:
        """Records of each row that are in no stored cell."""
        axes = tuple(range(1, self.cells.ndim))
        uncounted: IntArray = self.cells[self.STORED[0]].sum(axes) - self.counts.sum(axes)
        return uncounted

    @classmethod
    def merge(cls, tables: Sequence["CountTable"]) -> Self:
        groups, rows_of = align_groups([table.groups for table in tables])
        aligned = [
            PlacedCells(table.cells, table.weighting, (rows,))
            for table, rows in zip(tables, rows_of, strict=True)
        ]
        cells, weighting = sum_cells(aligned, (len(groups) + 1, *cls.AXES.values()))
        strata = merge_strata([table.strata for table in tables], rows_of, len(groups))
        scores = None
        if any(table.scores for table in tables):
            scores = ScoreTable.place(
                [table.scores or table.tabulate_unscored() for table in tables], rows_of, groups
            )
        cohorts = []
        for table, rows in zip(tables, rows_of, strict=True):
            if table.cohort is not None:
                cohorts.append(np.zeros((len(groups) + 1, 2, 2), int))
                np.add.at(cohorts[-1], rows, table.cohort)
        return cls(groups, cells, weighting, strata, scores, max(cohorts, key=np.sum, default=None))

    def tabulate_unscored(self) -> ScoreTable:
        """Table of scores of the same records, none of which has one."""
        return replace(ScoreTable.empty(self.groups), unscored=self.cells.reshape(len(self.cells), -1).sum(1))

    def to_json(self) -> dict[str, Any]:
        optional = (("weighting", self.counts_weighting), ("strata", self.strata), ("scores", self.scores))
        stored = {"groups": [list(group) for group in self.groups], "counts": self.counts.tolist()}
        if len(self.STORED) > 1:
            stored["unclassified"] = self.unclassified.tolist()
        stored |= {name: table.to_json() for name, table in optional if table}
        return stored | ({} if self.cohort is None else {"cohort": self.cohort.tolist()})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        groups = build_groups(stored["groups"])
        cells = np.zeros((len(groups) + 1, *cls.AXES.values()), int)
        counts = cells[cls.STORED]
        last = cells.reshape(len(groups) + 1, -1)[:, -1]
        counts[...] = check_counts(stored["counts"], *counts.shape)
        if len(cls.STORED) > 1:
            last[cls.STORED[0]] = check_counts(stored["unclassified"], len(counts))

        def fill(stored_cells: AnyArray) -> AnyArray:
            all_cells = np.zeros(cells.shape)
            all_cells[cls.STORED] = stored_cells
            return all_cells

        weighting = Weighting.from_json(stored.get("weighting"), *counts.shape)
        scores = stored.get("scores")
        cohort = stored.get("cohort")
        return cls(
            groups,
            cells,
            weighting and weighting.apply(fill),
            Strata.from_json(stored.get("strata"), len(groups), *[2] * cls.DIVIDED),
            None if scores is None else ScoreTable.from_json(scores),
            None if cohort is None else np.asarray(cohort, int),
        )

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        strata: RecordStrata | None = None,
        repeats: IntArray | None = None,
        scores: ArrayLike | None = None,
        **columns: ArrayLike,
    ) -> Self:
        """Counts the records: of each its group (position in `groups`, or -1), and its codes by axis in
        `columns`.

        With `repeats`, each entry is that many equal records without weights and scores. `scores` are
        probabilities of the favourable outcome or NaN, compared with the first column.
        """
        if columns.keys() != cls.AXES.keys():
            raise TypeError(f"expected the columns {', '.join(cls.AXES)}, found {', '.join(columns)}")
        if np.size(codes) > MAX_RECORDS_AT_ONCE:
            arrays = {"weights": weights, "repeats": repeats, "scores": scores, **columns}
            return cls._count_pieces(groups, np.asarray(codes), strata, arrays)
        listed = build_groups(groups)
        size = len(listed)
        group = check_codes(codes, NEITHER, size)
        key = group % (size + 1)
        outcomes = []
        for name, beyond in cls.AXES.items():
            outcomes.append(check_codes(check_each(columns[name], group.size, f"{name} code"), 0, beyond))
            key = key * beyond + outcomes[-1]
        record_weights = check_weights(weights, group.size)
        cells, weighting = count_keys(key, (size + 1, *cls.AXES.values()), record_weights, repeats)
        divided_strata = strata and Strata.from_records(
            strata[0],
            check_each(strata[1], group.size, "stratum"),
            group,
            outcomes[: cls.DIVIDED],
            groups=size,
            weights=record_weights,
            repeats=repeats,
        )
        score_table = None
        if scores is not None:
            # A score is also compared with a prediction in neither list, never with such a label.
            label = outcomes[0] if cls.SCORES_BY_LABEL else outcomes[0] == 1
            record_scores = check_each(scores, group.size, "score")
            score_table = ScoreTable.from_records(listed, group, label, record_scores, record_weights)
        return cls(listed, cells, weighting, divided_strata, score_table)

    @classmethod
    def _count_pieces(
        cls,
        groups: Iterable[ComparedGroup],
        codes: AnyArray,
        strata: RecordStrata | None,
        arrays: Mapping[str, ArrayLike | None],
    ) -> Self:
        size = codes.size
        present = {name: check_each(array, size, name) for name, array in arrays.items() if array is not None}
        pieces = []
        for start in range(0, size, MAX_RECORDS_AT_ONCE):
            rows = slice(start, start + MAX_RECORDS_AT_ONCE)
            piece: dict[str, Any] = {name: array[rows] for name, array in present.items()}
            if strata:
                piece["strata"] = RecordStrata(strata[0], check_each(strata[1], size, "stratum")[rows])
            pieces.append(cls.from_records(groups, codes[rows], **piece))
        return cls.merge(pieces)


class GroupCounts(CountTable):
    """Counts of one outcome in each group: the prediction, or the label of training data.

    `counts` [groups, 2] (unfavourable, favourable), `unclassified` [groups], and the records of no group
    in `other`.
    """

    AXES = {"outcome": OUTCOMES}  # noqa: RUF012 - annotated in the base class
    STORED = (slice(-1), slice(2))
    SCORES_BY_LABEL = False

    @property
    def other(self) -> int:
        return int(self.cells[-1].sum())

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"other": self.other}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        table = super().from_json(stored)
        table.cells[-1, -1] += check_counts(stored.get("other", 0))
        return table


class LabelledCells(CountTable):
    """Counts of predictions by ground-truth labels, and by whether the predicted label is right.

    Without groups, of all records. The caller decides what is right: two labels of one outcome are
    different labels. `cohort` [groups + 1, unfavourable and favourable prediction, records and labelled]
    says how many of the records whose label could be there have one; None where that is not counted. Of
    several tables it is that of the most records: cohorts overlap.
    """

    AXES = {"actual": OUTCOMES, "predicted": OUTCOMES, "correct": 2}  # noqa: RUF012 - annotated in the base class
    DIVIDED = 2
    STORED = (slice(None),)

    def count_labels(self) -> IntArray:
        """Counts [groups + 1, prediction, records and labelled], of a table that holds unlabelled records."""
        decided = self.cells.sum(-1)[:, :, :2]
        return np.stack([decided.sum(1), decided[:, :2].sum(1)], -1)

    @property
    def confusion(self) -> IntArray:
        """Counts [groups + 1, actual 2, predicted 2] of records with both among the outcomes."""
        return _sum_confusion(self.cells)

    @property
    def confusion_weighting(self) -> Weighting | None:
        return self.weighting and self.weighting.apply(_sum_confusion)


def _sum_confusion(cells: AnyArray) -> AnyArray:
    total: AnyArray = cells[:, :2, :2].sum(-1)
    return total


class MitigatedLabelledCells(CountTable):
    """Counts of predictions before and after mitigation by labels, and by whether each is right.

    `counts` [groups + 1, actual 2, before 2, after 2, correct before 2, correct after 2]. Records with a
    label or prediction not among the outcomes are in `unclassified` [groups + 1] only.
    """

    AXES = {  # noqa: RUF012 - as above
        "actual": OUTCOMES,
        "before": OUTCOMES,
        "after": OUTCOMES,
        "correct_before": 2,
        "correct_after": 2,
    }
    STORED = (slice(None), slice(2), slice(2), slice(2))

    @property
    def corrections(self) -> IntArray:
        """Counts [groups + 1, correct before 2, correct after 2]."""
        counts: IntArray = self.counts.sum((1, 2, 3))
        return counts

    @property
    def label_changes(self) -> IntArray:
        """Counts [groups + 1, actual 2, before 2, after 2]."""
        counts: IntArray = self.counts.sum((-2, -1))
        return counts
