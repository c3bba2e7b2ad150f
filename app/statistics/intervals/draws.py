"""Draws from cells of records, for figures without an interval in closed form.

Probabilities are drawn from the posterior of a multinomial with Jeffreys' prior: gamma variates of the counts
plus one half. Resampling would give an empty cell no chance, and small groups too narrow intervals
(docs/adr/0006).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import chndtr, chndtrinc

from ...base.values import frozen_by_name
from ..catalogue.metric import CellKind
from ..group_labels import AnyArray, BoolArray, FloatArray, Groups, IntArray, divide_or
from ..measures.paired_rates import PairedRate
from ..measures.worst_group import AllLimits
from ..tables.count_table import LabelledCells
from ..tables.score_table import ScoreTable
from ..tables.strata_counts import Strata, Weighting
from .intervals import TAIL, Interval
from .rate_estimates import ROUNDING, CountedRate, RatePhrases, ResampledRate, take_middle

Estimate = CountedRate | ResampledRate | PairedRate

PartSum = Callable[[AnyArray], AnyArray]
"""Sums a part of cells [columns, …] to [columns]."""


PRIOR = 0.5
"""Pseudo-records in each cell of a set (Jeffreys)."""

MAX_DRAWN_NUMBERS = 2**22
"""Numbers of one array of draws (32 MB); larger tables get fewer draws, at least `MIN_DRAWS`."""

MIN_DRAWS = 200

DRAWS_METHOD = "posterior_draws"
SQUARES_METHOD = "noncentral_chi_square"
LIMITS_METHOD = "posterior_limits"

MIN_NORMAL_MULTIPLE = 100.0
"""Multiple of its unit from which a sum of squares counts as normal."""


# Without slots, for the cached draws.
@dataclass(frozen=True, eq=False)
class DrawnCells:
    """Counts [C, …], weights, and sums of squared weights of a table's columns.

    `tag` separates the draws of different cells. `prior` are pseudo-records in each cell of a set, or [C, …]
    of each column, the largest of which counts.
    """

    counts: IntArray
    weights: FloatArray
    squares: FloatArray
    seed: int
    draws: int
    tag: int
    prior: FloatArray | float = PRIOR
    _joined: dict[tuple[tuple[int, ...], ...], "DrawnCells"] = field(init=False, default_factory=dict)

    def join_columns(self, sets: Sequence[tuple[int, ...]]) -> "DrawnCells":
        """Cells of these sets of columns, each summed; repeated sets are drawn once."""
        key = tuple(sets)
        if key not in self._joined:
            counts, weights, squares = (
                np.stack([cells[list(columns)].sum(0) for columns in sets])
                for cells in (self.counts, self.weights, self.squares)
            )
            prior = self.prior
            if isinstance(prior, np.ndarray):
                prior = np.stack([prior[list(columns)].max(0, initial=0.0) for columns in sets])
            self._joined[key] = replace(self, counts=counts, weights=weights, squares=squares, prior=prior)
        return self._joined[key]

    def count_certain(self, sum_part: PartSum) -> IntArray:
        """Records [C] of a part, or the effective number where smaller."""
        return count_certain_records(*map(sum_part, (self.counts, self.weights, self.squares)))

    @property
    def fewer_draws(self) -> int | None:
        """Number of draws if the table is too large for as many as asked for, else None."""
        return len(self.drawn) if len(self.drawn) < self.draws else None

    @cached_property
    def drawn(self) -> FloatArray:
        """Weights [draws, C, …].

        A cell's weight varies by Σw²: one scale for all cells would miss that seldom logged predictions vary
        more; an empty cell has its set's.
        """
        scale = np.where(self.squares > 0, divide_or(self.weights, self.squares, 1.0), self._scale)
        shape = self.weights * scale + self.prior
        draws = max(MIN_DRAWS, min(self.draws, MAX_DRAWN_NUMBERS // max(1, shape.size)))
        # Without the tag, different cells would get the same random numbers and vary together.
        generator = np.random.default_rng([self.seed, self.tag])
        return generator.standard_gamma(shape, size=(draws, *shape.shape)) / scale

    @property
    def shapes(self) -> FloatArray:
        """Cells [C, …] in records of equal weight plus the prior, for limits in closed form.

        As many records as give each cell's share its variance (linearised), at most Kish's number.
        """
        total = _sum_each(self.weights)
        other_weights = total - self.weights
        other_squares = _sum_each(self.squares) - self.squares
        spread = (self.squares * other_weights**2 + other_squares * self.weights**2).clip(min=0.0)
        effective = divide_or(self.weights * other_weights * total, spread, np.inf)
        scale = np.minimum(self._scale, effective.min(tuple(range(1, effective.ndim)), keepdims=True))
        shapes: FloatArray = self.weights * scale + self.prior
        return shapes

    @property
    def _scale(self) -> FloatArray:
        """Records of equal weight per unit of weight [C, 1, …] (Kish)."""
        return divide_or(_sum_each(self.weights), _sum_each(self.squares), 1.0)


def _sum_each(cells: AnyArray) -> AnyArray:
    total: AnyArray = cells.sum(tuple(range(1, cells.ndim)), keepdims=True)
    return total


def count_certain_records(counts: IntArray, weights: FloatArray, squares: FloatArray) -> IntArray:
    """Counts of records, or their effective number (Σw)²/Σw² if smaller."""
    return np.minimum(counts, (divide_or(weights**2, squares, 0.0) + ROUNDING).astype(np.int64))


def build_intervals(
    points: FloatArray, drawn: FloatArray, ideal: float | None = None, *, vanishing: FloatArray | None = None
) -> list[Interval]:
    """Middle 95 % of the draws [draws, K], stretched to hold the point.

    A distance exceeds equality in every draw. Unless one of the signed differences `vanishing` [draws, K, P]
    is certainly not zero (at 95 % for all together), the interval reaches to the `ideal`.
    """
    if vanishing is None or ideal is None:
        return _stretch(points, *take_middle(drawn))
    return _stretch(points, *_reach_ideal(drawn, np.all(_may_be_zero(vanishing), -1), ideal))


def build_intervals_of_parts(
    points: FloatArray,
    drawn: FloatArray,
    ideal: float,
    *,
    vanishing: FloatArray,
    reduce: Callable[..., FloatArray],
) -> list[Interval]:
    """Intervals of K figures, each the largest, smallest or mean (`reduce`) of P parts; draws are [draws, K,
    P].

    The largest of several draws is too large on average. So the ends are the largest of the parts' own: the
    truth, one of the parts, lies outside all far ends only if outside its own. A part whose difference in
    `vanishing` [draws, K, P] may be zero counts as the `ideal` at the near end.
    """
    undecided = _may_be_zero(vanishing)
    if reduce is np.mean:
        low = take_middle(np.where(undecided, ideal, drawn).mean(-1))[0]
        return _stretch(points, low, take_middle(drawn.mean(-1))[1])
    return _stretch(points, *(reduce(end, axis=-1) for end in _reach_ideal(drawn, undecided, ideal)))


def _reach_ideal(drawn: FloatArray, undecided: BoolArray, ideal: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the middle draws, moved to the ideal where it is undecided."""
    low, high = take_middle(drawn)
    return np.where(undecided, np.fmin(low, ideal), low), np.where(undecided, np.fmax(high, ideal), high)


def build_squares_interval(point: float, drawn: FloatArray, degrees: int, power: int) -> Interval:
    """Interval of a figure whose `power` is a sum of squared differences with `degrees` of freedom, from
    [draws].

    Chance makes such a sum too large, and draws of it again. It is some `unit` times a noncentral chi-square
    variate with the draws' variance; the limits are those of the noncentrality. Where it is large the draws
    are moved back. A figure that chance makes larger in over 97.5 of 100 windows has the draws' upper limit.
    """
    square = point**power
    draws = drawn[np.isfinite(drawn)] ** power
    unit = (math.sqrt(square**2 + degrees * float(draws.var()) / 2) - square) / degrees if draws.size else 0.0
    if not np.isfinite(square) or unit <= 0:
        return build_intervals(np.array([point]), drawn[:, None])[0]
    if square < MIN_NORMAL_MULTIPLE * unit:
        statistic = square / unit
        lower, upper = (
            chndtrinc(statistic, degrees, chance) * unit if chndtr(statistic, degrees, 0.0) > chance else 0.0
            for chance in (1 - TAIL, TAIL)
        )
        upper = upper or float(take_middle(draws)[1])
    else:
        lower, upper = (max(0.0, float(end) - degrees * unit) for end in take_middle(draws))
    return build_interval_around(point, lower ** (1 / power), upper ** (1 / power), method=SQUARES_METHOD)


def build_interval_around(point: float, lower: float, upper: float, *, method: str) -> Interval:
    """Interval of these limits, stretched to hold the point."""
    return _stretch(np.array([point]), np.array([lower]), np.array([upper]))[0]._replace(method=method)


def _may_be_zero(signed: FloatArray) -> BoolArray:
    """Whether each difference [draws, …, P] may be zero, at 95 % for the P of one figure at once."""
    low, high = take_middle(signed, TAIL / signed.shape[-1])
    return (low <= 0) & (high >= 0)


def _stretch(points: FloatArray, low: FloatArray, high: FloatArray) -> list[Interval]:
    """Intervals that hold the points; a lower end that is not known is 0."""
    lower = np.fmin(points, low)
    upper = np.fmax(points, high)
    return [
        Interval(float(start), float(end), DRAWS_METHOD)
        for start, end in zip(np.nan_to_num(lower, nan=0.0, neginf=-np.inf), upper, strict=True)
    ]


@frozen_by_name
class TableEvidence:
    """Counts of one table that figures are measured from.

    `unclassified` [groups] are in no rate; `labels` is the table of figures of labels.
    """

    groups: Groups
    estimates: Mapping[str, Estimate]
    cells: Mapping[CellKind, DrawnCells] = field(default_factory=dict)
    strata: Mapping[CellKind, Strata] = field(default_factory=dict)
    scores: ScoreTable | None = None
    unclassified: IntArray | None = None
    labels: LabelledCells | None = None
    limits: AllLimits


def build_counted_rate(
    phrases: RatePhrases,
    counts: IntArray,
    weighting: Weighting | None,
    sum_part: PartSum = lambda cells: cells[:, 1],
    sum_whole: PartSum = lambda cells: cells.sum(1),
) -> CountedRate:
    """Rate of one part of the cells [columns, …] in another: by default, of the favourable ones in all."""
    if weighting is None:
        return CountedRate(phrases, sum_part(counts), sum_whole(counts))
    columns = [
        add(cells) for cells in (weighting.weights, weighting.squares) for add in (sum_part, sum_whole)
    ]
    return CountedRate(phrases, sum_part(counts), sum_whole(counts), np.stack(columns, -1))


def build_cells(
    counts: IntArray,
    weighting: Weighting | None,
    *,
    seed: int,
    draws: int,
    tag: int,
    prior: FloatArray | float = PRIOR,
) -> DrawnCells:
    """Cells to draw from; without a weighting each record weighs 1."""
    weights = weighting or Weighting.of_counts(counts)
    return DrawnCells(counts, weights.weights, weights.squares, seed, draws, tag, prior)
