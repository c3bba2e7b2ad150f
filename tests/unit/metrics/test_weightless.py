"""Why figures of many cells have no number where records are there but weigh nothing."""

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.statistics.group_labels import Role
from app.statistics.intervals.verdicts import Measured
from app.statistics.measures.composites import TOO_FEW_GROUPS, TOO_FEW_WEIGHING_GROUPS
from app.statistics.measures.measure import measure_labelled
from app.statistics.tables.count_table import LabelledCells
from tests.builders.page_words import says
from tests.builders.results import found, reason

RACES: list[tuple[str, Role]] = [("Black", "monitored"), ("Asian", "monitored"), ("White", "reference")]
CDDL = "conditional_demographic_disparity_in_labels"


def weighing(weights: list[int], codes: tuple[int, ...] = (0, 1, 2)) -> list[Measured]:
    """Of each group four records of every label and prediction, the last without a stratum."""
    groups = len(codes)
    actual, predicted = np.tile([0, 0, 1, 1], groups), np.tile([0, 1, 0, 1], groups)
    table = LabelledCells.from_records(
        RACES,
        np.repeat(codes, 4),
        actual=actual,
        predicted=predicted,
        correct=actual == predicted,
        weights=weights,
        strata=(["one"], [0, 0, 0, -1] * groups),
    )
    return list(measure_labelled(table, draws=40))


@pytest.mark.parametrize("metric", ["f1", "equalized_odds_difference", "class_imbalance", CDDL])
def test_a_group_of_no_weight_says_so(metric: str) -> None:
    results = weighing([0] * 4 + [1] * 8)

    assert reason(results, metric, "group", "Black") == "the records of Black weigh nothing"


def test_a_reference_of_no_weight_says_so_and_leaves_one_group_to_compare(snapshot: SnapshotAssertion) -> None:
    results = weighing([1] * 4 + [0] * 8)

    assert says(text := reason(results, "class_imbalance", "group", "Black"), "reference", "White")
    assert text == snapshot
    assert reason(results, "between_all_groups_theil_index", "attribute") == TOO_FEW_WEIGHING_GROUPS


def test_records_of_no_weight_beside_others_are_not_called_the_whole_group(snapshot: SnapshotAssertion) -> None:
    without_unfavourable, without_stratum = weighing([0, 0, 1, 1] * 3), weighing([0, 0, 0, 1] * 3)

    assert says(text := reason(without_unfavourable, "balanced_accuracy", "group", "Black"), "Black")
    assert text == snapshot
    assert says(text := reason(without_stratum, CDDL, "group", "Black"), "Black")
    assert text == snapshot
    assert reason(without_unfavourable, CDDL, "group", "Black") == snapshot


def test_a_group_without_records_is_not_said_to_weigh_nothing(snapshot: SnapshotAssertion) -> None:
    results = weighing([0] * 4, codes=(0,))

    assert says(text := reason(results, "f1", "group", "Asian"), "Asian")
    assert text == snapshot
    assert says(text := reason(results, CDDL, "group", "Asian"), "Asian")
    assert text == snapshot
    assert reason(results, "between_all_groups_theil_index", "attribute") == TOO_FEW_GROUPS


def test_a_rate_whose_denominator_alone_weighs_nothing_does_not_call_the_whole_group_weightless(snapshot: SnapshotAssertion) -> None:
    without_unfavourable, without_any = weighing([0, 0, 1, 1] * 3), weighing([0] * 4 + [1] * 8)

    assert says(text := reason(without_unfavourable, "false_positive_rate", "group", "Black"), "Black")
    assert text == snapshot
    assert reason(without_unfavourable, "false_positive_rate", "overall") == snapshot
    assert says(text := reason(without_unfavourable, "false_positive_rate_ratio", "group", "Black"), "Black")
    assert text == snapshot
    assert reason(without_any, "false_positive_rate", "group", "Black") == "the records of Black weigh nothing"


def test_a_count_of_records_that_all_weigh_nothing_says_so_and_how_many_there_are() -> None:
    results = weighing([0] * 12)

    assert reason(results, "true_positive_count", "overall") == "the records weigh nothing"
    assert reason(results, "true_positive_count", "group", "Black") == "the records weigh nothing"
    assert found(results, "true_positive_count", "overall").number.n == 12
