"""Which number of a model's answer is the probability of the favourable outcome."""

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from app.base.values import Range
from app.domain.monitor import OutcomeRule
from app.sources.arrays import favourable_scores as scores
from app.sources.arrays.favourable_scores import Scores, classify_answers, read_favourable_scores

APPROVED = OutcomeRule(favourable=("yes",), unfavourable=("no",))
GRADES = OutcomeRule(favourable=("a", "b"), unfavourable=("c", "d"))
Answer = float | Sequence[float | None] | None


def found(answers: Sequence[Answer], predicted: Sequence[str | int | None], rule: OutcomeRule = APPROVED) -> Scores:
    texts = pa.chunked_array([pa.array([None if answer is None else json.dumps(answer) for answer in answers], pa.string())])
    predictions = pa.chunked_array(
        [pa.array([None if prediction is None else json.dumps(prediction) for prediction in predicted], pa.string())]
    )
    return read_favourable_scores(texts, predictions, classify_answers(predictions, rule), rule)


def values(answers: Sequence[Answer], predicted: Sequence[str | int | None], rule: OutcomeRule = APPROVED) -> list[float | None]:
    result = found(answers, predicted, rule)
    assert result.values is not None, result.reason
    return [None if np.isnan(value) else round(float(value), 12) for value in result.values]


def reason(answers: Sequence[Answer], predicted: Sequence[str | int | None], rule: OutcomeRule = APPROVED) -> str:
    result = found(answers, predicted, rule)
    assert result.values is None
    return result.reason


FEW = 10
"""Predictions by which a number is recognised."""


def several(answers: Sequence[Answer], predicted: Sequence[str], rule: OutcomeRule = APPROVED) -> Scores:
    """What is found of so many more of the same records that there are enough of them; only of those that are given."""
    result = found([*answers] * FEW, [*predicted] * FEW, rule)
    return result if result.values is None else Scores(result.values[: len(answers)])


def several_values(answers: Sequence[Answer], predicted: Sequence[str], rule: OutcomeRule = APPROVED) -> list[float | None]:
    result = several(answers, predicted, rule)
    assert result.values is not None, result.reason
    return [None if np.isnan(value) else round(float(value), 12) for value in result.values]


def test_a_number_that_is_higher_for_favourable_predictions_is_the_probability_of_the_favourable_outcome() -> None:
    assert several_values([0.9, 0.2, 0.7], ["yes", "no", "yes"]) == [0.9, 0.2, 0.7]


def test_a_number_that_is_lower_for_favourable_predictions_is_turned_round() -> None:
    assert several_values([0.1, 0.8, 0.3], ["yes", "no", "yes"]) == [0.9, 0.2, 0.7]


def test_the_cut_off_of_the_model_may_lie_anywhere() -> None:
    assert several_values([0.25, 0.2, 0.01], ["yes", "no", "no"]) == [0.25, 0.2, 0.01]
    assert several_values([0.95, 0.9, 0.3], ["yes", "no", "no"]) == [0.95, 0.9, 0.3]


def test_equal_numbers_at_the_cut_off_do_not_matter() -> None:
    assert several_values([0.9, 0.5, 0.5, 0.1], ["yes", "yes", "no", "no"]) == [0.9, 0.5, 0.5, 0.1]


def test_a_record_without_a_probability_has_no_score() -> None:
    assert several_values([0.9, None, 0.2], ["yes", "no", "no"]) == [0.9, None, 0.2]


def test_one_number_for_more_than_two_classes_may_be_that_of_whatever_was_predicted() -> None:
    """The confidence of a model of three classes, seen or listed, falls into order by chance."""
    of_three = OutcomeRule(favourable=("A",), unfavourable=("B", "C"))

    assert several([0.9, 0.6, 0.45, 0.4], ["A", "A", "B", "C"], of_three).reason == scores.SEVERAL_CLASSES
    assert several([0.9, 0.6, 0.45, 0.4], ["A", "A", "B", "B"], of_three).reason == scores.SEVERAL_CLASSES
    assert several([0.9, 0.99, 0.2], ["yes", "perhaps", "no"]).reason == scores.SEVERAL_CLASSES


def test_a_number_is_recognised_by_ten_predictions_with_three_of_either_outcome() -> None:
    rising = [0.1 * place for place in range(10)]

    assert found(rising, ["no"] * 7 + ["yes"] * 3).values is not None
    assert reason(rising, ["no"] * 8 + ["yes"] * 2) == scores.TOO_FEW
    assert reason(rising, ["no"] * 2 + ["yes"] * 8) == scores.TOO_FEW
    assert reason(rising[:9], ["no"] * 5 + ["yes"] * 4) == scores.TOO_FEW
    assert reason([None, *rising[1:]], ["no"] * 7 + ["yes"] * 3) == scores.TOO_FEW


def test_lists_that_do_not_add_up_to_one_are_no_probabilities() -> None:
    rule = OutcomeRule(favourable=("a", "b"), unfavourable=("c",))

    assert reason([[0.9, 0.8, 0.1], [0.1, 0.2, 0.7]], ["a", "c"], rule) == scores.NO_DISTRIBUTION
    assert reason([[0.9, 0.1], [0.2, 0.79]], ["no", "yes"]) == scores.NO_DISTRIBUTION
    assert values([[0.9, 0.1], [0.2, 0.7995]], ["no", "yes"]) == [0.1, 0.7995]


def test_whole_numbers_are_probabilities_too() -> None:
    assert several_values([1, 0], ["yes", "no"]) == [1.0, 0.0]


def test_the_place_of_a_list_whose_being_the_largest_goes_with_the_prediction_is_its_class() -> None:
    assert values([[0.9, 0.1], [0.2, 0.8]], ["no", "yes"]) == [0.1, 0.8]
    assert values([[0.9, 0.1], [0.2, 0.8]], ["yes", "no"]) == [0.9, 0.2]


def test_ties_within_a_list_say_nothing_about_the_places() -> None:
    assert values([[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.2, 0.8]], ["no", "no", "yes", "yes"]) == [0.1, 0.5, 0.5, 0.8]


def test_two_numbers_are_told_apart_whatever_the_cut_off() -> None:
    """With a cut-off of 0.3 the larger number is not always that of the predicted class."""
    assert several_values([[0.6, 0.4], [0.1, 0.9], [0.8, 0.2]], ["yes", "yes", "no"]) == [0.4, 0.9, 0.2]
    assert several_values([[0.4, 0.6], [0.9, 0.1], [0.2, 0.8]], ["yes", "yes", "no"]) == [0.4, 0.9, 0.2]
    assert reason([[0.6, 0.4], [0.1, 0.9], [0.8, 0.2]], ["yes", "yes", "no"]) == scores.NO_PLACE
    assert several([[0.6, 0.4], [0.1, 0.9], [0.8, 0.2]], ["yes", "perhaps", "no"]).reason == scores.NO_PLACE


def test_the_places_of_all_favourable_classes_are_added_up() -> None:
    answers = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.0, 0.6, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]]

    assert values(answers, ["c", "a", "d", "b"], GRADES) == [0.2, 0.8, 0.4, 0.7]


def test_a_favourable_class_that_nobody_was_predicted_is_what_the_unfavourable_ones_leave() -> None:
    answers = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.0, 0.6, 0.2, 0.2]]

    assert values(answers, ["c", "a", "d"], GRADES) == [0.2, 0.8, 0.4]


def test_a_sum_of_places_is_never_above_one() -> None:
    rule = OutcomeRule(favourable=("a", "b", "c"), unfavourable=("d",))
    answers = [[0.7, 0.2, 0.1, 0.0], [0.2, 0.7, 0.1, 0.0], [0.1, 0.2, 0.7, 0.0], [0.0, 0.0, 0.0, 1.0]]

    assert max(value or 0.0 for value in values(answers, ["a", "b", "c", "d"], rule)) == 1.0


def test_numbers_of_class_values_are_found_as_they_are_written() -> None:
    assert values([[0.9, 0.1], [0.2, 0.8]], [0, 1], OutcomeRule(favourable=(1,), unfavourable=(0.0,))) == [0.1, 0.8]


@pytest.mark.parametrize(
    ("answers", "predicted", "expected"),
    [
        ([None, None], ["yes", "no"], scores.NO_PROBABILITIES),
        ([], [], scores.NO_PROBABILITIES),
        ([0.9, [0.1, 0.9]], ["yes", "no"], scores.MIXED_FORMS),
        ([[0.9, 0.1], [0.1, 0.3, 0.6]], ["yes", "no"], scores.MIXED_FORMS),
        ([1.2, 0.1], ["yes", "no"], scores.OUTSIDE),
        ([-0.1, 0.9], ["no", "yes"], scores.OUTSIDE),
        ([[2.3, -1.0], [-2.0, 3.0]], ["no", "yes"], scores.OUTSIDE),
        ([[0.1, None], [0.5, 0.5]], ["no", "yes"], scores.OUTSIDE),
        ([0.9, 0.8], ["yes", "yes"], scores.ONE_OUTCOME),
        ([[0.9, 0.1], [0.8, 0.2]], ["yes", "perhaps"], scores.ONE_OUTCOME),
        ([0.9, 0.1], ["yes", "no"], scores.TOO_FEW),
        ([0.9, 0.8, None], ["yes", "yes", "no"], scores.ONE_OUTCOME),
        ([[0.9, 0.1], [0.8, 0.2]], ["no", "no"], scores.ONE_OUTCOME),
        ([0.9, 0.2, 0.7, 0.8], ["yes", "no", "yes", "no"], scores.NO_DIRECTION),
        ([0.5, 0.5], ["yes", "no"], scores.NO_DIRECTION),
        ([0.9, 0.95, 0.7, 0.8], ["yes", "yes", "no", "no"], scores.CONFIDENCE),
        ([0.6, 0.55, 0.7, 0.8], ["yes", "yes", "no", "no"], scores.CONFIDENCE),
        ([[0.9, 0.1], [0.2, 0.8], [0.95, 0.05]], ["no", "yes", "yes"], scores.NO_PLACE),
        ([[], []], ["no", "yes"], scores.NO_DISTRIBUTION),
        ([[0.4], [0.7]], ["no", "yes"], scores.NO_DISTRIBUTION),
        ([[1.0], [1.0]], ["no", "yes"], scores.NO_PLACE),
    ],
)
def test_where_the_answers_do_not_show_it_there_are_no_scores(answers: list[Answer], predicted: list[str], expected: str) -> None:
    times = 1 if expected == scores.TOO_FEW else FEW

    assert reason(answers * times, predicted * times) == expected


def test_three_classes_whose_largest_number_is_not_their_own_have_no_scores() -> None:
    rule = OutcomeRule(favourable=("a",), unfavourable=("b", "c"))
    answers = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.5, 0.1, 0.4]]

    assert reason(answers, ["a", "b", "c"], rule) == scores.NO_PLACE


def test_a_favourable_class_nobody_was_predicted_has_no_place_where_the_lists_leave_classes_out() -> None:
    answers = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1]]

    assert reason(answers, ["c", "a"], OutcomeRule(favourable=("a", "b"), unfavourable=("c",))) == scores.NO_PLACE


def test_real_numbers_have_no_probability() -> None:
    rule = OutcomeRule(favourable=(Range(10, 20),), unfavourable=(Range(0, 9),))

    assert reason([0.9, 0.1], ["12", "5"], rule) == scores.REAL_NUMBERS


def test_the_order_of_the_records_plays_no_part() -> None:
    random = np.random.default_rng(7)
    numbers = random.random(500)
    table = np.stack([numbers, 1 - numbers], axis=1)
    predicted = np.where(numbers > 0.5, "yes", "no")
    order = random.permutation(500)

    assert values(table[order].tolist(), predicted[order].tolist()) == pytest.approx(numbers[order].tolist())
