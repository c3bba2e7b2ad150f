import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.statistics.group_labels import Role
from app.statistics.measures.measure import measure_as_logged
from app.statistics.measures.perturbed_data import measure_counterfactual, measure_openscale
from app.statistics.tables.count_table import GroupCounts
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.page_words import says
from tests.builders.results import found, reason, value

RACES: list[tuple[str, Role]] = [("Black", "monitored"), ("Asian", "monitored"), ("White", "reference")]


def counterfactual(rows: list[tuple[int, int, list[int], list[int]]]) -> CounterfactualCells:
    """A table from (group, outcome, favourable copies, classified copies) per record."""
    codes, outcomes, favourable, classified = (np.array(column) for column in zip(*rows, strict=True))
    return CounterfactualCells.from_records(RACES, codes, outcome=outcomes, copies_favourable=favourable, copies_classified=classified)


def test_counterfactual_figures_are_those_worked_out_by_hand() -> None:
    """Two Black, one Asian, two White records; the copies of the White ones go to both other groups, one is unclassified."""
    table = counterfactual(
        [
            (0, 0, [0, 0, 1], [0, 0, 1]),
            (0, 1, [0, 0, 1], [0, 0, 1]),
            (1, 0, [0, 0, 0], [0, 0, 1]),
            (2, 1, [0, 1, 0], [1, 1, 0]),
            (2, 1, [1, 0, 0], [1, 0, 0]),
        ]
    )

    results = measure_openscale(table, seed=0)

    assert value(results, "perfect_equality", "attribute").value == 4 / 5
    assert value(results, "favourable_rate", "group", "Black").value == 2 / 4
    assert value(results, "favourable_rate", "group", "Asian").value == 1 / 2
    assert value(results, "openscale_fairness", "group", "Black").value == pytest.approx(0.5 / 0.8)
    assert value(results, "openscale_fairness", "pooled").value == pytest.approx((3 / 6) / 0.8)
    assert found(results, "openscale_fairness", "group", "Asian").details.monitored_counts["original_n"] == 1
    assert value(results, "favourable_rate", "group", "Asian").n == 2

    results = measure_counterfactual(table)

    # As Black: own 0, own 1, copies 0 and 1 of the White ones. As White: copies 1 and 1 of the Black ones, own 1 and 1.
    assert value(results, "disparate_impact", "group", "Black").value == pytest.approx((2 / 4) / (4 / 4))
    assert value(results, "statistical_parity_difference", "group", "Black").value == pytest.approx(-0.5)
    # One White record has no classified copy into Asian, so it is on neither side.
    assert value(results, "disparate_impact", "group", "Asian").value == pytest.approx((1 / 2) / (1 / 2))
    assert found(results, "disparate_impact", "group", "Asian").details.to_json() == {
        "formula": "favourable_rate(monitored) / favourable_rate(reference)",
        "monitored": "Asian",
        "reference": "White",
        "monitored_favourable": 1.0,
        "monitored_n": 2,
        "monitored_own_n": 1,
        "reference_favourable": 1.0,
        "reference_n": 2,
        "reference_own_n": 1,
        "pairs_both": 1.0,
        "pairs_monitored": 0.0,
        "pairs_reference": 0.0,
        "pairs_neither": 1.0,
        "caution": "rests on 1 record in its smallest denominator, fewer than 10: the interval may not hold what it promises",
    }
    # All monitored together: copies into Black weigh two thirds, into Asian one third, as their records do.
    as_monitored = (0 + 1 + 0 + (2 / 3 * 0 + 1 / 3 * 1) + 1) / 5
    assert value(results, "favourable_rate", "pooled").value == pytest.approx(as_monitored)
    assert value(results, "disparate_impact", "pooled").value == pytest.approx(as_monitored / (4 / 5))
    assert value(results, "flip_rate", "attribute").value == 2 / 5
    assert found(results, "flip_rate", "group", "Black").details.counts == {"flipped": 1, "gained": 1, "lost": 0, "n": 2}
    assert found(results, "flip_rate", "group", "White").details.counts == {"flipped": 1, "gained": 0, "lost": 1, "n": 2}


def test_an_unclassified_record_takes_its_copies_with_it() -> None:
    table = counterfactual([(0, 2, [0, 0, 1], [0, 0, 1]), (2, 1, [0, 0, 0], [0, 0, 0]), (-1, 1, [0, 0, 0], [0, 0, 0])])

    results = measure_openscale(table, seed=0)

    assert (table.unclassified.tolist(), table.other) == ([1, 0, 0], 1)
    assert found(results, "perfect_equality", "attribute").details.counts["n"] == 1
    assert reason(results, "openscale_fairness", "group", "Black") == "no record of Black was classified"
    assert reason(measure_counterfactual(table), "disparate_impact", "group", "Black") == "no record of Black was classified"


def test_records_whose_counterfactuals_are_all_unclassified_are_on_neither_side() -> None:
    kept = [(0, 0, [0, 0, 1], [0, 0, 1]), (2, 1, [0, 0, 0], [1, 1, 0])]
    lost = [(0, 1, [0, 0, 0], [0, 0, 0])] * 3

    impact = found(measure_counterfactual(counterfactual([*kept, *lost])), "disparate_impact", "group", "Black")

    assert impact == found(measure_counterfactual(counterfactual(kept)), "disparate_impact", "group", "Black")
    assert impact.number.n == 2


def test_a_group_all_of_whose_counterfactuals_are_unclassified_says_so(snapshot: SnapshotAssertion) -> None:
    results = measure_counterfactual(counterfactual([(0, 1, [0, 0, 0], [0, 0, 0]), (2, 1, [1, 1, 0], [1, 1, 0])]))

    assert says(text := reason(results, "disparate_impact", "group", "Black"), "counterfactual", "Black")
    assert text == snapshot


def test_without_any_copy_counterfactual_figures_are_those_of_payload() -> None:
    rows = [(0, 0, [0, 0, 0], [0, 0, 0])] * 7 + [(0, 1, [0, 0, 0], [0, 0, 0])] * 4 + [(2, 1, [0, 0, 0], [0, 0, 0])] * 12
    codes, outcomes = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    results = measure_counterfactual(counterfactual(rows))

    payload_results = measure_as_logged(GroupCounts.from_records(RACES, codes, outcome=outcomes))
    assert found(results, "disparate_impact", "group", "Black") == found(payload_results, "disparate_impact", "group", "Black")


def test_a_reference_rate_of_zero_leaves_fairness_with_copies_undefined(snapshot: SnapshotAssertion) -> None:
    table = counterfactual([(0, 1, [0, 0, 0], [0, 0, 1]), (2, 0, [1, 1, 0], [1, 1, 0])])

    assert says(text := reason(measure_openscale(table, seed=0), "openscale_fairness", "group", "Black"), "2", "reference")
    assert text == snapshot
    assert says(text := reason(measure_counterfactual(table), "disparate_impact", "group", "Black"), "reference", "2", "reference")
    assert text == snapshot


def test_records_without_a_classified_copy_have_no_flip_rate(snapshot: SnapshotAssertion) -> None:
    results = measure_counterfactual(counterfactual([(0, 1, [0, 0, 0], [0, 0, 0]), (2, 0, [0, 0, 0], [0, 0, 0])]))

    assert reason(results, "flip_rate", "attribute") == snapshot
    assert says(text := reason(results, "flip_rate", "group", "Black"), "counterfactual", "Black")
    assert text == snapshot
