"""aif360: every group metric of a `ClassificationMetric` on a `BinaryLabelDataset`, of one comparison: women with men."""

import pandas as pd
from aif360.datasets import BinaryLabelDataset
from aif360.metrics import ClassificationMetric
from measuring import RACES, REFERENCE_SEX, run_side

BY_GROUP = (
    "num_instances",
    "num_positives",
    "num_negatives",
    "base_rate",
    "num_true_positives",
    "num_false_positives",
    "num_true_negatives",
    "num_false_negatives",
    "num_pred_positives",
    "num_pred_negatives",
    "selection_rate",
    "performance_measures",
    "accuracy",
    "error_rate",
    "num_generalized_true_positives",
    "num_generalized_false_positives",
    "num_generalized_true_negatives",
    "num_generalized_false_negatives",
)
COMPARISONS = (
    "statistical_parity_difference",
    "disparate_impact",
    "true_positive_rate_difference",
    "false_positive_rate_difference",
    "false_negative_rate_difference",
    "false_omission_rate_difference",
    "false_discovery_rate_difference",
    "error_rate_difference",
    "false_positive_rate_ratio",
    "false_negative_rate_ratio",
    "false_omission_rate_ratio",
    "false_discovery_rate_ratio",
    "error_rate_ratio",
    "average_odds_difference",
    "average_abs_odds_difference",
    "average_predictive_value_difference",
    "equalized_odds_difference",
    "generalized_equalized_odds_difference",
    "generalized_entropy_index",
    "theil_index",
    "coefficient_of_variation",
    "between_group_generalized_entropy_index",
    "between_group_theil_index",
    "between_group_coefficient_of_variation",
    "between_all_groups_generalized_entropy_index",
    "between_all_groups_theil_index",
    "between_all_groups_coefficient_of_variation",
    "smoothed_empirical_differential_fairness",
    "differential_fairness_bias_amplification",
)


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": (frame["sex"] == REFERENCE_SEX).astype(float),
            "race": pd.Categorical(frame["race"], categories=list(RACES)).codes.astype(float),
            "label": frame["label"].astype(float),
            "prediction": frame["prediction"].astype(float),
            "score": frame["score"],
        }
    )


def work(frame: pd.DataFrame) -> int:
    """Builds both data sets, then computes every metric: of all rows, of both groups, and between them."""
    truth = BinaryLabelDataset(df=frame[["sex", "race", "label"]], label_names=["label"], protected_attribute_names=["sex", "race"])
    predicted = truth.copy()
    predicted.labels = frame[["prediction"]].to_numpy()
    predicted.scores = frame[["score"]].to_numpy()
    metric = ClassificationMetric(truth, predicted, unprivileged_groups=[{"sex": 0.0}], privileged_groups=[{"sex": 1.0}])
    figures = 0
    for name in BY_GROUP:
        for privileged in (None, True, False):
            value = getattr(metric, name)(privileged=privileged)
            figures += len(value) if isinstance(value, dict) else 1
    return figures + len([getattr(metric, name)() for name in COMPARISONS])


if __name__ == "__main__":
    run_side("aif360", prepare, work)
