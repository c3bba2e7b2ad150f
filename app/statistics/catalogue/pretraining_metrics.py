"""Differences between groups in labels and size, and in outcomes within strata."""

import math
from functools import partial

from ..formulas import conditional_disparity, distribution_distances
from ..intervals.rate_estimates import REVERSED_DIFFERENCE
from ..intervals.verdicts import warn_of_lacking_outcomes
from .metric import (
    LABEL_NEEDS,
    CellKind,
    Data,
    Direction,
    Metric,
    PairFigure,
    PairFunction,
    RateComparison,
    StrataFigure,
    build_reversed_difference,
)
from .selection_metrics import PAIR_SCOPES, REFERENCE_SCOPES

_DATA_WITH_LABELS: tuple[Data, ...] = ("training", "labelled")
_IS_HIGHER = "is {points} percentage points {higher} than its share of the favourable ones."
_REASON_IF_KL_INFINITE = (
    "no record{of} has one of the labels that the reference group has, so the divergence is infinite"
)


def _build_distance(
    key: str,
    title: str,
    formula: str,
    function: PairFunction,
    *,
    highest: float | None,
    limit: float | None,
    clarify_name: str,
    says: str,
) -> Metric:
    reason_if_infinite = _REASON_IF_KL_INFINITE if clarify_name == "KL" else ""
    return Metric(
        key,
        title,
        formula,
        data=_DATA_WITH_LABELS,
        measure=PairFigure(
            function, "labels", LABEL_NEEDS, (distribution_distances.share_difference,), reason_if_infinite
        ),
        scopes=REFERENCE_SCOPES,
        highest=highest,
        ideal=0.0,
        direction=Direction.TOWARDS_IDEAL,
        convention="0 where both groups' labels are favourable equally often; over the union of the outcomes",
        source=f"Clarify {clarify_name}",
        says=says,
        needs=("labels",),
        limits=(None, limit),
        aliases=(f"Clarify {clarify_name}",),
    )


_build_conditional_disparity = partial(
    Metric,
    formula="sum over strata i of n_i ((unfavourable_i(m) / unfavourable_i) - (favourable_i(m) / "
    "favourable_i)) / n",
    scopes=REFERENCE_SCOPES,
    lowest=-1.0,
    ideal=0.0,
    direction=Direction.TOWARDS_IDEAL,
    convention="above 0 the monitored group has a larger share of the unfavourable than of the "
    "favourable outcomes, stratum by stratum",
    limits=(-0.1, 0.1),
    disadvantage="above",
)


def _build_disparity_figure(cell_kind: CellKind) -> StrataFigure:
    return StrataFigure(
        conditional_disparity.conditional_demographic_disparity,
        cell_kind,
        conditional_disparity.find_limits,
        conditional_disparity.METHOD,
        warn_of_lacking_outcomes,
    )


METRICS = (
    build_reversed_difference(
        "class_imbalance",
        "Class imbalance (CI)",
        "(n(reference) - n(monitored)) / (n(reference) + n(monitored))",
        data=_DATA_WITH_LABELS,
        measure=PairFigure(distribution_distances.class_imbalance, "labels", LABEL_NEEDS),
        scopes=REFERENCE_SCOPES,
        convention="reference - monitored: above 0 the monitored group has fewer records",
        source="Clarify CI",
        says="For every 100 labelled records of {reference} there are {balance} of {monitored}.",
        needs=("labels",),
        aliases=("Clarify CI",),
    ),
    build_reversed_difference(
        "difference_in_proportions_of_labels",
        "Difference in proportions of labels (DPL)",
        "base_rate(reference) - base_rate(monitored)",
        data=_DATA_WITH_LABELS,
        measure=RateComparison("base", REVERSED_DIFFERENCE),
        scopes=PAIR_SCOPES,
        convention="reference - monitored: above 0 the monitored group's labels are favourable less often",
        source="Clarify DPL",
        needs=("labels",),
        limits=(-0.1, 0.1),
        disadvantage="above",
        aliases=("Clarify DPL",),
    ),
    _build_distance(
        "kl_divergence",
        "Kullback-Leibler divergence (KL)",
        "sum over outcomes of r ln(r / m)",
        distribution_distances.kl_divergence,
        highest=None,
        limit=None,
        clarify_name="KL",
        says="The labels of {monitored} are distributed {shown} nats away from those of {reference}; 0 "
        "would be alike.",
    ),
    _build_distance(
        "js_divergence",
        "Jensen-Shannon divergence (JS)",
        "(KL(r, p) + KL(m, p)) / 2 with p = (r + m) / 2",
        distribution_distances.js_divergence,
        highest=math.log(2),
        limit=None,
        clarify_name="JS",
        says="The labels of {monitored} and {reference} lie {shown} nats from their average; 0 would be "
        "alike, 0.69 opposite.",
    ),
    _build_distance(
        "lp_norm",
        "Lp norm (LP)",
        "sqrt(sum over outcomes of (r - m)^2)",
        distribution_distances.lp_norm,
        highest=math.sqrt(2),
        limit=0.1 * math.sqrt(2),
        clarify_name="LP",
        says="The shares of the labels of {monitored} and {reference} lie {shown} apart in the plane; 0 "
        "would be alike, 1.41 opposite.",
    ),
    _build_distance(
        "total_variation_distance",
        "Total variation distance (TVD)",
        "(sum over outcomes of abs(r - m)) / 2",
        distribution_distances.total_variation_distance,
        highest=1.0,
        limit=0.1,
        clarify_name="TVD",
        says="Of every 100 labels of {monitored}, {points} would have to change for it to have the labels "
        "of {reference}.",
    ),
    _build_distance(
        "kolmogorov_smirnov",
        "Kolmogorov-Smirnov distance (KS)",
        "max over outcomes of abs(r - m)",
        distribution_distances.kolmogorov_smirnov,
        highest=1.0,
        limit=0.1,
        clarify_name="KS",
        says="The share of one label differs between {monitored} and {reference} by {points} percentage "
        "points.",
    ),
    _build_conditional_disparity(
        "conditional_demographic_disparity_in_labels",
        "Conditional demographic disparity in labels (CDDL)",
        data=_DATA_WITH_LABELS,
        measure=_build_disparity_figure("labels"),
        source="Clarify CDDL",
        says=f"Among like records, {{monitored}} has a share of the unfavourable labels that {_IS_HIGHER}",
        needs=("labels", "strata"),
        aliases=("Clarify CDDL",),
    ),
    _build_conditional_disparity(
        "conditional_demographic_disparity_in_predicted_labels",
        "Conditional demographic disparity in predicted labels (CDDPL)",
        data=("as_logged",),
        measure=_build_disparity_figure("predictions"),
        source="Clarify CDDPL",
        says="Among like records, {monitored} has a share of the unfavourable predictions that "
        f"{_IS_HIGHER}",
        needs=("predictions", "strata"),
        aliases=("Clarify CDDPL",),
    ),
)
