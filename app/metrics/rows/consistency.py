"""Consistency: do records that are alike have the same outcome?

Source: Zemel et al. 2013, as in AIF360: the 5 nearest records include the record itself. Unlike there, features are standardised and ties
are shared: the mean of AIF360's value over all ways to break them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..groups import FloatArray, IntArray
from ..intervals import Interval, wilson
from .neighbours import Points, neighbour_shares

NEIGHBOURS = 5
METHOD = "wilson_of_effective_size"


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """Positions of records, and the share of each position's records in the neighbours of each position [points, points]."""

    points: Points
    shares: csr_array

    @classmethod
    def of(cls, places: FloatArray) -> "Neighbourhood":
        """5 nearest records of each of the records [records, features], itself included.

        Raises:
            ValueError: there are fewer than 5 records.
        """
        points = Points.of(places)
        return cls(points, neighbour_shares(points.places, points, NEIGHBOURS))


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Agreement [records] with the neighbours' outcomes, in [0, 1], 1 where all have the same."""

    agreements: FloatArray
    _favoured: IntArray
    _means: FloatArray
    _near: Neighbourhood

    def value(self, of: npt.NDArray[np.bool_]) -> float:
        """Consistency of the selected records, at least one."""
        return float(np.clip(self.agreements[of].mean(), 0.0, 1.0))

    def interval(self, of: npt.NDArray[np.bool_]) -> Interval:
        """95 % interval of the consistency of the selected records, within [0, 1].

        Score interval (Wilson) of the number of records with the same variance, that of the infinitesimal jackknife (Efron 1982): a record
        counts by its own agreement and its effect on others'. In simulations (200 to 5,000 records) it held the mean over windows in 91 to
        98 %.
        """
        value, records = self.value(of), int(of.sum())
        own = np.where(of, self.agreements - value, 0.0)
        wish = np.where(of, 2.0 * self._favoured - 1.0, 0.0)
        points = self._near.points
        place, count = points.of_record, len(points.counts)
        wishes, expected = (np.bincount(place, weights=each, minlength=count) for each in (wish, wish * self._means))
        pulled, usual = ((self._near.shares.T @ each / points.counts)[place] for each in (wishes, expected))
        influence = own + self._favoured * pulled - usual

        variance = float(np.square(influence).sum()) / records**2
        spread = value * (1 - value)
        # Where all agree there is no variance; and no record carries more information than its neighbours together.
        size = min(spread / variance, NEIGHBOURS * records) if spread > 0 and variance > 0 else records
        lower, upper, _ = wilson(value * size, size)
        return Interval(min(lower, value), value if upper is None else max(upper, value), METHOD)


def agreement(near: Neighbourhood, favoured: IntArray) -> Agreement:
    """Compares each record's outcome [records] (0 or 1) with its neighbourhood's."""
    points = near.points
    favourable = np.bincount(points.of_record, weights=favoured, minlength=len(points.counts))
    means = np.clip(near.shares @ (favourable / points.counts), 0.0, 1.0)[points.of_record]
    return Agreement(1.0 - np.abs(favoured - means), favoured, means, near)
