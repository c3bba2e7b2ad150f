"""How much more hours differ than chance allows."""

import numpy as np

from .nulls import FloatArray, Hours

UNSTEADINESS_HOURS = 168
"""Hours before an hour that are looked at."""

MIN_FAVOURABLE = 3
"""Min favourable records of each group for comparing an hour with the last such hour."""

LARGEST_TERM = 25.0
"""Max contribution of two hours, so that one jump does not decide."""

MIN_TERMS = 24
"""Min comparisons; with fewer the divisor is 1."""

TOLERATED = 1.3
"""Mean up to which variation counts as chance: the divisor is 1."""


def measure_unsteadiness(hours: Hours) -> FloatArray:
    """Divisor [H] of each hour's ln E, from the hours before it: 1, or the factor by which hours vary more
    than chance allows.

    A power below 1 of an e-value is an e-value, so a divisor known before the hour keeps the bound.
    """
    divisors = np.ones(len(hours))
    usable = np.flatnonzero(np.all([side.favourable >= MIN_FAVOURABLE for side in hours.sides], axis=0))
    if len(usable) <= MIN_TERMS:
        return divisors
    logs, variances = np.zeros((2, len(usable)))
    for side, sign in zip(hours.sides, (1, -1), strict=True):
        counted, records = side.favourable[usable] + 0.5, side.records[usable] + 1
        logs += sign * np.log(counted / records)
        variances += 1 / counted - 1 / records
    terms, at = np.minimum(np.diff(logs) ** 2 / (variances[1:] + variances[:-1]), LARGEST_TERM), usable[1:]
    # A divisor that reads its own hour would not keep the bound. Both hours of a term are among the last
    # `UNSTEADINESS_HOURS`.
    every = np.arange(len(hours))
    start, end = np.searchsorted(usable[:-1], every - UNSTEADINESS_HOURS), np.searchsorted(at, every)
    count = np.maximum(end - start, 0)
    # Each sum by itself: running sums would depend on where the series begins. The last 0 is for empty
    # ranges.
    bounds = np.column_stack([start, np.maximum(end, start)]).ravel()
    sums = np.add.reduceat(np.append(terms, 0.0), bounds)[::2]
    means = np.where(count > 0, sums, 0.0) / np.maximum(count, 1)
    return np.where((count >= MIN_TERMS) & (means > TOLERATED), means, divisors)
