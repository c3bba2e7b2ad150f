"""What is measured from records: scopes, counts, names, reasons, and the worst group."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.domain.check import Details
from app.statistics.catalogue import CATALOGUE
from app.statistics.group_labels import FloatArray, IntArray, build_groups
from app.statistics.records.measure_rows import MAX_RECORDS_OF_MANY_FEATURES, RowData
from tests.builders.page_words import says
from tests.builders.results import found, reason, value
from tests.builders.row_data import DIVERSE, GROUPS, MALE, NONE, ROWS, measured, window


def test_every_metric_comes_in_the_order_wanted_in_all_its_scopes() -> None:
    results = measured(window())

    assert [key for place, key in enumerate(found.metric for found in results) if [r.metric for r in results].index(key) == place] == ROWS
    for key in ROWS:
        assert {result.scope for result in results if result.metric == key} == set(CATALOGUE[key].scopes) - {"worst"}
        assert all(result.details.formula == CATALOGUE[key].formula for result in results if result.metric == key)


def test_the_flip_test_is_worst_for_the_group_furthest_from_zero() -> None:
    results = measured(window(), "counterfactual_flip_test")

    worst = found(results, "counterfactual_flip_test", "worst")
    assert worst.group == "Diverse"
    assert worst.number == found(results, "counterfactual_flip_test", "group", "Diverse").number
    assert value(results, "counterfactual_flip_test", "worst").lower > 0.1
    assert abs(value(results, "counterfactual_flip_test", "group", "Female").value) < 0.1


def test_the_flip_test_says_from_which_counts_it_was_made() -> None:
    rows = window()
    results = measured(rows, "counterfactual_flip_test")

    diverse = found(results, "counterfactual_flip_test", "group", "Diverse")
    number, details = value(results, "counterfactual_flip_test", "group", "Diverse"), diverse.details
    flips: list[Any] = [details.counts["flips_to_favourable"], details.counts["flips_to_unfavourable"]]
    assert (details.monitored, details.reference, details.neighbours) == ("Diverse", "Male", 5)
    assert details.monitored_counts["n"] == (rows.codes == DIVERSE).sum() == diverse.smallest_group
    assert number.n == np.isin(rows.codes, [DIVERSE, MALE]).sum()
    assert number.value == pytest.approx((flips[0] - flips[1]) / diverse.smallest_group)


def test_pooled_the_flip_test_is_the_mean_of_the_groups_by_their_size() -> None:
    results = measured(window(), "counterfactual_flip_test")

    each = [found(results, "counterfactual_flip_test", "group", group.label) for group in GROUPS[:2]]
    sizes = [result.smallest_group for result in each]
    values = [value(results, "counterfactual_flip_test", "group", result.group).value for result in each]
    assert value(results, "counterfactual_flip_test", "pooled").value == pytest.approx(np.average(values, weights=sizes))


def test_consistency_of_all_is_the_mean_of_the_groups_and_of_those_in_none() -> None:
    rows = window()
    nowhere = replace(rows, groups=build_groups([("nobody", "monitored"), *GROUPS]), codes=np.where(rows.codes == NONE, 0, rows.codes + 1))

    results = measured(nowhere, "consistency")
    numbers = [value(results, "consistency", "group", group.label) for group in nowhere.groups]

    assert value(results, "consistency", "overall").value == pytest.approx(
        np.average([number.value for number in numbers], weights=[number.n for number in numbers])
    )
    assert value(results, "consistency", "overall") == value(measured(rows, "consistency"), "consistency", "overall")


def test_consistency_is_of_labels_and_prediction_consistency_of_predictions() -> None:
    rows = window()
    swapped = replace(rows, predicted=rows.actual, actual=rows.predicted)

    assert value(measured(rows), "consistency", "overall") == value(measured(swapped), "prediction_consistency", "overall")
    assert value(measured(rows), "consistency", "overall").value < value(measured(rows), "prediction_consistency", "overall").value


def test_a_rich_subgroup_says_which_groups_its_records_are_of() -> None:
    results = measured(window(2000), "rich_subgroup_false_negative")

    result = found(results, "rich_subgroup_false_negative", "overall")
    assert list(result.details.subgroup_of_groups) == ["Diverse"]  # type: ignore[call-overload]
    assert value(results, "rich_subgroup_false_negative", "overall").lower > 0


def test_protected_attributes_take_the_place_of_the_groups() -> None:
    rows = replace(window(2000), protected=np.random.default_rng(1).integers(0, 2, (2000, 2)).astype(np.float64))

    assert value(measured(rows), "rich_subgroup_false_negative", "overall").lower == 0


def test_unclassified_records_are_left_out() -> None:
    rows = window()
    unclassified = np.arange(300) % 10 == 0
    kept = replace(rows, **{name: getattr(rows, name)[~unclassified] for name in ("codes", "features", "predicted", "actual")})
    marked = replace(rows, predicted=np.where(unclassified, 2, rows.predicted), actual=np.where(unclassified, 2, rows.actual))

    for key in ("consistency", "rich_subgroup_false_positive"):
        assert value(measured(marked, key), key, "overall") == value(measured(kept, key), key, "overall")
    scope = ("counterfactual_flip_test", "pooled")
    assert value(measured(marked), *scope).n == value(measured(kept), *scope).n


def test_without_numeric_features_nobody_can_be_told_alike() -> None:
    results = measured(replace(window(), features=np.empty((300, 0))))

    assert "no numeric feature" in reason(results, "counterfactual_flip_test", "worst")
    assert "no numeric feature" in reason(results, "consistency", "overall")
    assert value(results, "rich_subgroup_false_negative", "overall").value > 0


def test_a_group_without_records_is_named_in_the_reason(snapshot: SnapshotAssertion) -> None:
    rows = window()
    nobody_diverse = replace(rows, codes=np.where(rows.codes == DIVERSE, NONE, rows.codes))
    nobody_male = replace(rows, codes=np.where(rows.codes == MALE, NONE, rows.codes))

    results = measured(nobody_diverse, "counterfactual_flip_test", "consistency")
    assert says(text := reason(results, "counterfactual_flip_test", "group", "Diverse"), "Diverse")
    assert text == snapshot
    assert says(text := reason(results, "consistency", "group", "Diverse"), "Diverse")
    assert text == snapshot
    assert found(results, "counterfactual_flip_test", "worst").group == "Female"
    results = measured(nobody_male, "counterfactual_flip_test")
    assert says(text := reason(results, "counterfactual_flip_test", "worst"), "reference", "Male")
    assert text == snapshot


def test_fewer_records_than_neighbours_have_no_consistency(snapshot: SnapshotAssertion) -> None:
    results = measured(window(4), "consistency")

    assert says(text := reason(results, "consistency", "overall"), "4", "fewer", "5")
    assert text == snapshot


def test_without_labels_or_without_one_of_their_classes_there_is_a_reason() -> None:
    rows = window()

    results = measured(replace(rows, actual=None))
    assert reason(results, "consistency", "overall") == "no record has a classified label"
    assert "actually favourable" in reason(results, "rich_subgroup_false_negative", "overall")
    results = measured(replace(rows, actual=np.ones(300, dtype=np.int64)), "rich_subgroup_false_positive", "consistency")
    assert "actually unfavourable" in reason(results, "rich_subgroup_false_positive", "overall")
    assert value(results, "consistency", "overall").value == 1.0


def test_where_all_are_alike_there_is_no_subgroup() -> None:
    results = measured(replace(window(), protected=np.ones((300, 2))), "rich_subgroup_false_positive")

    assert "alike in every protected attribute" in reason(results, "rich_subgroup_false_positive", "overall")


def test_a_table_without_groups_is_about_everybody() -> None:
    rows = replace(window(), groups=(), codes=np.full(300, NONE))

    results = measured(rows)

    assert {result.scope for result in results} == {"overall"}
    assert value(results, "consistency", "overall").n == 300


def test_a_number_that_rests_on_few_records_says_so() -> None:
    rows = window(40)

    diverse = found(measured(rows, "counterfactual_flip_test"), "counterfactual_flip_test", "group", "Diverse")

    assert diverse.smallest_group < 10
    assert f"rests on {diverse.smallest_group} records" in str(diverse.details.caution)


def test_of_too_many_records_some_are_drawn_by_lot_always_the_same() -> None:
    few = window(300)
    copies = MAX_RECORDS_OF_MANY_FEATURES // 300 + 1
    many = RowData(
        groups=GROUPS,
        codes=np.tile(few.codes, copies),
        features=np.tile(few.features, (copies, 6)),
        predicted=np.tile(few.predicted, copies),
        actual=np.tile(few.actual, copies),
    )

    results = measured(many, "consistency")

    overall = found(results, "consistency", "overall")
    assert (overall.details.counts["records"], overall.details.records_drawn_by_lot) == (copies * 300, MAX_RECORDS_OF_MANY_FEATURES)
    assert results == measured(many, "consistency")


def test_of_the_same_records_the_same_are_drawn_whatever_their_order_and_the_data_set() -> None:
    rows = replace(window(600), features=np.random.default_rng(1).integers(0, 3, (600, 2)).astype(np.float64))
    order = np.random.default_rng(2).permutation(600)
    feedback = replace(rows, **{name: getattr(rows, name)[order] for name in ("codes", "features", "predicted", "actual")})
    payload = replace(rows, actual=None)

    drawn, others = ({tuple(each): int(count) for each, count in zip(*seen(few.sample(200)), strict=True)} for few in (payload, feedback))

    assert sum(drawn.values()) == 200
    assert drawn == others


def test_of_more_records_those_are_drawn_that_were_drawn_of_fewer() -> None:
    rows = window(600)
    fewer = replace(rows, **{name: getattr(rows, name)[:400] for name in ("codes", "features", "predicted", "actual")})

    both = {tuple(each) for each in rows.sample(100).features} & {tuple(each) for each in rows.features[:400]}

    assert both <= {tuple(each) for each in fewer.sample(100).features}


def test_equal_records_are_drawn_one_by_one() -> None:
    rows = replace(window(3000), features=np.repeat([0.0, 1.0], 1500)[:, None], groups=(), codes=np.full(3000, NONE))

    drawn = rows.sample(1000)

    assert drawn.features.mean() == pytest.approx(0.5, abs=0.06)
    assert drawn.predicted is not None
    assert rows.predicted is not None
    assert drawn.predicted.mean() == pytest.approx(rows.predicted.mean(), abs=0.06)


def seen(rows: RowData) -> tuple[FloatArray, IntArray]:
    """The different records, and how many there are of each."""
    assert rows.predicted is not None
    return np.unique(np.column_stack([rows.features, rows.codes, rows.predicted]), axis=0, return_counts=True)


@pytest.mark.parametrize("values", [(1e308, -1e308), (1e160, 0.0, 1.0), (1e200, 5.0)])
def test_huge_features_are_measured_like_any_others(values: tuple[float, ...]) -> None:
    rows = window()
    places = np.random.default_rng(1).integers(0, len(values), (300, 1))
    huge = replace(rows, features=np.array(values)[places])
    small = replace(rows, features=np.array([values[0] / 1e150, *(value / 1e150 for value in values[1:])])[places])

    for key in ("counterfactual_flip_test", "consistency", "prediction_consistency"):
        assert [each.number for each in measured(huge, key)] == [each.number for each in measured(small, key)]


def test_a_flip_test_that_chance_may_bring_beyond_a_tenth_has_no_usual_limits() -> None:
    assert CATALOGUE["counterfactual_flip_test"].limits == (None, None)
    assert "exaggerates" in CATALOGUE["counterfactual_flip_test"].convention


def test_the_same_records_give_the_same_results_and_they_are_json() -> None:
    results = measured(window())

    assert results == measured(window())
    assert [Details.from_json(json.loads(json.dumps(result.details.to_json()))) for result in results] == [
        result.details for result in results
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.full((300, 2), np.nan)}, "finite"),
        ({"features": np.zeros((299, 2))}, "300 records"),
        ({"features": np.zeros(300)}, "features of 300 records"),
        ({"predicted": np.full(300, 3)}, "codes from 0 to 2"),
        ({"actual": np.zeros(3, dtype=np.int64)}, "actual outcomes of 300 records"),
        ({"protected": np.full((300, 1), np.inf)}, "protected attributes"),
        ({"codes": np.full(300, 7)}, "codes from -1 to 2"),
    ],
)
def test_records_that_do_not_fit_together_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(window(), **change)
