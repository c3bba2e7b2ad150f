"""How the model's predictions compare with the labels that came back, by group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from app.metrics.groups import NEITHER, Groups, IntArray, Role, as_groups, checked_codes, checked_counts, positions, union

SHAPE = (3, 3, 2)
"""Actual and predicted outcome (unfavourable, favourable, unclassified), and whether the predicted label is the actual one."""


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackCells:
    """Counts [groups + 1, actual 3, predicted 3, correct 2]; the last row holds the records of no group.

    Without groups it is the table of everybody. Whether a label is right is decided by the caller: two labels of one
    outcome are not the same label.

    Raises:
        ValueError: the counts do not fit the groups, or one is negative.
    """

    groups: Groups
    counts: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_groups(self.groups))
        object.__setattr__(self, "counts", checked_counts(self.counts, len(self.groups) + 1, *SHAPE))

    @classmethod
    def from_records(
        cls,
        groups: Iterable[tuple[str, Role]],
        codes: npt.ArrayLike,
        *,
        actual: npt.ArrayLike,
        predicted: npt.ArrayLike,
        correct: npt.ArrayLike,
    ) -> Self:
        """Counts the records: per record its group (position, or -1 for none), both outcomes (0, 1, 2), and correct (0, 1).

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        named = as_groups(groups)
        key = checked_codes(codes, NEITHER, len(named)) % (len(named) + 1)
        for column, size in zip((actual, predicted, correct), SHAPE, strict=True):
            part = checked_codes(column, 0, size)
            if part.shape != key.shape:
                raise ValueError(f"expected one code per record, found {part.size} for {key.size} records")
            key = key * size + part
        shape = (len(named) + 1, *SHAPE)
        return cls(named, np.bincount(key, minlength=int(np.prod(shape))).reshape(shape))

    @classmethod
    def merged(cls, tables: Sequence["FeedbackCells"]) -> "FeedbackCells":
        """The sum of the tables, groups aligned by label; of no table, an empty one."""
        groups = union([table.groups for table in tables])
        counts = np.zeros((len(groups) + 1, *SHAPE), np.int64)
        for table in tables:
            counts[positions(table.groups, groups)] += table.counts[:-1]
            counts[-1] += table.counts[-1]
        return cls(groups, counts)

    def to_json(self) -> dict[str, Any]:
        """The table as plain JSON values."""
        return {"groups": [list(group) for group in self.groups], "counts": self.counts.tolist()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The table `to_json` wrote.

        Raises:
            ValueError: the counts do not fit the groups.
        """
        return cls(as_groups(stored["groups"]), stored["counts"])
