"""Figures before and after mitigation, worked out by hand, and how sure their changes are."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.domain.check import Details
from app.statistics.group_labels import IntArray, Role
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.measures.perturbed_data import measure_counterfactual, measure_mitigated, measure_mitigated_labelled
from app.statistics.sentences.figure_sentences import write_sentence
from app.statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from app.statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from tests.builders.page_words import says
from tests.builders.results import found, reason, value

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]
SWAPPED: list[tuple[str, Role]] = [("Female", "reference"), ("Male", "monitored")]


def without_copies(groups: list[tuple[str, Role]], codes: Any, before: Any, after: Any) -> MitigatedCells:  # noqa: ANN401 - what numpy takes
    none = np.zeros((len(codes), len(groups)), np.int64)
    return MitigatedCells.from_records(
        groups, codes, before=before, after=after, copies_classified=none, copies_before=none, copies_after=none
    )


def window() -> dict[str, IntArray]:
    """50 women, 20 favourable and 10 more after, and 50 men, 30 favourable. Each has a copy: of the other women and men as they are.

    The women that are lifted have a favourable copy, and 5 favourable men an unfavourable one that mitigation lifts again.
    """
    codes = np.repeat([0, 1], 50)
    before = np.concatenate([np.repeat([1, 0], [20, 30]), np.repeat([1, 0], [30, 20])])
    after, copy, copy_after = before.copy(), before.copy(), before.copy()
    after[20:30] = copy[20:30] = copy_after[20:30] = 1
    copy[50:55] = 0
    classified = np.eye(2, dtype=np.int64)[1 - codes]
    return {
        "codes": codes,
        "before": before,
        "after": after,
        "copies_classified": classified,
        "copies_before": classified * copy[:, None],
        "copies_after": classified * copy_after[:, None],
    }


def test_payload_and_counterfactual_fairness_are_told_before_and_after() -> None:
    results = measure_mitigated(MitigatedCells.from_records(SEXES, **window()), seed=1)

    assert value(results, "selection_rate_before", "group", "Female").value == pytest.approx(20 / 50)
    assert value(results, "selection_rate_after", "group", "Female").value == pytest.approx(30 / 50)
    assert value(results, "selection_rate_after", "reference").value == pytest.approx(30 / 50)
    assert value(results, "disparate_impact_before", "worst").value == pytest.approx(20 / 30)
    assert value(results, "disparate_impact_after", "worst").value == pytest.approx(1)
    assert value(results, "counterfactual_disparate_impact_before", "pooled").value == pytest.approx((20 + 25) / (30 + 30))
    assert value(results, "counterfactual_disparate_impact_after", "pooled").value == pytest.approx((30 + 30) / (30 + 30))
    assert value(results, "disparate_impact_change", "pooled").value == pytest.approx(1 - 20 / 30)
    assert found(results, "counterfactual_disparate_impact_after", "pooled").details.reference_counts["own_n"] == 50


def test_what_mitigation_changes_is_counted_both_ways() -> None:
    table = without_copies(SEXES, [0] * 10 + [1] * 4, [0] * 6 + [1] * 4 + [0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1])

    results = measure_mitigated(table, seed=1)

    counted = {name: found(results, f"{name}_rate", "group", "Female").details for name in ("changed", "lifted", "lowered")}
    assert {name: (details.counts[name], details.counts["n"]) for name, details in counted.items()} == {
        "changed": (4, 10),
        "lifted": (3, 10),
        "lowered": (1, 10),
    }
    assert value(results, "changed_rate", "pooled").value == pytest.approx(0.4)
    assert value(results, "changed_rate", "group", "Male").value == 0


def test_the_figures_before_are_those_of_payload_and_counterfactual_data() -> None:
    records = window()
    counts = GroupCounts.from_records(SEXES, records["codes"], outcome=records["before"])
    cells = CounterfactualCells.from_records(
        SEXES,
        records["codes"],
        outcome=records["before"],
        copies_favourable=records["copies_before"],
        copies_classified=records["copies_classified"],
    )

    results = measure_mitigated(MitigatedCells.from_records(SEXES, **records), seed=7)

    for scope, group in (("pooled", None), ("worst", None), ("group", "Female")):
        payload = found(measure_as_logged(counts), "disparate_impact", scope, group)
        counterfactual = found(measure_counterfactual(cells), "disparate_impact", scope, group)
        before = found(results, "disparate_impact_before", scope, group)
        assert before.number == payload.number
        assert before.details.to_json() | {"formula": ""} == payload.details.to_json() | {"formula": ""}
        before = found(results, "counterfactual_disparate_impact_before", scope, group)
        assert before.number == counterfactual.number
        assert before.details.to_json() | {"formula": ""} == counterfactual.details.to_json() | {"formula": ""}


@pytest.mark.parametrize("records", [60, 600, 6000])
def test_a_window_without_any_change_leaves_room_for_three_records(records: int) -> None:
    codes, outcomes = np.repeat([0, 1], records), np.tile([0, 1], records)

    change = value(measure_mitigated(without_copies(SEXES, codes, outcomes, outcomes), seed=1), "disparate_impact_change", "pooled")

    assert change.value == 0
    assert change.lower is not None
    assert change.upper is not None
    # The reference rate is one half.
    assert (-change.lower, change.upper) == pytest.approx((2 * 3 / records, 2 * 3 / records), rel=0.2)


def test_labels_without_any_change_leave_room_for_three_records() -> None:
    outcomes = np.tile([0, 1], 500)
    table = MitigatedLabelledCells.from_records(
        (),
        np.full(1000, -1),
        actual=outcomes,
        before=outcomes,
        after=outcomes,
        correct_before=np.ones(1000, int),
        correct_after=np.ones(1000, int),
    )

    change = value(measure_mitigated_labelled(table, seed=1), "accuracy_change", "overall")

    assert change.value == 0
    assert change.upper == pytest.approx(3 / 1000, rel=0.2)


def test_a_change_is_surer_than_two_figures_of_which_nobody_knows_that_the_records_are_the_same() -> None:
    results = measure_mitigated(MitigatedCells.from_records(SEXES, **window()), seed=1)

    change, before, after = (value(results, f"disparate_impact_{part}", "pooled") for part in ("change", "before", "after"))

    assert change.upper is not None
    assert change.lower is not None
    assert before.upper is not None
    assert before.lower is not None
    assert after.upper is not None
    assert after.lower is not None
    assert change.lower > 0
    assert change.upper - change.lower < min(after.upper - after.lower, before.upper - before.lower)


def test_few_reference_records_that_never_change_add_no_doubt_about_changes_of_their_own() -> None:
    """50,000 women of whom half are lifted, and 40 men: only the men's own rate is unsure."""
    codes = np.repeat([0, 1], [50_000, 40])
    before = np.concatenate([np.repeat([1, 0], 25_000), np.tile([0, 1], 20)])
    after = np.concatenate([np.ones(50_000, np.int64), before[50_000:]])

    results = measure_mitigated(without_copies(SEXES, codes, before, after), seed=1)

    change, ratio = value(results, "disparate_impact_change", "pooled"), value(results, "disparate_impact_before", "pooled")
    assert change.value == pytest.approx(ratio.value) == 1
    assert (change.lower, change.upper) == pytest.approx((ratio.lower, ratio.upper), rel=0.1)


def test_records_that_were_monitored_when_they_were_counted_keep_their_change_as_a_reference() -> None:
    monday = without_copies(SEXES, [0] * 20 + [1] * 20, [0] * 20 + [1] * 20, [1] * 20 + [1] * 20)
    tuesday = without_copies(SWAPPED, [0] * 20 + [1] * 20, [0, 1] * 20, [0, 1] * 20)

    results = measure_mitigated(MitigatedCells.merge([monday, tuesday]), seed=1)

    # Women are the reference now: 10 of 40 favourable before, 30 after; men 30 of 40.
    change = value(results, "disparate_impact_change", "pooled")
    assert change.value == pytest.approx(30 / 30 - 30 / 10)
    assert change.lower is not None
    assert change.lower < change.value


def test_accuracy_is_told_before_and_after_against_labels() -> None:
    actual, before, after = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 0, 1, 0, 0, 0, 0, 1]
    table = MitigatedLabelledCells.from_records(
        (),
        [-1] * 10,
        actual=actual,
        before=before,
        after=after,
        correct_before=np.equal(actual, before).astype(int),
        correct_after=np.equal(actual, after).astype(int),
    )

    results = measure_mitigated_labelled(table, seed=1)

    assert {result.scope for result in results} == {"overall"}
    numbers = {result.metric: result.number.value for result in results if not hasattr(result.number, "reason")}
    assert numbers == pytest.approx(
        {
            "accuracy_before": 6 / 10,
            "accuracy_after": 7 / 10,
            "accuracy_change": 1 / 10,
            "balanced_accuracy_before": (1 / 4 + 5 / 6) / 2,
            "balanced_accuracy_after": (3 / 4 + 4 / 6) / 2,
            "balanced_accuracy_change": (3 / 4 + 4 / 6) / 2 - (1 / 4 + 5 / 6) / 2,
        }
    )


@pytest.mark.nightly
def test_accuracy_before_is_that_of_feedback_and_compares_the_labels_themselves() -> None:
    codes, actual, before = np.tile([0, 1, -1, 1], 25), np.tile([0, 1, 1, 2], 25), np.tile([0, 1, 0, 1], 25)
    correct = np.tile([1, 0, 0, 0], 25)
    cells = LabelledCells.from_records(SEXES, codes, actual=actual, predicted=before, correct=correct)
    table = MitigatedLabelledCells.from_records(
        SEXES, codes, actual=actual, before=before, after=before, correct_before=correct, correct_after=correct
    )

    results = measure_mitigated_labelled(table, seed=3)

    assert table.unclassified.tolist() == [0, 25, 0]
    for scope, group in (("overall", None), ("group", "Female"), ("group", "Male")):
        for metric in ("accuracy", "balanced_accuracy"):
            before_mitigation = found(results, f"{metric}_before", scope, group)
            assert before_mitigation.number == found(measure_labelled(cells, seed=3), metric, scope, group).number
    assert value(results, "accuracy_before", "overall").value == pytest.approx(25 / 75)


def test_a_record_unclassified_before_or_after_is_left_out_of_both_sides() -> None:
    table = without_copies(SEXES, [0, 0, 0, 1, -1], [2, 1, 0, 1, 1], [1, 2, 1, 1, 1])

    assert table.unclassified.tolist() == [2, 0]
    assert table.other == 1
    assert table.outcomes.tolist() == [[[0, 1], [0, 0]], [[0, 0], [0, 1]]]
    assert value(measure_mitigated(table, seed=1), "selection_rate_before", "group", "Female").n == 1


def test_what_cannot_be_compared_says_why(snapshot: SnapshotAssertion) -> None:
    nobody = measure_mitigated(without_copies(SEXES, [0], [0], [1]), seed=1)
    no_favour = measure_mitigated(without_copies(SEXES, [0, 1], [0, 0], [1, 0]), seed=1)
    labels = MitigatedLabelledCells.from_records((), [-1], actual=[1], before=[0], after=[1], correct_before=[0], correct_after=[1])

    assert says(text := reason(nobody, "disparate_impact_change", "pooled"), "reference", "Male")
    assert text == snapshot
    assert reason(no_favour, "disparate_impact_change", "pooled") == snapshot
    assert reason(no_favour, "disparate_impact_after", "pooled").startswith("the reference rate is zero")
    assert reason(measure_mitigated_labelled(labels, seed=1), "balanced_accuracy_change", "overall") == snapshot


def test_picked_metrics_come_in_the_order_of_the_catalogue() -> None:
    picked = measure_mitigated(
        MitigatedCells.from_records(SEXES, **window()), seed=1, metrics=["lifted_rate", "disparate_impact_after", "accuracy_change"]
    )

    assert [result.metric for result in picked] == ["disparate_impact_after"] + ["lifted_rate"] * 2


def test_the_worst_value_is_chosen_by_the_limits_given() -> None:
    groups: list[tuple[str, Role]] = [("a", "monitored"), ("b", "monitored"), ("r", "reference")]
    codes = np.repeat([0, 1, 2], 20)
    outcomes = np.concatenate([np.repeat([1, 0], [7, 13]), np.repeat([1, 0], [18, 2]), np.repeat([1, 0], [10, 10])])

    for limits, worst in (((0.8, None), "a"), ((None, 1.25), "b")):
        results = measure_mitigated(
            without_copies(groups, codes, outcomes, outcomes), seed=1, limits={"disparate_impact_after": limits}, draws=50
        )
        assert found(results, "disparate_impact_after", "worst").group == worst


def test_a_change_is_told_with_its_sign(snapshot: SnapshotAssertion) -> None:
    def told(metric: str, change: float) -> str:
        return write_sentence(metric, value=change, lower=change, upper=change, details=Details(monitored="Female", reference="Male"))

    assert says(text := told("disparate_impact_change", 0.172), "Female", "Male", "+0.172")
    assert text == snapshot
    assert says(text := told("disparate_impact_change", -0.05), "Female", "Male", "−0.0500")
    assert text == snapshot
    assert says(text := told("accuracy_change", -0.0131), "−1.3")
    assert text == snapshot
    assert says(text := told("balanced_accuracy_change", 0), "0")
    assert text == snapshot
    assert says(text := told("accuracy_change", 0.0001), "0")
    assert text == snapshot


def test_a_table_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one after outcome per record"):
        without_copies(SEXES, [0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="no more favourable copies than classified"):
        MitigatedCells.from_records(
            SEXES, [0], before=[0], after=[0], copies_classified=[[0, 1]], copies_before=[[0, 1]], copies_after=[[0, 2]]
        )
    with pytest.raises(ValueError, match="expected codes from 0 to 2"):
        without_copies(SEXES, [0], [0], [3])
    with pytest.raises(ValueError, match="one after outcome per record"):
        replace(without_copies(SEXES, [0], [0], [0]), after=[0, 0])
    with pytest.raises(ValueError, match="one correct_after code per record"):
        MitigatedLabelledCells.from_records((), [-1], actual=[0], before=[0], after=[0], correct_before=[1], correct_after=[])
    with pytest.raises(ValueError, match="expected counts of shape"):
        MitigatedLabelledCells((), np.zeros((2, 3, 3, 3, 2, 2), np.int64))
