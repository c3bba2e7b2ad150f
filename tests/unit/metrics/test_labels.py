"""Figures that labels of some records allow. Source: spec of the whole decision, part C; golden values."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.group_labels import build_groups
from app.statistics.intervals.verdicts import Undefined, Value
from app.statistics.measures.label_states import LabelCounts, LabelState
from app.statistics.measures.measure import measure_labelled
from app.statistics.sentences.figure_sentences import write_sentence
from app.statistics.tables.count_table import LabelledCells
from tests.builders.results import found
from tests.golden import golden

GROUPS = build_groups([("women", "monitored"), ("men", "reference")])
OF_APPROVED = {"positive_predictive_value", "false_discovery_rate", "difference_in_acceptance_rates"}


def counts_of(favourable: tuple[int, int], unfavourable: tuple[int, int]) -> LabelCounts:
    return LabelCounts.of(np.array([unfavourable, favourable]))


def cells(women: list[list[int]], men: list[list[int]]) -> LabelledCells:
    """Table of [actual (0, 1, none)][predicted] of each group."""
    counts = np.zeros((3, 3, 3, 2), np.int64)
    for group, own in enumerate((women, men)):
        for actual, row in enumerate(own):
            for predicted, count in enumerate(row):
                counts[group, actual, predicted, int(actual == predicted)] = count
    table = LabelledCells(GROUPS, counts)
    return replace(table, cohort=table.count_labels())


def sentence_of(metric: str, table: LabelledCells, group: str = "women") -> str:
    result = found(measure_labelled(table), metric, "group", group)
    value = result.number
    assert isinstance(value, Value)
    return write_sentence(metric, value=value.value, lower=value.lower, upper=value.upper, details=result.details)


def whole_decision() -> dict[str, Any]:
    right: dict[str, Any] = json.loads(golden("A7_whole_decision.json").read_text())
    return right


def test_states_of_labels_equal_the_golden_ones() -> None:
    for case in whole_decision()["C_label_states"]:
        counts = counts_of((case["favourable"], case["labelled_favourable"]), (case["unfavourable"], case["labelled_unfavourable"]))

        assert counts.state == case["state"]
        assert counts.p_value == pytest.approx(case["p"], abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=2, max_size=2))
def test_every_count_has_one_state_and_all_is_all(pairs: list[tuple[int, int]]) -> None:
    favourable, unfavourable = ((max(pair), min(pair)) for pair in pairs)
    counts = counts_of(favourable, unfavourable)

    assert (counts.state is LabelState.ALL) == (0 < counts.records == counts.labelled)
    assert (counts.state is LabelState.NONE) == (counts.labelled == 0)
    assert 0 <= counts.p_value <= 1


def test_labels_of_the_approved_alone_give_what_is_among_them_and_nothing_else() -> None:
    table = cells([[0, 61], [0, 526], [1348, 0]], [[0, 116], [0, 1105], [844, 0]])

    results = measure_labelled(table)

    computed = {figure.metric for figure in results if isinstance(figure.number, Value) and not figure.metric.endswith("_count")}
    assert computed <= OF_APPROVED | {"false_discovery_rate_difference", "false_discovery_rate_ratio"}
    assert computed >= OF_APPROVED
    absent = found(results, "true_positive_rate_difference", "group", "women").number
    assert isinstance(absent, Undefined)
    assert "587 of 587 favourable and 0 of 1,348 unfavourable predictions" in absent.reason
    right = whole_decision()["C_field_12"]["positive_predictive_value_of_the_labelled"]
    value = found(results, "positive_predictive_value", "group", "women").number
    assert isinstance(value, Value)
    assert value.value == pytest.approx(right["female"], rel=1e-12)
    assert "of the 587 with a label, all of them approved" in sentence_of("positive_predictive_value", table)


def test_labels_of_the_refused_alone_give_what_is_among_them() -> None:
    table = cells([[60, 0], [40, 0], [0, 100]], [[70, 0], [30, 0], [0, 90]])

    results = measure_labelled(table)

    assert isinstance(found(results, "false_omission_rate", "group", "women").number, Value)
    assert isinstance(found(results, "positive_predictive_value", "group", "women").number, Undefined)
    assert "of the 100 with a label, all of them refused" in sentence_of("false_omission_rate", table)


def test_a_comparison_has_the_worse_state_of_its_two_groups() -> None:
    table = cells([[60, 20], [20, 60], [0, 0]], [[60, 20], [20, 60], [80, 0]])

    results = measure_labelled(table)

    assert found(results, "accuracy", "group", "women").details.labels is None
    labels = found(results, "true_positive_rate_difference", "group", "women").details.labels
    assert labels is not None
    assert (labels["state"], labels["labelled"], labels["records"]) == ("uneven", 320, 400)
    assert "100 of 100 favourable and 67 of 100 unfavourable" in sentence_of("true_positive_rate_difference", table)


def test_a_table_where_all_have_a_label_adds_nothing() -> None:
    table = cells([[60, 20], [20, 60]], [[60, 20], [20, 60]])

    assert all(figure.details.labels is None for figure in measure_labelled(table))
    assert "with a label" not in sentence_of("accuracy", table)


def test_a_table_that_does_not_count_those_without_a_label_says_of_how_many_it_is() -> None:
    table = replace(cells([[60, 20], [20, 60]], [[60, 20], [20, 60]]), cohort=None)

    assert "of the 160 with a label" in sentence_of("accuracy", table)


def test_the_cohort_is_stored_and_joined_by_the_one_of_the_most_records() -> None:
    small, large = cells([[6, 2], [2, 6], [4, 0]], [[6, 2], [2, 6]]), cells([[60, 20], [20, 60], [40, 0]], [[60, 20], [20, 60]])
    again = LabelledCells.from_json(small.to_json())

    assert again.cohort is not None
    assert again.cohort.tolist() == small.count_labels().tolist()
    joined = LabelledCells.merge([again, large]).cohort
    assert joined is not None
    assert joined.tolist() == large.count_labels().tolist()
