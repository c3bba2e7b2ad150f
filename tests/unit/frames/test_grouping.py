import pandas as pd
import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.library.frame_groups import FrameGrouping, group_records
from tests.builders.page_words import says


def people(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def roles(grouping: FrameGrouping) -> dict[str, str]:
    return {group.label: group.role for group in grouping.groups}


def labels(grouping: FrameGrouping) -> list[str | None]:
    return [None if code < 0 else grouping.groups[code].label for code in grouping.codes.tolist()]


def refusal(frame: pd.DataFrame, attribute: str | list[str], monitored: object = None, reference: object = None) -> str:
    with pytest.raises(InvalidInput) as caught:
        group_records(frame, attribute, monitored, reference)
    return str(caught.value)


def test_what_is_listed_is_compared_and_what_is_not_takes_no_part() -> None:
    frame = people(race=["White", "Black", "Other", None, "White"])

    grouping = group_records(frame, "race", monitored="Black", reference=["White"])

    assert roles(grouping) == {"Black": "monitored", "White": "reference"}
    assert labels(grouping) == ["White", "Black", None, None, "White"]
    assert grouping.chosen is None


def test_a_reference_left_out_is_every_other_value() -> None:
    grouping = group_records(people(race=["White", "Black", "Other"]), "race", monitored=["Black"])

    assert roles(grouping) == {"Black": "monitored", "Other": "reference", "White": "reference"}


def test_monitored_values_left_out_are_every_other_value() -> None:
    grouping = group_records(people(race=["White", "Black", "Other"]), "race", reference="White")

    assert roles(grouping) == {"Black": "monitored", "Other": "monitored", "White": "reference"}


def test_with_neither_side_the_largest_group_is_the_reference_and_it_says_so(snapshot: SnapshotAssertion) -> None:
    grouping = group_records(people(race=["Black", "White", "Other", "White"]), "race")

    assert roles(grouping) == {"Black": "monitored", "Other": "monitored", "White": "reference"}
    assert says(grouping.chosen, "White", "reference")
    assert grouping.chosen == snapshot


def test_both_ends_belong_to_a_range() -> None:
    frame = people(age=[17, 18, 25, 25.5, 26, 75, None])

    grouping = group_records(frame, "age", monitored=[(18, 25)], reference=(26, 75))

    assert labels(grouping) == [None, "18-25", "18-25", None, "26-75", "26-75", None]


@pytest.mark.parametrize("column", [[1, 0, 1], [1.0, 0.0, 1.0], ["1", "0", "1"], [True, False, True]])
@pytest.mark.parametrize("listed", [1, 1.0, "1"])
def test_a_value_is_found_whatever_type_column_and_argument_have(column: list[object], listed: object) -> None:
    grouping = group_records(people(member=column), "member", reference=listed)

    assert grouping.codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize("listed", [True, "true", "True"])
def test_true_is_found_in_a_column_of_booleans(listed: object) -> None:
    grouping = group_records(people(member=[True, False, True]), "member", reference=listed)

    assert labels(grouping) == ["true", "false", "true"]


@pytest.mark.parametrize("kind", ["category", "object", "str", "string[python]"])
def test_texts_may_have_any_type_of_pandas(kind: str) -> None:
    frame = people(sex=["female", "male", None, "male"]).astype({"sex": kind})

    assert labels(group_records(frame, "sex", reference="male")) == ["female", "male", None, "male"]


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "Float64", "int8"])
def test_numbers_may_have_any_type_of_pandas(kind: str) -> None:
    frame = people(member=[1, 0, 1]).astype({"member": kind})

    assert labels(group_records(frame, "member", reference=1)) == ["1", "0", "1"]
    assert labels(group_records(frame, "member", monitored=[(0, 0.5)], reference=[(0.6, 1)])) == ["0.6-1", "0-0.5", "0.6-1"]


def test_several_attributes_are_compared_as_their_combinations() -> None:
    frame = people(sex=["f", "f", "m", "m", "m", None], race=["b", "w", "b", "w", "w", "w"])

    grouping = group_records(frame, ["sex", "race"], reference={"sex": "m", "race": "w"})

    assert grouping.attribute == "sex × race"
    assert roles(grouping) == {"f × b": "monitored", "f × w": "monitored", "m × b": "monitored", "m × w": "reference"}
    assert labels(grouping) == ["f × b", "f × w", "m × b", "m × w", "m × w", None]


def test_a_combination_without_a_record_is_left_out() -> None:
    frame = people(sex=["f", "m", "m"], race=["b", "w", "w"])

    assert roles(group_records(frame, ["sex", "race"])) == {"f × b": "monitored", "m × w": "reference"}


def test_of_what_is_left_open_the_largest_combination_is_the_reference(snapshot: SnapshotAssertion) -> None:
    frame = people(sex=["f"] * 5 + ["m"] * 4, race=["w"] * 5 + ["b", "w", "w", "w"])

    grouping = group_records(frame, ["sex", "race"], reference={"sex": "m"})

    assert roles(grouping) == {"f × w": "monitored", "m × b": "monitored", "m × w": "reference"}
    assert says(grouping.chosen, "m × w", "reference")
    assert grouping.chosen == snapshot


def test_a_value_and_a_range_may_be_combined() -> None:
    frame = people(sex=["f", "m", "m"], age=[20, 30, 99])

    grouping = group_records(frame, ["sex", "age"], {"sex": "f", "age": (18, 25)}, {"sex": "m", "age": [(26, 40), (41, 60)]})

    assert labels(grouping) == ["f × 18-25", "m × 26-40", None]


REFUSED = [
    ("sexe", None, None, "attribute: 'sexe' is not a column; there are 'sex', 'age', 'one', 'none'"),
    ("sex", ["male", "male"], None, "monitored: 'male' is listed twice"),
    ("sex", ["male"], ["male"], "reference: 'male' is listed as monitored, too"),
    ("sex", [], None, "monitored: must list at least one value"),
    ("sex", ["male", (1, 2)], None, "monitored: mixes values and ranges; use one form"),
    ("sex", [None], None, "monitored: must list text, numbers, true/false or ranges (lo, hi), found None"),
    ("sex", [(1, 2)], [(3, 4)], "attribute: 'sex' must hold numbers, found 'female' in 3 records, the first of them 1"),
    ("sex", {"age": 3}, None, "monitored: 'age' is not among the attributes, which are 'sex'"),
    ("age", [(18, 25)], None, "reference: is needed for 'age', because monitored lists ranges"),
    ("age", None, [(18, 25)], "monitored: is needed for 'age', because reference lists ranges"),
    ("age", [(25, 18)], [(26, 75)], "monitored: lo 25 of a range is above hi 18"),
    ("age", [(1, 2, 3)], None, "monitored: a range must be two numbers (lo, hi), found (1, 2, 3)"),
    ("age", [(18, 26)], [(26, 75)], "reference: 26-75 overlaps 18-26, which is listed as monitored (both ends belong to a range)"),
    ("age", [(18, 26), (20, 30)], [(40, 75)], "monitored: 20-30 overlaps 18-26 (both ends belong to a range)"),
    ("age", [(18, 25)], [30], "reference: lists values where monitored lists ranges of 'age', or the other way round; use one form"),
    ("one", None, None, "monitored: every record of 'one' is in 'x'; there is nothing to compare it with"),
    ("none", None, None, "attribute: 'none' holds no value"),
    ([], None, None, "attribute: must name one to 3 columns, each once; found none"),
    (0, None, None, "attribute: must name a column by text, found 0; frame.rename(columns=str) makes text of all names"),
    (["sex", 0], None, None, "attribute: must name a column by text, found 0; frame.rename(columns=str) makes text of all names"),
    (["sex", "sex"], None, None, "attribute: must name one to 3 columns, each once; found 'sex', 'sex'"),
    (["sex", "age"], "female", None, "monitored: must say which attribute it lists values of, because sex and age are compared together"),
]


@pytest.mark.parametrize(("attribute", "monitored", "reference", "message"), REFUSED)
def test_what_is_wrong_is_named_with_its_argument(attribute: str | list[str], monitored: object, reference: object, message: str) -> None:
    frame = people(sex=["female", "male", "male"], age=[20, 30, 40], one=["x", "x", "x"], none=[None, None, None])

    assert refusal(frame, attribute, monitored, reference) == message


def test_a_listed_group_without_a_record_is_kept_and_warned_of(snapshot: SnapshotAssertion) -> None:
    frame = people(sex=["female", "male", "male"], age=[20, 30, 40], none=[None, None, None])

    misspelt = group_records(frame, "sex", "femal", "male")
    without_reference = group_records(frame, "sex", ["female", "male"])
    remove_values = group_records(frame, "none", "a", "b")
    of_numbers = group_records(frame, "age", [(50, 60)], [(18, 45)])
    together = group_records(frame, ["sex", "age"], {"sex": "female", "age": 20}, {"sex": "diverse", "age": 30})

    assert [(group.label, group.role) for group in misspelt.groups] == [("femal", "monitored"), ("male", "reference")]
    assert misspelt.sizes.tolist() == [0, 2, 1]
    assert says(misspelt.warnings[0], "'femal'", "'sex'", "'male', 'female'")
    assert misspelt.warnings == snapshot
    assert [(group.label, group.role) for group in without_reference.groups] == [("female", "monitored"), ("male", "monitored")]
    assert says(remove_values.warnings[0], "'a'", "'none'")
    assert says(remove_values.warnings[1], "'b'", "'none'")
    assert remove_values.warnings == snapshot
    assert says(of_numbers.warnings[0], "'age'", "50-60", "20", "40")
    assert of_numbers.warnings == snapshot
    assert [(group.label, group.role) for group in together.groups] == [("female × 20", "monitored"), ("diverse × 30", "reference")]
    assert together.sizes.tolist() == [1, 0, 2]


@pytest.mark.parametrize("cell", ["?", "unknown", float("inf"), pd.Timestamp("2026-03-09"), ["a"]])
def test_a_range_declares_a_number_and_a_cell_that_is_none_is_left_out_and_counted(cell: object, snapshot: SnapshotAssertion) -> None:
    grouping = group_records(people(age=[20, "30", None, cell, cell]), "age", [(18, 25)], [(26, 99)])

    assert labels(grouping) == ["18-25", "26-99", None, None, None]
    assert grouping.sizes.tolist() == [1, 1, 3]
    assert says(grouping.warnings[0], "'age'", "2 of its 5 cells", "record 4")
    assert grouping.warnings == snapshot


def test_a_column_of_very_many_values_is_refused_with_advice(snapshot: SnapshotAssertion) -> None:
    frame = people(income=list(range(20_000)), zip=[place % 150 for place in range(20_000)])

    assert says(text := refusal(frame, "income"), "20,000", "10,000")
    assert text == snapshot
    assert says(text := refusal(frame, "zip"), "'zip'", "150", "100")
    assert text == snapshot


def test_more_than_100_other_values_are_everybody_else() -> None:
    frame = people(zip=[str(place % 15_000) for place in range(20_000)], sex=["m", "f"] * 10_000)

    found = group_records(frame, "zip", monitored="7")
    together = group_records(frame, ["zip", "sex"], monitored={"zip": "7", "sex": "f"})

    assert [(group.label, group.role) for group in found.groups] == [("7", "monitored"), ("everybody else", "reference")]
    assert found.sizes.tolist() == [2, 19_998, 0]
    assert [group.label for group in together.groups if group.role == "reference"] == ["everybody else × m"]


def test_too_many_combinations_are_refused(snapshot: SnapshotAssertion) -> None:
    frame = people(first=[place % 50 for place in range(1100)], second=[place // 50 for place in range(1100)])

    assert says(text := refusal(frame, ["first", "second"]), "'first'", "'second'", "1,100", "1,000")
    assert text == snapshot


@pytest.mark.parametrize(("values", "found"), [([None, "x", ["a"]], r"['a'] in record 3"), ([{"a": 1}] * 3, "{'a': 1} in record 1")])
def test_lists_and_the_like_are_no_values(values: list[object], found: str, snapshot: SnapshotAssertion) -> None:
    assert says(text := refusal(people(sex=values), "sex"), "'sex'", str(found))
    assert text == snapshot
    assert says(text := refusal(people(sex=values), "sex", [(0, 1)], [(2, 3)]), "'sex'")
    assert text == snapshot


def test_lists_of_another_type_are_no_values_either(snapshot: SnapshotAssertion) -> None:
    frame = people(sex=pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))))

    assert says(text := refusal(frame, "sex"), "'sex'")
    assert text == snapshot


def test_names_of_several_levels_are_refused(snapshot: SnapshotAssertion) -> None:
    frame = pd.concat({"people": people(sex=["female", "male"])}, axis=1)

    assert says(text := refusal(frame, "people"), "2")
    assert text == snapshot


def test_a_name_of_two_columns_is_refused(snapshot: SnapshotAssertion) -> None:
    frame = pd.DataFrame([["f", "m"]], columns=["sex", "sex"])

    assert says(text := refusal(frame, "sex"), "'sex'", "2")
    assert text == snapshot


def test_values_that_would_make_two_groups_of_one_name_are_refused() -> None:
    frame = people(first=["a × b", "a"], second=["c", "b × c"])

    assert "make two groups of one name" in refusal(frame, ["first", "second"])
