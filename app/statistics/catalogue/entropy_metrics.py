"""Inequality of the benefit of decisions among people and among groups."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ..formulas import differential_fairness, generalised_entropy, paired_cells
from ..group_labels import FloatArray
from .metric import Direction, Metric, PairFigure, SetFigure, SetFunction, SpreadFigure, list_needs

_REASON_IF_INFINITE = (
    "every labelled record was wrongly predicted unfavourable, so there is no benefit to compare with"
)
_BENEFIT = "b = predicted - actual + 1"
_EQUAL_BENEFIT = (
    "0 where all have the same benefit: 2 for a wrongly favourable prediction, 0 for a wrongly "
    "unfavourable one, else 1"
)
_EVERY_GROUP = "; of every group with labelled records, however few"


def _compute_variation(index: Callable[[FloatArray, float], FloatArray], cells: FloatArray) -> FloatArray:
    """Coefficient of variation of the benefits: √(2 GE(2)), from an index GE of cells and alpha."""
    return np.sqrt(2 * index(cells, 2))


def _apply_to_both(function: SetFunction, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Applies a function of all groups' cells [..., G, 2, 2] to those of two groups."""
    return function(np.stack(np.broadcast_arrays(monitored, reference), -3))


_build_inequality = partial(Metric, highest=None, ideal=0.0, direction=Direction.LOWER)
_build_differential_fairness = partial(
    _build_inequality, source="AIF360; Foulds et al. 2020", scopes=("attribute",)
)


def _build_indices(
    key: str, title: str, formula: str, individual_index: SetFunction, between_index: SetFunction
) -> tuple[Metric, ...]:
    build_index = partial(
        _build_inequality, data=("labelled",), source="AIF360", needs=("predictions", "labels")
    )
    title_in_phrase = title[0].lower() + title[1:]
    formula_of_means = f"{formula} with each record's b replaced by the mean of its group, {_BENEFIT}"
    return (
        build_index(
            key,
            title,
            f"{formula}, {_BENEFIT}",
            measure=SetFigure(individual_index, "confusion", list_needs("records"), _REASON_IF_INFINITE),
            scopes=("overall",),
            convention=_EQUAL_BENEFIT,
            source="AIF360; Clarify GE" if key == "generalized_entropy_index" else "AIF360",
            says="The benefit of right and wrong predictions is spread over people with an index of "
            "{shown}; 0 would be equal.",
            aliases=(f"AIF360 {key}", *(("Clarify GE",) if key == "generalized_entropy_index" else ())),
        ),
        build_index(
            f"between_group_{key}",
            f"Between-group {title_in_phrase}",
            formula_of_means,
            measure=PairFigure(
                partial(_apply_to_both, between_index),
                "confusion",
                list_needs("records"),
                (partial(paired_cells.difference, generalised_entropy.mean_benefit),),
                _REASON_IF_INFINITE,
            ),
            scopes=("group", "pooled", "worst"),
            convention=_EQUAL_BENEFIT,
            says="The mean benefits of {monitored} and {reference} are spread with an index of {shown}; 0 "
            "would be equal.",
            aliases=(f"AIF360 between_group_{key}",),
        ),
        build_index(
            f"between_all_groups_{key}",
            f"Between-all-groups {title_in_phrase}",
            formula_of_means,
            measure=SpreadFigure(
                between_index, "confusion", power=2 if key == "coefficient_of_variation" else 1
            ),
            scopes=("attribute",),
            convention=f"{_EQUAL_BENEFIT}{_EVERY_GROUP}",
            says="The mean benefits of {all_groups} are spread with an index of {shown}; 0 would be equal.",
            aliases=(f"AIF360 between_all_groups_{key}",),
        ),
    )


METRICS = (
    *_build_indices(
        "generalized_entropy_index",
        "Generalized entropy index (GE)",
        "(mean of (b / mean b)^2 - 1) / 2",
        partial(generalised_entropy.generalized_entropy, alpha=2),
        partial(generalised_entropy.between_groups, alpha=2),
    ),
    *_build_indices(
        "theil_index",
        "Theil index",
        "mean of (b / mean b) ln(b / mean b)",
        partial(generalised_entropy.generalized_entropy, alpha=1),
        partial(generalised_entropy.between_groups, alpha=1),
    ),
    *_build_indices(
        "coefficient_of_variation",
        "Coefficient of variation",
        "sqrt(2 GE)",
        partial(_compute_variation, generalised_entropy.generalized_entropy),
        partial(_compute_variation, generalised_entropy.between_groups),
    ),
    _build_differential_fairness(
        "smoothed_empirical_differential_fairness",
        "Smoothed empirical differential fairness",
        "max over groups i, j and outcomes y of abs(ln p_i(y) - ln p_j(y)), p = (n + 1/2) / (N + 1)",
        data=("training", "labelled"),
        measure=SpreadFigure(
            differential_fairness.smoothed_empirical_differential_fairness,
            "labels",
            limits=differential_fairness.find_limits,
        ),
        convention=f"of the labels: 0 where every group has the same chances of either outcome{_EVERY_GROUP}",
        says="The chances of a favourable or unfavourable label differ between {any_two} by a factor of up "
        "to {factor}.",
        needs=("labels",),
        limits=(None, math.log(1.25)),
        aliases=("AIF360 smoothed_empirical_differential_fairness",),
    ),
    _build_differential_fairness(
        "differential_fairness_bias_amplification",
        "Differential fairness bias amplification",
        "differential fairness of the predictions - differential fairness of the labels",
        data=("labelled",),
        measure=SpreadFigure(
            differential_fairness.bias_amplification,
            "confusion",
            reach=differential_fairness.reach_of_amplification,
        ),
        lowest=None,
        convention="predictions - labels: above 0 the model widens the gap that the labels "
        f"have{_EVERY_GROUP}",
        says="The model {widens} the largest ratio of chances between {any_two} that the labels have by a "
        "factor of {factor}.",
        needs=("predictions", "labels"),
        aliases=("AIF360 differential_fairness_bias_amplification",),
    ),
)
