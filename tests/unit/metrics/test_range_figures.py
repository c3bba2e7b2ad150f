"""Figures of a whole range are those of a check, from the sums of its hours: golden rates, ratios, intervals and choices."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.statistics.e_values.state_words import State
from app.statistics.group_labels import build_groups
from app.statistics.intervals.verdicts import Measured, Value
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.measures.period_figures import (
    HeadFacts,
    PeriodFigure,
    PeriodHead,
    count_hours_outside,
    measure_period,
)
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from app.statistics.tables.record_kinds import CounterfactualCells
from app.statistics.tables.strata_counts import Weighting
from tests.golden import golden

LIMITS = {"disparate_impact": (0.8, 1.25)}
near = pytest.approx


def read_range() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(golden("A9_accountability.json").read_text(encoding="utf-8"))["range"]
    return content


def count(table: Mapping[str, Sequence[float]], reference: Sequence[str]) -> GroupCounts:
    """Cells are [favourable, unfavourable], then Σw and Σw² of either; reference values are pooled by the measure."""
    groups = build_groups([(name, "reference" if name in reference else "monitored") for name in table])
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
    chosen = worst.interval_of_choice or worst.number
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
    table = LabelledCells(build_groups([("m", "monitored"), ("r", "reference")]), counts)
    measured = measure_labelled(replace(table, cohort=table.count_labels()), seed=1)

    golden_names = {"true_positive_rate_difference": "equal_opportunity_difference"}
    for metric in ("true_positive_rate_difference", "false_positive_rate_difference"):
        name = golden_names.get(metric, metric)
        number = figure_of(measured, metric, "m").number
        assert isinstance(number, Value)
        assert [number.value, number.lower, number.upper] == near([found[name][end] for end in ("value", "low", "high")], rel=1e-9)


def count_days(days: Sequence[Sequence[int]]) -> list[GroupCounts]:
    return [count({"m": [k, n - k], "r": [k_r, n_r - k_r]}, ["r"]) for k, n, k_r, n_r in days]


def measure_days(case: Mapping[str, Any]) -> PeriodFigure:
    days = count_days(case["days"])
    (figure,) = measure_period(GroupCounts.merge(days), days, tuple(case["limits"]))
    return figure


def test_favourable_outcomes_that_a_group_lacks() -> None:
    found = read_range()
    for case in (found["month"], *found["few"], found["weighted"], found["weighted_equal"]):
        figures = {figure.group: figure for figure in measure_period(count(case["table"], case["reference"]), [], (0.8, 1.25))}
        for row in case["figures"]["rows"]:
            figure = figures[row["group"]]
            assert figure.fewer is not None
            assert (figure.monitored.favourable, figure.monitored.n) == (row["favourable"], row["n"])
            assert [figure.monitored.rate, figure.reference.rate] == near([row["rate"], row["reference_rate"]], rel=1e-9)
            assert figure.fewer.value == near(row["fewer"], rel=1e-9)
            assert figure.fewer.lower == (near(row["fewer_low"], rel=1e-9) if "fewer_low" in row else None)
            assert figure.fewer.upper == (near(row["fewer_high"], rel=1e-9) if "fewer_high" in row else None)


def test_days_outside_and_the_ratio_within_days() -> None:
    found = read_range()
    for case in (found["days"], found["mix_of_days"]):
        figure = measure_days(case)
        assert figure.ratio is not None
        assert figure.within is not None
        of_period, within = case["period"], case["within_days"]
        assert [figure.ratio.value, figure.ratio.lower, figure.ratio.upper] == near([*of_period.values()], rel=1e-9)
        assert [figure.within.value, figure.within.lower, figure.within.upper] == near([*within.values()], rel=1e-9)
    units, expected = measure_days(found["days"]).units, found["days"]["within"]
    assert (units.empty, units.few, units.judged, units.outside, units.clearly) == tuple(
        expected[name] for name in ("empty", "too_few", "judged", "outside", "clearly_outside")
    )


def test_hours_outside_are_counted_once() -> None:
    for case in read_range()["hours_outside"]:
        incidents = [(since, until) for since, until in case["incidents"]]
        assert count_hours_outside(incidents, *case["period"]) == case["hours"]


def read_facts(inputs: Mapping[str, Any]) -> HeadFacts:
    ratio = None
    if inputs["ratio"] is not None:
        ratio = Value(inputs["ratio"], inputs["ratio_low"], inputs["ratio_high"], "log_ratio", 2 * inputs["smallest"])
    return HeadFacts(
        limits=(inputs["lower"], inputs["upper"]),
        state=State(inputs["state"]),
        hours_outside=inputs["hours_outside"],
        ratio=ratio,
        smallest=inputs["smallest"],
    )


def test_the_head_of_a_comparison_and_of_a_report(subtests: pytest.Subtests) -> None:
    found = read_range()
    for case in found["heads"]:
        with subtests.test(case["case"]):
            assert read_facts(case["inputs"]).head is PeriodHead(case["head"])
    for case in found["head_of_all"]:
        facts = [read_facts(inputs) for inputs in case["comparisons"]]
        gravest = min(range(len(facts)), key=lambda place: facts[place].gravity)
        assert (gravest, facts[gravest].head) == (case["place"], PeriodHead(case["head"]))


def count_kinds(kinds: Sequence[Any], reference: Sequence[str]) -> CounterfactualCells:
    """Kinds are [own group, outcome, {changed to: [favourable copies, classified copies]}, records]."""
    labels = list(dict.fromkeys([kind[0] for kind in kinds] + [label for kind in kinds for label in kind[2]]))
    groups = build_groups([(label, "reference" if label in reference else "monitored") for label in labels])
    rows = [kind for kind in kinds for _ in range(kind[3])]
    copies = np.zeros((2, len(rows), len(labels)), np.int64)
    for position, kind in enumerate(rows):
        for label, cells in kind[2].items():
            copies[:, position, labels.index(label)] = cells
    return CounterfactualCells.from_records(
        groups,
        np.array([labels.index(kind[0]) for kind in rows]),
        outcome=np.array([kind[1] for kind in rows]),
        copies_favourable=copies[0],
        copies_classified=copies[1],
    )


def test_counterfactual_kinds_of_all_hours_are_weighed_by_the_shares_of_the_period() -> None:
    found = read_range()
    hours = found["counterfactual"]["hours"]
    table = CounterfactualCells.merge([count_kinds(hour, ["r1", "r2"]) for hour in hours])
    expected = found["counterfactual"]["figures"]
    number = figure_of(measure_counterfactual(table, limits=LIMITS), "disparate_impact", "m").number
    assert isinstance(number, Value)
    assert number.value == near(expected["ratio"], rel=1e-9)

    pairs = found["counterfactual_pairs"]
    number = figure_of(measure_counterfactual(count_kinds(pairs["kinds"], ["r"]), limits=LIMITS), "disparate_impact", "m").number
    assert isinstance(number, Value)
    ends = [pairs["figures"][name] for name in ("ratio", "ratio_low", "ratio_high")]
    assert [number.value, number.lower, number.upper] == near(ends, rel=1e-9)
