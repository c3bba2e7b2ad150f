"""Lending sheet, and its bounds from probabilities of categories, as unrounded data."""

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from scipy.special import ndtr

from ...base.errors import InvalidInput
from ...base.values import frozen
from ..group_labels import MISSING, BoolArray, FloatArray, IntArray
from ..intervals.intervals import Z, build_ratio_interval
from .category_people import (
    CategoryMapping,
    CountedPeople,
    Json,
    RowMask,
    combine_controls,
    compare_categories,
    name_reference,
    select_reference,
)
from .four_fifths import compare_rates

CAUTION = (
    "Probabilities do not say who is in a category. If they are right (among people with equal "
    "probabilities, the share of a category is that probability), the true rate and the true ratio are "
    "between the bounds, and every value between them agrees with the data. No verdict follows from this "
    "table."
)

NO_PROBABILITIES = "no weights were given; name the columns that hold the probability of each category"
TOO_FEW_SCORES = "fewer than two people of {name} have a score"
NO_SPREAD = "all scores are equal, so there is no standard deviation to divide by"
NOBODY_ABOVE = "nobody of the reference has a score above the quantile, so there is no ratio"
TOO_MANY_STRATA = "there are no more people than terms of the fit, so the gap has no interval"

NO_SPREAD_WITHIN = (
    "within both categories all scores are equal, so there is no standard deviation within to divide by"
)

NO_COMMON_CONTROLS = (
    "no value of the controls has people of both categories, so the controls leave nothing to compare"
)

NO_REFERENCE = "nobody is of the reference, so there is nothing to compare with"
NO_OTHER = "everybody of known category is of the reference, {name}, so there is nobody to compare"

DEVIATIONS_NOTE = (
    "sd_all is the standard deviation of the scores of everybody, of unknown categories, too; sd_within "
    "that within the two categories"
)

MAX_EXCESS = 1e-3
"""Excess over 1 that a sum of a person's probabilities may have."""

MIN_CELL_RECORDS = 30
"""People that cells are joined to hold: with a cell for each person, bounds shrink to the weighted rate."""

MIN_CERTAIN_PEOPLE = 100
"""People from which on probabilities of 0 and 1 alone are refused as guesses that were made certain."""

QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_BOUND_NAMES = (
    "rate_low",
    "rate_high",
    "ratio_low",
    "ratio_high",
    "ratio_low_with_noise",
    "ratio_high_with_noise",
    "reason",
)


def build_bounds_sheet(tables: Sequence[Json]) -> Json:
    return {"tables": tables, "caution": CAUTION, "reason": None if tables else NO_PROBABILITIES}


def bound_categories(
    mapping: CategoryMapping, weights: FloatArray, records: IntArray, selected: BoolArray
) -> Json:
    """Bounds the rate of each category and, if there is a reference, the ratio, with its 95 % limits.

    `weights` [categories of the mapping, entries] are NaN where missing; such people are unknown.

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
    if (weights < 0).any() or (totals > 1 + MAX_EXCESS).any():
        raise InvalidInput(field, "weights must be between 0 and 1 and add up to at most 1 for each person")
    for name, column in zip(mapping.weights, weights, strict=True):
        if records.sum() >= MIN_CERTAIN_PEOPLE and not ((column > 0) & (column < 1)).any():
            raise InvalidInput(
                field,
                f"{name} has no value between 0 and 1; give probabilities, not a guess that was made certain",
            )
    weights = weights / np.maximum(totals, 1)
    categories = list(mapping.weights.values())
    reference = None if mapping.reference is None else categories.index(mapping.reference)
    is_pair = len(categories) + bool((totals < 1 - MAX_EXCESS).any()) == 2  # noqa: PLR2004 - it and others
    # People of like probabilities are a cell: in twentieths of one probability, or tenths of several.
    bins = np.minimum(20 * weights[[int(reference == 0)]], 19) if is_pair else np.minimum(10 * weights, 9)
    _, cells = np.unique(np.floor(bins + 1e-9), axis=1, return_inverse=True)
    counts = np.array(
        [np.bincount(cells, column * records) for column in (np.ones(records.size), selected, *weights)]
    )
    rows = []
    for position, category in enumerate(categories):
        compared = position if reference is None else reference
        row = _bound_rate(
            _join_small(counts[[0, 1, 2 + position, 2 + compared]]), is_compared=position != compared
        )
        rows.append({"category": category} | row)
    return {"attribute": mapping.attribute, "reference": mapping.reference, "unknown": unknown, "rows": rows}


def _join_small(cells: FloatArray) -> FloatArray:
    """Joins adjacent cells, from the lowest probability, until each has `MIN_CELL_RECORDS`.

    Rows [4, cells] are records, favourable ones, and sums of the probabilities of category and reference.
    """
    cells = cells[:, np.lexsort(cells[3:1:-1] / cells[0])]
    starts = []
    size = 0.0
    for position, records in enumerate(cells[0].tolist()):
        if size == 0:
            starts.append(position)
        size = 0 if size + records >= MIN_CELL_RECORDS else size + records
    if size and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(cells, starts, axis=1) if starts else cells


def _bound_rate(cells: FloatArray, *, is_compared: bool) -> Json:
    records = cells[0]
    favourable = cells[1]
    sums = cells[2:]
    totals = sums.sum(1)
    row = {"people": float(totals[0]), **dict.fromkeys(_BOUND_NAMES)}
    if not totals.all():
        return row | {
            "reason": "nobody has a probability of being in "
            + ("the reference" if totals[0] else "this category")
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
    highest_inverse = _find_upper_limit(records, favourable, sums[::-1])
    return row | {
        "ratio_low": float(low[0] / high[1]),
        "ratio_high": float(high[0] / low[1]) if low[1] else None,
        "ratio_low_with_noise": 1 / highest_inverse if highest_inverse else 0.0,
        "ratio_high_with_noise": _find_upper_limit(records, favourable, sums),
    }


def _find_upper_limit(records: FloatArray, favourable: FloatArray, sums: FloatArray) -> float | None:
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


@frozen
class ScoreGap:
    """Mean score less the reference's.

    `smd` is divided by `sd_all`, `smd_within` by `sd_within`; `lower` and `upper` are of `smd`.
    """

    difference: float | None = None
    smd: float | None = None
    lower: float | None = None
    upper: float | None = None
    smd_within: float | None = None
    sd_all: float | None = None
    sd_within: float | None = None
    reason: str | None = None


@frozen
class ResidualGap:
    """Gap that controls leave, divided by `sd_all`; `people` of both categories."""

    smd: float | None
    lower: float | None
    upper: float | None
    people: int
    reason: str | None = None


@frozen
class QuantileRatio:
    """Share above the quantile `cut` of everybody's scores, over the reference's; None if that is 0.

    The cut is the lowest score that so large a share does not exceed; the 95 % interval takes it as given.
    """

    quantile: float
    cut: float
    rate: float
    reference_rate: float
    ratio: float | None
    lower: float | None
    upper: float | None
    reason: str | None


def measure_score_gap(
    scores: FloatArray, reference: FloatArray, everybody: FloatArray, *, name: str, reference_name: str
) -> ScoreGap:
    for label, values in ((name, scores), (reference_name, reference)):
        if values.size < 2:  # noqa: PLR2004 - one has no deviation
            return ScoreGap(reason=TOO_FEW_SCORES.format(name=label))
    difference = float(scores.mean() - reference.mean())
    squares = float(((scores - scores.mean()) ** 2).sum() + ((reference - reference.mean()) ** 2).sum())
    deviation = float(everybody.std())
    within = math.sqrt(squares / (scores.size + reference.size - 2))
    # The deviation of equal numbers can be a rounding error above 0.
    if everybody.min() == everybody.max():
        return ScoreGap(difference, sd_all=deviation, sd_within=within, reason=NO_SPREAD)
    is_flat = scores.min() == scores.max() and reference.min() == reference.max()
    smd = difference / deviation
    # Means vary as in Welch's test; the estimated deviation as of normal scores, by the delta method.
    means = float(scores.var(ddof=1)) / scores.size + float(reference.var(ddof=1)) / reference.size
    half = Z * math.sqrt(means / deviation**2 + smd**2 / (2 * everybody.size))
    ends = (smd - half, smd + half)
    return ScoreGap(
        difference,
        smd,
        *ends,
        None if is_flat else difference / within,
        deviation,
        within,
        NO_SPREAD_WITHIN if is_flat else None,
    )


def measure_residual_gap(
    is_category: RowMask, scores: FloatArray, strata: IntArray, sd_all: float
) -> ResidualGap:
    """Gap that the controls leave: coefficient in a fit of the scores [people] with a term for each stratum.

    Normal interval, from the residual variance.
    """
    _, stratum_of = np.unique(strata, return_inverse=True)
    sizes = np.bincount(stratum_of)
    share = np.bincount(stratum_of, weights=is_category) / sizes
    # Frisch, Waugh and Lovell: centred within the strata, the simple slope is the coefficient.
    centred = is_category - share[stratum_of]
    outcome = scores - (np.bincount(stratum_of, weights=scores) / sizes)[stratum_of]
    spread = float(centred @ centred)
    is_mixed = (share > 0) & (share < 1)
    people = int(sizes[is_mixed].sum())
    degrees = scores.size - sizes.size - 1
    if not is_mixed.any() or not sd_all:
        return ResidualGap(None, None, None, people, NO_SPREAD if is_mixed.any() else NO_COMMON_CONTROLS)
    slope = float(centred @ outcome) / spread
    if degrees <= 0:
        return ResidualGap(slope / sd_all, None, None, people, TOO_MANY_STRATA)
    residuals = outcome - slope * centred
    half = Z * math.sqrt(float(residuals @ residuals) / degrees / spread)
    return ResidualGap(slope / sd_all, (slope - half) / sd_all, (slope + half) / sd_all, people)


def compute_quantile_ratios(
    scores: FloatArray, reference: FloatArray, everybody: FloatArray, quantiles: Sequence[float] = QUANTILES
) -> tuple[QuantileRatio, ...]:
    """Compares the shares above each quantile. A score equal to the cut is not above it; no side is empty."""
    ratios = []
    for quantile, cut in zip(
        quantiles, np.quantile(everybody, quantiles, method="inverted_cdf").tolist(), strict=True
    ):
        above = int((scores > cut).sum())
        above_of_reference = int((reference > cut).sum())
        rate = above / scores.size
        reference_rate = above_of_reference / reference.size
        ratio = lower = upper = None
        if above_of_reference:
            ratio = rate / reference_rate
            lower, highest, _ = build_ratio_interval(above, scores.size, above_of_reference, reference.size)
            upper = highest if math.isfinite(highest) else None
        reason = None if above_of_reference else NOBODY_ABOVE
        ratios.append(QuantileRatio(quantile, cut, rate, reference_rate, ratio, lower, upper, reason))
    return tuple(ratios)


def build_lending_sheet(people: CountedPeople) -> Json:
    tables = []
    for attribute in people.attributes:
        reference = select_reference(attribute)
        name = name_reference(attribute)
        rows = []
        for is_category, category, other in compare_categories(people, attribute):
            score = _compare_scores(people, is_category, reference, category.label, name)
            rows.append(category.to_json() | compare_rates("air", category, other) | {"score": score})
        has_reference = people.count(reference & people.is_assessed)
        reason = None if rows else NO_OTHER.format(name=name) if has_reference else NO_REFERENCE
        tables.append({"attribute": attribute.feature, "reference": name, "rows": rows, "reason": reason})
    return {
        "tables": tables,
        "no_scores": people.no_scores if people.scores is None else None,
        "controls": [control.name for control in people.controls],
        "sigma": DEVIATIONS_NOTE,
        "reason": None,
    }


def _compare_scores(
    people: CountedPeople, is_category: RowMask, reference: RowMask, name: str, reference_name: str
) -> Json | None:
    scores = people.scores
    records = people.records
    if scores is None:
        return None
    has_score = ~np.isnan(scores)
    in_category = has_score & is_category
    is_reference = has_score & reference
    of_category, of_reference, all_scores = (
        np.repeat(scores[rows], records[rows]) for rows in (in_category, is_reference, has_score)
    )
    gap = measure_score_gap(of_category, of_reference, all_scores, name=name, reference_name=reference_name)
    sheet: Json = {"gap": asdict(gap), "quantiles": [], "residual": None}
    if of_category.size and of_reference.size:
        sheet["quantiles"] = [
            asdict(ratio) for ratio in compute_quantile_ratios(of_category, of_reference, all_scores)
        ]
    if people.controls and gap.smd is not None and gap.sd_all is not None:
        strata = combine_controls(people)
        is_compared = (in_category | is_reference) & (strata != MISSING)
        # One entry a record: least squares would weigh rows that count several as one.
        has_category, own_scores, codes = (
            np.repeat(rows[is_compared], records[is_compared]) for rows in (in_category, scores, strata)
        )
        sheet["residual"] = asdict(measure_residual_gap(has_category, own_scores, codes, gap.sd_all))
    return sheet
