"""Favourable rates that count every record once on each side: as logged, and as its counterfactuals.

A record's figure towards a set of groups is its own outcome if its value is one of theirs; else the mean of
its counterfactual outcomes, weighted by how many records have each value. Both rates are of the same records,
and equal for a model that does not use the attribute.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..group_labels import BoolArray, FloatArray, IntArray, divide_or, find_positions
from ..intervals.intervals import Interval, find_whole_record_limits
from ..intervals.rate_estimates import Columns, ComparedShares, Pairs, RatePhrases, Share, ShareComparison
from ..tables.record_kinds import CounterfactualCells


class _Figures(NamedTuple):
    """Figures of kinds of records [K] towards a set of groups; NaN where no counterfactual was classified.

    `influence` [K] adds the record's effect on others' figures through the weight of its value, for a
    variance only.
    """

    figures: FloatArray
    influence: FloatArray


# Without slots, for the cached properties.
@dataclass(frozen=True, eq=False)
class PairedRate:
    """Favourable rate as if every record had one of the groups' values.

    `share(of)` uses the records of these groups and of the other role; `pair(of, against)` those of both
    sets. A record without classified counterfactual is in neither rate.
    """

    phrases: RatePhrases
    table: CounterfactualCells

    @cached_property
    def _masses(self) -> FloatArray | IntArray:
        return self.table.count if self.table.weight is None else self.table.count * self.table.weight

    @cached_property
    def _sizes(self) -> FloatArray:
        return np.bincount(self.table.group, self._masses, minlength=len(self.table.groups)).astype(float)

    def share(self, of: Columns) -> Share:
        return self._build_share(of, self._find_figures(of, self._find_other_role(of)).figures)

    def pair(self, of: Columns, against: Columns) -> tuple[Share, Share]:
        """Over the records of both sides that have a figure towards each."""
        first, second = self._find_both_figures(of, against)
        return self._build_share(of, first.figures), self._build_share(against, second.figures)

    def compute_figures(self, of: Columns, against: Columns) -> tuple[FloatArray, FloatArray]:
        """Figures [K] of each kind towards both sides; NaN for kinds that are not compared."""
        first, second = self._find_both_figures(of, against)
        return first.figures, second.figures

    def records(self, *several: Columns) -> int:
        """Records with figures towards one set of groups, or towards each of two."""
        return (self.pair(*several)[0] if len(several) > 1 else self.share(*several)).total

    def counts(self, share: Share) -> dict[str, float]:
        """Sums by name; `own_n` of the `n` records have one of the values themselves."""
        counts = {self.phrases.noun: share.mass, "n": share.total, "own_n": share.original}
        if self.table.weight is None:
            return counts
        return counts | {
            self.phrases.noun: share.count,
            f"{self.phrases.noun}_weight": share.mass,
            "weight": share.mass_total,
        }

    def rate_interval(self, of: Columns) -> Interval:
        """Wilson's interval, for as many whole records as have the variance of the figures."""
        own_figures = self._find_figures(of, self._find_other_role(of))
        has_figure = ~np.isnan(own_figures.figures)
        weights = self._masses[has_figure]
        figures = own_figures.figures[has_figure]
        influence = own_figures.influence[has_figure]
        total = self._count_effective(has_figure)
        mean = np.array([float(weights @ figures) / weights.sum()])
        variance = np.array([self._compute_variance(has_figure, influence)])
        if self.table.weight is not None and 0 < mean[0] < 1:
            # With equal weights a larger variance comes from effects of records on others: no reason to count
            # fewer.
            equal = float(weights @ (influence - float(weights @ influence) / weights.sum()) ** 2) / float(
                weights.sum()
            )
            total /= max(1.0, float(variance[0]) / max(mean[0] * (1 - mean[0]), equal))
        low, high = find_whole_record_limits(
            mean, variance, np.array([float(total)]), np.array([max(float(total) - 1, 1.0)])
        )
        return Interval(float(low[0]), float(high[0]), "wilson_effective")

    def compare(self, comparison: ShareComparison, of: Columns, against: Columns) -> ComparedShares:
        """Interval of two rates of the same records, for as many whole records as have the variance.

        Figures between 0 and 1 are replaced by pairs of 0 and 1 that agree as far as they can. These vary
        more, by at most the number of counterfactuals of a record, so the number of pairs is multiplied by
        that factor.
        """
        first, second = self._find_both_figures(of, against)
        has_figures = ~np.isnan(first.figures)
        weights = self._masses[has_figures].astype(float)
        a = first.figures[has_figures]
        b = second.figures[has_figures]
        total = self._count_effective(has_figures)
        if self.table.weight is not None:
            weights *= total / weights.sum()
        cells = [
            float(weights @ agreement)
            for agreement in (
                np.minimum(a, b),
                np.maximum(a - b, 0),
                np.maximum(b - a, 0),
                1 - np.maximum(a, b),
            )
        ]
        slope, other_slope = comparison.slopes(float(weights @ a) / total, float(weights @ b) / total)
        unpaired = (
            cells[0] * (slope + other_slope) ** 2 + cells[1] * slope**2 + cells[2] * other_slope**2
        ) / total
        unpaired -= (slope * float(weights @ a) / total + other_slope * float(weights @ b) / total) ** 2
        scatter = (
            self._compute_variance(
                has_figures,
                slope * first.influence[has_figures] + other_slope * second.influence[has_figures],
            )
            * total
            / max(total - 1, 1)
        )
        factor = 1.0
        if unpaired > 0:
            max_copies = 1.0
            for source, into in ((of, against), (against, of)):
                copies = self.table.copies_classified[:, list(into)].sum(1)
                max_copies = max(
                    max_copies,
                    float(copies[has_figures & np.isin(self.table.group, list(source))].max(initial=1)),
                )
            factor = max_copies if scatter * max_copies < unpaired else max(1 / total, unpaired / scatter)
        pairs = Pairs(*(float(factor * cell) for cell in cells))
        return ComparedShares(comparison.paired(*pairs), pairs)

    def _build_share(self, of: Columns, figures: FloatArray) -> Share:
        has_figure = ~np.isnan(figures)
        is_own = np.isin(self.table.group, list(of))
        counts = self.table.count[has_figure]
        masses = self._masses[has_figure]
        return Share(
            count=round(float(counts @ figures[has_figure])),
            total=int(counts.sum()),
            original=int(self.table.count[is_own & has_figure].sum()),
            weight=float(masses @ figures[has_figure]),
            weight_total=float(masses.sum()),
            effective=None if self.table.weight is None else self._count_effective(is_own & has_figure),
            left_out=int(self.table.count[is_own & ~has_figure].sum()),
        )

    def _find_other_role(self, of: Columns) -> tuple[int, ...]:
        roles = {self.table.groups[position].role for position in of}
        if len(roles) != 1:
            return ()
        return find_positions(self.table.groups, "reference" if roles == {"monitored"} else "monitored")

    def _find_both_figures(self, of: Columns, against: Columns) -> tuple[_Figures, _Figures]:
        first = self._find_figures(of, against)
        second = self._find_figures(against, of)
        is_unknown = np.isnan(first.figures) | np.isnan(second.figures)
        return (
            _Figures(np.where(is_unknown, np.nan, first.figures), first.influence),
            _Figures(np.where(is_unknown, np.nan, second.figures), second.influence),
        )

    def _find_figures(self, into: Columns, opposite: Columns) -> _Figures:
        table = self.table
        columns = list(into)
        is_own = np.isin(table.group, columns)
        crossing = np.isin(table.group, list(opposite))
        classified = table.copies_classified[:, columns]
        crossed = ((classified > 0) & crossing[:, None]).astype(float)
        shares = np.divide(
            table.copies_favourable[:, columns], classified, out=np.zeros(crossed.shape), where=crossed > 0
        )
        sizes = self._sizes[columns]
        # By the same product: if all outcomes are alike, the quotient is exactly 0 or 1.
        figures = np.where(is_own, table.outcome, divide_or(shares @ sizes, crossed @ sizes, np.nan))
        if len(columns) == 1:
            return _Figures(figures, figures)
        return _Figures(
            figures, figures + np.where(is_own, self._compute_pull(shares, crossed, columns), 0.0)
        )

    def _compute_pull(self, shares: FloatArray, crossed: FloatArray, columns: list[int]) -> FloatArray:
        """Effect [K] of a record with one of the values on others' figures, through its value's weight."""
        copies = self._masses[:, None] * crossed
        sizes = self._sizes[columns]
        value_rates = divide_or((copies * shares).sum(0), copies.sum(0), 0.0)
        if sizes.sum() <= 0:
            return np.zeros(len(self.table.group))
        rate_deviations = value_rates - float(sizes @ value_rates) / sizes.sum()
        classified_mass = self._masses[crossed.any(1)].sum()
        pulls = np.zeros(len(self.table.groups))
        pulls[columns] = rate_deviations * classified_mass / sizes.sum()
        return pulls[self.table.group]

    def _count_effective(self, is_compared: BoolArray) -> float:
        counts = self.table.count[is_compared]
        masses = self._masses[is_compared]
        if self.table.weight is None:
            return float(counts.sum())
        squares = float(masses @ self.table.weight[is_compared])
        return float(masses.sum()) ** 2 / squares if squares > 0 else 0.0

    def _compute_variance(self, is_compared: BoolArray, numbers: FloatArray) -> float:
        masses = self._masses[is_compared]
        mean = float(masses @ numbers) / masses.sum()
        squares = masses if self.table.weight is None else masses * self.table.weight[is_compared]
        return float(squares @ (numbers - mean) ** 2) / float(squares.sum())
