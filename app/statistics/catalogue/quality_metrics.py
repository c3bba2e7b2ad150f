"""Quality of the predictions, overall and for each group."""

from functools import partial

from ..formulas import paired_cells as pairs
from ..intervals.verdicts import Scope
from .metric import CountOf, Direction, Metric, Need, OfSet, RateOf, SetFunction, judged, parts
from .selection_metrics import GROUPS

EVERYONE: tuple[Scope, ...] = ("overall", *GROUPS)
_of_labels = partial(Metric, data=("labelled",), scopes=EVERYONE, needs=("predictions", "labels"))


_rate = partial(
    _of_labels,
    convention="a share of the labelled records of one group; positive means favourable",
    source="AIF360; fairlearn",
)
_right_rate = partial(_rate, ideal=1.0, direction=Direction.HIGHER)
_wrong_rate = partial(_rate, ideal=0.0, direction=Direction.LOWER)


def _count(key: str, title: str, formula: str, part_name: str, aliases: tuple[str, ...]) -> Metric:
    return _of_labels(
        key,
        title,
        formula,
        measure=CountOf(part_name),
        highest=None,
        convention="labelled records, or their weights; the interval is of another window with as many "
        "labelled records",
        source="AIF360",
        aliases=aliases,
    )


def _ratio(
    key: str,
    title: str,
    formula: str,
    function: SetFunction,
    needs: tuple[Need, ...],
    says: str,
    aliases: tuple[str, ...],
) -> Metric:
    bounded = key in {"f1", "balanced_accuracy"}
    return _of_labels(
        key,
        title,
        formula,
        measure=OfSet(function, "confusion", needs),
        highest=1.0 if bounded else None,
        ideal=1.0 if bounded else None,
        direction=Direction.HIGHER if bounded else Direction.NONE,
        convention="of one group's labelled records; positive means favourable",
        source="fairlearn; scikit-learn" if bounded else "Clarify",
        says=says,
        aliases=aliases,
    )


ROWS = (
    _right_rate(
        "accuracy",
        "Accuracy",
        "correct(g) / n(g)",
        measure=RateOf("correct"),
        convention="the share of labelled records whose predicted label is the actual one",
        is_default=True,
        aliases=("AIF360 accuracy", "Clarify ACC", "fairlearn accuracy"),
    ),
    _wrong_rate(
        "error_rate",
        "Error rate",
        "(FP + FN) / n",
        measure=RateOf("error"),
        convention="the share of labelled records predicted the other outcome; two labels of one outcome "
        "count as right",
        aliases=("AIF360 error_rate",),
    ),
    _rate(
        "base_rate",
        "Base rate",
        "P / n",
        measure=RateOf("base"),
        data=("labelled", "training"),
        needs=("labels",),
        aliases=("AIF360 base_rate", "Clarify q"),
    ),
    _right_rate(
        "true_positive_rate",
        "True positive rate (recall)",
        "TP / (TP + FN)",
        measure=RateOf("true_positive"),
        aliases=(
            "AIF360 true_positive_rate",
            "AIF360 recall",
            "AIF360 sensitivity",
            "fairlearn true_positive_rate",
            "fairlearn recall",
        ),
    ),
    _wrong_rate(
        "false_negative_rate",
        "False negative rate",
        "FN / (FN + TP)",
        measure=RateOf("false_negative"),
        aliases=("AIF360 false_negative_rate", "fairlearn false_negative_rate"),
    ),
    _wrong_rate(
        "false_positive_rate",
        "False positive rate",
        "FP / (FP + TN)",
        measure=RateOf("false_positive"),
        aliases=("AIF360 false_positive_rate", "fairlearn false_positive_rate"),
    ),
    _right_rate(
        "true_negative_rate",
        "True negative rate (specificity)",
        "TN / (TN + FP)",
        measure=RateOf("true_negative"),
        aliases=("AIF360 true_negative_rate", "AIF360 specificity", "fairlearn true_negative_rate"),
    ),
    _right_rate(
        "positive_predictive_value",
        "Positive predictive value (precision)",
        "TP / (TP + FP)",
        measure=RateOf("positive_predictive"),
        aliases=(
            "AIF360 positive_predictive_value",
            "AIF360 precision",
            "fairlearn precision",
            "Clarify acceptance rate",
        ),
    ),
    _right_rate(
        "negative_predictive_value",
        "Negative predictive value",
        "TN / (TN + FN)",
        measure=RateOf("negative_predictive"),
        aliases=("AIF360 negative_predictive_value", "Clarify rejection rate"),
    ),
    _wrong_rate(
        "false_discovery_rate",
        "False discovery rate",
        "FP / (FP + TP)",
        measure=RateOf("false_discovery"),
        aliases=("AIF360 false_discovery_rate",),
    ),
    _wrong_rate(
        "false_omission_rate",
        "False omission rate",
        "FN / (FN + TN)",
        measure=RateOf("false_omission"),
        aliases=("AIF360 false_omission_rate",),
    ),
    _ratio(
        "balanced_accuracy",
        "Balanced accuracy",
        "(TPR + TNR) / 2",
        pairs.balanced_accuracy,
        parts("actual_favourable", "actual_unfavourable"),
        "{Subject}, {percent} of the predictions are right, if favourable and unfavourable labels count "
        "alike.",
        ("fairlearn balanced_accuracy",),
    ),
    _ratio(
        "f1",
        "F1 score",
        "2 TP / (2 TP + FP + FN)",
        pairs.f1,
        parts("any_favourable"),
        "{Subject}, the harmonic mean of precision and recall is {shown}; 1 is perfect.",
        ("fairlearn f1", "Clarify F1 Score"),
    ),
    _ratio(
        "conditional_acceptance",
        "Conditional acceptance",
        "(TP + FN) / (TP + FP)",
        pairs.conditional_acceptance,
        judged("predicted_favourable"),
        "{Subject}, there are {shown} favourable labels for each favourable prediction.",
        ("Clarify conditional acceptance",),
    ),
    _ratio(
        "conditional_rejection",
        "Conditional rejection",
        "(TN + FP) / (TN + FN)",
        pairs.conditional_rejection,
        judged("predicted_unfavourable"),
        "{Subject}, there are {shown} unfavourable labels for each unfavourable prediction.",
        ("Clarify conditional rejection",),
    ),
    _ratio(
        "treatment_ratio",
        "Treatment ratio",
        "FN / FP",
        pairs.treatment_ratio,
        judged("false_positive"),
        "{Subject}, there are {shown} wrongly unfavourable predictions for each wrongly favourable one.",
        ("Clarify FN/FP",),
    ),
    _count("record_count", "Labelled records", "n", "records", ("AIF360 num_instances", "fairlearn count")),
    _count(
        "actual_favourable_count",
        "Favourable labels",
        "P = TP + FN",
        "actual_favourable",
        ("AIF360 num_positives",),
    ),
    _count(
        "actual_unfavourable_count",
        "Unfavourable labels",
        "N = FP + TN",
        "actual_unfavourable",
        ("AIF360 num_negatives",),
    ),
    _count(
        "predicted_favourable_count",
        "Favourable predictions",
        "TP + FP",
        "predicted_favourable",
        ("AIF360 num_pred_positives",),
    ),
    _count(
        "predicted_unfavourable_count",
        "Unfavourable predictions",
        "TN + FN",
        "predicted_unfavourable",
        ("AIF360 num_pred_negatives",),
    ),
    _count(
        "true_positive_count",
        "True positives",
        "TP",
        "true_positive",
        ("AIF360 num_true_positives", "AIF360 power"),
    ),
    _count(
        "false_positive_count", "False positives", "FP", "false_positive", ("AIF360 num_false_positives",)
    ),
    _count("true_negative_count", "True negatives", "TN", "true_negative", ("AIF360 num_true_negatives",)),
    _count(
        "false_negative_count", "False negatives", "FN", "false_negative", ("AIF360 num_false_negatives",)
    ),
)
