"""A rate in every group of an attribute, and how sure it is: in closed form, or by resampling records.

Both kinds answer the same questions about any set of groups (`of`, positions), so the measuring does not know which it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from app.metrics.comparisons import Comparison, Share
from app.metrics.groups import FloatArray, IntArray
from app.metrics.intervals import Interval, Z, proportion

DRAWS = 2000
"""Resamples per table."""

CHUNK = 2**21
"""Cells × draws held in memory at once (16 MB)."""


@dataclass(frozen=True, slots=True)
class Words:
    """How a rate is spoken of: the counted thing, what an empty group lacks ({of} names it), and a reference rate of zero.

    `no_counterfactual` says what is absent where a group has records, but none of them a figure on the other side.
    """

    noun: str
    empty: str
    zero_reference: str = ""
    no_counterfactual: str = ""


class Estimate(Protocol):
    """What is asked of a rate. Columns are the groups; where everybody is measured, then the records of no group."""

    @property
    def words(self) -> Words:
        """How the rate is spoken of."""

    def share(self, of: Sequence[int]) -> Share:
        """The rate's counts over several groups together."""

    def pair(self, of: Sequence[int], against: Sequence[int]) -> tuple[Share, Share]:
        """The two shares of a comparison."""

    def records(self, *several: Sequence[int]) -> int:
        """How many records the groups' shares rest on together."""

    def counts(self, share: Share) -> dict[str, float]:
        """The share's counts by name, for tracing."""

    def rate_interval(self, of: Sequence[int]) -> Interval:
        """The interval of the rate itself; the share must not be empty."""

    def pair_interval(self, comparison: Comparison, of: Sequence[int], against: Sequence[int]) -> Interval:
        """The interval of a comparison; neither share may be empty."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A rate whose records count once each, independent of one another. `count` and `total` [columns].

    `weighting` [columns, 3] is there where records weigh differently: the weight of the counted, of all, and its squares' sum.
    """

    words: Words
    count: IntArray
    total: IntArray
    weighting: FloatArray | None = None

    def share(self, of: Sequence[int]) -> Share:
        """The rate's counts over several groups together."""
        columns = list(of)
        total = int(self.total[columns].sum())
        count = int(self.count[columns].sum())
        if self.weighting is None:
            return Share(count, total, total)
        weight, whole, squares = (float(part) for part in self.weighting[columns].sum(axis=0))
        return Share(count, total, total, weight, whole, whole * whole / squares if squares > 0 else 0.0)

    def pair(self, of: Sequence[int], against: Sequence[int]) -> tuple[Share, Share]:
        """The two shares of a comparison."""
        return self.share(of), self.share(against)

    def records(self, *several: Sequence[int]) -> int:
        """How many records the groups' shares rest on together."""
        return sum(self.share(of).total for of in several)

    def counts(self, share: Share) -> dict[str, float]:
        """The share's counts by name, and its weights where records weigh differently."""
        weights = {} if share.weight is None else {f"{self.words.noun}_weight": share.mass, "weight": share.mass_total}
        return {self.words.noun: share.count, "n": share.total, **weights}

    def rate_interval(self, of: Sequence[int]) -> Interval:
        """The closed form of a rate."""
        return proportion(*self.share(of).size)

    def pair_interval(self, comparison: Comparison, of: Sequence[int], against: Sequence[int]) -> Interval:
        """The comparison's closed form."""
        return comparison.interval(*self.share(of).size, *self.share(against).size, Z)


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """A rate in whose groups one record may count several times, by its copies.

    `weights` [K] records of each kind; `count` and `total` [K, groups] what one record of a kind adds to each group;
    `original` [groups] records without copies; `drawn_count`, `drawn_total` [worlds, draws, groups] the same sums in each
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
        """The rate's counts over several groups together."""
        columns = list(of)
        count, total = (int((self.weights @ part[:, columns]).sum()) for part in (self.count, self.total))
        return Share(count, total, int(self.original[columns].sum()))

    def pair(self, of: Sequence[int], against: Sequence[int]) -> tuple[Share, Share]:
        """The two shares of a comparison."""
        return self.share(of), self.share(against)

    def records(self, *several: Sequence[int]) -> int:
        """How many records, not copies, add to any of the groups."""
        columns = [column for of in several for column in of]
        return int(self.weights[self.total[:, columns].any(axis=1)].sum())

    def counts(self, share: Share) -> dict[str, float]:
        """The share's counts by name; `n` holds the copies, `original_n` does not."""
        return {self.words.noun: share.count, "n": share.total, "original_n": share.original}

    def rate_interval(self, of: Sequence[int]) -> Interval:
        """The percentile interval over the resamples."""
        return _stretched(self._rates(of), self.share(of).rate, highest=1.0)

    def pair_interval(self, comparison: Comparison, of: Sequence[int], against: Sequence[int]) -> Interval:
        """The percentile interval over the resamples."""
        drawn = comparison.over_draws(self._rates(of), self._rates(against))
        return _stretched(drawn, comparison.point(self.share(of), self.share(against)), highest=None)

    def only(self, words: Words, of: Sequence[int]) -> "Resampled":
        """The same rate, in the same resamples, as if only some of the groups had been counted."""
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
        with np.errstate(divide="ignore", invalid="ignore"):
            rates: FloatArray = self.drawn_count[..., columns].sum(axis=-1) / self.drawn_total[..., columns].sum(axis=-1)
        return rates


def resample(
    worlds: Sequence[FloatArray | IntArray], count: IntArray, total: IntArray, *, draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The sums of `count` and `total` [worlds, draws, groups] in multinomial resamples of the kinds.

    Each world is a weighting [K] of the kinds; every draw has as many records as the first one. The same seed gives the same
    draws; it must not be negative.
    """
    generator = np.random.default_rng(seed)
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


def _stretched(worlds: FloatArray, value: float, *, highest: float | None) -> Interval:
    """The middle 95 % of the draws in each world [worlds, draws], and the value: what reaches from the lowest to the highest."""
    limits = [_middle(drawn[~np.isnan(drawn)], highest) for drawn in worlds]
    lower = min(value, *(low for low, _ in limits))
    upper = max(value, *(high for _, high in limits))
    return Interval(lower, upper if np.isfinite(upper) else None, "resampling")


def _middle(drawn: FloatArray, highest: float | None) -> tuple[float, float]:
    """The 2.5 % and 97.5 % quantiles; without a draw that says anything, the whole range."""
    if not drawn.size:
        return 0.0, np.inf if highest is None else highest
    # Taking draws as they are, without interpolation, keeps an infinite ratio from spoiling its neighbours.
    return float(np.quantile(drawn, 0.025, method="lower")), float(np.quantile(drawn, 0.975, method="higher"))
