"""Outcomes by stratum and group: what the conditional metrics compare like with like by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from app.metrics.groups import NEITHER, FloatArray, Groups, IntArray, checked_codes, checked_places, gathered, positions

MOST_STRATA = 1000
"""More distinct values than this are no strata: nearly every record would be alone in its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Weights of records [S strata, groups, 2] by outcome, or [S, groups, 2, 2] by actual and predicted outcome.

    Records of no group, unclassified ones, and those without a stratum are in no cell. Unweighted, the cells are counts.

    Raises:
        ValueError: a stratum stands twice, there are more than MOST_STRATA, or the cells do not fit the labels.
    """

    labels: tuple[str, ...]
    cells: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "cells", np.asarray(self.cells, dtype=np.float64))
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("expected each stratum once")
        if len(self.labels) > MOST_STRATA:
            raise ValueError(f"expected at most {MOST_STRATA} strata, found {len(self.labels)}")
        if self.cells.ndim < 3 or len(self.cells) != len(self.labels):  # noqa: PLR2004 - strata, groups and one outcome at least
            raise ValueError(f"expected cells of {len(self.labels)} strata, found the shape {self.cells.shape}")

    @classmethod
    def from_records(
        cls,
        labels: Sequence[str],
        codes: npt.ArrayLike,
        group_codes: IntArray,
        outcomes: Sequence[IntArray],
        *,
        groups: int,
        weights: FloatArray | None,
    ) -> Self:
        """Sums the records: per record its stratum (position in `labels`, or -1 for none), its group and its outcomes (0, 1, 2).

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        strata = checked_codes(codes, NEITHER, len(labels))
        if strata.shape != group_codes.shape:
            raise ValueError(f"expected one stratum per record, found {strata.size} for {group_codes.size} records")
        kept = (strata != NEITHER) & (group_codes != NEITHER)
        for outcome in outcomes:
            kept &= outcome < 2  # noqa: PLR2004 - the two outcomes; 2 is unclassified
        key = strata * groups + group_codes
        for outcome in outcomes:
            key = key * 2 + outcome
        shape = (len(labels), groups, *(2 for _ in outcomes))
        cells = np.bincount(key[kept], None if weights is None else weights[kept], minlength=int(np.prod(shape)))
        return cls(tuple(labels), cells.reshape(shape).astype(np.float64))

    def over(self, axis: int) -> "Strata":
        """The cells without one of the outcomes, which is summed over: -1 the predicted, -2 the actual."""
        return Strata(self.labels, self.cells.sum(axis=axis))

    def regrouped(self, groups: int, places: npt.ArrayLike) -> "Strata":
        """The same records in so many other groups: `places` says for each group where it goes, or NEITHER.

        Raises:
            ValueError: the places do not fit the groups.
        """
        checked = checked_places(places, self.cells.shape[1], groups)
        kept = checked != NEITHER
        return Strata(self.labels, gathered(self.cells.swapaxes(0, 1)[kept], checked[kept], groups).swapaxes(0, 1))

    def to_json(self) -> dict[str, Any]:
        """The strata as plain JSON values."""
        return {"labels": list(self.labels), "cells": self.cells.tolist()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None, *shape: int) -> Self | None:
        """The strata `to_json` wrote, of that shape without the strata; None of None.

        Raises:
            ValueError: the cells do not fit.
        """
        if stored is None:
            return None
        return cls(tuple(stored["labels"]), np.reshape(stored["cells"], (len(stored["labels"]), *shape)))


def merged_strata(parts: Sequence[tuple[Strata | None, Groups]], groups: Groups) -> Strata | None:
    """The sum of several, strata and groups aligned by label; None where a table with groups has none, or too many come together."""
    known = [(strata, own) for strata, own in parts if strata is not None]
    if not known or any(strata is None and own for strata, own in parts):
        return None
    labels = tuple(dict.fromkeys(label for strata, _ in known for label in strata.labels))
    if len(labels) > MOST_STRATA:
        return None
    place = {label: position for position, label in enumerate(labels)}
    cells = np.zeros((len(labels), len(groups), *known[0][0].cells.shape[2:]))
    for strata, own in known:
        rows = np.array([place[label] for label in strata.labels], dtype=np.int64)
        cells[np.ix_(rows, positions(own, groups))] += strata.cells
    return Strata(labels, cells)
