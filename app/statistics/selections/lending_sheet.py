"""Lending sheet as data, unrounded."""

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from ...base.values import frozen
from ..group_labels import MISSING, FloatArray, IntArray
from ..intervals.intervals import Z, log_ratio
from .category_people import (
    Category,
    CountedPeople,
    Json,
    Rows,
    combine_controls,
    compare_categories,
    name_reference,
    reference_rows,
)
from .four_fifths import ImpactRow

QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

TOO_FEW = "fewer than two people of {name} have a score"
NO_SPREAD = "all scores are equal, so there is no standard deviation to divide by"
NOBODY_ABOVE = "nobody of the reference has a score above the quantile, so there is no ratio"
TOO_MANY_STRATA = "there are no more people than terms of the fit, so the gap has no interval"
FLAT = "within both categories all scores are equal, so there is no standard deviation within to divide by"
NOT_APART = "no value of the controls has people of both categories, so the controls leave nothing to compare"


@frozen
class ScoreGap:
    """Mean score less the reference's, in points and standard deviations.

    `smd` is divided by `sd_all`, `smd_within` by `sd_within`; `lower` and `upper` are the 95 % interval of
    `smd`.
    """

    difference: float | None
    smd: float | None
    lower: float | None
    upper: float | None
    smd_within: float | None
    sd_all: float | None
    sd_within: float | None
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


def score_gap(
    scores: FloatArray, reference: FloatArray, everybody: FloatArray, *, name: str, reference_name: str
) -> ScoreGap:
    for label, values in ((name, scores), (reference_name, reference)):
        if values.size < 2:  # noqa: PLR2004 - one has no deviation
            return ScoreGap(None, None, None, None, None, None, None, TOO_FEW.format(name=label))
    difference = float(scores.mean() - reference.mean())
    squares = float(((scores - scores.mean()) ** 2).sum() + ((reference - reference.mean()) ** 2).sum())
    overall = float(everybody.std())
    within = math.sqrt(squares / (scores.size + reference.size - 2))
    # The deviation of equal numbers can be a rounding error above 0.
    if everybody.min() == everybody.max():
        return ScoreGap(difference, None, None, None, None, overall, within, NO_SPREAD)
    is_flat = scores.min() == scores.max() and reference.min() == reference.max()
    smd = difference / overall
    # Means vary as in Welch's test; the estimated deviation as of normal scores, by the delta method.
    means = float(scores.var(ddof=1)) / scores.size + float(reference.var(ddof=1)) / reference.size
    half = Z * math.sqrt(means / overall**2 + smd**2 / (2 * everybody.size))
    ends = (smd - half, smd + half)
    return ScoreGap(
        difference,
        smd,
        *ends,
        None if is_flat else difference / within,
        overall,
        within,
        FLAT if is_flat else None,
    )


def residual_gap(is_category: Rows, scores: FloatArray, strata: IntArray, sd_all: float) -> ResidualGap:
    """Coefficient in a least-squares fit of the scores [people] with one term for each stratum.

    Category and controls are fitted at once: residuals of the controls alone make the gap too small where
    categories differ in them. Normal interval, from the residual variance.
    """
    _, stratum_of = np.unique(strata, return_inverse=True)
    sizes = np.bincount(stratum_of)
    share = np.bincount(stratum_of, weights=is_category) / sizes
    # Frisch, Waugh and Lovell: centred within the strata, the simple slope is the coefficient.
    centred = is_category - share[stratum_of]
    outcome = scores - (np.bincount(stratum_of, weights=scores) / sizes)[stratum_of]
    spread = float(centred @ centred)
    mixed = (share > 0) & (share < 1)
    people = int(sizes[mixed].sum())
    degrees = scores.size - sizes.size - 1
    if not mixed.any() or not sd_all:
        return ResidualGap(None, None, None, people, NO_SPREAD if mixed.any() else NOT_APART)
    slope = float(centred @ outcome) / spread
    if degrees <= 0:
        return ResidualGap(slope / sd_all, None, None, people, TOO_MANY_STRATA)
    residuals = outcome - slope * centred
    half = Z * math.sqrt(float(residuals @ residuals) / degrees / spread)
    return ResidualGap(slope / sd_all, (slope - half) / sd_all, (slope + half) / sd_all, people)


def quantile_ratios(
    scores: FloatArray, reference: FloatArray, everybody: FloatArray, quantiles: Sequence[float] = QUANTILES
) -> tuple[QuantileRatio, ...]:
    """A score equal to the cut is not above it. Neither side is empty."""
    ratios = []
    for quantile, cut in zip(
        quantiles, np.quantile(everybody, quantiles, method="inverted_cdf").tolist(), strict=True
    ):
        above = int((scores > cut).sum())
        reference_above = int((reference > cut).sum())
        rate = above / scores.size
        reference_rate = reference_above / reference.size
        if reference_above:
            lower, upper, _ = log_ratio(above, scores.size, reference_above, reference.size)
            ratios.append(
                QuantileRatio(quantile, cut, rate, reference_rate, rate / reference_rate, lower, upper, None)
            )
        else:
            ratios.append(QuantileRatio(quantile, cut, rate, reference_rate, None, None, None, NOBODY_ABOVE))
    return tuple(ratios)


NO_REFERENCE = "nobody is of the reference, so there is nothing to compare with"
NO_OTHER = "everybody of known category is of the reference, {name}, so there is nobody to compare"


def lending_sheet(people: CountedPeople) -> Json:
    tables = []
    for attribute in people.attributes:
        reference = reference_rows(attribute)
        name = name_reference(attribute)
        rows = []
        for chosen, category, of_reference in compare_categories(people, attribute):
            row = ImpactRow(category, of_reference)
            low, high = row.ends
            rows.append(
                category.to_json()
                | {
                    "air": row.ratio,
                    "air_reason": row.ratio_reason,
                    "air_low": low,
                    "air_high": high,
                    "score": _score_part(people, chosen, reference, (category, of_reference)),
                }
            )
        has_reference = people.count(reference & people.is_assessed)
        reason = None if rows else NO_OTHER.format(name=name) if has_reference else NO_REFERENCE
        tables.append({"attribute": attribute.feature, "reference": name, "rows": rows, "reason": reason})
    return {
        "tables": tables,
        "no_scores": people.no_scores if people.scores is None else None,
        "controls": [control.name for control in people.controls],
        "sigma": SIGMA,
        "reason": None,
    }


SIGMA = (
    "sd_all is the standard deviation of the scores of everybody, of unknown categories, too; sd_within "
    "that within the two categories"
)


def _score_part(
    people: CountedPeople, chosen: Rows, reference: Rows, categories: tuple[Category, Category]
) -> Json | None:
    scores = people.scores
    times = people.records
    if scores is None:
        return None
    scored = ~np.isnan(scores)
    mine = scored & chosen
    of_reference = scored & reference
    mine_scores, others_scores, all_scores = (
        np.repeat(scores[rows], times[rows]) for rows in (mine, of_reference, scored)
    )
    name, reference_name = (category.label for category in categories)
    gap = score_gap(mine_scores, others_scores, all_scores, name=name, reference_name=reference_name)
    sheet: Json = {"gap": asdict(gap), "quantiles": [], "residual": None}
    if mine_scores.size and others_scores.size:
        sheet["quantiles"] = [
            asdict(ratio) for ratio in quantile_ratios(mine_scores, others_scores, all_scores)
        ]
    if people.controls and gap.smd is not None and gap.sd_all is not None:
        strata = combine_controls(people)
        compared = (mine | of_reference) & (strata != MISSING)
        # One entry a record: least squares would weigh rows that count several as one.
        is_category, own_scores, codes = (
            np.repeat(rows[compared], times[compared]) for rows in (mine, scores, strata)
        )
        sheet["residual"] = asdict(residual_gap(is_category, own_scores, codes, gap.sd_all))
    return sheet
