"""Quality of the predictions, overall and for each group."""

from functools import partial

from ..formulas import paired_cells
from ..intervals.verdicts import FigureScope
from .metric import (
    CountFigure,
    Direction,
    Metric,
    Need,
    RateFigure,
    SetFigure,
    SetFunction,
    build_labelled,
    list_judged_needs,
    list_needs,
)
from .selection_metrics import GROUP_SCOPES

OVERALL_SCOPES: tuple[FigureScope, ...] = ("overall", *GROUP_SCOPES)
_build_quality = partial(build_labelled, scopes=OVERALL_SCOPES)
_build_rate = partial(
    _build_quality,
    convention="a share of the labelled records of one group; positive means favourable",
    source="AIF360; fairlearn",
)
_build_right_rate = partial(_build_rate, ideal=1.0, direction=Direction.HIGHER)
_build_wrong_rate = partial(_build_rate, ideal=0.0, direction=Direction.LOWER)


def _build_count(key: str, title: str, formula: str, part_name: str, aliases: tuple[str, ...]) -> Metric:
    return _build_quality(
        key,
        title,
        formula,
        measure=CountFigure(part_name),
        highest=None,
        convention="labelled records, or their weights; the interval is of another window with as many "
        "labelled records",
        source="AIF360",
        aliases=aliases,
    )


def _build_set_metric(
    key: str,
    title: str,
    formula: str,
    function: SetFunction,
    needs: tuple[Need, ...],
    says: str,
    aliases: tuple[str, ...],
    *,
    is_bounded: bool = False,
) -> Metric:
    return _build_quality(
        key,
        title,
        formula,
        measure=SetFigure(function, "confusion", needs),
        highest=1.0 if is_bounded else None,
        ideal=1.0 if is_bounded else None,
        direction=Direction.HIGHER if is_bounded else Direction.NONE,
        convention="of one group's labelled records; positive means favourable",
        source="fairlearn; scikit-learn" if is_bounded else "Clarify",
        says=says,
        aliases=aliases,
    )


METRICS = (
    _build_right_rate(
        "accuracy",
        "Accuracy",
        "correct(g) / n(g)",
        measure=RateFigure("correct"),
        convention="the share of labelled records whose predicted label is the actual one",
        is_default=True,
        aliases=("AIF360 accuracy", "Clarify ACC", "fairlearn accuracy"),
    ),
    _build_wrong_rate(
        "error_rate",
        "Error rate",
        "(FP + FN) / n",
        measure=RateFigure("error"),
        convention="the share of labelled records predicted the other outcome; two labels of one outcome "
        "count as right",
        aliases=("AIF360 error_rate",),
    ),
    _build_rate(
        "base_rate",
        "Base rate",
        "P / n",
        measure=RateFigure("base"),
        data=("labelled", "training"),
        needs=("labels",),
        aliases=("AIF360 base_rate", "Clarify q"),
    ),
    _build_right_rate(
        "true_positive_rate",
        "True positive rate (recall)",
        "TP / (TP + FN)",
        measure=RateFigure("true_positive"),
        aliases=(
            "AIF360 true_positive_rate",
            "AIF360 recall",
            "AIF360 sensitivity",
            "fairlearn true_positive_rate",
            "fairlearn recall",
        ),
    ),
    _build_wrong_rate(
        "false_negative_rate",
        "False negative rate",
        "FN / (FN + TP)",
        measure=RateFigure("false_negative"),
        aliases=("AIF360 false_negative_rate", "fairlearn false_negative_rate"),
    ),
    _build_wrong_rate(
        "false_positive_rate",
        "False positive rate",
        "FP / (FP + TN)",
        measure=RateFigure("false_positive"),
        aliases=("AIF360 false_positive_rate", "fairlearn false_positive_rate"),
    ),
    _build_right_rate(
        "true_negative_rate",
        "True negative rate (specificity)",
        "TN / (TN + FP)",
        measure=RateFigure("true_negative"),
        aliases=("AIF360 true_negative_rate", "AIF360 specificity", "fairlearn true_negative_rate"),
    ),
    _build_right_rate(
        "positive_predictive_value",
        "Positive predictive value (precision)",
        "TP / (TP + FP)",
        measure=RateFigure("positive_predictive"),
        aliases=(
            "AIF360 positive_predictive_value",
            "AIF360 precision",
            "fairlearn precision",
            "Clarify acceptance rate",
        ),
    ),
    _build_right_rate(
        "negative_predictive_value",
        "Negative predictive value",
        "TN / (TN + FN)",
        measure=RateFigure("negative_predictive"),
        aliases=("AIF360 negative_predictive_value", "Clarify rejection rate"),
    ),
    _build_wrong_rate(
        "false_discovery_rate",
        "False discovery rate",
        "FP / (FP + TP)",
        measure=RateFigure("false_discovery"),
        aliases=("AIF360 false_discovery_rate",),
    ),
    _build_wrong_rate(
        "false_omission_rate",
        "False omission rate",
        "FN / (FN + TN)",
        measure=RateFigure("false_omission"),
        aliases=("AIF360 false_omission_rate",),
    ),
    _build_set_metric(
        "balanced_accuracy",
        "Balanced accuracy",
        "(TPR + TNR) / 2",
        paired_cells.balanced_accuracy,
        list_needs("actual_favourable", "actual_unfavourable"),
        "{Subject}, {percent} of the predictions are right, if favourable and unfavourable labels count "
        "alike.",
        ("fairlearn balanced_accuracy",),
        is_bounded=True,
    ),
    _build_set_metric(
        "f1",
        "F1 score",
        "2 TP / (2 TP + FP + FN)",
        paired_cells.f1,
        list_needs("any_favourable"),
        "{Subject}, the harmonic mean of precision and recall is {shown}; 1 is perfect.",
        ("fairlearn f1", "Clarify F1 Score"),
        is_bounded=True,
    ),
    _build_set_metric(
        "conditional_acceptance",
        "Conditional acceptance",
        "(TP + FN) / (TP + FP)",
        paired_cells.conditional_acceptance,
        list_judged_needs("predicted_favourable"),
        "{Subject}, there are {shown} favourable labels for each favourable prediction.",
        ("Clarify conditional acceptance",),
    ),
    _build_set_metric(
        "conditional_rejection",
        "Conditional rejection",
        "(TN + FP) / (TN + FN)",
        paired_cells.conditional_rejection,
        list_judged_needs("predicted_unfavourable"),
        "{Subject}, there are {shown} unfavourable labels for each unfavourable prediction.",
        ("Clarify conditional rejection",),
    ),
    _build_set_metric(
        "treatment_ratio",
        "Treatment ratio",
        "FN / FP",
        paired_cells.treatment_ratio,
        list_judged_needs("false_positive"),
        "{Subject}, there are {shown} wrongly unfavourable predictions for each wrongly favourable one.",
        ("Clarify FN/FP",),
    ),
    _build_count(
        "record_count", "Labelled records", "n", "records", ("AIF360 num_instances", "fairlearn count")
    ),
    _build_count(
        "actual_favourable_count",
        "Favourable labels",
        "P = TP + FN",
        "actual_favourable",
        ("AIF360 num_positives",),
    ),
    _build_count(
        "actual_unfavourable_count",
        "Unfavourable labels",
        "N = FP + TN",
        "actual_unfavourable",
        ("AIF360 num_negatives",),
    ),
    _build_count(
        "predicted_favourable_count",
        "Favourable predictions",
        "TP + FP",
        "predicted_favourable",
        ("AIF360 num_pred_positives",),
    ),
    _build_count(
        "predicted_unfavourable_count",
        "Unfavourable predictions",
        "TN + FN",
        "predicted_unfavourable",
        ("AIF360 num_pred_negatives",),
    ),
    _build_count(
        "true_positive_count",
        "True positives",
        "TP",
        "true_positive",
        ("AIF360 num_true_positives", "AIF360 power"),
    ),
    _build_count(
        "false_positive_count", "False positives", "FP", "false_positive", ("AIF360 num_false_positives",)
    ),
    _build_count(
        "true_negative_count", "True negatives", "TN", "true_negative", ("AIF360 num_true_negatives",)
    ),
    _build_count(
        "false_negative_count", "False negatives", "FN", "false_negative", ("AIF360 num_false_negatives",)
    ),
)
