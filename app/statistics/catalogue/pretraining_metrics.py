"""Differences of labels and group sizes."""

from functools import partial

from ..formulas import conditional_disparity as conditional
from ..formulas import distribution_distances as distributions
from ..intervals.rate_estimates import REVERSED_DIFFERENCE
from ..intervals.verdicts import caution_of_strata
from .metric import (
    LABELS,
    ComparedRate,
    Data,
    Direction,
    Metric,
    OfPair,
    Over,
    OverStrata,
    PairFunction,
    reversed_row,
)
from .selection_metrics import AGAINST_REFERENCE, PAIRS

_LABELLED: tuple[Data, ...] = ("training", "labelled")
ENDLESS_KL = "no record{of} has one of the labels that the reference group has, so the divergence is infinite"


def _distance(
    key: str,
    title: str,
    formula: str,
    function: PairFunction,
    *,
    highest: float | None,
    limit: float | None,
    short: str,
    says: str,
) -> Metric:
    endless = ENDLESS_KL if short == "KL" else ""
    return Metric(
        key,
        title,
        formula,
        data=_LABELLED,
        measure=OfPair(function, "labels", LABELS, (distributions.share_difference,), endless),
        scopes=AGAINST_REFERENCE,
        highest=highest,
        ideal=0.0,
        direction=Direction.TOWARDS_IDEAL,
        convention="0 where both groups' labels are favourable equally often; over the union of the outcomes",
        source=f"Clarify {short}",
        says=says,
        needs=("labels",),
        limits=(None, limit),
        aliases=(f"Clarify {short}",),
    )


_conditional = partial(
    Metric,
    formula="sum over strata i of n_i ((unfavourable_i(m) / unfavourable_i) - (favourable_i(m) / "
    "favourable_i)) / n",
    scopes=AGAINST_REFERENCE,
    lowest=-1.0,
    ideal=0.0,
    direction=Direction.TOWARDS_IDEAL,
    convention="above 0 the monitored group has a larger share of the unfavourable than of the "
    "favourable outcomes, stratum by stratum",
    limits=(-0.1, 0.1),
    disadvantage="above",
)
_HIGHER = "is {points} percentage points {higher} than its share of the favourable ones."


def _over_strata(over: Over) -> OverStrata:
    return OverStrata(
        conditional.conditional_demographic_disparity,
        over,
        conditional.limits,
        conditional.METHOD,
        caution_of_strata,
    )


ROWS = (
    reversed_row(
        "class_imbalance",
        "Class imbalance (CI)",
        "(n(reference) - n(monitored)) / (n(reference) + n(monitored))",
        data=_LABELLED,
        measure=OfPair(distributions.class_imbalance, "labels", LABELS),
        scopes=AGAINST_REFERENCE,
        convention="reference - monitored: above 0 the monitored group has fewer records",
        source="Clarify CI",
        says="For every 100 labelled records of {reference} there are {balance} of {monitored}.",
        needs=("labels",),
        aliases=("Clarify CI",),
    ),
    reversed_row(
        "difference_in_proportions_of_labels",
        "Difference in proportions of labels (DPL)",
        "base_rate(reference) - base_rate(monitored)",
        data=_LABELLED,
        measure=ComparedRate("base", REVERSED_DIFFERENCE),
        scopes=PAIRS,
        convention="reference - monitored: above 0 the monitored group's labels are favourable less often",
        source="Clarify DPL",
        needs=("labels",),
        limits=(-0.1, 0.1),
        disadvantage="above",
        aliases=("Clarify DPL",),
    ),
    _distance(
        "kl_divergence",
        "Kullback-Leibler divergence (KL)",
        "sum over outcomes of r ln(r / m)",
        distributions.kl_divergence,
        highest=None,
        limit=None,
        short="KL",
        says="The labels of {monitored} are distributed {shown} nats away from those of {reference}; 0 "
        "would be alike.",
    ),
    _distance(
        "js_divergence",
        "Jensen-Shannon divergence (JS)",
        "(KL(r, p) + KL(m, p)) / 2 with p = (r + m) / 2",
        distributions.js_divergence,
        highest=0.6931471805599453,
        limit=None,
        short="JS",
        says="The labels of {monitored} and {reference} lie {shown} nats from their average; 0 would be "
        "alike, 0.69 opposite.",
    ),
    _distance(
        "lp_norm",
        "Lp norm (LP)",
        "sqrt(sum over outcomes of (r - m)^2)",
        distributions.lp_norm,
        highest=1.4142135623730951,
        limit=0.1 * 1.4142135623730951,
        short="LP",
        says="The shares of the labels of {monitored} and {reference} lie {shown} apart in the plane; 0 "
        "would be alike, 1.41 opposite.",
    ),
    _distance(
        "total_variation_distance",
        "Total variation distance (TVD)",
        "(sum over outcomes of abs(r - m)) / 2",
        distributions.total_variation_distance,
        highest=1.0,
        limit=0.1,
        short="TVD",
        says="Of every 100 labels of {monitored}, {points} would have to change for it to have the labels "
        "of {reference}.",
    ),
    _distance(
        "kolmogorov_smirnov",
        "Kolmogorov-Smirnov distance (KS)",
        "max over outcomes of abs(r - m)",
        distributions.kolmogorov_smirnov,
        highest=1.0,
        limit=0.1,
        short="KS",
        says="The share of one label differs between {monitored} and {reference} by {points} percentage "
        "points.",
    ),
    _conditional(
        "conditional_demographic_disparity_in_labels",
        "Conditional demographic disparity in labels (CDDL)",
        data=_LABELLED,
        measure=_over_strata("labels"),
        source="Clarify CDDL",
        says=f"Among like records, {{monitored}} has a share of the unfavourable labels that {_HIGHER}",
        needs=("labels", "strata"),
        aliases=("Clarify CDDL",),
    ),
    _conditional(
        "conditional_demographic_disparity_in_predicted_labels",
        "Conditional demographic disparity in predicted labels (CDDPL)",
        data=("as_logged",),
        measure=_over_strata("predictions"),
        source="Clarify CDDPL",
        says=f"Among like records, {{monitored}} has a share of the unfavourable predictions that {_HIGHER}",
        needs=("predictions", "strata"),
        aliases=("Clarify CDDPL",),
    ),
)
