"""Favourable rates of which every record counts once on each side: as it is on its own, and as its counterfactuals are on the other.

A record's figure towards some groups is its own outcome where its value is one of theirs. Otherwise it is the mean over its counterfactual
outcomes with their values, weighted by the records that have these values. So both rates of a comparison are of the same records, and a
model that does not look at the attribute gets the same rate twice. Source: spec of the fairness check, section 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.metrics.comparisons import Comparison, Share
from app.metrics.estimates import Words
from app.metrics.formulas.means import likened_limits
from app.metrics.groups import FloatArray, of_role
from app.metrics.intervals import Interval
from app.metrics.tables import BalancedCells


class _Taken(NamedTuple):
    """Figures of kinds of records [K] towards a set of groups; NaN where no copy was classified.

    `influence` [K] is the same with what a record adds by being one of those that weigh the values; only its scatter means anything.
    """

    figures: FloatArray
    influence: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """The favourable rate as if every record had one of the groups' values. Answers what `Estimate` asks.

    `share(of)` is over the records of these groups and of the other role's; `pair(of, against)` over the records of both. A record
    whose counterfactuals were all unclassified is in neither rate of a comparison.
    """

    words: Words
    table: BalancedCells
    _sizes: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        sizes = np.bincount(self.table.group, self.table.count, minlength=len(self.table.groups))
        object.__setattr__(self, "_sizes", sizes.astype(np.float64))

    def share(self, of: Sequence[int]) -> Share:
        """Returns the rate of these groups, over their records and those of the other role."""
        return self._share(of, self._taken(of, self._others(of)).figures)

    def pair(self, of: Sequence[int], against: Sequence[int]) -> tuple[Share, Share]:
        """Returns both rates of a comparison, over the records of both sides that have a figure towards each."""
        first, second = self._both(of, against)
        return self._share(of, first.figures), self._share(against, second.figures)

    def records(self, *several: Sequence[int]) -> int:
        """Returns how many records a rate, or a comparison of two, rests on."""
        of, against = several if len(several) > 1 else (several[0], self._others(several[0]))
        figures = self._both(of, against)[0].figures if len(several) > 1 else self._taken(of, against).figures
        return int(self.table.count[~np.isnan(figures)].sum())

    def counts(self, share: Share) -> dict[str, float]:
        """Returns the share's sums by name; `own_n` of the `n` records have one of the values themselves."""
        return {self.words.noun: share.mass, "n": share.total, "own_n": share.original}

    def rate_interval(self, of: Sequence[int]) -> Interval:
        """Returns Wilson's interval for as many whole records as have the variance of the figures."""
        taken = self._taken(of, self._others(of))
        known = ~np.isnan(taken.figures)
        weights, figures, influence = self.table.count[known], taken.figures[known], taken.influence[known]
        total = weights.sum()
        mean = np.array([float(weights @ figures) / total])
        variance = np.array([_variance(weights, influence)])
        low, high = likened_limits(mean, variance, np.array([float(total)]), np.array([max(float(total) - 1, 1.0)]))
        return Interval(float(low[0]), float(high[0]), "wilson_effective")

    def pair_interval(self, comparison: Comparison, of: Sequence[int], against: Sequence[int]) -> Interval:
        """Returns the interval of two rates of the same records, for as many whole records as have the variance of the figures.

        Figures between 0 and 1 count as pairs of whole outcomes that agree as far as they can. Such pairs scatter more than the figures
        do, by a factor that is at most the number of counterfactuals of a record; so they are as sure as that many more of them.
        The records that weigh several values make them less sure, by how far the values are apart.
        """
        first, second = self._both(of, against)
        known = ~np.isnan(first.figures)
        weights, a, b = self.table.count[known].astype(np.float64), first.figures[known], second.figures[known]
        total = float(weights.sum())
        cells = [float(weights @ part) for part in (np.minimum(a, b), np.maximum(a - b, 0), np.maximum(b - a, 0), 1 - np.maximum(a, b))]
        up, down = comparison.slopes(float(weights @ a) / total, float(weights @ b) / total)
        whole = (cells[0] * (up + down) ** 2 + cells[1] * up**2 + cells[2] * down**2) / total
        whole -= (up * float(weights @ a) / total + down * float(weights @ b) / total) ** 2
        scatter = _variance(weights, up * first.influence[known] + down * second.influence[known]) * total / max(total - 1, 1)
        factor = 1.0
        if whole > 0:
            most = self._most_counterfactuals(known, of, against)
            factor = most if scatter * most < whole else max(1 / total, whole / scatter)
        return comparison.paired(*(float(factor * cell) for cell in cells))

    def _share(self, of: Sequence[int], figures: FloatArray) -> Share:
        known = ~np.isnan(figures)
        weights = self.table.count[known]
        mass, total = float(weights @ figures[known]), int(weights.sum())
        is_own = np.isin(self.table.group, list(of))
        own, left_out = (int(self.table.count[is_own & part].sum()) for part in (known, ~known))
        return Share(count=round(mass), total=total, original=own, weight=mass, weight_total=total, left_out=left_out)

    def _others(self, of: Sequence[int]) -> tuple[int, ...]:
        """The groups of the other role than all of these; none where they are of both."""
        roles = {self.table.groups[position].role for position in of}
        if len(roles) != 1:
            return ()
        return of_role(self.table.groups, "reference" if roles == {"monitored"} else "monitored")

    def _both(self, of: Sequence[int], against: Sequence[int]) -> tuple[_Taken, _Taken]:
        first, second = self._taken(of, against), self._taken(against, of)
        unknown = np.isnan(first.figures) | np.isnan(second.figures)
        return (
            _Taken(np.where(unknown, np.nan, first.figures), first.influence),
            _Taken(np.where(unknown, np.nan, second.figures), second.influence),
        )

    def _taken(self, into: Sequence[int], others: Sequence[int]) -> _Taken:
        """The figures towards `into` of the records of both sets of groups; of any other record NaN."""
        table, columns = self.table, list(into)
        own, crossing = np.isin(table.group, columns), np.isin(table.group, list(others))
        classified = table.copies_classified[:, columns]
        known = ((classified > 0) & crossing[:, None]).astype(np.float64)
        shares = np.divide(table.copies_favourable[:, columns], classified, out=np.zeros(known.shape), where=known > 0)
        sizes = self._sizes[columns]
        # One product for both, so that outcomes that are all alike give exactly 0 or 1.
        weighed, whole = shares @ sizes, known @ sizes
        copied = np.divide(weighed, whole, out=np.full(len(weighed), np.nan), where=whole > 0)
        figures = np.where(own, table.outcome, copied)
        if len(columns) == 1:
            return _Taken(figures, figures)
        return _Taken(figures, figures + np.where(own, self._pull(shares, known, columns), 0.0))

    def _pull(self, shares: FloatArray, known: FloatArray, columns: list[int]) -> FloatArray:
        """What a record of one of the values adds to the other records' figures, by weighing its value [K]."""
        copies, sizes = self.table.count[:, None] * known, self._sizes[columns]
        of_value = np.divide((copies * shares).sum(axis=0), copies.sum(axis=0), out=np.zeros(len(columns)), where=copies.sum(axis=0) > 0)
        if sizes.sum() <= 0:
            return np.zeros(len(self.table.group))
        apart = of_value - float(sizes @ of_value) / sizes.sum()
        others = self.table.count[known.any(axis=1)].sum()
        pulls = np.zeros(len(self.table.groups))
        pulls[columns] = apart * others / sizes.sum()
        found: FloatArray = pulls[self.table.group]
        return found

    def _most_counterfactuals(self, known: npt.NDArray[np.bool_], of: Sequence[int], against: Sequence[int]) -> float:
        table = self.table
        sides = (
            table.copies_classified[:, list(into)].sum(axis=1)[known & np.isin(table.group, list(source))]
            for source, into in ((of, against), (against, of))
        )
        return float(max(1, *(int(side.max(initial=1)) for side in sides)))


def _variance(weights: npt.NDArray[Any], numbers: FloatArray) -> float:
    mean = float(weights @ numbers) / weights.sum()
    return float(weights @ (numbers - mean) ** 2) / float(weights.sum())
