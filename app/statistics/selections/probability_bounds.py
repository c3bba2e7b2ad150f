"""Rates and ratios that agree with the data where only probabilities of categories are there.

A rate weighted by probabilities is right only if the outcome does not go with the category among people with
equal probabilities, which no data without the category can show; so it is not computed. Bounds by Kallus, Mao
and Zhou (2022).
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from ...base.errors import InvalidInput
from ..group_labels import BoolArray, FloatArray, IntArray
from ..intervals.intervals import Z
from .category_people import CategoryMapping, Json

CAUTION = (
    "Probabilities do not say who is in a category. If they are right (among people with equal "
    "probabilities, the share of a category is that probability), the true rate and the true ratio are "
    "between the bounds, and every value between them agrees with the data. No verdict follows from this "
    "table."
)
NO_PROBABILITIES = "no weights were given; name the columns that hold the probability of each category"
ROUNDING = 1e-3
"""Excess over 1 of a person's probabilities."""

LEAST_RECORDS = 30
"""Of a cell. With a cell for each person the bounds would shrink to the weighted rate."""

BOUNDS = (
    "rate_low",
    "rate_high",
    "ratio_low",
    "ratio_high",
    "ratio_low_with_noise",
    "ratio_high_with_noise",
    "reason",
)

MANY = 100
"""From so many people with 0 or 1 alone, a column is refused as a guess that was made certain."""


def bounds_sheet(tables: Sequence[Json]) -> Json:
    return {"tables": tables, "caution": CAUTION, "reason": None if tables else NO_PROBABILITIES}


def bound_categories(
    mapping: CategoryMapping, weights: FloatArray, records: IntArray, selected: BoolArray
) -> Json:
    """Bounds, with the 95 % limits of those of the ratio.

    `weights` [categories of the mapping, entries] are NaN where missing; such people are unknown. Without a
    reference there is no ratio.

    Raises:
        InvalidInput: weights are no probabilities.
    """
    has_weights = ~np.isnan(weights).any(0)
    unknown = int(records[~has_weights].sum())
    weights = weights[:, has_weights]
    records = records[has_weights]
    selected = selected[has_weights]
    totals = weights.sum(0)
    field = f"categories.{mapping.attribute}"
    if (weights < 0).any() or (totals > 1 + ROUNDING).any():
        raise InvalidInput(field, "weights must be between 0 and 1 and add up to at most 1 for each person")
    for name, column in zip(mapping.weights, weights, strict=True):
        if records.sum() >= MANY and not ((column > 0) & (column < 1)).any():
            raise InvalidInput(
                field,
                f"{name} has no value between 0 and 1; give probabilities, not a guess that was made certain",
            )
    weights = weights / np.maximum(totals, 1)
    categories = list(mapping.weights.values())
    reference = None if mapping.reference is None else categories.index(mapping.reference)
    is_pair = len(categories) + bool((totals < 1 - ROUNDING).any()) == 2  # noqa: PLR2004 - a category and the others
    bins = np.minimum(20 * weights[[int(reference == 0)]], 19) if is_pair else np.minimum(10 * weights, 9)
    _, cells = np.unique(np.floor(bins + 1e-9), axis=1, return_inverse=True)
    counts = np.array(
        [np.bincount(cells, column * records) for column in (np.ones(records.size), selected, *weights)]
    )
    rows = []
    for position, category in enumerate(categories):
        compared = position if reference is None else reference
        row = _bound(
            _join_small(counts[[0, 1, 2 + position, 2 + compared]]), is_compared=position != compared
        )
        rows.append({"category": category} | row)
    return {"attribute": mapping.attribute, "reference": mapping.reference, "unknown": unknown, "rows": rows}


def _join_small(cells: FloatArray) -> FloatArray:
    """From the lowest probability; [records, favourable, sums of both probabilities; cells]."""
    cells = cells[:, np.lexsort(cells[3:1:-1] / cells[0])]
    starts = []
    size = 0.0
    for position, records in enumerate(cells[0].tolist()):
        if size == 0:
            starts.append(position)
        size = 0 if size + records >= LEAST_RECORDS else size + records
    if size and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(cells, starts, axis=1) if starts else cells


def _bound(cells: FloatArray, *, is_compared: bool) -> Json:
    records = cells[0]
    favourable = cells[1]
    sums = cells[2:]
    totals = sums.sum(1)
    row = {"people": float(totals[0]), **dict.fromkeys(BOUNDS)}
    if not totals.all():
        return row | {
            "reason": "nobody has a probability of being in "
            f"{'the reference' if totals[0] else 'this category'}"
        }
    excess = favourable + sums - records
    # A hair above 0 is rounding, and would be an upper end of many millions.
    low = np.where(excess > 1e-12 * records, excess, 0).sum(1) / totals
    high = np.minimum(favourable, sums).sum(1) / totals
    row |= {"rate_low": float(low[0]), "rate_high": float(high[0])}
    if not is_compared:
        return row
    if not high[1]:
        return row | {"reason": "nobody of the reference can have been selected"}
    highest_inverse = _limit(records, favourable, sums[::-1])
    return row | {
        "ratio_low": float(low[0] / high[1]),
        "ratio_high": float(high[0] / low[1]) if low[1] else None,
        "ratio_low_with_noise": 1 / highest_inverse if highest_inverse else 0.0,
        "ratio_high_with_noise": _limit(records, favourable, sums),
    }


def _limit(records: FloatArray, favourable: FloatArray, sums: FloatArray) -> float | None:
    """Upper 95 % limit of the largest ratio, by Fieller's theorem; None without one."""
    rates = favourable / records
    shares = sums / records
    weights = records / sums.sum(1, keepdims=True)
    variances = (favourable * (1 - rates) + 0.25) / (records * (records + 1))
    deviations = np.sqrt(variances)
    above = (rates - shares[0]) / deviations
    below = (rates + shares[1] - 1) / deviations
    largest = weights[0] @ (np.minimum(rates, shares[0]) + deviations * _correct_kink(above))
    least = weights[1] @ (np.maximum(rates + shares[1] - 1, 0) - deviations * _correct_kink(below))
    slopes = weights * np.array([ndtr(-above), ndtr(below)])
    (square, product), (_, square_of_least) = Z * Z * (slopes * variances) @ slopes.T
    quadratic = least * least - square_of_least
    linear = largest * least - product
    if least <= 0 or quadratic <= 0:
        return None
    return float(
        linear + math.sqrt(max(0.0, linear * linear - quadratic * (largest * largest - square)))
    ) / float(quadratic)


def _correct_kink(distance: FloatArray) -> FloatArray:
    """Mean of what noise takes away at a kink of a bound, in deviations; `distance` is that from the kink."""
    corrected: FloatArray = np.exp(-distance * distance / 2) / math.sqrt(2 * math.pi) - np.abs(
        distance
    ) * ndtr(-np.abs(distance))
    return corrected
