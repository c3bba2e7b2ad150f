import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.statistics.catalogue import CATALOGUE, list_metrics_on
from app.statistics.group_labels import Role, build_groups
from app.statistics.measures.measure import measure_as_logged, measure_labelled
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.builders.count_tables import count_groups
from tests.builders.page_words import says
from tests.builders.results import found, reason, value

RACES: list[tuple[str, Role]] = [("Black", "monitored"), ("Asian", "monitored"), ("White", "reference")]


def payload(*counts: tuple[int, int], groups: list[tuple[str, Role]] = RACES) -> GroupCounts:
    """A table from (unfavourable, favourable) per group."""
    return count_groups(groups, counts)


def test_payload_figures_are_those_worked_out_by_hand() -> None:
    results = measure_as_logged(payload((60, 40), (30, 20), (50, 150)))

    assert value(results, "favourable_rate", "group", "Black").value == 0.4
    assert value(results, "favourable_rate", "reference").value == 0.75
    assert value(results, "favourable_rate", "pooled").value == 60 / 150
    assert value(results, "disparate_impact", "group", "Asian").value == pytest.approx(0.4 / 0.75)
    assert value(results, "statistical_parity_difference", "pooled").value == pytest.approx(0.4 - 0.75)
    assert value(results, "disparate_impact", "group", "Black").n == 300
    assert found(results, "disparate_impact", "group", "Black").details.to_json() == {
        "formula": "favourable_rate(monitored) / favourable_rate(reference)",
        "monitored": "Black",
        "reference": "White",
        "monitored_favourable": 40,
        "monitored_n": 100,
        "reference_favourable": 150,
        "reference_n": 200,
        "p_value": pytest.approx(3.025e-9, rel=1e-3),
        "chosen_p_value": pytest.approx(6.05e-9, rel=1e-3),
        "p_value_method": "two_proportion_z",
        "shortfall": pytest.approx(35),
    }
    assert found(results, "disparate_impact", "group", "Asian").smallest_group == 50


def test_a_group_without_records_has_a_reason_that_names_it() -> None:
    results = measure_as_logged(payload((0, 0), (30, 20), (50, 150)))

    assert reason(results, "favourable_rate", "group", "Black") == "there is no record of Black"
    assert reason(results, "disparate_impact", "group", "Black") == "there is no record of Black"
    assert value(results, "disparate_impact", "worst").value == pytest.approx(0.4 / 0.75)


def test_a_reference_without_records_has_a_reason_that_names_it(snapshot: SnapshotAssertion) -> None:
    results = measure_as_logged(payload((10, 20), (30, 20), (0, 0)))

    assert says(text := reason(results, "disparate_impact", "worst"), "reference", "White")
    assert text == snapshot


def test_a_group_whose_records_nobody_classified_is_not_called_empty() -> None:
    table = GroupCounts(build_groups(RACES), np.array([(0, 0, 12), (30, 20, 0), (50, 150, 0), (0, 0, 0)]))

    assert reason(measure_as_logged(table), "favourable_rate", "group", "Black") == "no record of Black was classified"


def test_a_reference_rate_of_zero_leaves_the_ratio_undefined_and_the_difference_defined(snapshot: SnapshotAssertion) -> None:
    results = measure_as_logged(payload((10, 20), (30, 20), (40, 0)))

    assert says(text := reason(results, "disparate_impact", "pooled"), "reference", "40", "reference")
    assert text == snapshot
    assert value(results, "statistical_parity_difference", "worst").value == pytest.approx(2 / 3)
    assert found(results, "statistical_parity_difference", "worst").group == "Black"


def test_the_worst_value_has_the_lowest_ratio_and_of_equal_differences_the_first() -> None:
    results = measure_as_logged(payload((80, 20), (20, 80), (50, 50)))

    assert found(results, "disparate_impact", "worst").group == "Black"
    assert found(results, "statistical_parity_difference", "worst").group == "Black"


def test_with_both_limits_the_headline_is_the_one_furthest_beyond_either_and_with_one_the_one_beyond_that() -> None:
    """0.7 misses 0.8 by a factor of 1.14, 2.0 misses 1.25 by 1.6; without an upper limit only 0.7 is beyond a limit that is set."""
    table = payload((65, 35), (0, 100), (50, 50))

    results = measure_as_logged(table, limits={"disparate_impact": (0.8, 1.25)})
    of_lower = measure_as_logged(table, limits={"disparate_impact": (0.8, None)})

    assert found(results, "disparate_impact", "worst").group == "Asian"
    assert found(of_lower, "disparate_impact", "worst").group == "Black"


def test_with_both_limits_a_low_ratio_can_be_the_worst_too() -> None:
    """0.4 misses 0.8 by a factor of 2, 2.0 misses 1.25 by 1.6."""
    results = measure_as_logged(payload((0, 100), (80, 20), (50, 50)), limits={"disparate_impact": (0.8, 1.25)})

    assert found(results, "disparate_impact", "worst").group == "Asian"


def test_a_handful_of_records_does_not_hide_a_large_group_from_the_headline() -> None:
    results = measure_as_logged(payload((2, 0), (120, 80), (50, 150)))

    assert found(results, "disparate_impact", "worst").group == "Asian"


def test_a_handful_of_records_is_the_headline_where_there_is_nothing_else() -> None:
    results = measure_as_logged(payload((2, 0), (1, 1), (50, 150)))

    assert found(results, "disparate_impact", "worst").group == "Black"


def test_an_attribute_without_groups_gives_no_result_but_no_error_either() -> None:
    assert measure_as_logged(payload(groups=[])) == []


def test_accuracy_counts_everybody_overall_and_each_group_apart(snapshot: SnapshotAssertion) -> None:
    """A label in neither outcome list is in no rate: it may be a misspelt one, which would look like a mistake of the model."""
    table = LabelledCells.from_records(
        RACES, [0, 0, 1, 2, 2, -1], actual=[0, 1, 2, 1, 0, 1], predicted=[0, 0, 2, 1, 1, 1], correct=[1, 0, 1, 1, 0, 1]
    )

    results = measure_labelled(table)

    assert value(results, "accuracy", "overall").value == 3 / 5
    assert value(results, "accuracy", "pooled").value == 1 / 2
    assert value(results, "accuracy", "reference").value == 1 / 2
    assert says(text := reason(results, "accuracy", "group", "Asian"), "Asian")
    assert text == snapshot
    assert found(results, "accuracy", "overall").details.to_json() == {
        "formula": "correct(g) / n(g)",
        "correct": 3,
        "n": 5,
        "caution": "rests on 5 records in its smallest denominator, fewer than 10: the interval may not hold what it promises",
        "labels": {"of": "labelled", "labelled": 5},
    }


def test_feedback_without_groups_is_measured_overall_alone() -> None:
    results = measure_labelled(LabelledCells.from_records([], [-1, -1], actual=[0, 1], predicted=[0, 0], correct=[1, 0]))

    assert {result.scope for result in results} == {"overall"}
    assert {result.metric for result in results} == {
        row.key for row in list_metrics_on("labelled") if "overall" in row.scopes and "scores" not in row.needs and "rows" not in row.needs
    }
    assert value(results, "accuracy", "overall").value == 0.5


def test_no_feedback_has_a_reason(snapshot: SnapshotAssertion) -> None:
    results = measure_labelled(LabelledCells.merge([]))

    assert reason(results, "accuracy", "overall") == snapshot


def test_every_row_of_the_catalogue_stands_under_its_key_and_keeps_its_ideal_in_range() -> None:
    for key, row in CATALOGUE.items():
        assert key == row.key
        low, high = (-np.inf if row.lowest is None else row.lowest), (np.inf if row.highest is None else row.highest)
        assert row.ideal is None or low <= row.ideal <= high
        assert all(limit is None or low <= limit <= high for limit in row.limits)


@pytest.mark.thorough
def test_every_one_of_a_thousand_groups_is_measured_and_a_missing_reference_is_named_by_its_first(snapshot: SnapshotAssertion) -> None:
    groups: list[tuple[str, Role]] = [(f"g{no}", "monitored" if no < 500 else "reference") for no in range(1_000)]

    results = measure_as_logged(payload(*[(1, 1)] * 500, *[(0, 0)] * 500, groups=groups))

    assert len([result for result in results if (result.metric, result.scope) == ("favourable_rate", "group")]) == 1_000
    assert says(text := reason(results, "disparate_impact", "group", "g499"), "g500, g501, g502")
    assert text == snapshot


def feedback(*cells: tuple[tuple[int, int], tuple[int, int]], groups: list[tuple[str, Role]] = RACES) -> LabelledCells:
    """A table from [actual][predicted] per group, unfavourable first."""
    counts = np.zeros((len(groups) + 1, 3, 3, 2), np.int64)
    for group, table in enumerate(cells):
        for actual in (0, 1):
            for predicted in (0, 1):
                counts[group, actual, predicted, int(actual == predicted)] = table[actual][predicted]
    return LabelledCells(build_groups(groups), counts)


def test_the_headline_of_a_ratio_is_the_value_furthest_beyond_the_limits_as_a_factor() -> None:
    """0.771 is beyond 0.8 and 1.243 within 1.25, though it lies further from 1."""
    results = measure_labelled(feedback(((100, 0), (46, 154)), ((100, 0), (0, 248)), ((100, 0), (1, 999))))
    limits = {"true_positive_rate_ratio": (0.8, 1.25)}
    again = measure_labelled(feedback(((500, 0), (460, 540)), ((500, 0), (130, 870)), ((500, 0), (300, 700))), limits=limits)

    assert found(results, "true_positive_rate_ratio", "worst").group == "Black"
    assert found(again, "true_positive_rate_ratio", "group", "Asian").number.value == pytest.approx(1.243, abs=1e-3)  # type: ignore[union-attr]
    assert found(again, "true_positive_rate_ratio", "worst").group == "Black"


def test_what_is_beyond_the_side_that_nobody_watches_is_the_headline_where_nothing_is_beyond_the_limit() -> None:
    """Asian is favoured less often by 0.01, Black more often by 0.2; with only the lower limit that hides behind no 0.01."""
    table = payload((300, 700), (510, 490), (500, 500))

    of_both = found(measure_as_logged(table), "statistical_parity_difference", "worst")
    of_lower = found(
        measure_as_logged(table, limits={"statistical_parity_difference": (-0.1, None)}), "statistical_parity_difference", "worst"
    )

    assert (of_both.group, of_lower.group) == ("Black", "Black")


def test_a_tiny_group_is_no_headline_whatever_else_is_picked() -> None:
    table = payload((5, 0), (400, 200), (500, 500))

    for metrics in ({"statistical_parity_difference"}, {"statistical_parity_difference", "disparate_impact"}):
        worst = found(measure_as_logged(table, metrics=metrics), "statistical_parity_difference", "worst")
        assert worst.group == "Asian"


def test_of_errors_the_worst_pair_has_the_higher_rate_in_the_place_of_the_monitored() -> None:
    groups: list[tuple[str, Role]] = [("Black", "monitored"), ("Asian", "reference"), ("White", "reference")]
    results = measure_labelled(feedback(((100, 0), (45, 55)), ((100, 0), (30, 70)), ((100, 0), (5, 95)), groups=groups))

    pair = found(results, "false_negative_rate_difference", "worst_pair")
    good = found(results, "true_positive_rate_difference", "worst_pair")
    assert (pair.details.monitored, pair.details.reference) == ("Black", "White")
    assert value(results, "false_negative_rate_difference", "worst_pair").value == pytest.approx(0.4)
    assert (good.details.monitored, good.details.reference) == ("Black", "White")
    assert value(results, "true_positive_rate_difference", "worst_pair").value == pytest.approx(-0.4)


def test_the_worst_pair_of_many_equal_groups_is_not_surely_different() -> None:
    """Of 190 pairs of groups of one rate some differ by chance; the interval and the p-value know that they were looked for."""
    random = np.random.default_rng(0)
    groups: list[tuple[str, Role]] = [(f"g{no}", "monitored" if no > 1 else "reference") for no in range(20)]
    sure = 0
    for _ in range(100):
        favourable = random.binomial(500, 0.5, 20)
        results = measure_as_logged(payload(*[(500 - n, n) for n in favourable], groups=groups), metrics={"disparate_impact"})
        pair = found(results, "disparate_impact", "worst_pair")
        number = value(results, "disparate_impact", "worst_pair")
        assert number.upper is not None
        assert (number.upper < 1) == (pair.details.p_value < 0.05) or abs(number.upper - 1) < 0.02  # type: ignore[operator]
        sure += pair.details.p_value < 0.05  # type: ignore[operator]

    assert sure <= 10


def test_a_ratio_of_tiny_weights_has_an_interval_that_says_nothing_rather_than_none_at_all() -> None:
    """One favourable record of hardly any weight among 99 of weight 1."""
    codes, outcomes = np.repeat([0, 2], 100), np.r_[1, np.zeros(99, np.int64), np.tile([0, 1], 50)]
    for weight in (1e-3, 1e-6, 1e-12, 1e-170):
        weights = np.r_[weight, np.ones(199)]
        number = value(
            measure_as_logged(GroupCounts.from_records(RACES, codes, outcome=outcomes, weights=weights)),
            "disparate_impact",
            "group",
            "Black",
        )
        assert number.upper is not None
        assert number.value < 0.001
        assert 0 <= (number.lower or 0.0) <= number.value < 0.05 < number.upper < 0.5


def test_a_group_whose_records_weigh_nothing_says_so() -> None:
    table = GroupCounts.from_records(RACES, [0, 0, 2, 2], outcome=[0, 1, 0, 1], weights=[0, 0, 1, 1])
    vanishing = GroupCounts.from_records(RACES, [0, 0, 2, 2], outcome=[0, 1, 0, 1], weights=[1e-170, 1e-170, 1, 1])

    assert reason(measure_as_logged(table), "favourable_rate", "group", "Black") == "the records of Black weigh nothing"
    assert reason(measure_as_logged(vanishing), "disparate_impact", "group", "Black") == "the records of Black weigh nothing"


def test_one_heavy_record_is_a_small_group() -> None:
    """Two hundred records of which one weighs more than all others are as sure as one."""
    weights = np.r_[1e4, np.ones(399)]
    table = GroupCounts.from_records(RACES, np.repeat([0, 2], 200), outcome=np.tile([0, 1], 200), weights=weights)

    result = found(measure_as_logged(table), "disparate_impact", "group", "Black")

    assert result.smallest_group == 1
    assert "rests on 1 record" in str(result.details.caution)


def test_the_shortfall_counts_records_however_much_they_weigh() -> None:
    codes, outcomes = np.repeat([0, 2], 100), np.r_[np.tile([0, 0, 0, 1], 25), np.tile([0, 1], 50)]
    plain, weighed = (
        found(
            measure_as_logged(GroupCounts.from_records(RACES, codes, outcome=outcomes, weights=weights)),
            "disparate_impact",
            "group",
            "Black",
        )
        for weights in (None, np.full(200, 1000.0))
    )

    assert plain.details.shortfall == pytest.approx(25)
    assert weighed.details.shortfall == pytest.approx(25)


def test_a_count_of_none_rests_on_all_labelled_records() -> None:
    results = measure_labelled(feedback(((50, 0), (0, 50)), ((50, 0), (0, 50)), ((50, 0), (0, 50))))

    assert value(results, "false_negative_count", "overall").n == 300
    rightly = value(measure_labelled(feedback(((0, 0), (0, 12)), ((0, 0), (0, 0)), ((0, 0), (0, 0)))), "true_positive_count", "overall")
    assert rightly.lower is not None
    assert rightly.lower < 12


def test_an_interval_holds_the_value_also_where_weights_and_effective_sizes_differ_in_the_last_digit() -> None:
    table = GroupCounts.from_records(RACES, [0, 0, 2, 2, 2, 0], outcome=[1, 0, 1, 0, 0, 1], weights=[3.7, 3.7, 1, 100, 100, 3.7])

    number = value(measure_as_logged(table), "disparate_impact", "group", "Black")

    assert number.upper is not None
    assert number.value == pytest.approx(134)
    assert number.value <= number.upper
