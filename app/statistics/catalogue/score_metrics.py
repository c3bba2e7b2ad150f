"""Metrics of probabilities rather than decisions."""

from collections.abc import Callable
from functools import partial

from ..formulas.score_distances import QUANTILES
from .metric import Direction, Metric, ScoreFigure, build_difference, build_ratio
from .quality_metrics import OVERALL_SCOPES
from .selection_metrics import REFERENCE_SCOPES

_PLACES_ABOVE_QUANTILES = {
    0.2: "not among the lowest fifth of everybody's",
    0.5: "above the median of everybody's",
    0.8: "among the highest fifth of everybody's",
}
_SCORE_CELLS = (
    ("true", "positive", "GTP", "favourable", "favourable"),
    ("false", "negative", "GFN", "unfavourable", "favourable"),
    ("false", "positive", "GFP", "favourable", "unfavourable"),
    ("true", "negative", "GTN", "unfavourable", "unfavourable"),
)
"""Whether the outcome is right, its sign, short name of the sum of its probabilities, outcome, label."""

_build_score_metric = partial(
    Metric,
    data=("labelled",),
    measure=ScoreFigure(),
    scopes=OVERALL_SCOPES,
    convention="of the probability of the favourable outcome",
    source="AIF360",
    needs=("labels", "scores"),
)


def _build_score_gap(
    build: Callable[..., Metric], key: str, title: str, formula: str, *, says: str, convention: str
) -> Metric:
    return build(
        key,
        title,
        formula,
        data=("as_logged",),
        measure=ScoreFigure(),
        scopes=REFERENCE_SCOPES,
        highest=None,
        convention=convention,
        source="lending practice; Colorado Regulation 10-1-1",
        says=says,
        needs=("predictions", "scores"),
        disadvantage="below",
    )


METRICS = (
    _build_score_gap(
        partial(build_difference, lowest=None),
        "standardized_mean_difference",
        "Standardised mean difference of scores",
        "(mean p(m) - mean p(r)) / s, the standard deviation of p of all records",
        says="The mean probability of the favourable outcome is {distance} standard deviations of "
        "everybody's {higher} for {monitored} than for {reference}.",
        convention="monitored - reference, of the probability of the favourable outcome, labelled or not: "
        "below 0 the monitored group has"
        " the lower scores; the divisor of s squared is n, and s is of records of no group, too",
    ),
    *(
        _build_score_gap(
            build_ratio,
            key,
            f"Adverse impact ratio above the {share:g} quantile of scores",
            f"share of m with p > c / share of r with p > c; c = lowest p that {share:g} of all records do "
            "not exceed",
            says="The share of {monitored} whose probability of the favourable outcome is "
            f"{_PLACES_ABOVE_QUANTILES[share]} is {{shown}} times that of {{reference}}.",
            convention="monitored / reference, of the probability of the favourable outcome, labelled or "
            "not; c is one for all groups, and of records of no group, too",
        )
        for key, share in QUANTILES.items()
    ),
    *(
        _build_score_metric(
            f"generalized_{right}_{sign}_count",
            f"Generalized {right} {sign}s",
            f"{sum_name} = sum of {'p' if outcome == 'favourable' else '(1 - p)'} over {label} labels",
            says=f"{{Subject}}, the probabilities of the {outcome} outcome add up to {{shown}} over the "
            f"{label} labels.",
            highest=None,
            aliases=(f"AIF360 num_generalized_{right}_{sign}s",),
        )
        for right, sign, sum_name, outcome, label in _SCORE_CELLS
    ),
    *(
        _build_score_metric(
            f"generalized_{right}_{sign}_rate",
            f"Generalized {right} {sign} rate",
            f"{sum_name} / {'P' if label == 'favourable' else 'N'}",
            says=f"{{Subject}}, the mean probability of the {outcome} outcome is {{percent}} where the "
            f"label is {label}.",
            direction=Direction.HIGHER if right == "true" else Direction.LOWER,
            ideal=1.0 if right == "true" else 0.0,
            aliases=(f"AIF360 generalized_{right}_{sign}_rate",),
        )
        for right, sign, sum_name, outcome, label in _SCORE_CELLS
    ),
    _build_score_metric(
        "generalized_equalized_odds_difference",
        "Generalized equalized odds difference",
        "max(abs(GFPR(m) - GFPR(r)), abs(GTPR(m) - GTPR(r)))",
        says="Of records with equal labels, the mean probabilities of {monitored} and {reference} lie up to "
        "{points} percentage points apart.",
        convention="the larger distance of the two generalised odds, whichever way it lies",
        ideal=0.0,
        direction=Direction.TOWARDS_IDEAL,
        scopes=REFERENCE_SCOPES,
        limits=(None, 0.1),
        aliases=("AIF360 generalized_equalized_odds_difference",),
    ),
    _build_score_metric(
        "log_loss",
        "Log loss",
        "mean of -ln(p of the actual outcome)",
        says="{Subject}, the mean surprise at the label is {shown} nats; 0 is perfect, 0.693 is a coin.",
        highest=None,
        ideal=0.0,
        direction=Direction.LOWER,
        source="scikit-learn",
        aliases=("scikit-learn log_loss",),
    ),
    _build_score_metric(
        "brier_score",
        "Brier score",
        "mean of (p - y)^2",
        says="{Subject}, the mean squared distance of probability and label is {shown}; 0 is perfect, 0.25 "
        "is a coin.",
        ideal=0.0,
        direction=Direction.LOWER,
        source="scikit-learn; Brier 1950",
        aliases=("scikit-learn brier_score_loss",),
    ),
    _build_score_metric(
        "roc_auc",
        "ROC AUC",
        "chance that a favourable label has a higher p than an unfavourable one, ties half",
        says="{Subject}, a record with a favourable label is ranked above one with an unfavourable label "
        "{percent} of the time.",
        ideal=1.0,
        direction=Direction.HIGHER,
        source="scikit-learn",
        aliases=("scikit-learn roc_auc_score",),
    ),
    _build_score_metric(
        "average_precision",
        "Average precision (PR AUC)",
        "sum over falling p of (recall_i - recall_(i - 1)) precision_i, equal p together",
        says="{Subject}, of the records ranked as high as a record with a favourable label, {percent} have "
        "one on average.",
        convention="of the probability of the favourable outcome; by chance it is the share of favourable "
        "labels; steps, not trapezia",
        ideal=1.0,
        direction=Direction.HIGHER,
        source="scikit-learn; OpenScale area_under_pr",
        aliases=("scikit-learn average_precision_score", "OpenScale area_under_pr"),
    ),
    _build_score_metric(
        "calibration_gap",
        "Calibration gap",
        "mean p - share of favourable labels",
        says="{Subject}, the probabilities are {points} percentage points too {high} on average.",
        convention="predicted - observed: above 0 the probabilities promise more than the labels keep",
        lowest=-1.0,
        ideal=0.0,
        direction=Direction.TOWARDS_IDEAL,
        source="calibration in the large",
        limits=(-0.1, 0.1),
    ),
    _build_score_metric(
        "calibration_error",
        "Expected calibration error",
        "sum over ten bins of p of n_i / n abs(mean p - share of favourable labels)",
        says="{Subject}, the probabilities are {points} percentage points off, averaged over ten bins.",
        convention="0 where in every bin the labels are favourable as often as the probabilities say",
        ideal=0.0,
        direction=Direction.LOWER,
        source="Naeini et al. 2015",
    ),
)
