"""Inequality of the benefit of decisions among people and among groups."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ..formulas import differential_fairness as differential
from ..formulas import generalised_entropy as entropy
from ..formulas import paired_cells as pairs
from ..group_labels import FloatArray
from .metric import Across, Direction, Metric, OfPair, OfSet, SetFunction, parts

_ENDLESS = "every labelled record was wrongly predicted unfavourable, so there is no benefit to compare with"
_BENEFIT = "b = predicted - actual + 1"
_EQUAL = (
    "0 where all have the same benefit: 2 for a wrongly favourable prediction, 0 for a wrongly "
    "unfavourable one, else 1"
)
_EVERY_GROUP = "; of every group with labelled records, however few"


def _variation(index: Callable[[FloatArray, float], FloatArray], cells: FloatArray) -> FloatArray:
    """√(2 GE(2)), from 0 up."""
    return np.sqrt(2 * index(cells, 2))


def _compare_two(function: SetFunction, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return function(np.stack(np.broadcast_arrays(monitored, reference), -3))


_INDEXES = (
    (
        "generalized_entropy_index",
        "Generalized entropy index (GE)",
        "(mean of (b / mean b)^2 - 1) / 2",
        partial(entropy.generalized_entropy, alpha=2),
        partial(entropy.between_groups, alpha=2),
    ),
    (
        "theil_index",
        "Theil index",
        "mean of (b / mean b) ln(b / mean b)",
        partial(entropy.generalized_entropy, alpha=1),
        partial(entropy.between_groups, alpha=1),
    ),
    (
        "coefficient_of_variation",
        "Coefficient of variation",
        "sqrt(2 GE)",
        partial(_variation, entropy.generalized_entropy),
        partial(_variation, entropy.between_groups),
    ),
)


_inequality = partial(Metric, highest=None, ideal=0.0, direction=Direction.LOWER)
_spread = partial(_inequality, source="AIF360; Foulds et al. 2020", scopes=("attribute",))


def _family(
    key: str, title: str, formula: str, individual: SetFunction, between: SetFunction
) -> tuple[Metric, ...]:
    index = partial(_inequality, data=("labelled",), source="AIF360", needs=("predictions", "labels"))
    lower = title[0].lower() + title[1:]
    of_means = f"{formula} with each record's b replaced by the mean of its group, {_BENEFIT}"
    return (
        index(
            key,
            title,
            f"{formula}, {_BENEFIT}",
            measure=OfSet(individual, "confusion", parts("records"), _ENDLESS),
            scopes=("overall",),
            convention=_EQUAL,
            source="AIF360; Clarify GE" if key == "generalized_entropy_index" else "AIF360",
            says="The benefit of right and wrong predictions is spread over people with an index of "
            "{shown}; 0 would be equal.",
            aliases=(f"AIF360 {key}", *(("Clarify GE",) if key == "generalized_entropy_index" else ())),
        ),
        index(
            f"between_group_{key}",
            f"Between-group {lower}",
            of_means,
            measure=OfPair(
                partial(_compare_two, between),
                "confusion",
                parts("records"),
                (partial(pairs.difference, entropy.mean_benefit),),
                _ENDLESS,
            ),
            scopes=("group", "pooled", "worst"),
            convention=_EQUAL,
            says="The mean benefits of {monitored} and {reference} are spread with an index of {shown}; 0 "
            "would be equal.",
            aliases=(f"AIF360 between_group_{key}",),
        ),
        index(
            f"between_all_groups_{key}",
            f"Between-all-groups {lower}",
            of_means,
            measure=Across(between, "confusion", power=2 if key == "coefficient_of_variation" else 1),
            scopes=("attribute",),
            convention=f"{_EQUAL}{_EVERY_GROUP}",
            says="The mean benefits of {all_groups} are spread with an index of {shown}; 0 would be equal.",
            aliases=(f"AIF360 between_all_groups_{key}",),
        ),
    )


ROWS = (
    *(row for index in _INDEXES for row in _family(*index)),
    _spread(
        "smoothed_empirical_differential_fairness",
        "Smoothed empirical differential fairness",
        "max over groups i, j and outcomes y of abs(ln p_i(y) - ln p_j(y)), p = (n + 1/2) / (N + 1)",
        data=("training", "labelled"),
        measure=Across(
            differential.smoothed_empirical_differential_fairness, "labels", limits=differential.limits
        ),
        convention=f"of the labels: 0 where every group has the same chances of either outcome{_EVERY_GROUP}",
        says="The chances of a favourable or unfavourable label differ between {any_two} by a factor of up "
        "to {factor}.",
        needs=("labels",),
        limits=(None, math.log(1.25)),
        aliases=("AIF360 smoothed_empirical_differential_fairness",),
    ),
    _spread(
        "differential_fairness_bias_amplification",
        "Differential fairness bias amplification",
        "differential fairness of the predictions - differential fairness of the labels",
        data=("labelled",),
        measure=Across(
            differential.bias_amplification, "confusion", reach=differential.reach_of_amplification
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
