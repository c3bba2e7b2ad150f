"""Nearest records by numeric features (Euclidean).

Records exactly as far away as the k-th nearest share the remaining places: neither the order of the
records nor a search tree decides, and a mean over neighbours is the average over all ways to break ties.
Distances that differ by less than a billionth are ties.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from ...base.values import frozen_arrays
from ..group_labels import FloatArray, IntArray

TIE = 1e-9
CHUNK = 1 << 21
"""Max distances held at once."""


@frozen_arrays
class Points:
    """Distinct positions [points, features], records at each, and each record's position."""

    places: FloatArray
    counts: IntArray
    of_record: IntArray

    @classmethod
    def of(cls, features: FloatArray) -> "Points":
        """Positions of the records [records, features]."""
        # Turns negative zero, which has other bits, into zero.
        positions, of_record, counts = np.unique(
            features + 0.0, axis=0, return_inverse=True, return_counts=True
        )
        return cls(positions, counts.astype(int), of_record.reshape(-1).astype(int))


def standardise(features: FloatArray) -> FloatArray:
    """Scales each feature to mean 0 and standard deviation 1; a constant one becomes 0, a finite one stays
    finite.
    """
    if not len(features):
        return features
    # By the largest first: sums and squares of raw numbers could overflow.
    largest = np.abs(features).max(0)
    relative = features / np.where(largest > 0, largest, 1.0)
    centred = relative - relative.mean(0)
    spread = centred.std(0)
    # The mean of equal numbers can be off by rounding, which must not be magnified.
    constant = spread <= TIE
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))


def neighbour_shares(queried: FloatArray, among: Points, k: int) -> csr_array:
    """Share [queried, points] of each point's records in the `k` nearest of each queried point; rows add up
    to 1.

    A queried point among the points is its own neighbour.

    Raises:
        ValueError: there are fewer than `k` records.
    """
    if among.counts.sum() < k:
        raise ValueError(
            f"expected at least {k} records to choose neighbours from, found {among.counts.sum()}"
        )
    rows, points, shares = (
        np.concatenate(arrays) for arrays in zip(*_find_neighbours(queried, among, k), strict=True)
    )
    return csr_array((shares, (rows, points)), shape=(len(queried), len(among.places)))


def _find_neighbours(
    queried: FloatArray, among: Points, k: int
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Rows whose ties may extend past the searched neighbours are searched further."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 - a tenth of a second to load, and few metrics look at neighbours

    tree = cKDTree(among.places)
    width = k + 1
    pending = np.arange(len(queried))
    yield np.empty(0, int), np.empty(0, int), np.empty(0)
    while pending.size:
        width = min(width, len(among.places))
        unsettled = []
        size = max(1, CHUNK // width)
        for rows in (pending[start : start + size] for start in range(0, len(pending), size)):
            distances, points = tree.query(queried[rows], k=np.arange(1, width + 1))
            held = among.counts[points]
            kth = np.take_along_axis(distances, (held.cumsum(1) >= k).argmax(1)[:, None], axis=1)
            settled = (distances[:, -1] > kth[:, 0] * (1 + TIE)) | (width == len(among.places))
            nearer = np.where(distances < kth * (1 - TIE), held, 0)
            tied = np.where((distances <= kth * (1 + TIE)) & (nearer == 0), held, 0)
            missing = k - nearer.sum(1, keepdims=True)
            shares = (nearer + tied * (missing / tied.sum(1, keepdims=True))) / k
            row, column = np.nonzero((shares > 0) & settled[:, None])
            yield rows[row], points[row, column].astype(int), shares[row, column]
            unsettled.append(rows[~settled])
        pending = np.concatenate(unsettled)
        width *= 4
