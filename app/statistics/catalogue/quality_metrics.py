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
    list_judged_needs,
    list_needs,
)
from .selection_metrics import GROUP_SCOPES

OVERALL_SCOPES: tuple[FigureScope, ...] = ("overall", *GROUP_SCOPES)
_labelled_row = partial(Metric, data=("labelled",), scopes=OVERALL_SCOPES, needs=("predictions", "labels"))


_rate_row = partial(
    _labelled_row,
    convention="a share of the labelled records of one group; positive means favourable",
    source="AIF360; fairlearn",
)
_right_rate_row = partial(_rate_row, ideal=1.0, direction=Direction.HIGHER)
_wrong_rate_row = partial(_rate_row, ideal=0.0, direction=Direction.LOWER)


def _count_row(key: str, title: str, formula: str, part_name: str, aliases: tuple[str, ...]) -> Metric:
    return _labelled_row(
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


def _ratio_row(
    key: str,
    title: str,
    formula: str,
    function: SetFunction,
    needs: tuple[Need, ...],
    says: str,
    aliases: tuple[str, ...],
) -> Metric:
    is_bounded = key in {"f1", "balanced_accuracy"}
    return _labelled_row(
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


ROWS = (
    _right_rate_row(
        "accuracy",
        "Accuracy",
        "correct(g) / n(g)",
        measure=RateFigure("correct"),
        convention="the share of labelled records whose predicted label is the actual one",
        is_default=True,
        aliases=("AIF360 accuracy", "Clarify ACC", "fairlearn accuracy"),
    ),
    _wrong_rate_row(
        "error_rate",
        "Error rate",
        "(FP + FN) / n",
        measure=RateFigure("error"),
        convention="the share of labelled records predicted the other outcome; two labels of one outcome "
        "count as right",
        aliases=("AIF360 error_rate",),
    ),
    _rate_row(
        "base_rate",
        "Base rate",
        "P / n",
        measure=RateFigure("base"),
        data=("labelled", "training"),
        needs=("labels",),
        aliases=("AIF360 base_rate", "Clarify q"),
    ),
    _right_rate_row(
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
    _wrong_rate_row(
        "false_negative_rate",
        "False negative rate",
        "FN / (FN + TP)",
        measure=RateFigure("false_negative"),
        aliases=("AIF360 false_negative_rate", "fairlearn false_negative_rate"),
    ),
    _wrong_rate_row(
        "false_positive_rate",
        "False positive rate",
        "FP / (FP + TN)",
        measure=RateFigure("false_positive"),
        aliases=("AIF360 false_positive_rate", "fairlearn false_positive_rate"),
    ),
    _right_rate_row(
        "true_negative_rate",
        "True negative rate (specificity)",
        "TN / (TN + FP)",
        measure=RateFigure("true_negative"),
        aliases=("AIF360 true_negative_rate", "AIF360 specificity", "fairlearn true_negative_rate"),
    ),
    _right_rate_row(
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
    _right_rate_row(
        "negative_predictive_value",
        "Negative predictive value",
        "TN / (TN + FN)",
        measure=RateFigure("negative_predictive"),
        aliases=("AIF360 negative_predictive_value", "Clarify rejection rate"),
    ),
    _wrong_rate_row(
        "false_discovery_rate",
        "False discovery rate",
        "FP / (FP + TP)",
        measure=RateFigure("false_discovery"),
        aliases=("AIF360 false_discovery_rate",),
    ),
    _wrong_rate_row(
        "false_omission_rate",
        "False omission rate",
        "FN / (FN + TN)",
        measure=RateFigure("false_omission"),
        aliases=("AIF360 false_omission_rate",),
    ),
    _ratio_row(
        "balanced_accuracy",
        "Balanced accuracy",
        "(TPR + TNR) / 2",
        paired_cells.balanced_accuracy,
        list_needs("actual_favourable", "actual_unfavourable"),
        "{Subject}, {percent} of the predictions are right, if favourable and unfavourable labels count "
        "alike.",
        ("fairlearn balanced_accuracy",),
    ),
    _ratio_row(
        "f1",
        "F1 score",
        "2 TP / (2 TP + FP + FN)",
        paired_cells.f1,
        list_needs("any_favourable"),
        "{Subject}, the harmonic mean of precision and recall is {shown}; 1 is perfect.",
        ("fairlearn f1", "Clarify F1 Score"),
    ),
    _ratio_row(
        "conditional_acceptance",
        "Conditional acceptance",
        "(TP + FN) / (TP + FP)",
        paired_cells.conditional_acceptance,
        list_judged_needs("predicted_favourable"),
        "{Subject}, there are {shown} favourable labels for each favourable prediction.",
        ("Clarify conditional acceptance",),
    ),
    _ratio_row(
        "conditional_rejection",
        "Conditional rejection",
        "(TN + FP) / (TN + FN)",
        paired_cells.conditional_rejection,
        list_judged_needs("predicted_unfavourable"),
        "{Subject}, there are {shown} unfavourable labels for each unfavourable prediction.",
        ("Clarify conditional rejection",),
    ),
    _ratio_row(
        "treatment_ratio",
        "Treatment ratio",
        "FN / FP",
        paired_cells.treatment_ratio,
        list_judged_needs("false_positive"),
        "{Subject}, there are {shown} wrongly unfavourable predictions for each wrongly favourable one.",
        ("Clarify FN/FP",),
    ),
    _count_row(
        "record_count", "Labelled records", "n", "records", ("AIF360 num_instances", "fairlearn count")
    ),
    _count_row(
        "actual_favourable_count",
        "Favourable labels",
        "P = TP + FN",
        "actual_favourable",
        ("AIF360 num_positives",),
    ),
    _count_row(
        "actual_unfavourable_count",
        "Unfavourable labels",
        "N = FP + TN",
        "actual_unfavourable",
        ("AIF360 num_negatives",),
    ),
    _count_row(
        "predicted_favourable_count",
        "Favourable predictions",
        "TP + FP",
        "predicted_favourable",
        ("AIF360 num_pred_positives",),
    ),
    _count_row(
        "predicted_unfavourable_count",
        "Unfavourable predictions",
        "TN + FN",
        "predicted_unfavourable",
        ("AIF360 num_pred_negatives",),
    ),
    _count_row(
        "true_positive_count",
        "True positives",
        "TP",
        "true_positive",
        ("AIF360 num_true_positives", "AIF360 power"),
    ),
    _count_row(
        "false_positive_count", "False positives", "FP", "false_positive", ("AIF360 num_false_positives",)
    ),
    _count_row(
        "true_negative_count", "True negatives", "TN", "true_negative", ("AIF360 num_true_negatives",)
    ),
    _count_row(
        "false_negative_count", "False negatives", "FN", "false_negative", ("AIF360 num_false_negatives",)
    ),
)
