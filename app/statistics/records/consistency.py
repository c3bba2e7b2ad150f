"""Consistency: how far outcomes agree with those of the nearest records."""

import numpy as np
from scipy.sparse import csr_array

from ...base.values import frozen_arrays
from ..group_labels import BoolArray, FloatArray, IntArray
from ..intervals.intervals import Interval, find_wilson_limits
from .flip_test import Points, compute_neighbour_shares

NEIGHBOURS = 5
"""Nearest records that a record's outcome is compared with, itself included."""

METHOD = "wilson_of_effective_size"


@frozen_arrays
class Neighbourhood:
    """Distinct points, and `shares` [points, points] of their records in each point's neighbours."""

    points: Points
    shares: csr_array

    @classmethod
    def of(cls, features: FloatArray) -> "Neighbourhood":
        """The 5 nearest of each record, itself included; fewer than 5 records raise ValueError."""
        points = Points.of(features)
        return cls(points, compute_neighbour_shares(points.positions, points, NEIGHBOURS))


@frozen_arrays
class Agreement:
    """Agreement of each record's outcome with its neighbours' [records], from 0 to 1: all are the same."""

    agreements: FloatArray
    _favoured: IntArray
    _means: FloatArray
    _near: Neighbourhood

    def compute_value(self, selected: BoolArray) -> float:
        return float(np.clip(self.agreements[selected].mean(), 0.0, 1.0))

    def build_interval(self, selected: BoolArray) -> Interval:
        """95 % interval of the consistency of the selected records, within [0, 1].

        Score interval (Wilson) of the number of records with the same variance, that of the infinitesimal
        jackknife (Efron 1982): a record counts by its own agreement and its effect on others'.
        """
        value = self.compute_value(selected)
        records = int(selected.sum())
        deviations = np.where(selected, self.agreements - value, 0.0)
        signs = np.where(selected, 2.0 * self._favoured - 1.0, 0.0)
        points = self._near.points
        positions = points.of_record
        count = len(points.counts)
        summed_signs, expected = (
            np.bincount(positions, weights=weights, minlength=count)
            for weights in (signs, signs * self._means)
        )
        pull, expected_pull = (
            (self._near.shares.T @ weights / points.counts)[positions] for weights in (summed_signs, expected)
        )
        influence = deviations + self._favoured * pull - expected_pull

        variance = float(np.square(influence).sum()) / records**2
        spread = value * (1 - value)
        # Where all agree there is no variance; and no record carries more information than its neighbours
        # together.
        size = min(spread / variance, NEIGHBOURS * records) if spread > 0 and variance > 0 else records
        return Interval(*find_wilson_limits(value * size, size), METHOD)


def measure_agreement(near: Neighbourhood, favoured: IntArray) -> Agreement:
    """Agreement of outcomes [records], 0 or 1, of the records of the neighbourhood."""
    points = near.points
    favourable = np.bincount(points.of_record, weights=favoured, minlength=len(points.counts))
    means = np.clip(near.shares @ (favourable / points.counts), 0.0, 1.0)[points.of_record]
    return Agreement(1.0 - np.abs(favoured - means), favoured, means, near)
