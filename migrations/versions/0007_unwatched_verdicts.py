"""Verdicts on figures beyond a side without a limit: they were stored as `fair`, and are `unwatched`."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

RATIOS = """
    'disparate_impact', 'disparate_impact_before', 'disparate_impact_after', 'balanced_disparate_impact_before',
    'balanced_disparate_impact_after', 'true_positive_rate_ratio', 'false_positive_rate_ratio', 'false_negative_rate_ratio',
    'false_discovery_rate_ratio', 'false_omission_rate_ratio', 'error_rate_ratio'
"""
DIFFERENCES = """
    'statistical_parity_difference', 'difference_in_positive_proportions_in_predicted_labels', 'true_positive_rate_difference',
    'false_positive_rate_difference', 'false_negative_rate_difference', 'false_discovery_rate_difference',
    'false_omission_rate_difference', 'error_rate_difference', 'average_odds_difference', 'average_predictive_value_difference',
    'accuracy_difference', 'recall_difference', 'specificity_difference', 'difference_in_acceptance_rates',
    'difference_in_rejection_rates', 'difference_in_conditional_acceptance', 'difference_in_conditional_rejection',
    'treatment_equality', 'calibration_gap', 'class_imbalance', 'difference_in_proportions_of_labels',
    'conditional_demographic_disparity_in_labels', 'conditional_demographic_disparity_in_predicted_labels', 'counterfactual_flip_test'
"""
STATEMENTS = (
    f"""
    UPDATE measurements SET verdict = 'unwatched'
    WHERE verdict = 'fair' AND metric IN ({RATIOS})
      AND (upper_limit IS NULL AND lower_limit > 0 AND lower_limit <= 1 AND value * lower_limit > 1 + 1e-9
           OR lower_limit IS NULL AND upper_limit >= 1 AND value * upper_limit < 1 - 1e-9)
    """,  # noqa: S608 - only the names above are put in
    f"""
    UPDATE measurements SET verdict = 'unwatched'
    WHERE verdict = 'fair' AND metric IN ({DIFFERENCES})
      AND (upper_limit IS NULL AND lower_limit <= 0 AND value > -lower_limit + 1e-9
           OR lower_limit IS NULL AND upper_limit >= 0 AND value < -upper_limit - 1e-9)
    """,  # noqa: S608 - as above
)


def upgrade() -> None:
    """Renames the verdicts to those given from now on; values, intervals and limits stay as they were measured."""
    for statement in STATEMENTS:
        op.execute(statement)
