"""Counterfactual flip test (FT): would the reference records most like a monitored record have been treated
differently?

Source: Amazon SageMaker Clarify, FT, with the sign of its documentation: above 0 the monitored records are
treated worse.

FT is not 0 wherever all are treated alike: a majority exaggerates.

Nearest records are by numeric features (Euclidean). Those exactly as far away as the k-th share the remaining
places: a mean over neighbours is the average over all ways to break ties. Distances that differ by less than
a billionth are ties.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.special import binom

from ...base.values import frozen_arrays
from ..group_labels import BoolArray, FloatArray, IntArray
from ..intervals.intervals import Interval, Z

TIE_TOLERANCE = 1e-9
"""Relative difference of equal distances."""
MAX_DISTANCES = 1 << 21
"""Distances in memory."""

NEIGHBOURS = 5
"""Nearest reference records that vote."""

MAX_RECORDS_OF_ONE_VOTE = 9
"""Reference records up to which only the nearest one votes."""

METHOD = "adjusted_wald_with_neighbours"


@frozen_arrays
class Points:
    """Distinct positions [points, features], records at each, and each record's position."""

    positions: FloatArray
    counts: IntArray
    of_record: IntArray

    @classmethod
    def of(cls, features: FloatArray) -> "Points":
        # Turns negative zero, which has other bits, into zero.
        positions, of_record, counts = np.unique(
            features + 0.0, axis=0, return_inverse=True, return_counts=True
        )
        return cls(positions, counts.astype(int), of_record.reshape(-1).astype(int))


def standardise(features: FloatArray) -> FloatArray:
    """Scales each feature to mean 0 and standard deviation 1; a constant one becomes 0."""
    if not len(features):
        return features
    # By the largest first: sums and squares of raw numbers could overflow.
    largest = np.abs(features).max(0)
    relative = features / np.where(largest > 0, largest, 1.0)
    centred = relative - relative.mean(0)
    spread = centred.std(0)
    # The mean of equal numbers can be off by rounding, which must not be magnified.
    is_constant = spread <= TIE_TOLERANCE
    return np.where(is_constant, 0.0, centred / np.where(is_constant, 1.0, spread))


def compute_neighbour_shares(queried: FloatArray, candidates: Points, k: int) -> csr_array:
    """Share [queried, points] of each point's records in the `k` nearest of each queried one; rows add up to
    1.

    A queried point among the points is its own neighbour.
    """
    if candidates.counts.sum() < k:
        raise ValueError(
            f"expected at least {k} records to choose neighbours from, found {candidates.counts.sum()}"
        )
    rows, points, shares = (
        np.concatenate(arrays) for arrays in zip(*_find_neighbours(queried, candidates, k), strict=True)
    )
    return csr_array((shares, (rows, points)), shape=(len(queried), len(candidates.positions)))


def _find_neighbours(
    queried: FloatArray, candidates: Points, k: int
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yields rows, points and shares. Rows whose ties may extend past the neighbours are searched further."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 - a tenth of a second to load, and few metrics look at neighbours

    tree = cKDTree(candidates.positions)
    width = k + 1
    pending = np.arange(len(queried))
    yield np.empty(0, int), np.empty(0, int), np.empty(0)
    while pending.size:
        width = min(width, len(candidates.positions))
        unsettled = []
        size = max(1, MAX_DISTANCES // width)
        for rows in (pending[start : start + size] for start in range(0, len(pending), size)):
            distances, points = tree.query(queried[rows], k=np.arange(1, width + 1))
            records_at = candidates.counts[points]
            kth = np.take_along_axis(distances, (records_at.cumsum(1) >= k).argmax(1)[:, None], axis=1)
            is_settled = (distances[:, -1] > kth[:, 0] * (1 + TIE_TOLERANCE)) | (
                width == len(candidates.positions)
            )
            nearer = np.where(distances < kth * (1 - TIE_TOLERANCE), records_at, 0)
            tied = np.where((distances <= kth * (1 + TIE_TOLERANCE)) & (nearer == 0), records_at, 0)
            missing = k - nearer.sum(1, keepdims=True)
            shares = (nearer + tied * (missing / tied.sum(1, keepdims=True))) / k
            row, column = np.nonzero((shares > 0) & is_settled[:, None])
            yield rows[row], points[row, column].astype(int), shares[row, column]
            unsettled.append(rows[~is_settled])
        pending = np.concatenate(unsettled)
        width *= 4


@frozen_arrays
class Flips:
    """Treatment of each monitored record by its neighbours, compared with its own.

    `flips` are the probability, over the ties, that most neighbours are favourable where the record is not;
    negative in the reverse case.
    """

    flips: FloatArray
    neighbours: int
    _shares: csr_array
    _position_of_record: IntArray
    _votes: FloatArray
    _reference: IntArray

    def compute_value(self, selected: BoolArray) -> float:
        """FT of the selected monitored records, from -1 to 1."""
        return float(self.flips[selected].mean())

    def count_flips(self, selected: BoolArray) -> tuple[float, float]:
        """Records that flip to favourable and to unfavourable, averaged over ties."""
        flips = self.flips[selected]
        return float(flips.clip(min=0.0).sum()), float(-flips.clip(max=0.0).sum())

    def build_interval(self, selected: BoolArray) -> Interval:
        """95 % interval of the FT of the selected monitored records, within [-1, 1].

        Adjusted Wald interval of a difference of paired proportions (Bonett and Price 2012, Statistics in
        Medicine 31:1), plus the effect of another draw of the reference outcomes, by the infinitesimal
        jackknife (Efron 1982) of a vote smoothed over the neighbours; with one neighbour without it.
        """
        size = int(selected.sum()) + 2
        favourable, unfavourable = self.count_flips(selected)
        centre = (favourable - unfavourable) / size
        variance = (
            (float(np.square(self.flips[selected]).sum()) + 2) / size - centre**2
        ) / size + self._compute_reference_variance(selected)
        value = self.compute_value(selected)
        half = Z * math.sqrt(variance)
        return Interval(max(-1.0, min(value, centre - half)), min(1.0, max(value, centre + half)), METHOD)

    def _compute_reference_variance(self, selected: BoolArray) -> float:
        if self.neighbours == 1:
            return 0.0
        records = self._reference.sum(1)
        queries = np.bincount(self._position_of_record[selected], minlength=len(self._votes)) / selected.sum()
        # Five votes are shrunk towards the overall rate (by two records); Bessel corrects.
        voters = 1 / (self._shares.multiply(self._shares) @ (1 / records))
        chances = (voters * self._votes + 2 * self._reference[:, 1].sum() / records.sum()) / (voters + 2)
        effects = queries * 30 * chances**2 * (1 - chances) ** 2 * np.sqrt(voters / (voters - 1))
        summed = self._shares.T @ effects / records
        expected = self._shares.T @ (effects * self._votes) / records
        squares = self._reference[:, 0] * expected**2 + self._reference[:, 1] * (summed - expected) ** 2
        return float(squares.sum())


def measure_flips(
    monitored: FloatArray, favoured: IntArray, reference: FloatArray, reference_favoured: IntArray
) -> Flips:
    """Compares each monitored record with its nearest reference records, by features [records, features]."""
    k = NEIGHBOURS if len(reference) > MAX_RECORDS_OF_ONE_VOTE else 1
    points = Points.of(monitored)
    candidates = Points.of(reference)
    shares = compute_neighbour_shares(points.positions, candidates, k)
    favourable = np.bincount(
        candidates.of_record, weights=reference_favoured, minlength=len(candidates.counts)
    )
    outcomes = np.stack([candidates.counts - favourable, favourable], -1)
    votes = np.clip(shares @ (favourable / candidates.counts), 0.0, 1.0)
    chances = _compute_majority_chance(shares, outcomes, k)
    return Flips(chances[points.of_record] - favoured, k, shares, points.of_record, votes, outcomes)


def _compute_majority_chance(shares: csr_array, outcomes: FloatArray, k: int) -> FloatArray:
    """Probability [queried] that most neighbours are favourable; ties are drawn without replacement."""
    counts = outcomes.sum(1)
    entries = shares.tocoo()
    is_drawn = entries.data * k < counts[entries.col] * (1 - TIE_TOLERANCE)
    rows = entries.row
    outcomes_at = outcomes[entries.col]
    settled, drawn = (
        np.stack(
            [
                np.bincount(rows[chosen], weights=outcomes_at[chosen, outcome], minlength=shares.shape[0])
                for outcome in (0, 1)
            ]
        )
        for chosen in (~is_drawn, is_drawn)
    )
    open_votes = k - settled.sum(0)
    needed = k // 2 + 1 - settled[1]
    chance = np.zeros(shares.shape[0])
    for favourable in range(k + 1):
        draws = binom(drawn[1], favourable) * binom(drawn[0], np.maximum(open_votes - favourable, 0))
        chance += np.where((favourable >= needed) & (favourable <= open_votes), draws, 0.0)
    majority: FloatArray = np.clip(chance / binom(drawn.sum(0), open_votes), 0.0, 1.0)
    return majority
