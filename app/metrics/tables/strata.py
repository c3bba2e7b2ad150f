"""Outcomes by stratum and group: what the conditional metrics compare like with like by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from app.metrics.groups import NEITHER, FloatArray, Groups, IntArray, checked_codes, checked_counts, checked_places, gathered, positions
from app.metrics.tables.weighting import Weighting, tallied

MOST_STRATA = 1000
"""More distinct values than this are no strata: nearly every record would be alone in its own."""

MOST_PLACES = 100_000
"""Strata times groups; more than so many are not compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Counts of records [S strata, groups, 2] by outcome, or [S, groups, 2, 2] by actual and predicted outcome, and their weighting.

    Records of no group, unclassified ones, and those without a stratum are in no cell. Where there are too many strata to be
    compared there are none, and `reason` says so.

    Raises:
        ValueError: a stratum stands twice, there are more than MOST_STRATA, or the counts do not fit the labels.
    """

    labels: tuple[str, ...]
    counts: IntArray
    weighting: Weighting | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("expected each stratum once")
        if len(self.labels) > MOST_STRATA:
            raise ValueError(f"expected at most {MOST_STRATA} strata, found {len(self.labels)}")
        shape = np.shape(self.counts)
        if len(shape) < 3 or shape[0] != len(self.labels):  # noqa: PLR2004 - strata, groups and one outcome at least
            raise ValueError(f"expected counts of {len(self.labels)} strata, found the shape {shape}")
        object.__setattr__(self, "counts", checked_counts(self.counts, *shape))
        if self.weighting is not None and self.weighting.weights.shape != shape:
            raise ValueError(f"expected a weighting of the shape {shape}, found {self.weighting.weights.shape}")

    @classmethod
    def none(cls, reason: str, *shape: int) -> Self:
        """No strata of cells of that shape (groups and outcomes), and why."""
        return cls((), np.zeros((0, *shape), np.int64), None, reason)

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
        shape = (groups, *(2 for _ in outcomes))
        if too_many := _too_many(len(labels), groups):
            return cls.none(too_many, *shape)
        kept = (strata != NEITHER) & (group_codes != NEITHER)
        for outcome in outcomes:
            kept &= outcome < 2  # noqa: PLR2004 - the two outcomes; 2 is unclassified
        key = strata * groups + group_codes
        for outcome in outcomes:
            key = key * 2 + outcome
        size = (len(labels), *shape)
        counts, weighting = tallied(key[kept], int(np.prod(size)), None if weights is None else weights[kept])
        return cls(tuple(labels), counts.reshape(size), weighting and _shaped(weighting, *size))

    @property
    def known(self) -> Weighting:
        """The weighting; where there is none, every record weighs 1."""
        return Weighting.of_counts(self.counts) if self.weighting is None else self.weighting

    @property
    def cells(self) -> FloatArray:
        """The weights; counts where there are none."""
        return self.known.weights

    def over(self, axis: int) -> "Strata":
        """The cells without one of the outcomes, which is summed over: -1 the predicted, -2 the actual."""
        weighting = self.weighting and Weighting(self.weighting.weights.sum(axis=axis), self.weighting.squares.sum(axis=axis))
        return Strata(self.labels, self.counts.sum(axis=axis), weighting, self.reason)

    def regrouped(self, groups: int, places: npt.ArrayLike) -> "Strata":
        """The same records in so many other groups: `places` says for each group where it goes, or NEITHER.

        Raises:
            ValueError: the places do not fit the groups.
        """
        checked = checked_places(places, self.counts.shape[1], groups)
        kept = checked != NEITHER

        def moved(part: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return gathered(part.swapaxes(0, 1)[kept], checked[kept], groups).swapaxes(0, 1)

        weighting = self.weighting and Weighting(moved(self.weighting.weights), moved(self.weighting.squares))
        return Strata(self.labels, moved(self.counts), weighting, self.reason)

    def to_json(self) -> dict[str, Any]:
        """The strata as plain JSON values: only the cells that hold records, by their place in the flat table."""
        places = np.flatnonzero(self.counts)
        stored: dict[str, Any] = {"labels": list(self.labels), "places": places.tolist(), "counts": self.counts.ravel()[places].tolist()}
        if self.weighting is not None:
            stored |= {name: getattr(self.weighting, name).ravel()[places].tolist() for name in ("weights", "squares")}
        return stored | ({"reason": self.reason} if self.reason else {})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None, counts: IntArray, weighting: Weighting | None) -> Self | None:
        """The strata `to_json` wrote, of a table with these counts [groups, …] and their weighting; None of None.

        Raises:
            ValueError: the cells do not fit.
        """
        if stored is None:
            return None
        labels, shape = tuple(stored["labels"]), (len(stored["labels"]), *counts.shape)
        if "cells" in stored:
            return cls(labels, *_of_weights(np.reshape(np.asarray(stored["cells"], np.float64), shape), counts, weighting))
        places = checked_codes(np.asarray(stored["places"], dtype=np.int64), 0, int(np.prod(shape)))
        parts = {name: np.zeros(int(np.prod(shape)), np.int64 if name == "counts" else np.float64) for name in _PARTS if name in stored}
        for name, part in parts.items():
            part[places] = stored[name]
        sums = [parts[name].reshape(shape) for name in _PARTS[1:] if name in parts]
        return cls(labels, parts["counts"].reshape(shape), Weighting(*sums) if sums else None, stored.get("reason", ""))


_PARTS = ("counts", "weights", "squares")


def check_fit(counts: tuple[int, ...], weighting: Weighting | None, cells: tuple[int, ...], strata: Strata | None) -> None:
    """Refuses a weighting that is not of the shape of a table's counts, or strata that are not of these cells (groups and outcomes).

    Raises:
        ValueError: it is not.
    """
    if weighting is not None and weighting.weights.shape != counts:
        raise ValueError(f"expected a weighting of the shape {counts}, found {weighting.weights.shape}")
    if strata is not None and strata.counts.shape[1:] != cells:
        raise ValueError(f"expected strata of cells of the shape {cells}, found {strata.counts.shape[1:]}")


def merged_strata(parts: Sequence[tuple[Strata | None, Groups]], groups: Groups) -> Strata | None:
    """The sum of those there are, strata and groups aligned by label; None where no table has any.

    Records of a table that was counted without strata are like records without one: those of the others still tell.
    """
    known = [(strata, own) for strata, own in parts if strata is not None]
    if not known:
        return None
    labels = tuple(dict.fromkeys(label for strata, _ in known for label in strata.labels))
    shape = (len(groups), *known[0][0].counts.shape[2:])
    if reason := next((strata.reason for strata, _ in known if strata.reason), _too_many(len(labels), len(groups))):
        return Strata.none(reason, *shape)
    place = {label: position for position, label in enumerate(labels)}
    counts = np.zeros((len(labels), *shape), np.int64)
    weights, squares = np.zeros((2, *counts.shape))
    is_weighted = any(strata.weighting is not None for strata, _ in known)
    for strata, own in known:
        rows = np.array([place[label] for label in strata.labels], dtype=np.int64)
        where = np.ix_(rows, positions(own, groups))
        counts[where] += strata.counts
        if is_weighted:
            weights[where] += strata.known.weights
            squares[where] += strata.known.squares
    return Strata(labels, counts, Weighting(weights, squares) if is_weighted else None)


def _too_many(strata: int, groups: int) -> str:
    """Why so many strata of so many groups are not compared; nothing where they are."""
    if strata > MOST_STRATA:
        return f"the records lie in {strata:,} different strata, where at most {MOST_STRATA:,} are compared"
    if strata * groups > MOST_PLACES:
        return f"{strata:,} strata of {groups:,} groups are too many: at most {MOST_PLACES:,} of strata times groups are compared"
    return ""


def _of_weights(cells: FloatArray, counts: IntArray, weighting: Weighting | None) -> tuple[IntArray, Weighting | None]:
    """Counts and weighting of strata that were stored as weights alone, of a table with these counts [groups, …] and their weighting.

    Of weighted records the counts are guessed: a stratum has as many as would weigh as much on average.
    """
    if weighting is None:
        return np.rint(cells).astype(np.int64), None
    mean, ratio = (
        np.divide(part, whole, out=np.ones(counts.shape), where=whole > 0)
        for part, whole in ((weighting.weights, counts), (weighting.squares, weighting.weights))
    )
    guessed = np.divide(cells, mean, out=np.zeros_like(cells), where=mean > 0)
    return np.where(cells > 0, np.maximum(np.rint(guessed), 1), 0).astype(np.int64), Weighting(cells, cells * ratio)


def _shaped(weighting: Weighting, *shape: int) -> Weighting:
    return Weighting(weighting.weights.reshape(shape), weighting.squares.reshape(shape))
