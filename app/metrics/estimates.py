"""A rate in every group of an attribute with its uncertainty: in closed form, or by resampling records.

Both kinds answer the same questions about any set of groups (`of`, positions), so the measures do not know which kind they use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from .comparisons import ROUNDING, Pairs, Share, ShareComparison
from .groups import FloatArray, IntArray, divide
from .intervals import Interval, Z, proportion

DRAWS = 2000
"""Resamples per table."""

RESAMPLING = "resampling"
"""Interval method of figures from resampled records."""

CHUNK = 2**21
"""Max cells × draws held in memory at once (16 MB)."""


@dataclass(frozen=True, slots=True)
class Words:
    """Phrases that describe a rate: the counted thing, an empty group ({of} names it), and a reference rate of zero.

    `no_counterfactual` describes a group that has records, none of them with a figure on the other side.
    """

    noun: str
    empty: str
    zero_reference: str = ""
    no_counterfactual: str = ""


@dataclass(frozen=True, slots=True)
class ComparedShares:
    """Interval of a comparison. `pairs` are what it is computed from, where both rates are of the same records."""

    interval: Interval
    pairs: Pairs | None = None


class Estimate(Protocol):
    """A rate as the measures use it. Columns are the groups; for overall figures the ungrouped records follow."""

    @property
    def words(self) -> Words:
        """The phrases that describe the rate."""

    def share(self, of: Sequence[int]) -> Share:
        """Returns the rate's counts over several groups together."""

    def pair(self, of: Sequence[int], against: Sequence[int]) -> tuple[Share, Share]:
        """Returns the two shares of a comparison."""

    def records(self, *several: Sequence[int]) -> int:
        """Returns the number of records that the groups' shares rest on together."""

    def counts(self, share: Share) -> dict[str, float]:
        """Returns the share's counts by name, for tracing."""

    def rate_interval(self, of: Sequence[int]) -> Interval:
        """Returns the interval of the rate itself; the share must not be empty."""

    def compare(self, comparison: ShareComparison, of: Sequence[int], against: Sequence[int]) -> ComparedShares:
        """Returns the interval of a comparison; neither share may be empty."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A rate that counts each record once, independently of the others. `count` and `total` [columns].

    `weighting` [columns, 4] is set where records carry weights: the weight of the counted, of all, and the sums of the squared weights of
    both. The effective size is Kish's (Σw)²/Σw², or that of the linearised variance of the weighted share, Σw²(y - p)²/(Σw)², where this
    is smaller: it is, where the weights depend on the outcome.
    """

    words: Words
    count: IntArray
    total: IntArray
    weighting: FloatArray | None = None
    _shares: dict[tuple[int, ...], Share] = field(default_factory=dict)

    def share(self, of: Sequence[int]) -> Share:
        """Returns the rate's counts over several groups together."""
        key = tuple(of)
        if key not in self._shares:
            # Each share is asked for several times: by the rate, its comparisons, their reasons and the other scopes.
            self._shares[key] = self._sum(list(key))
        return self._shares[key]

    def pair(self, of: Sequence[int], against: Sequence[int]) -> tuple[Share, Share]:
        """Returns the two shares of a comparison."""
        return self.share(of), self.share(against)

    def records(self, *several: Sequence[int]) -> int:
        """Returns the number of records that the groups' shares rest on together."""
        return sum(self.share(of).total for of in several)

    def counts(self, share: Share) -> dict[str, float]:
        """Returns the share's counts by name, and its weights where records carry weights."""
        weights = {} if share.weight is None else {f"{self.words.noun}_weight": share.mass, "weight": share.mass_total}
        return {self.words.noun: share.count, "n": share.total, **weights}

    def rate_interval(self, of: Sequence[int]) -> Interval:
        """Returns the closed-form interval of a rate."""
        return proportion(*self.share(of).size)

    def compare(self, comparison: ShareComparison, of: Sequence[int], against: Sequence[int]) -> ComparedShares:
        """Returns the closed-form interval of the comparison."""
        return ComparedShares(comparison.interval(*self.share(of).size, *self.share(against).size, Z))

    def _sum(self, columns: list[int]) -> Share:
        total = int(self.total[columns].sum())
        count = int(self.count[columns].sum())
        if self.weighting is None:
            return Share(count, total, total)
        weight, whole, squares_counted, squares = (float(part) for part in self.weighting[columns].sum(axis=0))
        effective = whole * whole / squares if squares > 0 else 0.0
        if 0 < weight < whole:
            share = weight / whole
            scatter = squares_counted * (1 - share) ** 2 + max(squares - squares_counted, 0.0) * share**2
            # Squares of tiny weights vanish.
            linearised = share * (1 - share) * whole * whole / scatter if scatter > 0 else effective
            # Equal weights give the same size, but for rounding.
            effective = linearised if linearised < effective * (1 - ROUNDING) else effective
        return Share(count, total, total, weight, whole, effective)


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """A rate whose groups may count one record several times, through its counterfactuals.

    `weights` [K] records of each kind; `count` and `total` [K, groups] what one record of a kind adds to each group;
    `original` [groups] records without counterfactuals; `drawn_count`, `drawn_total` [worlds, draws, groups] the same sums in each
    resample, the interval reaching over all worlds.
    """

    words: Words
    weights: IntArray
    count: IntArray
    total: IntArray
    original: IntArray
    drawn_count: FloatArray
    drawn_total: FloatArray

    def share(self, of: Sequence[int]) -> Share:
        """Returns the rate's counts over several groups together."""
        columns = list(of)
        count, total = (int((self.weights @ part[:, columns]).sum()) for part in (self.count, self.total))
        return Share(count, total, int(self.original[columns].sum()))

    def pair(self, of: Sequence[int], against: Sequence[int]) -> tuple[Share, Share]:
        """Returns the two shares of a comparison."""
        return self.share(of), self.share(against)

    def records(self, *several: Sequence[int]) -> int:
        """Returns the number of records, not counterfactuals, that add to any of the groups."""
        columns = [column for of in several for column in of]
        return int(self.weights[self.total[:, columns].any(axis=1)].sum())

    def counts(self, share: Share) -> dict[str, float]:
        """Returns the share's counts by name; `n` includes the counterfactuals, `original_n` does not."""
        return {self.words.noun: share.count, "n": share.total, "original_n": share.original}

    def rate_interval(self, of: Sequence[int]) -> Interval:
        """Returns the percentile interval over the resamples."""
        return _span_worlds(self._rates(of), self.share(of).rate, highest=1.0)

    def compare(self, comparison: ShareComparison, of: Sequence[int], against: Sequence[int]) -> ComparedShares:
        """Returns the percentile interval over the resamples."""
        drawn = comparison.over_draws(self._rates(of), self._rates(against))
        return ComparedShares(_span_worlds(drawn, comparison.point(self.share(of), self.share(against)), highest=None))

    def only(self, words: Words, of: Sequence[int]) -> "Resampled":
        """Returns the same rate, in the same resamples, as if only some of the groups had been counted."""
        kept = np.isin(np.arange(self.original.size), list(of))
        return replace(
            self,
            words=words,
            count=self.count * kept,
            total=self.total * kept,
            original=self.original * kept,
            drawn_count=self.drawn_count * kept,
            drawn_total=self.drawn_total * kept,
        )

    def _rates(self, of: Sequence[int]) -> FloatArray:
        columns = list(of)
        # A draw in which the group is empty becomes NaN.
        return divide(self.drawn_count[..., columns].sum(axis=-1), self.drawn_total[..., columns].sum(axis=-1))


def resample(
    worlds: Sequence[FloatArray | IntArray], count: IntArray, total: IntArray, *, draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Returns the sums of `count` and `total` [worlds, draws, groups] in multinomial resamples of the kinds.

    Each world is a weighting [K] of the kinds; every draw has as many records as the first one. The same seed gives the same
    draws; it must not be negative.
    """
    generator = np.random.default_rng(seed)
    # The number of records comes from the first world: weights of unseen kinds in the others add no records.
    records, kinds = int(worlds[0].sum()), max(1, len(count))
    drawn_count, drawn_total = (np.zeros((len(worlds), draws, part.shape[1])) for part in (count, total))
    if not records:
        return drawn_count, drawn_total
    for world, weights in enumerate(worlds):
        for start in range(0, draws, max(1, CHUNK // kinds)):
            rows = slice(start, min(draws, start + max(1, CHUNK // kinds)))
            drawn = generator.multinomial(records, weights / weights.sum(), size=rows.stop - rows.start).astype(np.float64)
            drawn_count[world, rows], drawn_total[world, rows] = drawn @ count, drawn @ total
    return drawn_count, drawn_total


def _span_worlds(worlds: FloatArray, value: float, *, highest: float | None) -> Interval:
    """Returns the range of the value and the middle 95 % of the draws in every world [worlds, draws]."""
    limits = [_take_middle(drawn[~np.isnan(drawn)], highest) for drawn in worlds]
    lower = min(value, *(low for low, _ in limits))
    upper = max(value, *(high for _, high in limits))
    return Interval(lower, upper if np.isfinite(upper) else None, RESAMPLING)


def _take_middle(drawn: FloatArray, highest: float | None) -> tuple[float, float]:
    """Returns the 2.5 % and 97.5 % quantiles; the whole range where every draw is NaN."""
    if not drawn.size:
        return 0.0, np.inf if highest is None else highest
    # Taking draws as they are, without interpolation, keeps an infinite ratio out of its neighbours.
    return float(np.quantile(drawn, 0.025, method="lower")), float(np.quantile(drawn, 0.975, method="higher"))
