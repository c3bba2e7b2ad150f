"""Weights by score: exact for few distinct scores, else in bins of a known width."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..group_labels import BoolArray, FloatArray, IntArray

MAX_BINS = 4096
"""Bins of a table; up to as many distinct scores have a bin each."""

MAX_MERGED_ENTRIES = 2**18
"""Filled bins of tables that are merged at once."""

_MIDDLE = int(np.float64(0.5).view(np.int64))
"""Key of the score 0.5."""


# Without slots, for the cached properties.
@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Weights by score and cell (column × 2 + actual outcome); bins are in order.

    A score's key is a whole number, rising with it, as fine near 0 and near 1 as floats are near 0. `lows`
    and `highs` [bins] are the smallest and largest key seen. Keys share a bin where they are equal without
    their last `shift` bits, the fewest that leave at most MAX_BINS bins in the whole table: the order of
    records and their division into tables do not matter.

    Only filled bins are listed: `places` (cell × bins + bin, rising) and their non-zero `weights`.
    """

    size: int
    shift: int
    lows: IntArray
    highs: IntArray
    places: IntArray
    weights: FloatArray

    @classmethod
    def from_records(cls, cells: IntArray, size: int, scores: FloatArray, weights: FloatArray) -> Self:
        has_weight = weights > 0
        cells = cells[has_weight]
        scores = scores[has_weight]
        if not cells.size:
            return cls.empty(size)
        keys = encode_scores(scores)
        ordered = np.sort(keys)
        differing_bits = ordered[1:] ^ ordered[:-1]
        shift = _find_shift(differing_bits)
        firsts = _find_starts(differing_bits >= 1 << shift)
        lows = ordered[firsts]
        highs = ordered[np.append(firsts[1:], len(ordered)) - 1]
        positions = cells * len(lows) + np.searchsorted(lows, keys, side="right") - 1
        return cls(size, shift, lows, highs, *_sum_places(positions, weights[has_weight]))

    @classmethod
    def empty(cls, size: int) -> Self:
        no_keys = np.zeros(0, int)
        return cls(size, 0, no_keys, no_keys, no_keys, np.zeros(0))

    @classmethod
    def merge(cls, tables: Sequence["ScoreBins"], cells: Sequence[IntArray], size: int) -> "ScoreBins":
        """Sum of tables as if their records were binned at once; `cells` are new positions of their cells."""
        identity = np.arange(size)
        unmerged = [cls.empty(size)]
        positions = [identity]
        entries = 0
        for bins, position in zip(tables, cells, strict=True):
            unmerged.append(bins)
            positions.append(position)
            entries += len(bins.places)
            if entries > MAX_MERGED_ENTRIES:
                unmerged = [cls._merge_at_once(unmerged, positions, size)]
                positions = [identity]
                entries = 0
        return cls._merge_at_once(unmerged, positions, size)

    @classmethod
    def _merge_at_once(
        cls, tables: Sequence["ScoreBins"], cells_of: Sequence[IntArray], size: int
    ) -> "ScoreBins":
        filled = [(binned, cells) for binned, cells in zip(tables, cells_of, strict=True) if len(binned.lows)]
        if not filled:
            return cls.empty(size)
        lows, highs = (
            np.concatenate([getattr(binned, name) for binned, _ in filled]) for name in ("lows", "highs")
        )
        # Stable, so that bins with one lower end merge in the same order on every machine.
        order = np.argsort(lows, kind="stable")
        lows = lows[order]
        highest = np.maximum.accumulate(highs[order])
        # A bin that overlaps the next one cannot be separated from it.
        differing_bits = np.where(lows[1:] > highest[:-1], lows[1:] ^ highest[:-1], 0)
        shift = max(_find_shift(differing_bits), *(binned.shift for binned, _ in filled))
        firsts = _find_starts(differing_bits >= 1 << shift)
        bins = np.empty(len(lows), int)
        bins[order] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(lows)))
        positions = []
        start = 0
        for binned, cells in filled:
            new_bins = bins[start : start + len(binned.lows)]
            start += len(binned.lows)
            cell, bin_positions = binned.split_places()
            positions.append(cells[cell] * len(firsts) + new_bins[bin_positions])
        weights = np.concatenate([binned.weights for binned, _ in filled])
        tops = highest[np.append(firsts[1:], len(highest)) - 1]
        return cls(size, shift, lows[firsts], tops, *_sum_places(np.concatenate(positions), weights))

    def join_columns(self, sets: Sequence[Sequence[int]]) -> "ScoreBins":
        """Bins with a column for each of these sets of columns."""
        bins = len(self.lows)
        positions = [np.zeros(0, int)]
        weights = [np.zeros(0)]
        for number, columns in enumerate(sets):
            dense = sum(
                (self.get_dense(column, column + 1) for column in columns), np.zeros((1, 2, bins))
            ).ravel()
            positions.append(np.flatnonzero(dense) + number * dense.size)
            weights.append(dense[dense != 0])
        return replace(
            self, size=2 * len(sets), places=np.concatenate(positions), weights=np.concatenate(weights)
        )

    def get_dense(self, first: int, beyond: int) -> FloatArray:
        """Weights of the columns from `first` to before `beyond` [columns, 2, bins]."""
        bins = len(self.lows)
        start, end = self._starts[[2 * first, 2 * beyond]]
        full = np.zeros((beyond - first) * 2 * bins)
        full[self.places[start:end] - first * 2 * bins] = self.weights[start:end]
        return full.reshape(beyond - first, 2, bins)

    def sum_costs(self, costs: FloatArray) -> FloatArray:
        """Sum [columns] of the costs [bins] of all records, by weight."""
        cell, bins = self.split_places()
        return np.bincount(cell >> 1, self.weights * costs[bins], minlength=self.size // 2).astype(float)

    def split_places(self) -> tuple[IntArray, IntArray]:
        """Cell and bin of each filled place."""
        cell = np.repeat(np.arange(self.size), np.diff(self._starts))
        return cell, self.places - cell * len(self.lows)

    @property
    def is_wide(self) -> BoolArray:
        """Mask [bins] of those with different scores."""
        return self.highs > self.lows

    @property
    def scores(self) -> FloatArray:
        return (decode_keys(self.lows) + decode_keys(self.highs)) / 2

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: scores, upper ends of the wide bins, and steps between filled places."""
        wide = np.flatnonzero(self.is_wide)
        whole = self.weights.astype(int)
        return {
            "shift": self.shift,
            "scores": decode_keys(self.lows).tolist(),
            "wide": wide.tolist(),
            "up_to": decode_keys(self.highs[wide]).tolist(),
            "steps": np.diff(self.places, prepend=0).tolist(),
            "weights": (whole if np.array_equal(whole, self.weights) else self.weights).tolist(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], size: int) -> Self:
        lows = encode_scores(np.asarray(stored["scores"], float))
        highs = lows.copy()
        highs[np.asarray(stored["wide"], int)] = encode_scores(np.asarray(stored["up_to"], float))
        positions = np.cumsum(np.asarray(stored["steps"], int))
        weights = np.asarray(stored["weights"], float).reshape(positions.shape)
        if (lows[1:] <= highs[:-1]).any() or (highs < lows).any():
            raise ValueError("expected rising scores")
        if positions.size and not (
            positions[0] >= 0 and positions[-1] < size * len(lows) and (np.diff(positions) > 0).all()
        ):
            raise ValueError(
                f"expected rising places from 0 to {size * len(lows) - 1}, found {positions.min()} to "
                f"{positions.max()}"
            )
        return cls(size, int(stored["shift"]), lows, highs, positions, weights)

    @cached_property
    def _starts(self) -> IntArray:
        return np.searchsorted(self.places, np.arange(self.size + 1) * len(self.lows)).astype(int)


def encode_scores(scores: FloatArray) -> IntArray:
    """Keys [records], which rise with the scores: the bits of a float do.

    Above one half, those of the distance from 1 fall.
    """
    # The sum clears the sign of -0.0, whose bits are those of a negative number.
    bits = (np.minimum(scores, 1 - scores) + 0.0).view(np.int64)
    return np.where(scores > 0.5, 2 * _MIDDLE - bits, bits)  # noqa: PLR2004 - the middle


def decode_keys(keys: IntArray) -> FloatArray:
    is_high = keys > _MIDDLE
    distances = np.where(is_high, 2 * _MIDDLE - keys, keys).view(np.float64)
    return np.where(is_high, 1 - distances, distances)


def _find_shift(differing_bits: IntArray) -> int:
    """Fewest trailing bits to drop for at most MAX_BINS bins, from the bits in which neighbours differ."""
    if len(differing_bits) < MAX_BINS:
        return 0
    return int(
        np.partition(differing_bits, len(differing_bits) - MAX_BINS)[len(differing_bits) - MAX_BINS]
    ).bit_length()


def _find_starts(differ: BoolArray) -> IntArray:
    """Starts of runs of equal neighbours; `differ` compares each but the first with the one before."""
    return np.append(0, np.flatnonzero(differ) + 1)


def _sum_places(positions: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each position once, in order, and its summed weight; there is at least one."""
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    firsts = _find_starts(ordered[1:] != ordered[:-1])
    return ordered[firsts], np.add.reduceat(weights[order], firsts)
