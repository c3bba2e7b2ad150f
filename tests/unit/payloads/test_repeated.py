"""Answers that repeat their inputs: another order is put right, other inputs are refused."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import InvalidInput, ScoringFailed
from app.domain.deployment import Column, FieldKind, FieldType, OutputFields
from app.payloads.fields_values import FieldsValuesCodec
from app.payloads.read_call import CallColumns, read_call
from app.payloads.read_predictions import Answer, put_in_order
from app.payloads.registry import PayloadFormat, get_codec

COLUMNS = ["sex", "income", "owner"]
OUTPUTS = OutputFields()
ASKED = [["f", 10, True], ["m", 90, False], ["f", 0.1, None]]

values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=3)
)


def answer_to(rows: list[list[Any]], repeated: list[list[Any]], columns: list[str] = COLUMNS) -> list[Any]:
    """The predictions in the order of the rows; the answer to each is its place in `repeated`."""
    fields = [*columns, "prediction"]
    answers = [[*cells, place] for place, cells in enumerate(repeated)]
    read = FieldsValuesCodec().read_answer(
        json.dumps({"fields": fields, "values": answers}).encode(), outputs=OUTPUTS, expected_rows=len(rows)
    )
    return [prediction.prediction for prediction in put_in_order(read, columns, rows, OUTPUTS).predictions]


@given(rows=st.lists(st.lists(values, min_size=3, max_size=3), min_size=1, max_size=8, unique_by=repr), data=st.data())
def test_any_order_is_put_right(rows: list[list[Any]], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    repeated = [rows[place] for place in order]

    found = answer_to(rows, repeated)

    # A missing value may be any, so only rows that are the same in that sense may be exchanged.
    for row, place in zip(rows, found, strict=True):
        assert all(
            cell is None or cell == other or str(cell).lower() == str(other).lower()
            for cell, other in zip(row, repeated[place], strict=True)
        )


def single(number: float) -> float:
    return float(np.float32(number))


@pytest.mark.parametrize(
    "rewritten",
    [
        [["f", 10.0, True], ["m", 90.0, False], ["f", 0.1, None]],
        [["f", "10", "True"], ["m", "90", "False"], ["f", "0.1", ""]],
        [["f", 10, 1], ["m", 90, 0], ["f", single(0.1), None]],
        [["f", 10, 1.0], ["m", 90, 0.0], ["f", 0.1, None]],
        [["f", 10, "true"], ["m", 90, "false"], ["f", single(0.1), "true"]],
        [["f", 10, True], ["m", 90, False], ["f", "0.10000", True]],
    ],
)
def test_inputs_that_differ_in_type_or_rounding_are_the_same(rewritten: list[list[Any]]) -> None:
    assert answer_to(ASKED, rewritten) == [0, 1, 2]


@pytest.mark.parametrize("write", [float, single, lambda number: f"{number:.6g}"])
def test_another_order_of_rounded_numbers_is_put_right(write: Any) -> None:  # noqa: ANN401 - a way to write a number
    rows = [["f", 1 / 3], ["m", 1234567.891], ["f", 2 / 3]]
    repeated = [[sex, write(number)] for sex, number in reversed(rows)]

    assert answer_to(rows, repeated, ["sex", "income"]) == [2, 1, 0]


def test_equal_rows_keep_their_order() -> None:
    assert answer_to([["f"], ["m"], ["f"]], [["m"], ["f"], ["f"]], ["sex"]) == [1, 0, 2]


@pytest.mark.parametrize("repeated", [single(1 / 3), 0.33333334, 0.333333, 0.33, "0.3333"])
def test_a_rounded_number_is_the_same(repeated: float | str) -> None:
    assert answer_to([[1 / 3], [7]], [[repeated], [7]], ["income"]) == [0, 1]


def test_numbers_of_customers_are_not_rounded() -> None:
    asked = [[10_000_001], [10_000_002], [16_777_217]]

    assert answer_to(asked, [asked[1], asked[0], asked[2]], ["id"]) == [1, 0, 2]
    assert answer_to(asked, [*asked[:2], [16_777_216.0]], ["id"]) == [0, 1, 2]
    with pytest.raises(ScoringFailed, match="row 3"):
        answer_to(asked, [*asked[:2], [16_777_218]], ["id"])


def test_whole_numbers_beyond_double_precision_are_distinguished() -> None:
    assert answer_to([[2**53], [2**53 + 1]], [[2**53 + 1], [2**53]], ["id"]) == [1, 0]


@pytest.mark.parametrize(
    ("repeated", "words"),
    [
        ([["f", 10, True], ["m", 91, False], ["f", 0.1, None]], "row 2 is the first that differs, in 'income'"),
        ([["m", 10, True], ["f", 90, False], ["f", 0.1, None]], "row 1 is the first that differs, in 'sex'"),
        ([["f", 10, True], ["f", 10, True], ["f", 0.1, None]], "row 2 is the first that differs, in 'sex'"),
        ([["f ", 10, True], ["m", 90, False], ["f", 0.1, None]], "row 1 is the first that differs, in 'sex'"),
        ([["f", None, True], ["m", 90, False], ["f", 0.1, None]], "row 1 is the first that differs, in 'income'"),
    ],
)
def test_other_inputs_are_refused_with_the_first_row(repeated: list[list[Any]], words: str) -> None:
    with pytest.raises(ScoringFailed, match=words):
        answer_to(ASKED, repeated)


def test_rows_that_the_repeated_columns_do_not_distinguish_are_refused() -> None:
    read = Answer(["sex", "prediction"], [["m", 1], ["f", 0], ["f", 1]], [])
    with pytest.raises(ScoringFailed, match="no other order has each row once"):
        put_in_order(read, ["sex", "income"], [["f", 1], ["f", 2], ["m", 3]], OUTPUTS)


def test_outputs_and_columns_of_other_names_are_no_repeated_inputs() -> None:
    read = Answer(["prediction", "predictedLabel", "why"], [[1, "no", "age"]], [])

    assert put_in_order(read, ["prediction", "predictedLabel", "age"], [[0, "yes", 3]], OUTPUTS) is read


TURNED = [{"sex": "m", "income": 90, "prediction": 1}, {"sex": "f", "income": 10, "prediction": 0}]
PEOPLE: list[list[str | int]] = [["f", 10], ["m", 90]]


def tensors(columns: dict[str, list[Any]], datatypes: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "shape": [2, 1], "datatype": datatypes[name], "data": cells} for name, cells in columns.items()]


TENSORS = tensors({"sex": ["m", "f"], "income": [90, 10], "prediction": [1, 0]}, {"sex": "BYTES", "income": "INT64", "prediction": "INT64"})
ANSWERS = {
    "fields_values": {"fields": ["sex", "income", "prediction"], "values": [["m", 90, 1], ["f", 10, 0]]},
    "input_data": {"predictions": [{"fields": ["sex", "income", "prediction"], "values": [["m", 90, 1], ["f", 10, 0]]}]},
    "open_inference": {"outputs": TENSORS},
    "open_inference_binary": {"outputs": TENSORS},
    "mlflow_inputs": {"predictions": {"sex": ["m", "f"], "income": [90, 10], "prediction": [1, 0]}},
    "json_records": TURNED,
}


@pytest.mark.parametrize("name", sorted({row.value for row in PayloadFormat} - {"sagemaker_csv", "open_inference_matrix", "mapped"}))
def test_a_call_in_any_format_is_put_in_order(name: str) -> None:
    codec = get_codec(name)
    features = (
        Column(name="sex", kind=FieldKind.CATEGORICAL, type=FieldType.STRING),
        Column(name="income", kind=FieldKind.NUMERIC, type=FieldType.INTEGER),
    )
    columns = CallColumns(features, (), OUTPUTS)
    request = codec.write_request(["sex", "income"], PEOPLE)
    answer = (
        b"\n".join(json.dumps(one).encode() for one in TURNED)
        if "lines" in name
        else json.dumps(ANSWERS.get(name, {"predictions": TURNED})).encode()
    )

    found = read_call(request, answer, [codec], columns).table

    assert list(zip(found.rows, found.predictions, strict=True)) == [(["f", 10], 0), (["m", 90], 1)]
    spoiled = answer.replace(b"90", b"91")
    with pytest.raises(ScoringFailed, match="repeats inputs that are not those of the request"):
        read_call(request, spoiled, [codec], columns)


def test_a_pair_of_tables_is_put_in_order_by_meta_fields_too() -> None:
    request = {"fields": ["income"], "values": [[1], [1]], "meta": {"fields": ["sex"], "values": [["f"], ["m"]]}}
    response = {"fields": ["sex", "income", "prediction"], "values": [["m", 1, 1], ["f", 1, 0]]}
    codec = FieldsValuesCodec()

    assert codec.read_pair({"request": request, "response": response}, outputs=OUTPUTS).predictions == [0, 1]
    response["values"] = [["m", 1, 1], ["m", 1, 0]]
    with pytest.raises(InvalidInput, match=r"response\.values: The model's endpoint gave an answer that repeats inputs .* row 1 is"):
        codec.read_pair({"request": request, "response": response}, outputs=OUTPUTS)
