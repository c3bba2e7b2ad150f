"""Metrics of the quality monitor, by the kind of model."""

from collections.abc import Collection, Mapping

from .refused import conflict, invalid_fields, printable

ALL_QUALITY_METRICS: Mapping[str, str] = {
    "accuracy": "accuracy",
    "true_positive_rate": "true_positive_rate",
    "recall": "true_positive_rate",
    "false_positive_rate": "false_positive_rate",
    "precision": "positive_predictive_value",
    "f1_measure": "f1",
    "area_under_roc": "roc_auc",
    "area_under_pr": "average_precision",
    "log_loss": "log_loss",
}
"""IBM's ids, and the keys under which the catalogue has them."""

QUALITY_METRICS: Mapping[str, Mapping[str, str]] = {
    "binary": ALL_QUALITY_METRICS,
    "multiclass": {"accuracy": "accuracy"},
    "regression": {},
}


def problem_types_of(identifier: str) -> list[str]:
    return [kind for kind, metrics in QUALITY_METRICS.items() if identifier in metrics]


def catalogue_keys(problem_type: str) -> set[str]:
    return set(QUALITY_METRICS[problem_type].values())


def require_quality(problem_type: str, limited: Collection[str]) -> None:
    """Raises Refused unless quality of that kind of model, and every metric with a limit, is measured."""
    measured = QUALITY_METRICS[problem_type]
    if not measured:
        raise conflict(
            f"Quality of {problem_type} models is not supported by Evenhand, which measures outcomes."
            " Compute errors of their predictions from exported records."
        )
    others = [metric for metric in limited if metric not in measured]
    if others:
        message = f"is not measured by Evenhand for {problem_type} models, which have {', '.join(measured)}"
        raise invalid_fields([("thresholds", f"{printable(metric)} {message}") for metric in others])
