"""Our metrics between all groups beside those of aif360 0.6.1, where groups of fewer than ten records and weights are among the records.

The golden values were given by the library for these very records; with weights, by `instance_weights` of the dataset.
"""

import numpy as np
import pytest

from app.statistics.catalogue import list_metrics_on
from app.statistics.catalogue.metric import SpreadFigure
from app.statistics.group_labels import FloatArray, Role
from app.statistics.measures.measure import measure_labelled
from app.statistics.sentences.figure_sentences import write_sentence
from app.statistics.tables.count_table import LabelledCells
from tests.builders.results import found, value

GROUPS: list[tuple[str, Role]] = [("white", "reference"), ("black", "monitored"), ("asian", "monitored"), ("other", "monitored")]
CONFUSION = np.array([[[300, 60], [50, 190]], [[40, 6], [15, 19]], [[1, 0], [1, 2]], [[0, 2], [0, 0]]])
"""Records by group, label and prediction: four of `asian`, two of `other`."""

WEIGHT_OF_FALSE_POSITIVES, WEIGHT_OF_LATER_GROUPS = 2.0, 0.5
"""A record weighs 1, so much more if it is a false positive, and so much more for every place of its group."""

GOLDEN = {
    "generalized_entropy_index": 0.09709640346133033,
    "theil_index": 0.1341062557171818,
    "coefficient_of_variation": 0.4406731293403997,
    "between_all_groups_generalized_entropy_index": 0.0024806571260369754,
    "between_all_groups_theil_index": 0.0022033201751155444,
    "between_all_groups_coefficient_of_variation": 0.07043659739137,
    "smoothed_empirical_differential_fairness": 1.4350845252893225,
    "differential_fairness_bias_amplification": -0.021391189981317282,
}
OF_LABELS_WEIGHED = {
    "smoothed_empirical_differential_fairness": 2.670309873119363,
    "differential_fairness_bias_amplification": -0.146086119990529,
}
"""The library weighs records here, and nowhere else in the family: its other figures with weights are those without."""

OF_RECORDS_REPEATED = {
    "generalized_entropy_index": 0.11341211933060809,
    "theil_index": 0.1449155774814601,
    "coefficient_of_variation": 0.47626068351399337,
    "between_all_groups_generalized_entropy_index": 0.00510763961927974,
    "between_all_groups_theil_index": 0.004770891596274045,
    "between_all_groups_coefficient_of_variation": 0.10107066457958748,
}
"""What the library gives where each record is repeated as often as twice its weight, and nothing is weighed."""

OF_FAIRLEARN = {"equalized_odds_difference_across_groups", "equalized_odds_ratio_across_groups"}
"""The other library has none of these: they are compared with fairlearn's."""


def table(*, weighed: bool) -> LabelledCells:
    """The records, one by one."""
    group, actual, predicted = (axis.ravel().repeat(CONFUSION.ravel()) for axis in np.indices(CONFUSION.shape))
    weights: FloatArray = 1 + WEIGHT_OF_FALSE_POSITIVES * ((actual == 0) & (predicted == 1)) + WEIGHT_OF_LATER_GROUPS * group
    correct = (actual == predicted).astype(np.int64)
    return LabelledCells.from_records(
        GROUPS, group, actual=actual, predicted=predicted, correct=correct, weights=weights if weighed else None
    )


def figure(cells: LabelledCells, key: str) -> float:
    """Our value of everybody, or of all groups."""
    results = measure_labelled(cells, metrics=[key], draws=40)
    return value(results, key, results[0].scope).value


@pytest.mark.parametrize(("key", "golden"), GOLDEN.items())
def test_every_group_counts_in_the_figures_between_all_groups_however_small_it_is(key: str, golden: float) -> None:
    assert figure(table(weighed=False), key) == pytest.approx(golden, rel=1e-9)


def test_every_metric_between_all_groups_is_compared() -> None:
    between_groups = {row.key for row in list_metrics_on("labelled") if isinstance(row.measure, SpreadFigure)}

    assert between_groups - GOLDEN.keys() == OF_FAIRLEARN


@pytest.mark.parametrize(("key", "golden"), OF_LABELS_WEIGHED.items())
def test_differential_fairness_weighs_records_as_the_library_does(key: str, golden: float) -> None:
    assert figure(table(weighed=True), key) == pytest.approx(golden, rel=1e-9)


@pytest.mark.parametrize(("key", "repeated"), OF_RECORDS_REPEATED.items())
def test_entropy_weighs_records_though_the_library_ignores_their_weights(key: str, repeated: float) -> None:
    """With weights the library's figure stays the one without; ours is its figure of the records repeated."""
    assert figure(table(weighed=True), key) == pytest.approx(repeated, rel=1e-9)
    assert abs(repeated - GOLDEN[key]) > 1e-3


def test_the_sentence_says_of_how_many_groups_it_is_and_what_it_would_be_without_the_small_ones() -> None:
    result = found(measure_labelled(table(weighed=False)), "between_all_groups_theil_index", "attribute")

    told = write_sentence(result.metric, value=0.0022, lower=0.0, upper=0.1, details=result.details)

    assert told.startswith("The mean benefits of all 4 groups with labelled records are spread with an index of")
    assert "Caution: it rests on 2 records in its smallest denominator" in told
    assert told.endswith("Without the 2 groups of fewer than 10 records (6 in all) its value is 0.000894.")
