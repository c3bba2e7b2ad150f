"""Figures of a whole range are those of a check, from the sums of its hours: golden rates, ratios, intervals and choices."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.statistics.figure_values import Measured, Value
from app.statistics.group_labels import as_groups
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from app.statistics.tables.strata_counts import Weighting
from tests.golden import golden

LIMITS = {"disparate_impact": (0.8, 1.25)}
near = pytest.approx


def read_range() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(golden("A9_accountability.json").read_text(encoding="utf-8"))["range"]
    return content


def count(table: Mapping[str, Sequence[float]], reference: Sequence[str]) -> GroupCounts:
    """Cells are [favourable, unfavourable], then Σw and Σw² of either; reference values are pooled by the measure."""
    groups = as_groups([(name, "reference" if name in reference else "monitored") for name in table])
    cells = np.array([[row[1], row[0]] for row in table.values()], np.int64)
    counts = np.pad(cells, ((0, 1), (0, 1)))
    sums = [[[row[first + 1], row[first]] for row in table.values()] for first in (2, 4) if len(next(iter(table.values()))) > 2]
    weighting = Weighting(*(np.pad(np.array(sum_of), ((0, 1), (0, 1))) for sum_of in sums)) if sums else None
    return GroupCounts(groups, counts, weighting)


def figure_of(measured: Sequence[Measured], metric: str, group: str) -> Measured:
    return next(figure for figure in measured if (figure.metric, figure.scope, figure.group) == (metric, "group", group))


def compare(table: Mapping[str, Sequence[float]], reference: Sequence[str], expected: Mapping[str, Any]) -> None:
    measured = measure_as_logged(count(table, reference), limits=LIMITS, seed=1)
    for row in expected["rows"]:
        rate = figure_of(measured, "favourable_rate", row["group"]).number
        ratio = figure_of(measured, "disparate_impact", row["group"]).number
        assert isinstance(rate, Value)
        assert isinstance(ratio, Value)
        assert rate.value == near(row["rate"], rel=1e-9)
        assert [ratio.value, ratio.lower, ratio.upper] == near([row["ratio"], row["ratio_low"], row["ratio_high"]], rel=1e-9)
    worst = next(figure for figure in measured if figure.metric == "disparate_impact" and figure.worst_of)
    chosen = worst.for_choice or worst.number
    assert isinstance(chosen, Value)
    assert (worst.group, worst.worst_of) == (expected["worst"]["group"], expected["worst"]["chosen_from"])
    assert [chosen.lower, chosen.upper] == near([expected["worst"]["chosen_low"], expected["worst"]["chosen_high"]], rel=1e-9)


def test_a_month_of_several_groups_and_reference_values(subtests: pytest.Subtests) -> None:
    found = read_range()
    for case in (found["month"], *found["few"], found["weighted"], found["weighted_equal"]):
        with subtests.test(table=case["table"]):
            compare(case["table"], case["reference"], case["figures"])


def test_hours_added_up_and_parts_apart() -> None:
    found = read_range()
    compare(found["sums"]["table"], ["men"], found["sums"]["figures"])
    for part in found["parts"]["parts"]:
        compare(part["table"], ["r"], part["figures"])


def test_labels_of_the_range() -> None:
    found = read_range()["labels"]
    counts = np.zeros((3, 3, 3, 2), np.int64)
    for group, cells in enumerate(found["cells"].values()):
        for actual in (0, 1):
            for predicted in (0, 1):
                counts[group, actual, predicted, int(actual == predicted)] = cells[actual][predicted]
    table = LabelledCells(as_groups([("m", "monitored"), ("r", "reference")]), counts)
    measured = measure_labelled(replace(table, cohort=table.count_labels()), seed=1)

    golden_names = {"true_positive_rate_difference": "equal_opportunity_difference"}
    for metric in ("true_positive_rate_difference", "false_positive_rate_difference"):
        name = golden_names.get(metric, metric)
        number = figure_of(measured, metric, "m").number
        assert isinstance(number, Value)
        assert [number.value, number.lower, number.upper] == near([found[name][end] for end in ("value", "low", "high")], rel=1e-9)
