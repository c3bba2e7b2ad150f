"""Selection by probabilistic categories: each person counts in every category with its probability.

Probabilities (such as BISG) come from the caller; nobody's category is stored. Intervals come from each person's influence on both rates,
so that a person in both categories counts once. Weights of 0 and 1 give the figures of known categories.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics.groups import FloatArray, IntArray
from ..metrics.intervals import Z
from .local_law_144 import LEAST_SHARE

CAUTION = (
    "Categories are probabilities, not facts about persons. A rate weighted by them is biased where the outcome depends on the category"
    " among people of the same name and place: differences then usually look smaller than they are. Effective n is the number of people"
    " of known category that would say as much."
)
OUTSIDE = "weights must be between 0 and 1 and add up to at most 1 for each person"
TOO_MUCH = 1e-3
"""Max excess over 1 of a person's weights, for rounding."""


@dataclass(frozen=True, slots=True)
class WeightedRow:
    """One category. Ratio and interval are None where `reason` says why."""

    category: str
    people: float
    effective_n: float
    selected: float
    rate: float | None
    impact_ratio: float | None
    impact_ratio_low: float | None
    impact_ratio_high: float | None
    excluded: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class WeightedTable:
    """Categories of one attribute. `unknown` is the weight of assessed people without category."""

    attribute: str
    compared_with: str | None
    rows: tuple[WeightedRow, ...]
    unknown: float


@dataclass(frozen=True, slots=True, eq=False)
class WeightedPeople:
    """Alike people, one entry each: `records` counts them, `weights` [categories, entries] are NaN where missing."""

    categories: tuple[str, ...]
    weights: FloatArray
    records: IntArray
    selected: npt.NDArray[np.bool_]


def weigh_categories(attribute: str, people: WeightedPeople) -> WeightedTable:
    """Rates, effective sizes, and ratios to the highest rate among categories with at least 2 % of the weight.

    People with a missing weight are unknown as a whole.

    Raises:
        ValueError: weights are outside 0 to 1, or add up to more than 1.
    """
    known = ~np.isnan(people.weights).any(axis=0)
    weights, records, selected = people.weights[:, known], people.records[known], people.selected[known]
    if ((weights < 0) | (weights > 1 + TOO_MUCH)).any() or (weights.sum(axis=0) > 1 + TOO_MUCH).any():
        raise ValueError(OUTSIDE)
    sizes, squares = weights @ records, (weights**2) @ records
    chosen = weights @ (records * selected)
    rates = np.divide(chosen, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    excluded = sizes < LEAST_SHARE * sizes.sum()
    included = [place for place in range(len(sizes)) if not excluded[place] and sizes[place] > 0]
    best = max(included, key=lambda place: (rates[place], sizes[place], people.categories[place]), default=None)
    rows = []
    for place, name in enumerate(people.categories):
        ratio, low, high, reason = None, None, None, None
        if sizes[place] <= 0:
            reason = f"nobody has a probability of being {name}"
        elif best is None or rates[best] <= 0:
            reason = "no category with at least 2 % of the people has anybody who was selected"
        elif place != best:
            ratio = float(rates[place] / rates[best])
            half = _half_width(weights[[place, best]], records, selected, rates[[place, best]]) if ratio else None
            low, high = (None, None) if half is None else (ratio * math.exp(-half), ratio * math.exp(half))
            reason = f"nobody who may be {name} was selected, so the ratio has no interval" if half is None else None
        rows.append(
            WeightedRow(
                name,
                float(sizes[place]),
                float(sizes[place] ** 2 / squares[place]) if squares[place] else 0.0,
                float(chosen[place]),
                None if math.isnan(rates[place]) else float(rates[place]),
                ratio,
                low,
                high,
                bool(excluded[place]),
                reason,
            )
        )
    return WeightedTable(
        attribute, None if best is None else people.categories[best], tuple(rows), float(people.records.sum() - sizes.sum())
    )


def weighted_json(tables: Sequence[WeightedTable]) -> dict[str, Any]:
    return {"tables": [asdict(one) | {"rows": [asdict(row) for row in one.rows]} for one in tables], "caution": CAUTION}


def _half_width(weights: FloatArray, records: IntArray, selected: npt.NDArray[np.bool_], rates: FloatArray) -> float:
    """Half the 95 % width of the ratio's logarithm; `weights` is [2, entries]."""
    sizes = weights @ records
    moved = weights * (selected - rates[:, None]) / (sizes * rates)[:, None]
    return Z * math.sqrt(float((moved[0] - moved[1]) ** 2 @ records))
