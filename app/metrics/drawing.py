"""Cells of records as they were counted, and as they might be: draws for every figure that has no closed form.

The chances of a set's cells are drawn from their posterior under a multinomial of the records and Jeffreys' prior: gamma variates
of the counts plus one half. Resampling the records themselves would give a cell that happens to be empty no chance at all, and
intervals that are too narrow for small groups; with thousands of records the two agree (docs/adr/0015).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chndtr, chndtrinc

from app.metrics.groups import FloatArray, IntArray
from app.metrics.intervals import Interval

PRIOR = 0.5
"""Pseudo-records in each cell of a set (Jeffreys)."""

CHUNK = 2**22
"""Numbers of one array of draws held at once (32 MB); beyond it fewer draws are made."""

FEWEST = 200
"""Draws that are made however many cells there are."""

METHOD = "posterior_draws"
SQUARES = "noncentral_chi_square"
LIMITS = "posterior_limits"
MOMENTS = "posterior_moments"

BEYOND = 0.025
"""The share of the draws that lies beyond each end of an interval."""

ROUNDING = 1e-9
"""How far a number of records of equal weight may fall short of a whole number by rounding."""

LARGE = 100.0
"""Beyond so many times its unit a sum of squares is nearly normal."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells of the columns of a table (its groups, perhaps the records of none): counts [C, …], their weights and the squares' sums.

    `tag` keeps the draws of different cells apart. `prior` are the pseudo-records in each cell of a set, or [C, …] those that it has
    where the column is in it, of which the most count.
    """

    counts: IntArray
    weights: FloatArray
    squares: FloatArray
    seed: int
    draws: int
    tag: int
    prior: FloatArray | float = PRIOR
    _drawn: dict[tuple[tuple[int, ...], ...], FloatArray] = field(default_factory=dict)

    def point(self, sets: Sequence[Sequence[int]]) -> FloatArray:
        """The weights [1, sets, …] of each set of columns together."""
        return np.stack([self.weights[list(columns)].sum(axis=0) for columns in sets])[None]

    def records(self, sets: Sequence[Sequence[int]]) -> IntArray:
        """The counts [sets, …] of each set of columns together."""
        return np.stack([self.counts[list(columns)].sum(axis=0) for columns in sets])

    def certain(self, sets: Sequence[Sequence[int]], of: Callable[[NDArray[Any]], NDArray[Any]]) -> IntArray:
        """The records [sets] of a part of the cells, or fewer where some weigh so much that they are as sure as fewer of equal weight."""
        weights, squares, counts = (
            of(np.stack([part[list(columns)].sum(axis=0) for columns in sets])) for part in (self.weights, self.squares, self.counts)
        )
        return certain_records(counts, weights, squares)

    def fewer_draws(self, sets: Sequence[Sequence[int]]) -> dict[str, object]:
        """How many draws are made, as a detail where there are so many cells that they are fewer than asked for."""
        made = len(self.drawn(sets))
        return {"draws": made} if made < self.draws else {}

    def drawn(self, sets: Sequence[Sequence[int]]) -> FloatArray:
        """Draws [draws, sets, …] of the weights. The same seed gives the same draws; sets asked for twice are drawn once."""
        key = tuple(tuple(columns) for columns in sets)
        if key not in self._drawn:
            self._drawn[key] = self._draw(sets)
        return self._drawn[key]

    def shapes(self, sets: Sequence[Sequence[int]]) -> FloatArray:
        """The cells [sets, …] in records of equal weight, with the prior added: the shapes of the gamma variates."""
        shapes: FloatArray = self.point(sets)[0] * self._scale(sets) + self._prior(sets)
        return shapes

    def _prior(self, sets: Sequence[Sequence[int]]) -> FloatArray | float:
        if not isinstance(self.prior, np.ndarray):
            return self.prior
        return np.stack([self.prior[list(columns)].max(axis=0, initial=0.0) for columns in sets])

    def _scale(self, sets: Sequence[Sequence[int]]) -> FloatArray:
        """How many records of equal weight one unit of weight stands for [sets, 1, …]."""
        parts = (np.stack([part[list(columns)].sum(axis=0) for columns in sets]) for part in (self.weights, self.squares))
        total, squares = (part.sum(axis=tuple(range(1, part.ndim)), keepdims=True) for part in parts)
        scale: FloatArray = np.divide(total, squares, out=np.ones_like(total), where=squares > 0)
        return scale

    def _draw(self, sets: Sequence[Sequence[int]]) -> FloatArray:
        shape, scale = self.shapes(sets), self._scale(sets)
        draws = max(FEWEST, min(self.draws, CHUNK // max(1, shape.size)))
        generator = np.random.default_rng([self.seed, self.tag])
        drawn: FloatArray = generator.standard_gamma(shape, size=(draws, *shape.shape)) / scale
        return drawn


def certain_records(counts: IntArray, weights: FloatArray, squares: FloatArray) -> IntArray:
    """The counts, or the records of equal weight, (Σw)²/Σw², that they are as sure as where these are fewer."""
    alike = np.divide(weights**2, squares, out=np.zeros_like(weights), where=squares > 0)
    return np.minimum(counts, (alike + ROUNDING).astype(np.int64))


def intervals_of(
    points: FloatArray, drawn: FloatArray, ideal: float | None = None, *, vanishing: FloatArray | None = None
) -> list[Interval]:
    """The middle 95 % of the draws [draws, K] of each of K figures, stretched to hold its point; `upper` None where unbounded.

    A figure that cannot fall below equality, such as a distance, exceeds it in every draw, also where nothing differs.
    `vanishing` [draws, K, P] are the signed differences that are all zero at equality: unless one of them is surely not (at 95 %
    for all together), the interval reaches to the `ideal`.
    """
    low, high = _middle(drawn, BEYOND)
    if vanishing is not None and ideal is not None:
        undecided = _undecided(vanishing, vanishing.shape[-1]).all(axis=-1)
        low, high = np.where(undecided, np.fmin(low, ideal), low), np.where(undecided, np.fmax(high, ideal), high)
    return _stretched(points, low, high)


def intervals_of_parts(
    points: FloatArray, drawn: FloatArray, ideal: float, *, vanishing: FloatArray, whole: Callable[..., FloatArray]
) -> list[Interval]:
    """The intervals of K figures that are each the largest, smallest or mean (`whole`) of P parts, drawn as [draws, K, P].

    The largest of several draws is on average larger than the largest of what they are drawn around, and that one is already
    larger than the truth. So each part has an interval of its own, and the ends are the largest of the parts' ends: the truth is
    one of the parts, and it lies beyond all their far ends only if it lies beyond its own. Likewise a distance is on average
    too large: a part whose signed difference in `vanishing` [draws, K, P] may be zero counts as the `ideal` at the near end.
    """
    undecided = _undecided(vanishing, vanishing.shape[-1])
    if whole is np.mean:
        low, high = _middle(np.where(undecided, ideal, drawn).mean(axis=-1), BEYOND)[0], _middle(drawn.mean(axis=-1), BEYOND)[1]
        return _stretched(points, low, high)
    low, high = _middle(drawn, BEYOND)
    low, high = np.where(undecided, np.fmin(low, ideal), low), np.where(undecided, np.fmax(high, ideal), high)
    return _stretched(points, whole(low, axis=-1), whole(high, axis=-1))


def sum_of_squares_interval(point: float, drawn: FloatArray, degrees: int, power: int) -> Interval:
    """Of a figure whose `power` is a sum of squares of differences, with so many degrees of freedom; drawn as [draws].

    Such a sum is too large by chance alone, and draws of it are so again. It is some `unit` times a noncentral chi-square variate,
    whose variance is that of the draws; its limits are those of the noncentrality. Where it is large the draws are moved back.
    A figure so small that chance alone makes it larger in more than 97.5 of 100 windows, such as 0, has no upper limit of that kind,
    and takes that of the draws.
    """
    square, draws = point**power, drawn[np.isfinite(drawn)] ** power
    unit = (math.sqrt(square**2 + degrees * float(draws.var()) / 2) - square) / degrees if draws.size else 0.0
    if not np.isfinite(square) or unit <= 0:
        return intervals_of(np.array([point]), drawn[:, None])[0]
    if square < LARGE * unit:
        lower, upper = (_noncentrality(square / unit, degrees, chance) * unit for chance in (1 - BEYOND, BEYOND))
        upper = upper or float(_middle(draws, BEYOND)[1])
    else:
        lower, upper = (max(0.0, float(end) - degrees * unit) for end in _middle(draws, BEYOND))
    return limits_around(point, lower ** (1 / power), upper ** (1 / power), method=SQUARES)


def limits_around(point: float, lower: float, upper: float, *, method: str) -> Interval:
    """The limits, stretched to hold the point."""
    return _stretched(np.array([point]), np.array([lower]), np.array([upper]))[0]._replace(method=method)


def _noncentrality(value: float, degrees: int, chance: float) -> float:
    """That with which a noncentral chi-square variate lies below the value with that chance; 0 where it never does as often."""
    if chndtr(value, degrees, 0.0) <= chance:
        return 0.0
    noncentrality: float = chndtrinc(value, degrees, chance)
    return noncentrality


def _undecided(signed: FloatArray, together: int) -> NDArray[np.bool_]:
    """Whether each signed difference may be zero, at 95 % for so many together."""
    low, high = _middle(signed, BEYOND / max(1, together))
    undecided: NDArray[np.bool_] = (low <= 0) & (high >= 0)
    return undecided


def _stretched(points: FloatArray, low: FloatArray, high: FloatArray) -> list[Interval]:
    # A figure without any draw that says something keeps to its point.
    lower, upper = np.fmin(points, low), np.fmax(points, high)
    return [
        Interval(float(start), float(end) if np.isfinite(end) else None, METHOD)
        for start, end in zip(np.nan_to_num(lower, nan=0.0, neginf=-np.inf), upper, strict=True)
    ]


def _middle(drawn: FloatArray, beyond: float) -> tuple[FloatArray, FloatArray]:
    """The draws [draws, …] below which, and above which, that share of them lies; NaN counts as no draw."""
    ordered = np.sort(drawn, axis=0)  # NaN last
    usable = np.maximum((~np.isnan(ordered)).sum(axis=0) - 1, 0)
    # Taking draws as they are, without interpolation, keeps an infinite one from spoiling its neighbours.
    places = np.floor(beyond * usable).astype(np.int64), np.ceil((1 - beyond) * usable).astype(np.int64)
    low, high = (np.take_along_axis(ordered, place[None], axis=0)[0] for place in places)
    return low, high
