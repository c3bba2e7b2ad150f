"""95 % intervals in closed form. Counts in, limits out; every interval holds its point and is finite.

Counts need not be whole: those of weighted records are in records of equal weight.
"""

import math
from typing import NamedTuple

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


HALF = 0.5
LARGEST = 700.0
"""The largest logarithm of a number."""


class Interval(NamedTuple):
    """The limits, and the name of how they were made. `upper` None is unbounded."""

    lower: float
    upper: float | None
    method: str


def wilson(count: float, total: float, z: float = Z) -> Interval:
    """The score interval of a proportion, within [0, 1]; `total` > 0. Source: Wilson 1927."""
    rate = count / total
    spread = z * z / total
    centre = (rate + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (rate * (1 - rate) + spread / 4)) / (1 + spread)
    # At the ends the limit is exactly the rate; rounding must not push it past.
    return Interval(min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half)), "wilson")


def newcombe(count: float, total: float, other_count: float, other_total: float, z: float = Z) -> Interval:
    """The hybrid score interval of `count/total - other_count/other_total`, within [-1, 1].

    Source: Newcombe 1998, Statistics in Medicine 17:873, method 10.
    """
    rate, other_rate = count / total, other_count / other_total
    low, high = _limits(count, total, z)
    other_low, other_high = _limits(other_count, other_total, z)
    difference = rate - other_rate
    lower = difference - math.hypot(rate - low, other_high - other_rate)
    upper = difference + math.hypot(high - rate, other_rate - other_low)
    return Interval(max(-1.0, lower), min(1.0, upper), "newcombe")


def log_ratio(count: float, total: float, other_count: float, other_total: float, z: float = Z) -> Interval:
    """The log interval of the ratio `(count/total) / (other_count/other_total)`; `other_count` > 0.

    Source: Katz et al. 1978. It has no width, or none that is finite, where a group's records are all alike, and none that means
    anything where they nearly are, as weighted ones can be; there, and for the interval only, half a record is added to each of
    the four cells (Haldane 1956; Pettigrew et al. 1986). An upper end beyond all numbers is None.
    """
    ratio = (count / total) / (other_count / other_total)
    alike = min(count, total - count, other_count, other_total - other_count) < HALF
    extra = HALF if alike else 0.0
    a, n, b, m = count + extra, total + 2 * extra, other_count + extra, other_total + 2 * extra
    centre = math.log(a / n) - math.log(b / m)
    half = z * math.sqrt(1 / a - 1 / n + 1 / b - 1 / m)
    lower = 0.0 if count == 0 else min(ratio, math.exp(centre - half))
    upper = None if centre + half > LARGEST else max(ratio, math.exp(centre + half))
    return Interval(lower, upper, "log_ratio_adjusted" if alike else "log_ratio")


def paired_ratio(both: float, first: float, second: float, z: float = Z) -> Interval:
    """Returns the interval of the ratio of two proportions of the same records; the second proportion must not be zero.

    `both` records have both outcomes, `first` and `second` only that one; records with neither say nothing. Made of the Wilson limits of
    each proportion, at a quantile that allows for how far the two go together. Source: Bonett and Price 2006, Biometrics 62:301; of
    those that Fagerland, Lydersen and Laake recommend (2014, Statistics in Medicine 33:2850) the one in closed form.
    """
    count, other_count, some = both + first, both + second, both + first + second
    ratio = count / other_count
    apart = math.sqrt((first + second + 2) / ((count + 1) * (other_count + 1)))
    spreads = (math.sqrt((1 - (one + 1) / (some + 2)) / (one + 1)) for one in (count, other_count))
    quantile = z * apart / sum(spreads)
    low, high = _limits(count, some, quantile)
    other_low, other_high = _limits(other_count, some, quantile)
    return Interval(min(ratio, low / other_high), max(ratio, high / other_low), "paired_ratio")


def paired_difference(both: float, first: float, second: float, neither: float, z: float = Z) -> Interval:
    """Returns the interval of the difference of two proportions of the same records, within [-1, 1].

    The cells are those of `paired_ratio`, and the records with neither outcome. Source: Newcombe 1998, Statistics in Medicine 17:2635,
    method 10.
    """
    count, other_count, total = both + first, both + second, both + first + second + neither
    rate, other_rate = count / total, other_count / total
    low, high = _limits(count, total, z)
    other_low, other_high = _limits(other_count, total, z)
    together = _correlation(both, first, second, neither)
    difference = rate - other_rate
    below = _joined(rate - low, other_high - other_rate, together)
    above = _joined(high - rate, other_rate - other_low, together)
    return Interval(max(-1.0, difference - below), min(1.0, difference + above), "paired_difference")


def _correlation(both: float, first: float, second: float, neither: float) -> float:
    """Newcombe's phi of a table of pairs, its covariance moved half the records towards 0 where it is positive."""
    covariance = both * neither - first * second
    if covariance > 0:
        covariance = max(0.0, covariance - (both + first + second + neither) / 2)
    product = (both + first) * (second + neither) * (both + second) * (first + neither)
    return max(-1.0, min(1.0, covariance / math.sqrt(product))) if product > 0 else 0.0


def _joined(part: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, part * part - 2 * correlation * part * other + other * other))


def _limits(count: float, total: float, z: float) -> tuple[float, float]:
    lower, upper, _ = wilson(count, total, z)
    return lower, 1.0 if upper is None else upper
