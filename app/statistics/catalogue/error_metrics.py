"""Differences between groups in errors, and in the treatment of records with equal labels."""

from functools import partial

import numpy as np

from ..formulas import paired_cells, rate_spread
from ..intervals.rate_estimates import DIFFERENCE, RATIO, REVERSED_DIFFERENCE, ShareComparison
from .metric import (
    Direction,
    Metric,
    PairFigure,
    RateComparison,
    SideOfIdeal,
    SpreadFigure,
    build_difference,
    build_labelled,
    build_ratio,
    build_reversed_difference,
    list_judged_needs,
    list_needs,
)
from .selection_metrics import PAIR_SCOPES, REFERENCE_SCOPES

TPR_DIFFERENCE = partial(paired_cells.rate_difference, "true_positive")
FPR_DIFFERENCE = partial(paired_cells.rate_difference, "false_positive")
_DISTANCES = (
    partial(paired_cells.rate_distance, "true_positive"),
    partial(paired_cells.rate_distance, "false_positive"),
)
_DIFFERENCE_LIMITS = (-0.1, 0.1)
_RATIO_LIMITS = (0.8, 1.25)
_NEEDS_OF_ODDS = list_needs("actual_favourable", "actual_unfavourable")
_FAVOURED_LESS: dict[str, SideOfIdeal] = {
    "true_positive": "below",
    "false_negative": "above",
    "false_positive": "below",
    "true_negative": "above",
}
"""Side of equality on which, of records with equal labels, fewer of the monitored group are favoured."""

_OPENSCALE_DIFFERENCES = (
    ("false_positive", "False positive rate difference"),
    ("false_negative", "False negative rate difference"),
    ("false_discovery", "False discovery rate difference"),
    ("false_omission", "False omission rate difference"),
    ("error", "Error rate difference"),
)
"""Rates of OpenScale, and the titles of their differences."""

_TOO_FEW_GROUPS = "for one of the labels fewer than two groups have records"
_CONVENTION_ADDITIONS = {"right": ", (TP + TN) / n: two labels of one outcome count as right"}
_METRICS_OF_RATES = {
    "right": "outcome_accuracy",
    "positive_predictive": "positive_predictive_value",
    "negative_predictive": "negative_predictive_value",
}


def _build_comparison(
    key: str, title: str, rate: str, by: ShareComparison, source: str, aliases: tuple[str, ...]
) -> Metric:
    name = _METRICS_OF_RATES.get(rate, f"{rate}_rate")
    build, formula = {
        DIFFERENCE.name: (build_difference, f"{name}(monitored) - {name}(reference)"),
        REVERSED_DIFFERENCE.name: (build_reversed_difference, f"{name}(reference) - {name}(monitored)"),
        RATIO.name: (build_ratio, f"{name}(monitored) / {name}(reference)"),
    }[by.name]
    # A reversed difference turns the sides.
    side = _FAVOURED_LESS.get(rate)
    if side is not None and by is REVERSED_DIFFERENCE:
        side = "above" if side == "below" else "below"
    alike = f"{'1' if by is RATIO else '0'} where both groups have the same {name.replace('_', ' ')}"
    return build(
        key,
        title,
        formula,
        data=("labelled",),
        measure=RateComparison(rate, by),
        scopes=PAIR_SCOPES,
        convention=f"{build.keywords['order']}: {alike}{_CONVENTION_ADDITIONS.get(rate, '')}",
        source=source,
        needs=("predictions", "labels"),
        limits=_RATIO_LIMITS if by is RATIO else _DIFFERENCE_LIMITS,
        disadvantage=side,
        aliases=aliases,
        is_default=key in {"true_positive_rate_difference", "false_positive_rate_difference"},
    )


_build_pair_metric = partial(build_labelled, scopes=REFERENCE_SCOPES, direction=Direction.TOWARDS_IDEAL)
_build_signed_metric = partial(_build_pair_metric, lowest=-1.0, ideal=0.0, order="monitored - reference")
_build_spread = partial(
    build_labelled,
    scopes=("attribute",),
    convention="over the groups with records of the label; small ones are often furthest apart by chance",
    source="fairlearn",
)


METRICS = (
    _build_comparison(
        "true_positive_rate_difference",
        "True positive rate difference (equal opportunity)",
        "true_positive",
        DIFFERENCE,
        "AIF360",
        (
            "AIF360 true_positive_rate_difference",
            "AIF360 equal_opportunity_difference",
            "fairlearn equal_opportunity_difference",
        ),
    ),
    *(
        _build_comparison(
            f"{rate}_rate_difference",
            title,
            rate,
            DIFFERENCE,
            "OpenScale; AIF360",
            (f"OpenScale {rate}_rate_difference", f"AIF360 {rate}_rate_difference"),
        )
        for rate, title in _OPENSCALE_DIFFERENCES
    ),
    _build_comparison(
        "true_positive_rate_ratio",
        "True positive rate ratio",
        "true_positive",
        RATIO,
        "fairlearn",
        ("fairlearn equal_opportunity_ratio",),
    ),
    *(
        _build_comparison(
            f"{rate}_rate_ratio",
            f"{title.removesuffix(' difference')} ratio",
            rate,
            RATIO,
            "AIF360",
            (f"AIF360 {rate}_rate_ratio",),
        )
        for rate, title in _OPENSCALE_DIFFERENCES
    ),
    _build_signed_metric(
        "average_odds_difference",
        "Average odds difference",
        "((FPR(m) - FPR(r)) + (TPR(m) - TPR(r))) / 2",
        measure=PairFigure(paired_cells.average_odds_difference, "confusion", _NEEDS_OF_ODDS),
        convention="monitored - reference: below 0 the monitored group is favoured less often than others "
        "of the same merit",
        says="Of records with equal labels, {monitored} is favoured {points} percentage points {less} often "
        "than {reference}, on average.",
        limits=_DIFFERENCE_LIMITS,
        source="OpenScale; AIF360",
        aliases=("OpenScale average_odds_difference", "AIF360 average_odds_difference"),
        disadvantage="below",
        is_default=True,
    ),
    _build_pair_metric(
        "average_abs_odds_difference",
        "Average absolute odds difference",
        "(abs(FPR(m) - FPR(r)) + abs(TPR(m) - TPR(r))) / 2",
        measure=PairFigure(
            paired_cells.average_abs_odds_difference,
            "confusion",
            _NEEDS_OF_ODDS,
            (TPR_DIFFERENCE, FPR_DIFFERENCE),
            parts=_DISTANCES,
        ),
        ideal=0.0,
        convention="the average distance of both odds, whichever way they lie",
        says="Of records with equal labels, {monitored} and {reference} are favoured at rates that lie "
        "{points} percentage points apart, on average.",
        limits=(None, 0.1),
        source="OpenScale; AIF360",
        aliases=("OpenScale average_abs_odds_difference", "AIF360 average_abs_odds_difference"),
    ),
    _build_signed_metric(
        "average_predictive_value_difference",
        "Average predictive value difference",
        "((PPV(m) - PPV(r)) + (FOR(m) - FOR(r))) / 2",
        measure=PairFigure(
            paired_cells.average_predictive_value_difference,
            "confusion",
            list_needs("predicted_favourable", "predicted_unfavourable"),
        ),
        convention="monitored - reference: above 0 the monitored group's labels are more often favourable "
        "than its predictions suggest",
        says="At equal predictions, the labels of {monitored} are favourable {points} percentage points "
        "{less} often than those of {reference}, on average.",
        limits=_DIFFERENCE_LIMITS,
        source="AIF360 0.6.1",
        aliases=("AIF360 average_predictive_value_difference",),
    ),
    _build_pair_metric(
        "equalized_odds_difference",
        "Equalized odds difference",
        "max(abs(FPR(m) - FPR(r)), abs(TPR(m) - TPR(r)))",
        measure=PairFigure(
            paired_cells.equalized_odds_difference,
            "confusion",
            _NEEDS_OF_ODDS,
            (TPR_DIFFERENCE, FPR_DIFFERENCE),
            parts=_DISTANCES,
            whole=np.max,
        ),
        ideal=0.0,
        convention="the larger distance of the two odds, whichever way it lies",
        says="Of records with equal labels, {monitored} and {reference} are favoured at rates up to "
        "{points} percentage points apart.",
        limits=(None, 0.1),
        source="AIF360 0.6.1",
        aliases=("AIF360 equalized_odds_difference",),
    ),
    _build_pair_metric(
        "equalized_odds_ratio",
        "Equalized odds ratio",
        "min(smaller FPR / larger FPR, smaller TPR / larger TPR)",
        measure=PairFigure(
            paired_cells.equalized_odds_ratio,
            "confusion",
            _NEEDS_OF_ODDS,
            (TPR_DIFFERENCE, FPR_DIFFERENCE),
            "for one of the labels no record{of} or of the reference group was predicted favourable, so "
            "there is no ratio",
            parts=(
                partial(paired_cells.rate_evenness, "true_positive"),
                partial(paired_cells.rate_evenness, "false_positive"),
            ),
            whole=np.min,
        ),
        ideal=1.0,
        convention="the smaller ratio of the two odds, always at most 1",
        says="Of records with equal labels, the one of {monitored} and {reference} that is favoured less "
        "often is favoured at {percent} of the other's rate.",
        limits=(0.8, None),
        source="fairlearn, of two groups",
    ),
    _build_spread(
        "equalized_odds_difference_across_groups",
        "Equalized odds difference across groups",
        "max over labels of (highest rate of favourable predictions of a group - lowest)",
        measure=SpreadFigure(
            rate_spread.odds_difference,
            "confusion",
            limits=rate_spread.find_difference_limits,
            reason_if_infinite=_TOO_FEW_GROUPS,
        ),
        aliases=("fairlearn equalized_odds_difference",),
        says="Of records with equal labels, {any_two} are favoured at rates up to {points} percentage "
        "points apart.",
        limits=(None, 0.1),
        ideal=0.0,
        direction=Direction.LOWER,
    ),
    _build_spread(
        "equalized_odds_ratio_across_groups",
        "Equalized odds ratio across groups",
        "min over labels of (lowest rate of favourable predictions of a group / highest)",
        measure=SpreadFigure(
            rate_spread.odds_ratio,
            "confusion",
            limits=rate_spread.find_ratio_limits,
            reason_if_infinite=f"{_TOO_FEW_GROUPS}, or none that was predicted favourable",
        ),
        aliases=("fairlearn equalized_odds_ratio",),
        says="Of records with equal labels, one of {any_two} is favoured at {percent} of the other's rate, "
        "and none at less.",
        limits=(0.8, None),
        ideal=1.0,
        direction=Direction.HIGHER,
    ),
    _build_comparison(
        "accuracy_difference",
        "Accuracy difference (AD)",
        "right",
        REVERSED_DIFFERENCE,
        "Clarify AD",
        ("Clarify AD",),
    ),
    _build_comparison(
        "recall_difference",
        "Recall difference (RD)",
        "true_positive",
        REVERSED_DIFFERENCE,
        "Clarify RD",
        ("Clarify RD",),
    ),
    _build_comparison(
        "specificity_difference",
        "Specificity difference (SD)",
        "true_negative",
        DIFFERENCE,
        "Clarify SD",
        ("Clarify SD",),
    ),
    _build_comparison(
        "difference_in_acceptance_rates",
        "Difference in acceptance rates (DAR)",
        "positive_predictive",
        REVERSED_DIFFERENCE,
        "Clarify DAR",
        ("Clarify DAR",),
    ),
    _build_comparison(
        "difference_in_rejection_rates",
        "Difference in rejection rates (DRR)",
        "negative_predictive",
        DIFFERENCE,
        "Clarify DRR",
        ("Clarify DRR",),
    ),
    _build_pair_metric(
        "difference_in_conditional_acceptance",
        "Difference in conditional acceptance (DCA)",
        "P(r) / predicted_favourable(r) - P(m) / predicted_favourable(m)",
        measure=PairFigure(
            paired_cells.difference_in_conditional_acceptance,
            "confusion",
            list_judged_needs("predicted_favourable"),
        ),
        lowest=None,
        highest=None,
        ideal=0.0,
        order="reference - monitored",
        convention="reference - monitored: below 0 the monitored group is accepted less than its labels "
        "say, compared with the reference",
        says="For each favourable prediction, {reference} has {distance} {more} favourable labels than "
        "{monitored}.",
        source="Clarify DCA",
        aliases=("Clarify DCA", "Clarify DCAcc"),
        disadvantage="below",
    ),
    _build_signed_metric(
        "difference_in_conditional_rejection",
        "Difference in conditional rejection (DCR)",
        "N(m) / predicted_unfavourable(m) - N(r) / predicted_unfavourable(r)",
        measure=PairFigure(
            partial(paired_cells.difference, paired_cells.conditional_rejection),
            "confusion",
            list_judged_needs("predicted_unfavourable"),
        ),
        lowest=None,
        highest=None,
        convention="monitored - reference: below 0 the monitored group is rejected more than its labels "
        "say, compared with the reference",
        says="For each unfavourable prediction, {monitored} has {distance} {more} unfavourable labels than "
        "{reference}.",
        source="Clarify DCR",
        aliases=("Clarify DCR",),
        disadvantage="below",
    ),
    _build_signed_metric(
        "treatment_equality",
        "Treatment equality (TE)",
        "FN(m) / FP(m) - FN(r) / FP(r)",
        measure=PairFigure(
            partial(paired_cells.difference, paired_cells.treatment_ratio),
            "confusion",
            list_judged_needs("false_positive"),
        ),
        lowest=None,
        highest=None,
        convention="monitored - reference: above 0 errors fall more often to the monitored group's "
        "disadvantage",
        says="For each wrongly favourable prediction, {monitored} has {distance} {more} wrongly "
        "unfavourable ones than {reference}.",
        source="Clarify TE",
        aliases=("Clarify TE",),
        disadvantage="above",
    ),
)
