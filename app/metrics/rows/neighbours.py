"""Who is most like whom: the nearest records by numeric features, however the records are ordered.

Distance is Euclidean. Records exactly as far away as the k-th nearest share the places that are left: each counts for an equal
part of them. So no order of the records, and no search tree, decides who of them is asked, and any mean over neighbours is
what it would be on average if ties were broken by lot. Distances that differ by less than a billionth are ties.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from app.metrics.groups import FloatArray, IntArray

TIE = 1e-9
CHUNK = 1 << 21
"""Distances held at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The different places [points, features] at which records lie, how many lie at each, and the place of each record."""

    places: FloatArray
    counts: IntArray
    of_record: IntArray

    @classmethod
    def of(cls, features: FloatArray) -> "Points":
        """The places of the records [records, features]."""
        # Adding nothing turns the negative zero, which is another pattern of bits, into zero.
        places, of_record, counts = np.unique(features + 0.0, axis=0, return_inverse=True, return_counts=True)
        return cls(places, counts.astype(np.int64), of_record.reshape(-1).astype(np.int64))


def standardised(features: FloatArray) -> FloatArray:
    """Each feature with mean 0 and standard deviation 1, so that none counts for more by its unit; a constant one is 0.

    Finite features stay finite, however large they are.
    """
    if not len(features):
        return features
    # Parts of the largest: sums and squares of numbers as they come could exceed what a float holds.
    largest = np.abs(features).max(axis=0)
    parts = features / np.where(largest > 0, largest, 1.0)
    centred = parts - parts.mean(axis=0)
    spread = centred.std(axis=0)
    # The mean of equal numbers can be off by rounding, which must not be blown up into a difference.
    constant = spread <= TIE
    scaled: FloatArray = np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))
    return scaled


def neighbour_shares(asked: FloatArray, among: Points, k: int) -> csr_array:
    """What part [asked, points] each place's records have in the `k` nearest records of each place asked about; rows add up to 1.

    A place asked about that is itself among the points is its own neighbour.

    Raises:
        ValueError: there are fewer than `k` records.
    """
    if among.counts.sum() < k:
        raise ValueError(f"expected at least {k} records to choose neighbours from, found {among.counts.sum()}")
    rows, points, shares = (np.concatenate(part) for part in zip(*_found(asked, among, k), strict=True))
    return csr_array((shares, (rows, points)), shape=(len(asked), len(among.places)))


def _found(asked: FloatArray, among: Points, k: int) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """The rows, points and shares in parts. Rows whose ties may reach beyond what was searched are searched further."""
    tree, width, pending = cKDTree(among.places), k + 1, np.arange(len(asked))
    yield np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    while pending.size:
        width = min(width, len(among.places))
        unsettled = []
        size = max(1, CHUNK // width)
        for rows in (pending[start : start + size] for start in range(0, len(pending), size)):
            distances, points = tree.query(asked[rows], k=np.arange(1, width + 1))
            held = among.counts[points]
            kth = np.take_along_axis(distances, (held.cumsum(axis=1) >= k).argmax(axis=1)[:, None], axis=1)
            settled = (distances[:, -1] > kth[:, 0] * (1 + TIE)) | (width == len(among.places))
            shares = _shares(distances, held, kth, k)
            row, place = np.nonzero((shares > 0) & settled[:, None])
            yield rows[row], points[row, place].astype(np.int64), shares[row, place]
            unsettled.append(rows[~settled])
        pending, width = np.concatenate(unsettled), width * 4


def _shares(distances: FloatArray, held: IntArray, kth: FloatArray, k: int) -> FloatArray:
    """The part [rows, points] of the k neighbours; `kth` [rows, 1] is the distance of the last of them."""
    nearer = np.where(distances < kth * (1 - TIE), held, 0)
    tied = np.where((distances <= kth * (1 + TIE)) & (nearer == 0), held, 0)
    left = k - nearer.sum(axis=1, keepdims=True)
    shares: FloatArray = (nearer + tied * (left / tied.sum(axis=1, keepdims=True))) / k
    return shares
