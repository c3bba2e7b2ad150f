"""Search for the subgroup that falls short most, in many tables at once.

The search improves one feature at a time, from many starts. The score is the likelihood of a multiplier q of
the odds.
"""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...base.values import frozen_arrays
from ..group_labels import BoolArray, FloatArray

IntArray = NDArray[np.signedinteger]
MAX_FEATURES = 8

RESTARTS = 50
"""Starts: all records, and random subgroups; or every combination, if so few that none is missed."""

MIN_RECORDS = 10
"""Records of a subgroup, and of all others, for it to be shown."""

MAX_PASSES = 50
"""Times that all features are improved."""
MIN_GAIN = 1e-9
"""Gain of score below which a search ends."""
MAX_CELLS = 4_000_000
"""Cells × starts × tables that are searched at once."""

MIN_LOG_MULTIPLIER = -30.0
"""Logarithm of the multiplier of a set without favourable records."""

MAX_STEPS = 50
MIN_STEP = 1e-9
"""Newton's steps, and the last one."""


@frozen_arrays
class CellTable:
    """Counts of the combinations of values that occur, C cells of F features.

    `codes` [C, F] are positions in the values of each feature, `sizes` how many it has; `strata`,
    `favourable` and `records` are [C].
    """

    codes: IntArray
    sizes: tuple[int, ...]
    strata: IntArray
    favourable: FloatArray
    records: FloatArray

    @property
    def is_of_stratum(self) -> FloatArray:
        return np.eye(int(self.strata.max(initial=0)) + 1)[self.strata]


def count_subsets(sizes: Sequence[int]) -> int:
    """Number of subgroups that a search decides among: any values of each feature, but not none."""
    # Python's integers: eight features of ten values exceed 64 bits.
    return prod(2 ** int(size) - 1 for size in sizes)


def count_cells(
    codes: IntArray, sizes: tuple[int, ...], favourable: BoolArray, strata: IntArray | None = None
) -> CellTable:
    """Table of records with these `codes` [N, F], outcomes [N] and strata [N], else one stratum."""
    keys = np.column_stack([codes, np.zeros(len(codes), int) if strata is None else strata])
    cells, cell_of_record = np.unique(keys, axis=0, return_inverse=True)
    positions = cell_of_record.reshape(-1)
    counts = (
        np.bincount(counted, minlength=len(cells)).astype(float)
        for counted in (positions[favourable], positions)
    )
    return CellTable(cells[:, :-1], sizes, cells[:, -1], *counts)


def compute_log_likelihood(
    favourable: FloatArray, records: FloatArray, expected: FloatArray, log_odds: FloatArray
) -> FloatArray:
    """Ln of the likelihood [...] of a multiplier of the odds, relative to a multiplier of 1.

    It is k · ln q - Σ n · ln(1 - p + q · p), concave in ln q. `favourable` and `log_odds` are [...],
    `records` [..., S] by stratum; `expected` broadcasts with them.
    """
    shares = np.log1p(expected * np.expm1(log_odds)[..., None])
    return np.asarray(favourable * log_odds - (records * shares).sum(-1))


def fit_multiplier(favourable: FloatArray, records: FloatArray, expected: FloatArray) -> FloatArray:
    """Most likely ln q [...], between MIN_LOG_MULTIPLIER and 0; arguments as of `compute_log_likelihood`."""
    low = np.full(favourable.shape, MIN_LOG_MULTIPLIER)
    high = np.zeros(favourable.shape)
    total = records.sum(-1)
    pooled = (records * expected).sum(-1) / np.maximum(total, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Exact with one stratum, close to it otherwise.
        log_q = np.log(favourable * (1 - pooled) / ((total - favourable) * pooled))
    log_q = np.clip(
        np.nan_to_num(log_q, nan=0.0, posinf=0.0, neginf=MIN_LOG_MULTIPLIER), MIN_LOG_MULTIPLIER, 0.0
    )
    if records.shape[-1] == 1:
        return np.asarray(log_q)
    for _ in range(MAX_STEPS):
        slope, curve = _derive(favourable, records, expected, log_q)
        low = np.where(slope > 0, log_q, low)
        high = np.where(slope < 0, log_q, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = log_q + slope / curve
        # A step out of the bracket is replaced by halving; NaN is never inside.
        previous = log_q
        log_q = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        if np.all(np.abs(log_q - previous) < MIN_STEP):
            break
    return np.asarray(log_q)


def find_range(
    favourable: FloatArray, records: FloatArray, expected: FloatArray, penalty: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Smallest and largest ln q at which the log-likelihood exceeds the penalty, and whether there is any."""
    peak = compute_log_likelihood(
        favourable, records, expected, fit_multiplier(favourable, records, expected)
    )
    exceeds = peak > penalty + 1e-12
    left = np.full(favourable.shape, MIN_LOG_MULTIPLIER)
    right = np.zeros(favourable.shape)
    exceeding = (favourable[exceeds], records[exceeds], np.broadcast_to(expected, records.shape)[exceeds])
    # From outside: a tangent lies above a concave function, so no step passes the end of the range.
    for ends in (left, right):
        log_q = ends[exceeds]
        for _ in range(MAX_STEPS):
            shortfall = penalty - compute_log_likelihood(*exceeding, log_q)
            slope, _ = _derive(*exceeding, log_q)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(shortfall > 0, shortfall / slope, 0.0)
            log_q += step
            if np.all(np.abs(step) < MIN_STEP):
                break
        ends[exceeds] = log_q
    return left, right, exceeds


def _derive(
    favourable: FloatArray, records: FloatArray, expected: FloatArray, log_multiplier: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """First derivative of the log-likelihood by ln q, and the negative of the second one."""
    odds = expected * np.exp(log_multiplier)[..., None]
    with np.errstate(invalid="ignore"):
        rates = np.nan_to_num(odds / (1 - expected + odds), nan=0.0)
    return favourable - (records * rates).sum(-1), (records * rates * (1 - rates)).sum(-1)


@frozen_arrays
class BestSubgroups:
    """Best subgroup of each table: `scores` [T], and for each feature its values [T, V]."""

    scores: FloatArray
    included: tuple[BoolArray, ...]


def search_tables(
    cells: CellTable, favourable: FloatArray, *, penalty: float, seed: int, restarts: int = RESTARTS
) -> BestSubgroups:
    """Finds the best subgroup of T tables with the cells and records of `cells`, but counts `favourable` [T,
    C].

    Expected is the table's own rate of the stratum. The score is the log-likelihood of the best multiplier of
    the odds below 1, minus the penalty for each named value; a feature with all its values names none.
    """
    rows = max(1, MAX_CELLS // (max(len(cells.records), 1) * restarts))
    bests = []
    for start in range(0, len(favourable), rows):
        rng = np.random.default_rng([seed, start])
        bests.append(_Search(cells, favourable[start : start + rows], penalty, restarts, rng).run())
    included = tuple(map(np.concatenate, zip(*(best.included for best in bests), strict=True)))
    return BestSubgroups(np.concatenate([best.scores for best in bests]), included)


def list_all_starts(sizes: tuple[int, ...], limit: int) -> list[BoolArray] | None:
    """Values [V] of each start by feature: all combinations, but the largest whole; None beyond `limit`."""
    largest = int(np.argmax(sizes))
    subsets = [
        [(True,) * size] if index == largest else list(product((True, False), repeat=size))[:-1]
        for index, size in enumerate(sizes)
    ]
    if prod(map(len, subsets)) > limit:
        return None
    return [np.array(values, bool) for values in zip(*product(*subsets), strict=True)]


class _Search:
    """Search from all starts: a row is one start, each table has `restarts` adjacent rows."""

    def __init__(
        self,
        cells: CellTable,
        favourable: FloatArray,
        penalty: float,
        restarts: int,
        rng: np.random.Generator,
    ) -> None:
        self._cells = cells
        self._penalty = penalty
        self._rng = rng
        all_starts = list_all_starts(cells.sizes, restarts)
        self._restarts = restarts = restarts if all_starts is None else len(all_starts[0])
        strata = cells.is_of_stratum
        sizes = cells.records @ strata
        rates = np.divide(
            favourable @ strata, sizes, out=np.zeros((len(favourable), len(sizes))), where=sizes > 0
        )
        self._favourable = np.repeat(favourable, restarts, axis=0)
        self._expected = np.repeat(rates, restarts, axis=0)
        self._values = [np.eye(size)[codes] for size, codes in zip(cells.sizes, cells.codes.T, strict=True)]
        self._value_records = [
            ((cells.records[:, None] * values)[:, :, None] * strata[:, None, :]).reshape(
                len(cells.records), -1
            )
            for values in self._values
        ]
        if all_starts is None:
            self._included = [self._draw_start(size) for size in cells.sizes]
        else:
            self._included = [np.tile(values, (len(favourable), 1)) for values in all_starts]
        self._scores = np.full(len(self._favourable), -np.inf)

    def _draw_start(self, size: int) -> BoolArray:
        included = self._rng.random((len(self._favourable), size)) < 0.5  # noqa: PLR2004 - a coin
        # Half of the starts restrict some features only: all together leave few records.
        included[::2] |= self._rng.random((len(included[::2]), 1)) < 0.5  # noqa: PLR2004 - a coin
        included[:: self._restarts] = True
        included[~included.any(1)] = True
        return included

    def run(self) -> BestSubgroups:
        rows = np.arange(len(self._favourable))
        # The feature with most values first: after starts from all combinations of the others, this already
        # is the best of all.
        self._improve(int(np.argmax(self._cells.sizes)), rows)
        for _ in range(MAX_PASSES):
            before = self._scores[rows].copy()
            for feature in self._rng.permutation(len(self._cells.sizes)):
                self._improve(int(feature), rows)
            rows = rows[self._scores[rows] > before + MIN_GAIN]
            if not len(rows):
                break
        of_tables = self._scores.reshape(-1, self._restarts)
        best = of_tables.argmax(1) + np.arange(len(of_tables)) * self._restarts
        return BestSubgroups(self._scores[best], tuple(included[best] for included in self._included))

    def _improve(self, feature: int, rows: IntArray) -> None:
        """Replaces the values of a feature by the best ones while the other features stay."""
        inside = np.ones((len(rows), len(self._cells.records)), bool)
        named_values = np.zeros(len(rows))
        for index, included in enumerate(self._included):
            if index != feature:
                included_values = included[rows]
                inside &= included_values[:, self._cells.codes[:, index]]
                named_values += np.where(included_values.all(1), 0, included_values.sum(1))
        favourable = (self._favourable[rows] * inside) @ self._values[feature]
        expected = self._expected[rows, None]
        records = (inside.astype(float) @ self._value_records[feature]).reshape(
            *favourable.shape, expected.shape[2]
        )
        # For a given multiplier the best set is that of all values whose likelihood exceeds the penalty, or
        # the best one alone. Each value does so in one range of multipliers, so the set changes only at the
        # ends of ranges. Tried are all values, each alone, and one set for each end.
        left, right, exceeds = find_range(favourable, records, expected, self._penalty)
        ends = np.concatenate([left, right], 1)[:, :, None]
        at_ends = exceeds[:, None, :] & (left[:, None, :] <= ends) & (ends < right[:, None, :])
        alone = np.broadcast_to(np.eye(at_ends.shape[2], dtype=np.bool_), (len(rows), *at_ends.shape[2:] * 2))
        sets = np.concatenate([np.ones_like(at_ends[:, :1]), alone, at_ends], 1)
        weights = sets.astype(float)
        of_favourable = np.einsum("mjv,mv->mj", weights, favourable)
        of_records = np.einsum("mjv,mvs->mjs", weights, records)
        log_odds = fit_multiplier(of_favourable, of_records, expected)
        named = np.where(sets.all(2), 0, sets.sum(2))
        scores = compute_log_likelihood(of_favourable, of_records, expected, log_odds) - self._penalty * named
        # Few records could not be shown.
        is_large = (of_records.sum(2) >= MIN_RECORDS) & sets.any(2)
        scores = np.where(is_large, scores, -np.inf) - self._penalty * named_values[:, None]
        # Everybody is no subgroup; equal scores of 0 would have no rank.
        scores[(named_values == 0)[:, None] & sets.all(2)] = -np.inf
        best = np.arange(len(rows)), scores.argmax(1)
        is_better = scores[best] > self._scores[rows]
        self._included[feature][rows[is_better]] = sets[best][is_better]
        self._scores[rows[is_better]] = scores[best][is_better]
