"""Scan of records in bins for a subgroup, its p-value, and its result as a rule and in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ...base.values import Scalar, canonical, frozen, frozen_by_name, is_number
from ...domain.group_rules import Condition, GroupRule, NumberInterval
from ..e_values.nulls import UnfairSide
from ..group_labels import BoolArray, Codes, FloatArray
from .search_subgroup import (
    MIN_GAIN,
    MIN_RECORDS,
    RESTARTS,
    CellTable,
    IntArray,
    count_cells,
    count_subsets,
    search_tables,
)

RANGES = 4
"""Ranges that a feature of many numbers is divided into, at quantiles."""

MAX_VALUES = 10
"""Positions of a feature, with other and missing values; more different numbers are divided into ranges."""

RANDOM_TABLES = 199
"""Tables drawn under the claim that no subgroup differs; the smallest p-value is 1 / 200."""

PENALTY = 1.0
"""Score that each named value costs, so that short rules win."""

MAX_P_VALUE = 0.05
"""With a larger p-value a scan names no group."""

_VERBS = {
    UnfairSide.BELOW: ("falls short", "falls short most"),
    UnfairSide.ABOVE: ("is ahead", "is furthest ahead"),
}


@frozen
class Bins:
    """Division of a feature into ranges that end at `edges`, or into `kept` values.

    Positions are those of the ranges or values, then of all others (of values only), then of missing ones.
    """

    feature: str
    edges: tuple[float, ...] = ()
    kept: tuple[str, ...] = ()

    @classmethod
    def choose(cls, feature: str, counts: Mapping[Scalar, int]) -> "Bins":
        """Divides a feature by the records of each value; values of fewer than `MIN_RECORDS` are not kept."""
        numbers = [value for value in counts if is_number(value)]
        if len(numbers) == len(counts) and len(counts) > MAX_VALUES:
            values = np.repeat(np.array(numbers, float), [counts[value] for value in numbers])
            edges = np.unique(np.quantile(values, np.arange(1, RANGES) / RANGES, method="inverted_cdf"))
            edges = edges[edges < values.max()]
            if not len(edges):  # most records have the largest number
                edges = values[values < values.max()].max(keepdims=True)
            return cls(feature, edges=tuple(edges.tolist()))
        texts = Counter[str]()
        for value, count in counts.items():
            texts[canonical(value)] += count
        # Of equally frequent values the first in the alphabet, whatever the order of the records.
        most_frequent = sorted(texts, key=lambda text: (-texts[text], text))[: MAX_VALUES - 2]
        return cls(feature, kept=tuple(sorted(text for text in most_frequent if texts[text] >= MIN_RECORDS)))

    @property
    def missing(self) -> int:
        return len(self.edges or self.kept) + 1

    def describe(self, positions: Sequence[int]) -> Condition:
        """Condition that holds for the values at these positions."""
        chosen = sorted(set(positions) - {self.missing})
        describe_one = partial(Condition, feature=self.feature, or_missing=self.missing in positions)
        if len(chosen) == self.missing:
            return describe_one(excluded=())
        if self.edges:
            intervals = list[NumberInterval]()
            for position in chosen:
                above = (None, *self.edges)[position]
                up_to = (*self.edges, None)[position]
                if intervals and intervals[-1].up_to == above:
                    above = intervals.pop().above
                intervals.append(NumberInterval(above=above, up_to=up_to))
            return describe_one(intervals=tuple(intervals))
        if len(self.kept) in chosen:
            return describe_one(
                excluded=tuple(value for position, value in enumerate(self.kept) if position not in chosen)
            )
        return describe_one(values=tuple(self.kept[position] for position in chosen))

    def encode_numbers(self, numbers: FloatArray) -> Codes:
        """Position [N] of each number among the ranges; NaN is missing."""
        return np.where(
            np.isnan(numbers), self.missing, np.searchsorted(self.edges, numbers, side="left")
        ).astype(int)

    def encode_texts(self, texts: Sequence[str]) -> Codes:
        """Position [N] of each canonical text among the kept values."""
        positions = {text: position for position, text in enumerate(self.kept)}
        return np.array([positions.get(text, len(self.kept)) for text in texts], int)


@frozen
class Scan:
    """Result of a scan of `subsets` subgroups.

    `subgroup` has for each feature the positions of its values, or None for all. It is None where none is
    beyond what is expected, or if it or the rest has fewer than MIN_RECORDS records and must not be shown.
    `p_value` is the share of scans with at least this `score`, among those of random tables and this one.
    """

    subgroup: tuple[tuple[int, ...] | None, ...] | None
    score: float
    p_value: float
    subsets: int
    records: int
    favourable: int


def scan_cells(
    cells: CellTable,
    *,
    direction: UnfairSide = UnfairSide.BELOW,
    seed: int = 0,
    penalty: float = PENALTY,
    restarts: int = RESTARTS,
    bootstraps: int = RANDOM_TABLES,
) -> Scan:
    """Finds the subgroup of the highest score, with a p-value from a parametric bootstrap of the whole scan.

    A subgroup that is above falls short of unfavourable outcomes. Expected is the rate of the stratum,
    estimated again in each random table.
    """
    strata = cells.is_of_stratum
    counted = cells.favourable if direction is UnfairSide.BELOW else cells.records - cells.favourable
    rates = (counted @ strata) / np.maximum(cells.records @ strata, 1)
    rng = np.random.default_rng([seed, 0])
    drawn = rng.binomial(cells.records.astype(int), rates[cells.strata], (bootstraps, len(cells.records)))
    best = search_tables(cells, np.vstack([counted, drawn]), penalty=penalty, seed=seed, restarts=restarts)
    score = float(best.scores[0])
    p_value = (1 + int((best.scores[1:] >= score - MIN_GAIN).sum())) / (bootstraps + 1)
    chosen = [included[0] for included in best.included]
    subgroup = tuple(None if values.all() else tuple(np.flatnonzero(values).tolist()) for values in chosen)
    inside = np.all([values[codes] for values, codes in zip(chosen, cells.codes.T, strict=True)], axis=0)
    records = int(cells.records[inside].sum())
    favourable = int(cells.favourable[inside].sum())
    is_large_enough = MIN_RECORDS <= records <= int(cells.records.sum()) - MIN_RECORDS
    return Scan(
        subgroup if is_large_enough and score > 0 else None,
        score,
        p_value,
        count_subsets(cells.sizes),
        records,
        favourable,
    )


@frozen_by_name
class ScannedSubgroup:
    """Subgroup as a rule, with its records and all others."""

    rule: GroupRule
    records: int
    favourable: int
    others_records: int
    others_favourable: int

    @property
    def rate(self) -> float:
        return self.favourable / self.records

    @property
    def others_rate(self) -> float:
        return self.others_favourable / self.others_records


@frozen_by_name
class SearchResult:
    """Answer of a scan that searched `subsets` groups over `features`.

    `p_value` allows for the choice of the best. `group` is None above MAX_P_VALUE, or if it or its rest has
    fewer than MIN_RECORDS records and must not be shown.
    """

    features: tuple[str, ...]
    direction: UnfairSide
    records: int
    favourable: int
    subsets: int
    p_value: float
    group: ScannedSubgroup | None


def search_groups(
    bins: Sequence[Bins],
    codes: Codes,
    favourable: BoolArray,
    *,
    direction: UnfairSide,
    seed: int,
    strata: IntArray | None = None,
) -> SearchResult:
    """Searches records by their `codes` [N, F] in the `bins`, with outcomes and strata [N]."""
    present = [np.unique(column) for column in codes.T]
    # Positions that no record has would count as searched.
    dense_codes = np.column_stack(
        [np.searchsorted(values, column) for values, column in zip(present, codes.T, strict=True)]
    )
    cells = count_cells(dense_codes, tuple(len(values) for values in present), favourable, strata)
    scan = scan_cells(cells, direction=direction, seed=seed)
    records = len(favourable)
    all_favourable = int(favourable.sum())
    group = None
    if scan.subgroup is not None and scan.p_value <= MAX_P_VALUE:
        chosen = zip(bins, present, scan.subgroup, strict=True)
        conditions = (
            binned.describe(values[list(positions)].tolist())
            for binned, values, positions in chosen
            if positions is not None
        )
        group = ScannedSubgroup(
            rule=GroupRule((tuple(conditions),)),
            records=scan.records,
            favourable=scan.favourable,
            others_records=records - scan.records,
            others_favourable=all_favourable - scan.favourable,
        )
    return SearchResult(
        features=tuple(binned.feature for binned in bins),
        direction=direction,
        records=records,
        favourable=all_favourable,
        subsets=scan.subsets,
        p_value=scan.p_value,
        group=group,
    )


def say_search(result: SearchResult, *, left_out: Sequence[str] = ()) -> str:
    """Says the result in words. `left_out` are features with too many combinations of values."""
    verb, verb_of_most = _VERBS[result.direction]
    groups = "group" if result.subsets == 1 else "groups"
    searched = (
        f"{result.subsets:,} {groups} by {', '.join(result.features)} searched in {result.records:,} records"
    )
    if left_out:
        searched += f" (too many combinations of values: left out {', '.join(left_out)})"
    p_value = f"p = {result.p_value:.3f}"
    group = result.group
    if group:
        rates = (
            f"{group.rate:.1%} of its {group.records:,} records are favourable, of all others "
            f"{group.others_rate:.1%}"
        )
        finding = f"One {verb} by more than chance explains ({p_value}): {group.rule.label}"
        return f"{searched}. {finding}. {rates.replace('%', ' %')}."
    if result.p_value <= MAX_P_VALUE:
        too_few = f"it, or all others together, has fewer than {MIN_RECORDS} records"
        return f"{searched}. The one that {verb_of_most} ({p_value}) is not shown: {too_few}."
    return f"{searched}. None {verb} by more than chance explains ({p_value})."
