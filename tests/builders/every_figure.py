"""Every figure of random records."""

from app.statistics.catalogue import Data
from app.statistics.intervals.verdicts import Measured
from app.statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from app.statistics.measures.perturbed_data import measure_counterfactual, measure_mitigated, measure_mitigated_labelled, measure_openscale
from tests.builders.random_records import Records

DRAWS = 50


def everything(sample: Records) -> dict[Data, list[Measured]]:
    """The figures of each data set."""
    return {
        "as_logged": measure_as_logged(sample.group_counts(), limits={"disparate_impact": (0.8, 1.25)}, draws=DRAWS),
        "openscale": measure_openscale(sample.counterfactual_cells(), seed=1, draws=DRAWS),
        "counterfactual": measure_counterfactual(sample.counterfactual_cells()),
        "labelled": measure_labelled(sample.feedback_cells(), draws=DRAWS),
        "training": measure_training(sample.label_counts(), draws=DRAWS),
        "mitigated": measure_mitigated(sample.mitigated_cells(), seed=1, draws=DRAWS),
        "mitigated_labelled": measure_mitigated_labelled(sample.mitigated_labelled(), seed=1, draws=DRAWS),
    }
