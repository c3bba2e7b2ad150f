"""Intervals of averages over pairs, by resampling what is independent."""

import numpy as np

from ...base.frozen import frozen_arrays
from ..group_labels import FloatArray, IntArray

MIN_UNITS = 20
"""Min resampled units; with fewer the interval would be too narrow."""

LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)

_AT_ONCE = 200
"""Resamples drawn at a time, for memory."""


@frozen_arrays
class Ends:
    """Ends of 95 % intervals [players]; NaN where there are too few units."""

    low: FloatArray
    high: FloatArray


def resample_means(values: FloatArray, units: IntArray, rng: np.random.Generator, draws: int = 2000) -> Ends:
    """Intervals of the mean of `values` [pairs, players] by resampling whole `units` [pairs] with
    replacement.

    Pairs with a record in common vary together and are one unit. Percentiles of the resampled means,
    stretched by the root of n / (n - 1) for n units, because resamples vary less than samples.
    """
    distinct, positions = np.unique(units, return_inverse=True)
    count = len(distinct)
    players = values.shape[1]
    if count < MIN_UNITS:
        return Ends(*np.full((2, players), np.nan))
    sizes = np.bincount(positions, minlength=count).astype(float)
    sums = np.column_stack([np.bincount(positions, column, minlength=count) for column in values.T])
    means = np.empty((draws, players))
    for start in range(0, draws, _AT_ONCE):
        size = min(_AT_ONCE, draws - start)
        drawn = rng.multinomial(count, np.full(count, 1 / count), size).astype(float)
        means[start : start + size] = (drawn @ sums) / (drawn @ sizes)[:, None]
    centre = values.mean(0)
    return Ends(*(centre + (np.quantile(means, TAILS, axis=0) - centre) * np.sqrt(count / (count - 1))))
