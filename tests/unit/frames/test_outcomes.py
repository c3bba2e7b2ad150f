import pandas as pd
import pytest

from app.base.errors import InvalidInput
from app.library.frame_report import OutcomeLists, classify_outcomes, match_labels


def codes(values: list[object], favourable: object, unfavourable: object = None) -> list[int]:
    return classify_outcomes(pd.Series(values, name="outcome"), OutcomeLists.of(favourable, unfavourable), "prediction").codes.tolist()


def right(actual: list[object], predicted: list[object], favourable: object) -> list[int]:
    lists = OutcomeLists.of(favourable, None)
    columns = (classify_outcomes(pd.Series(values, name="outcome"), lists, "label") for values in (actual, predicted))
    return match_labels(*columns).tolist()


def test_every_value_but_the_favourable_ones_is_unfavourable() -> None:
    assert codes(["gold", "silver", "none", None], ["gold", "silver"]) == [1, 1, 0, 2]


def test_with_both_sides_listed_the_rest_is_unclassified() -> None:
    assert codes(["gold", "silver", "none", None], "gold", ["none"]) == [1, 2, 0, 2]


@pytest.mark.parametrize("column", [[1, 0], [1.0, 0.0], [True, False]])
@pytest.mark.parametrize("favourable", [1, 1.0, "1"])
def test_one_is_one_whatever_type_it_has(column: list[object], favourable: object) -> None:
    assert codes(column, favourable) == [1, 0]


def test_text_counts_under_text_and_never_under_numbers() -> None:
    assert codes(["1", "0"], "1") == [1, 0]
    assert codes([1, "1", 0, "0", 2], 1) == [1, 2, 0, 2, 0]
    assert codes([1, "1", 0, "0", 2], 1, 0) == [1, 2, 0, 2, 2]
    assert codes([0.6, "0.6", 0.1, True], (0.5, 1)) == [1, 2, 0, 2]
    with pytest.raises(
        InvalidInput, match=r"^favourable: '1' is not a value of 'outcome', which holds '1', '0'; a number is listed, and the"
    ):
        codes(["1", "0"], 1)
    with pytest.raises(InvalidInput, match=r"^prediction: 'outcome' must hold numbers, found '0.6' in 2 records, the first of them 1"):
        codes(["0.6", "0.2"], (0.5, 1))


def test_a_range_of_a_regression_has_both_its_ends() -> None:
    assert codes([0.49, 0.5, 1.0, None, 2.0], (0.5, 1)) == [0, 1, 1, 2, 0]
    assert codes([0.49, 0.5, 1.0, None, 2.0], [(0.5, 1)], [(0, 0.4999)]) == [0, 1, 1, 2, 2]


def test_a_prediction_is_right_if_it_is_the_label_and_not_only_of_its_outcome() -> None:
    assert right(["gold", "gold", "none", None, "gold"], ["gold", "silver", "none", None, None], ["gold", "silver"]) == [1, 0, 1, 0, 0]
    assert right([1, 0, 1], [True, False, False], 1) == [1, 1, 0]
    assert right([1, 0, 0, 1], [1, "0", 2, "1"], 1) == [1, 0, 0, 0]
    assert right([1, 0, 0], ["1", "0", "2"], "1") == [1, 1, 0]


def test_of_ranges_a_prediction_is_right_if_it_has_the_outcome_of_the_label() -> None:
    assert right([0.6, 0.6, 0.2, None], [0.9, 0.3, 0.1, None], (0.5, 1)) == [1, 0, 1, 0]


def test_a_favourable_value_that_none_of_several_is_must_be_a_mistake() -> None:
    with pytest.raises(InvalidInput, match=r"^favourable: '1' is not a value of 'outcome', which holds 'approved', 'refused'$"):
        codes(["approved", "approved", "refused"], 1)


def test_that_nobody_was_favoured_is_no_mistake() -> None:
    assert codes([0, 0], 1) == [0, 0]
    assert codes(["low", "none"], "gold", ["low", "none"]) == [0, 0]


@pytest.mark.parametrize(
    ("favourable", "unfavourable", "message"),
    [
        (1, [0, 1], "unfavourable: '1' is listed as favourable, too"),
        ((0.5, 1), (0, 0.5), "unfavourable: 0-0.5 overlaps 0.5-1, which is favourable (both ends belong to a range)"),
        ((0.5, 1), 0, "unfavourable: lists values where favourable lists ranges, or the other way round; use one form"),
        ([], None, "favourable: must list at least one value"),
    ],
)
def test_lists_that_contradict_each_other_are_refused(favourable: object, unfavourable: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        OutcomeLists.of(favourable, unfavourable)

    assert str(caught.value) == message


@pytest.mark.parametrize(("values", "favourable", "unfavourable"), [([1, 0], "1", "1.0"), ([True, False], 1, "true")])
def test_a_value_is_on_both_sides_however_it_is_spelled(values: list[object], favourable: object, unfavourable: object) -> None:
    with pytest.raises(InvalidInput, match=r"^unfavourable: '(1|true)' is listed as favourable, too$"):
        codes(values, favourable, unfavourable)
