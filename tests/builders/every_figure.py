"""Every figure of random records."""

from app.statistics.catalogue import Data
from app.statistics.figure_values import Measured
from app.statistics.measures.measure import measure_feedback, measure_payload, measure_training
from app.statistics.measures.perturbed_data import measure_balanced, measure_debiased, measure_debiased_feedback, measure_perturbed
from tests.builders.random_records import Records

DRAWS = 50


def everything(sample: Records) -> dict[Data, list[Measured]]:
    """The figures of each data set."""
    return {
        "payload": measure_payload(sample.group_counts(), limits={"disparate_impact": (0.8, 1.25)}, draws=DRAWS),
        "payload_perturbed": measure_perturbed(sample.balanced_cells(), seed=1, draws=DRAWS),
        "balanced": measure_balanced(sample.balanced_cells()),
        "feedback": measure_feedback(sample.feedback_cells(), draws=DRAWS),
        "training": measure_training(sample.label_counts(), draws=DRAWS),
        "debiased": measure_debiased(sample.debiased_cells(), seed=1, draws=DRAWS),
        "debiased_feedback": measure_debiased_feedback(sample.debiased_feedback(), seed=1, draws=DRAWS),
    }
