"""A rate in every group with its uncertainty, and comparisons with the reference rate.

Arrays of confusion matrices end in [actual, predicted], 0 unfavourable and 1 favourable.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.values import frozen, frozen_arrays
from ..group_labels import AnyArray, FloatArray, IntArray, divide
from .intervals import (
    TAIL,
    Interval,
    Z,
    build_newcombe_interval,
    build_paired_difference_interval,
    build_paired_ratio_interval,
    build_rate_interval,
    build_ratio_interval,
)

Columns = Sequence[int]
"""Positions of groups in a table."""

ROUNDING = 1e-9
"""Part by which rounding may make a whole number too small."""

DRAWS = 2000
"""Draws of a figure without an interval in closed form."""

RESAMPLING_METHOD = "resampling"

MAX_DRAWN_CELLS = 2**21
"""Kinds × draws in memory (16 MB)."""


_ALL = _TN, _FP, _FN, _TP = (0, 0), (0, 1), (1, 0), (1, 1)
"""Cells [actual, predicted]."""

NO_LABELLED_RECORD = "no record{of} has a label and a prediction that are both among the outcomes"


@frozen
class Share:
    """Share that a rate counts of the records of some groups; `total` includes counterfactuals, `original`
    not.

    Of weighted records, `weight` is that of the counted, `weight_total` that of all, and `effective` the
    number of all in records of equal weight. `left_out` records have no outcome to compare.
    """

    count: int
    total: int
    original: int
    weight: float | None = None
    weight_total: float | None = None
    effective: float | None = None
    left_out: int = 0

    @property
    def rate(self) -> float:
        """Share by weight. Raises ZeroDivisionError: the total is zero; ask `is_empty` first."""
        return self.mass / self.mass_total

    @property
    def mass(self) -> float:
        """Weight of the counted records, or their number."""
        return self.count if self.weight is None else self.weight

    @property
    def mass_total(self) -> float:
        return self.total if self.weight_total is None else self.weight_total

    @property
    def is_empty(self) -> bool:
        return self.original == 0 or self.mass_total <= 0 or self.effective == 0

    @property
    def certain(self) -> int:
        """Original records, or fewer if unequal weights make them less informative."""
        return self.original if self.effective is None else min(self.original, int(self.effective + ROUNDING))

    @property
    def size(self) -> tuple[float, float]:
        """Counted and whole, in records of equal weight."""
        if self.effective is None:
            return self.count, self.total
        return self.rate * self.effective, self.effective


class Pairs(NamedTuple):
    """Records with an outcome on both sides, by the sides on which it is favourable.

    Not always whole numbers: means over several copies count as so many pairs as have the same variance.
    """

    both: float
    monitored: float
    reference: float
    neither: float

    def to_counts(self) -> dict[str, float]:
        return {f"pairs_{name}": number for name, number in self._asdict().items()}


@frozen
class ShareComparison:
    """Comparison of two rates, the monitored one first. If it `divides`, a reference rate of 0 has no figure.

    `of_rates` compares rates, or draws of them. `interval` takes the counted and all records of both sides,
    and the number of standard errors; `paired` the numbers of `Pairs`. `slopes` are the derivatives of the
    figure (of a ratio: of its logarithm) by either rate.
    """

    name: str
    divides: bool
    of_rates: Callable[[Any, Any], Any]
    interval: Callable[[float, float, float, float, float], Interval]
    paired: Callable[[float, float, float, float], Interval]
    slopes: Callable[[float, float], tuple[float, float]]

    def point(self, monitored: Share, reference: Share) -> float:
        return float(self.of_rates(monitored.rate, reference.rate))


RATIO = ShareComparison(
    "ratio",
    divides=True,
    of_rates=divide,
    interval=build_ratio_interval,
    paired=build_paired_ratio_interval,
    # A rate of zero has no logarithm; the other one alone decides.
    slopes=lambda monitored, reference: (1 / monitored if monitored > 0 else 0.0, -1 / reference),
)
DIFFERENCE = ShareComparison(
    "difference",
    divides=False,
    of_rates=np.subtract,
    interval=build_newcombe_interval,
    paired=build_paired_difference_interval,
    slopes=lambda *_: (1.0, -1.0),
)
REVERSED_DIFFERENCE = ShareComparison(
    "reversed_difference",
    divides=False,
    of_rates=lambda monitored, reference: np.subtract(reference, monitored),
    interval=lambda count, total, other_count, other_total, z: build_newcombe_interval(
        other_count, other_total, count, total, z
    ),
    paired=lambda both, monitored, reference, neither: build_paired_difference_interval(
        both, reference, monitored, neither
    ),
    slopes=lambda *_: (-1.0, 1.0),
)
"""Reference - monitored, as in Clarify for outcomes that are good to have."""


@frozen
class RatePhrases:
    """Noun of the counted records of a rate, and reasons why a group ({of} names it) has no figure."""

    noun: str
    empty: str
    zero_reference: str = ""
    no_counterfactual: str = ""


@frozen
class CellPart:
    """Cells of a confusion matrix. `among` names their records, `empty` says that a group ({of}) has none."""

    cells: tuple[tuple[int, int], ...]
    among: str
    empty: str

    def sum_cells(self, cells: AnyArray) -> AnyArray:
        """Sums [...] the part of an array [..., 2, 2]."""
        if self.cells == _ALL:
            total: AnyArray = cells.sum((-2, -1))
            return total
        first, *further = (cells[..., actual, predicted] for actual, predicted in self.cells)
        return sum(further, first)


PARTS = {
    "records": CellPart(_ALL, "labelled records{of}", NO_LABELLED_RECORD),
    "actual_favourable": CellPart(
        (_FN, _TP), "records{of} with a favourable label", "no labelled record{of} has a favourable label"
    ),
    "actual_unfavourable": CellPart(
        (_TN, _FP),
        "records{of} with an unfavourable label",
        "no labelled record{of} has an unfavourable label",
    ),
    "predicted_favourable": CellPart(
        (_FP, _TP), "records{of} predicted favourable", "no labelled record{of} was predicted favourable"
    ),
    "predicted_unfavourable": CellPart(
        (_TN, _FN), "records{of} predicted unfavourable", "no labelled record{of} was predicted unfavourable"
    ),
    "true_positive": CellPart(
        (_TP,),
        "records{of} rightly predicted favourable",
        "no labelled record{of} was rightly predicted favourable",
    ),
    "false_positive": CellPart(
        (_FP,),
        "records{of} wrongly predicted favourable",
        "no labelled record{of} was wrongly predicted favourable",
    ),
    "true_negative": CellPart(
        (_TN,),
        "records{of} rightly predicted unfavourable",
        "no labelled record{of} was rightly predicted unfavourable",
    ),
    "false_negative": CellPart(
        (_FN,),
        "records{of} wrongly predicted unfavourable",
        "no labelled record{of} was wrongly predicted unfavourable",
    ),
    "any_favourable": CellPart(
        (_FP, _FN, _TP),
        "records{of} with a favourable label or prediction",
        "no labelled record{of} has a favourable label or prediction",
    ),
    "right": CellPart(
        (_TN, _TP), "records{of} rightly predicted", "no labelled record{of} was rightly predicted"
    ),
    "wrong": CellPart(
        (_FP, _FN), "records{of} wrongly predicted", "no labelled record{of} was wrongly predicted"
    ),
}
"""Parts by name."""


@frozen
class Rate:
    """Rate of the cells `counted` among those of `of_part`, keys of PARTS; `are` is the verb of the counted.

    If it `is_error`, the group of the higher rate is worse off in a comparison, else that of the lower.
    """

    counted: str
    of_part: str
    are: str
    is_error: bool = False

    @property
    def phrases(self) -> RatePhrases:
        whole_part = PARTS[self.of_part]
        among = whole_part.among.format(of="")
        zero = f"the reference rate is zero: of {{n}} reference {among} none {self.are}"
        return RatePhrases(self.counted, whole_part.empty, zero)


RATES = {
    "base": Rate("actual_favourable", "records", "have a favourable label"),
    "true_positive": Rate("true_positive", "actual_favourable", "were predicted favourable"),
    "false_negative": Rate(
        "false_negative", "actual_favourable", "were predicted unfavourable", is_error=True
    ),
    "false_positive": Rate(
        "false_positive", "actual_unfavourable", "were predicted favourable", is_error=True
    ),
    "true_negative": Rate("true_negative", "actual_unfavourable", "were predicted unfavourable"),
    "positive_predictive": Rate("true_positive", "predicted_favourable", "have a favourable label"),
    "false_discovery": Rate(
        "false_positive", "predicted_favourable", "have an unfavourable label", is_error=True
    ),
    "negative_predictive": Rate("true_negative", "predicted_unfavourable", "have an unfavourable label"),
    "false_omission": Rate(
        "false_negative", "predicted_unfavourable", "have a favourable label", is_error=True
    ),
    "right": Rate("right", "records", "were predicted the outcome of their label"),
    "error": Rate(
        "wrong", "records", "were predicted the other outcome than that of their label", is_error=True
    ),
}


@frozen
class ComparedShares:
    """Interval of a comparison, and the pairs it was computed from, if it is of pairs."""

    interval: Interval
    pairs: Pairs | None = None


@frozen_arrays
class CountedRate:
    """Rate that counts each record once, independently of others.

    `count` and `total` [columns] are of the groups and, in some tables, of ungrouped records last.
    `weighting` [columns, 4]: weight of the counted, of all, and sums of squared weights of both. The
    effective size is Kish's (Σw)²/Σw², or that of the linearised variance, Σw²(y - p)²/(Σw)², where smaller.
    """

    phrases: RatePhrases
    count: IntArray
    total: IntArray
    weighting: FloatArray | None = None

    def share(self, of: Columns) -> Share:
        total = sum(map(self.total.item, of))
        count = sum(map(self.count.item, of))
        if self.weighting is None:
            return Share(count, total, total)
        weight, total_weight, squares_counted, squares = self.weighting[list(of)].sum(0).tolist()
        effective = total_weight * total_weight / squares if squares > 0 else 0.0
        if 0 < weight < total_weight:
            share = weight / total_weight
            scatter = squares_counted * (1 - share) ** 2 + max(squares - squares_counted, 0.0) * share**2
            # Squares of tiny weights vanish.
            linearised = (
                share * (1 - share) * total_weight * total_weight / scatter if scatter > 0 else effective
            )
            effective = linearised if linearised < effective * (1 - ROUNDING) else effective
        return Share(count, total, total, weight, total_weight, effective)

    def pair(self, of: Columns, against: Columns) -> tuple[Share, Share]:
        return self.share(of), self.share(against)

    def records(self, *several: Columns) -> int:
        return sum(self.share(of).total for of in several)

    def counts(self, share: Share) -> dict[str, float]:
        weights = (
            {}
            if share.weight is None
            else {f"{self.phrases.noun}_weight": share.mass, "weight": share.mass_total}
        )
        return {self.phrases.noun: share.count, "n": share.total, **weights}

    def rate_interval(self, of: Columns) -> Interval:
        return build_rate_interval(*self.share(of).size)

    def compare(self, comparison: ShareComparison, of: Columns, against: Columns) -> ComparedShares:
        return ComparedShares(comparison.interval(*self.share(of).size, *self.share(against).size, Z))


@frozen_arrays
class ResampledRate:
    """Rate that may count a record several times, through its counterfactuals.

    `weights` [K] are the records of each kind, `count` and `total` [K, groups] what one record adds,
    `original` [groups] records without counterfactuals. `drawn_count` and `drawn_total` are [worlds, draws,
    groups]; the interval reaches over all worlds.
    """

    phrases: RatePhrases
    weights: IntArray
    count: IntArray
    total: IntArray
    original: IntArray
    drawn_count: FloatArray
    drawn_total: FloatArray

    def share(self, of: Columns) -> Share:
        columns = list(of)
        count, total = (
            int((self.weights @ counted[:, columns]).sum()) for counted in (self.count, self.total)
        )
        return Share(count, total, int(self.original[columns].sum()))

    def pair(self, of: Columns, against: Columns) -> tuple[Share, Share]:
        return self.share(of), self.share(against)

    def records(self, *several: Columns) -> int:
        """Records, not counterfactuals, that add to any of the groups."""
        columns = [column for of in several for column in of]
        return int(self.weights[self.total[:, columns].any(1)].sum())

    def counts(self, share: Share) -> dict[str, float]:
        return {self.phrases.noun: share.count, "n": share.total, "original_n": share.original}

    def rate_interval(self, of: Columns) -> Interval:
        return _span_worlds(self._draw_rates(of), self.share(of).rate, highest=1.0)

    def compare(self, comparison: ShareComparison, of: Columns, against: Columns) -> ComparedShares:
        return ComparedShares(
            _span_worlds(
                comparison.of_rates(self._draw_rates(of), self._draw_rates(against)),
                comparison.point(self.share(of), self.share(against)),
                highest=np.inf,
            )
        )

    def _draw_rates(self, of: Columns) -> FloatArray:
        columns = list(of)
        return divide(self.drawn_count[..., columns].sum(-1), self.drawn_total[..., columns].sum(-1))


def resample(
    worlds: Sequence[FloatArray | IntArray], count: IntArray, total: IntArray, *, draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draws sums [worlds, draws, groups] of `count` and `total` in multinomial resamples of the kinds.

    Each world weighs [K] kinds; every draw has as many records as the first world.
    """
    generator = np.random.default_rng(seed)
    # Weights of unseen kinds in other worlds add no records.
    records = int(worlds[0].sum())
    step = max(1, MAX_DRAWN_CELLS // max(1, len(count)))
    counts, totals = (np.zeros((len(worlds), draws, counted.shape[1])) for counted in (count, total))
    if not records:
        return counts, totals
    for world, weights in enumerate(worlds):
        for start in range(0, draws, step):
            chances = weights / weights.sum()
            drawn = generator.multinomial(records, chances, min(step, draws - start)).astype(float)
            counts[world, start : start + step] = drawn @ count
            totals[world, start : start + step] = drawn @ total
    return counts, totals


def compute_rate(name: str, cells: FloatArray) -> FloatArray:
    """Rate [...] of an array [..., 2, 2]; NaN where the denominator is empty."""
    return divide_parts(cells, RATES[name].counted, RATES[name].of_part)


def divide_parts(cells: FloatArray, counted: str, of_part: str) -> FloatArray:
    """Ratio [...] of two parts of an array [..., 2, 2], by their keys in PARTS."""
    return divide(PARTS[counted].sum_cells(cells), PARTS[of_part].sum_cells(cells))


def _span_worlds(worlds: FloatArray, value: float, *, highest: float) -> Interval:
    """Interval that holds the value and the middle 95 % of draws in each world [worlds, draws].

    It is the whole range, from 0 to `highest`, if all draws of a world are NaN.
    """
    low, high = take_middle(worlds.T)
    lower = np.where(np.isnan(low), 0.0, low).min(initial=value)
    upper = np.where(np.isnan(high), highest, high).max(initial=value)
    return Interval(float(lower), float(upper), RESAMPLING_METHOD)


def take_middle(drawn: FloatArray, tail: float = TAIL) -> tuple[FloatArray, FloatArray]:
    """Ends of the middle draws: a share `tail` of the draws [draws, …] lies beyond each; NaN is no draw."""
    ordered = np.sort(drawn, 0)  # NaN last
    usable = np.maximum((~np.isnan(ordered)).sum(0) - 1, 0)
    # Without interpolation, which would spread an infinite draw.
    ranks = np.floor(tail * usable).astype(int), np.ceil((1 - tail) * usable).astype(int)
    low, high = (np.take_along_axis(ordered, rank[None], axis=0)[0] for rank in ranks)
    return low, high
