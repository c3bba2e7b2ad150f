"""Weights by score: exact for few distinct scores, else in bins of a known width."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..groups import FloatArray, IntArray

MOST = 4096
"""Max bins of a table; up to so many distinct scores each has its own."""

AT_ONCE = 2**18
"""Filled places merged at a time."""

KEY_BITS = 63
_MIDDLE = int(np.float64(0.5).view(np.int64))


# Without slots, for the cached properties.
@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Weights by score and cell (column × 2 + actual outcome); bins are in order.

    A score's key is a whole number, rising with it, as fine near 0 and near 1 as floats are near 0. `lows` and `highs` [bins] are the
    smallest and largest key seen. Keys share a bin where they are equal without their last `shift` bits, the fewest that leave at most MOST
    bins in the whole table: the order of records and their division into tables do not matter.

    Only filled bins are listed: `places` (cell × bins + bin, rising) and their non-zero `weights`; there are `size` cells.
    """

    size: int
    shift: int
    lows: IntArray
    highs: IntArray
    places: IntArray
    weights: FloatArray

    @classmethod
    def from_records(cls, cells: IntArray, size: int, scores: FloatArray, weights: FloatArray | None) -> Self:
        """Bins the records by cell in `range(size)`; scores in [0, 1]."""
        if weights is not None:
            kept = weights > 0
            cells, scores, weights = cells[kept], scores[kept], weights[kept]
        if not cells.size:
            return cls.empty(size)
        keys = keys_of(scores)
        ordered = np.sort(keys)
        apart = ordered[1:] ^ ordered[:-1]
        shift = _find_shift(apart)
        firsts = _find_starts(apart >= 1 << shift)
        lows, highs = ordered[firsts], ordered[np.append(firsts[1:], len(ordered)) - 1]
        if weights is None and shift >= size.bit_length():
            packed = np.sort((cells << (KEY_BITS - shift)) | (keys >> shift))
            firsts = _find_starts(packed[1:] != packed[:-1])
            counts = np.diff(firsts, append=len(packed)).astype(np.float64)
            cell, key = packed[firsts] >> (KEY_BITS - shift), packed[firsts] & (2 ** (KEY_BITS - shift) - 1)
            return cls(size, shift, lows, highs, cell * len(lows) + np.searchsorted(lows >> shift, key), counts)
        places = cells * len(lows) + np.searchsorted(lows, keys, side="right") - 1
        return cls(size, shift, lows, highs, *_sum_places(places, np.ones(len(places)) if weights is None else weights, size * len(lows)))

    @classmethod
    def empty(cls, size: int) -> Self:
        nothing = np.zeros(0, np.int64)
        return cls(size, 0, nothing, nothing, nothing, np.zeros(0))

    @classmethod
    def merged(cls, parts: Sequence["ScoreBins"], cells: Sequence[IntArray], size: int) -> "ScoreBins":
        """Sum of the parts as if binned at once; `cells` hold the new positions of each part's cells."""
        own = np.arange(size)
        waiting, places, entries = [cls.empty(size)], [own], 0
        for part, place in zip(parts, cells, strict=True):
            waiting.append(part)
            places.append(place)
            entries += len(part.places)
            if entries > AT_ONCE:
                waiting, places, entries = [cls._merge(waiting, places, size)], [own], 0
        return cls._merge(waiting, places, size)

    @classmethod
    def _merge(cls, parts: Sequence["ScoreBins"], cells_of: Sequence[IntArray], size: int) -> "ScoreBins":
        filled = [(part, cells) for part, cells in zip(parts, cells_of, strict=True) if len(part.lows)]
        if not filled:
            return cls.empty(size)
        lows, highs = (np.concatenate([getattr(part, name) for part, _ in filled]) for name in ("lows", "highs"))
        # Stable, so that bins with one lower end merge in the same order on every machine.
        order = np.argsort(lows, kind="stable")
        lows, reach = lows[order], np.maximum.accumulate(highs[order])
        # A bin that overlaps the next one cannot be separated from it.
        apart = np.where(lows[1:] > reach[:-1], lows[1:] ^ reach[:-1], 0)
        shift = max(_find_shift(apart), *(part.shift for part, _ in filled))
        firsts = _find_starts(apart >= 1 << shift)
        bins = np.empty(len(lows), np.int64)
        bins[order] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(lows)))
        places, start = [], 0
        for part, cells in filled:
            own = bins[start : start + len(part.lows)]
            start += len(part.lows)
            cell, at = part.split()
            places.append(cells[cell] * len(firsts) + own[at])
        weights = np.concatenate([part.weights for part, _ in filled])
        tops = reach[np.append(firsts[1:], len(reach)) - 1]
        return cls(size, shift, lows[firsts], tops, *_sum_places(np.concatenate(places), weights, size * len(firsts)))

    def together(self, sets: Sequence[Sequence[int]]) -> "ScoreBins":
        bins, places, weights = len(self.lows), [np.zeros(0, np.int64)], [np.zeros(0)]
        for number, columns in enumerate(sets):
            found = [self._filled_bins(column) for column in columns]
            if len(found) == 1:
                own, summed = found[0]
            else:
                at = np.concatenate([np.zeros(0, np.int64), *(part for part, _ in found)])
                dense = np.bincount(at, np.concatenate([np.zeros(0), *(part for _, part in found)]), minlength=2 * bins)
                own = np.flatnonzero(dense)
                summed = dense[own].astype(np.float64)
            places.append(own + number * 2 * bins)
            weights.append(summed)
        return replace(self, size=2 * len(sets), places=np.concatenate(places), weights=np.concatenate(weights))

    def dense(self, first: int, beyond: int) -> FloatArray:
        """Weights of the columns from `first` to before `beyond` [columns, 2, bins]."""
        bins = len(self.lows)
        start, end = self._starts[[2 * first, 2 * beyond]]
        full = np.zeros((beyond - first) * 2 * bins)
        full[self.places[start:end] - first * 2 * bins] = self.weights[start:end]
        return full.reshape(beyond - first, 2, bins)

    def summed(self, costs: FloatArray) -> FloatArray:
        cell, at = self.split()
        total: FloatArray = np.bincount(cell >> 1, self.weights * costs[at], minlength=self.size // 2).astype(np.float64)
        return total

    def split(self) -> tuple[IntArray, IntArray]:
        """Cell and bin of each place."""
        cell = np.repeat(np.arange(self.size), np.diff(self._starts))
        return cell, self.places - cell * len(self.lows)

    @property
    def is_wide(self) -> npt.NDArray[np.bool_]:
        """Whether distinct scores share the bin."""
        wide: npt.NDArray[np.bool_] = self.highs > self.lows
        return wide

    @property
    def scores(self) -> FloatArray:
        """Score in the middle of each bin."""
        middles: FloatArray = (scores_of(self.lows) + scores_of(self.highs)) / 2
        return middles

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: scores, widths of the wide bins, and steps between filled places."""
        wide, whole = np.flatnonzero(self.is_wide), self.weights.astype(np.int64)
        return {
            "shift": self.shift,
            "scores": scores_of(self.lows).tolist(),
            "wide": wide.tolist(),
            "up_to": scores_of(self.highs[wide]).tolist(),
            "steps": np.diff(self.places, prepend=0).tolist(),
            "weights": (whole if np.array_equal(whole, self.weights) else self.weights).tolist(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], size: int) -> Self:
        """Bins that `to_json` wrote, for `size` cells.

        Raises:
            ValueError: they do not fit.
        """
        lows = keys_of(np.asarray(stored["scores"], dtype=np.float64))
        highs = lows.copy()
        highs[np.asarray(stored["wide"], dtype=np.int64)] = keys_of(np.asarray(stored["up_to"], dtype=np.float64))
        places = np.cumsum(np.asarray(stored["steps"], dtype=np.int64))
        weights = np.asarray(stored["weights"], dtype=np.float64).reshape(places.shape)
        if (lows[1:] <= highs[:-1]).any() or (highs < lows).any():
            raise ValueError("expected rising scores")
        if places.size and not (places[0] >= 0 and places[-1] < size * len(lows) and (np.diff(places) > 0).all()):
            raise ValueError(f"expected rising places from 0 to {size * len(lows) - 1}, found {places.min()} to {places.max()}")
        return cls(size, int(stored["shift"]), lows, highs, places, weights)

    def _filled_bins(self, column: int) -> tuple[IntArray, FloatArray]:
        """Places are label × bins + bin."""
        start, end = self._starts[[2 * column, 2 * column + 2]]
        return self.places[start:end] - 2 * column * len(self.lows), self.weights[start:end]

    @cached_property
    def _starts(self) -> IntArray:
        return np.searchsorted(self.places, np.arange(self.size + 1) * len(self.lows)).astype(np.int64)


def keys_of(scores: FloatArray) -> IntArray:
    """Each score's key: the bits of a float rise with it; above one half those of its distance from 1 fall."""
    near = np.minimum(scores, 1 - scores)
    # Clears the sign of -0.0, whose bits are those of a negative number.
    near += 0.0
    bits = near.view(np.int64)
    keys: IntArray = np.subtract(2 * _MIDDLE, bits, out=bits, where=scores > 0.5)  # noqa: PLR2004 - the middle
    return keys


def scores_of(keys: IntArray) -> FloatArray:
    is_high = keys > _MIDDLE
    near = np.where(is_high, 2 * _MIDDLE - keys, keys).view(np.float64)
    return np.where(is_high, 1 - near, near)


def _find_shift(apart: IntArray) -> int:
    """Fewest trailing bits to drop for at most MOST bins; `apart` are the bits in which neighbours differ."""
    if len(apart) < MOST:
        return 0
    return int(np.partition(apart, len(apart) - MOST)[len(apart) - MOST]).bit_length()


def _find_starts(differ: npt.NDArray[np.bool_]) -> IntArray:
    """Starts of runs of equal neighbours; `differ` compares each but the first with the one before."""
    return np.append(0, np.flatnonzero(differ) + 1)


def _sum_places(places: IntArray, weights: FloatArray, beyond: int) -> tuple[IntArray, FloatArray]:
    """Each place below `beyond` once, in order, with the sum of its weights; zeros left out."""
    if beyond <= 4 * places.size:
        dense = np.bincount(places, weights, minlength=beyond)
        filled = np.flatnonzero(dense)
        return filled.astype(np.int64), dense[filled].astype(np.float64)
    if not places.size:
        return places, weights
    # A stable sort of mostly sorted numbers is nearly as fast as reading them.
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    firsts = _find_starts(ordered[1:] != ordered[:-1])
    summed = np.add.reduceat(weights[order], firsts)
    kept = summed > 0
    return ordered[firsts][kept], summed[kept]
