"""Metrics of the quality monitor, by the kind of model."""

from collections.abc import Mapping

QUALITY_METRICS: Mapping[str, Mapping[str, str]] = {
    "binary": {
        "accuracy": "accuracy",
        "true_positive_rate": "true_positive_rate",
        "recall": "true_positive_rate",
        "false_positive_rate": "false_positive_rate",
        "precision": "positive_predictive_value",
        "f1_measure": "f1",
        "area_under_roc": "roc_auc",
        "area_under_pr": "average_precision",
        "log_loss": "log_loss",
    },
    "multiclass": {
        "accuracy": "accuracy",
        "weighted_true_positive_rate": "weighted_recall",
        "weighted_false_positive_rate": "weighted_false_positive_rate",
        "weighted_recall": "weighted_recall",
        "weighted_precision": "weighted_precision",
        "weighted_f1_measure": "weighted_f1",
        "macro_true_positive_rate": "macro_recall",
        "macro_false_positive_rate": "macro_false_positive_rate",
        "macro_recall": "macro_recall",
        "macro_precision": "macro_precision",
        "macro_f1_measure": "macro_f1",
        "log_loss": "class_log_loss",
    },
    "regression": {
        "mean_absolute_error": "mean_absolute_error",
        "mean_squared_error": "mean_squared_error",
        "root_mean_squared_error": "root_mean_squared_error",
        "r2": "r2",
        "explained_variance": "explained_variance",
    },
}
"""IBM's ids, and the keys under which the catalogue has them. The macro averages are named alike."""

# Names of two kinds are described as those of a binary model, the first.
_LAST_FIRST = reversed(list(QUALITY_METRICS.values()))
ALL_QUALITY_METRICS: Mapping[str, str] = {name: key for metrics in _LAST_FIRST for name, key in metrics.items()}


def problem_types_of(identifier: str) -> list[str]:
    return [kind for kind, metrics in QUALITY_METRICS.items() if identifier in metrics]


def catalogue_keys(problem_type: str) -> set[str]:
    return set(QUALITY_METRICS[problem_type].values())
