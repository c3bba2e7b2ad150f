"""Our values beside those of AWS's blog post on Clarify, from its confusion matrices of women and men: exact, and as printed.

The flip test and the conditional metrics by age and education need rows that the post does not give.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from app.statistics.group_labels import Role
from app.statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.contract.metric_names import entries, key_of
from tests.contract.parity import DRAWS, EXACT, Found, golden_json, numbers, plain

AS_PRINTED = 0.0015
WOMEN, MEN = "Female(d)", "Male(a)"
GROUPS: list[tuple[str, Role]] = [(WOMEN, "monitored"), (MEN, "reference")]
OF_STRATA = {"CDDL(group=Age)", "CDDL(group=Education-Num)"}
WITHOUT_STRATA = "DD_unconditioned"
OTHER_SIGN = {"SD": "a - d printed", "DRR": "the difference printed is a - d, the rates it is printed of are d - a"}
"""Where the post prints the opposite of what AWS's documentation and library define, and what it did."""

PER_GROUP = {
    "n": "record_count",
    "positive": "actual_favourable_count",
    "predicted_positive": "predicted_favourable_count",
    "base_rate": "base_rate",
    "selection_rate": "favourable_rate",
    "accuracy": "accuracy",
    "recall": "true_positive_rate",
    "acceptance_rate": "positive_predictive_value",
    "conditional_acceptance": "conditional_acceptance",
    "specificity": "true_negative_rate",
    "rejection_rate": "negative_predictive_value",
    "conditional_rejection": "conditional_rejection",
    "FN_over_FP": "treatment_ratio",
}


@pytest.mark.parametrize("group", [WOMEN, MEN])
def test_every_figure_of_a_group_is_exact(group: str) -> None:
    expected = _golden()["per_group"][group]

    ours = {name: plain(_feedback()[key, "group", group]) for name, key in PER_GROUP.items()}
    assert ours == pytest.approx(expected, abs=EXACT)


def test_every_pre_training_metric_is_exact_on_training_data_and_on_feedback() -> None:
    expected = {name: value for name, value in _golden()["pretraining_exact"].items() if name not in {*OF_STRATA, WITHOUT_STRATA}}

    for found in (_training(), _feedback()):
        assert {name: plain(found[key_of("Clarify", name), "group", WOMEN]) for name in expected} == pytest.approx(expected, abs=EXACT)


def test_demographic_disparity_without_strata_is_that_of_one_stratum() -> None:
    found = _training()["conditional_demographic_disparity_in_labels", "group", WOMEN]

    assert plain(found) == pytest.approx(_golden()["pretraining_exact"][WITHOUT_STRATA], abs=EXACT)


def test_every_post_training_metric_is_exact() -> None:
    expected = _golden()["posttraining_exact"]

    assert {name: _post_training(name) for name in expected} == pytest.approx(expected, abs=EXACT)


def test_every_printed_figure_is_ours_with_the_documentations_sign() -> None:
    compared = _golden()["blog_vs_exact"]
    before, after = _golden()["pretraining_exact"], _golden()["posttraining_exact"]
    assert {name for name, entry in compared.items() if not entry["sign_matches"]} == set(OTHER_SIGN)
    assert set(compared) <= set(before) | set(after)

    for name, entry in compared.items():
        ours = plain(_training()[key_of("Clarify", name), "group", WOMEN]) if name in before else _post_training(name)
        printed = -entry["blog_printed"] if name in OTHER_SIGN else entry["blog_printed"]
        assert ours == pytest.approx(printed, abs=AS_PRINTED), name


def test_all_that_can_be_computed_of_the_post_is_compared() -> None:
    conditional = {"CDDL", "CDDPL"}
    before, after = _golden()["pretraining_exact"], _golden()["posttraining_exact"]

    assert set(before) > OF_STRATA
    assert (set(before) | set(after)) - {*OF_STRATA, WITHOUT_STRATA} == set(entries("Clarify")) - conditional - {"FT"}


def _golden() -> Any:  # noqa: ANN401 - a JSON value
    return golden_json("A5_aws_blog.json")


def _post_training(name: str) -> float:
    key = key_of("Clarify", name)
    return plain(_feedback()[(key, "overall", None) if name == "GE" else (key, "group", WOMEN)])


@cache
def _feedback() -> Found:
    codes, actual, predicted = _records()
    table = LabelledCells.from_records(GROUPS, codes, actual=actual, predicted=predicted, correct=(actual == predicted).astype(np.int64))
    of_predictions = measure_as_logged(GroupCounts.from_records(GROUPS, codes, outcome=predicted), draws=DRAWS)
    return numbers([*of_predictions, *measure_labelled(table, draws=DRAWS)])


@cache
def _training() -> Found:
    codes, actual, _ = _records()
    table = GroupCounts.from_records(GROUPS, codes, outcome=actual, strata=(["everybody"], np.zeros(len(codes), np.int64)))
    return numbers(measure_training(table, draws=DRAWS))


@cache
def _records() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Group, label and prediction of each person counted."""
    cells = {"TP": (1, 1), "FP": (0, 1), "FN": (1, 0), "TN": (0, 0)}
    kinds = [(code, *cell) for code in range(2) for cell in cells.values()]
    many = [_golden()["counts"][group][name] for group, _ in GROUPS for name in cells]
    codes, actual, predicted = np.repeat(np.array(kinds), many, axis=0).T
    return codes, actual, predicted
