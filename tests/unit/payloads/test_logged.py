"""Logged payload pairs in OpenScale's form."""

import copy
from typing import Any

import pytest

from app.base.errors import InvalidInput
from app.domain.deployment import OutputFields
from app.payloads.fields_values import FieldsValuesCodec

OUTPUTS = OutputFields(probability="probability", label="predictedLabel")

PAIR: dict[str, Any] = {
    "request": {
        "fields": ["sex", "age"],
        "values": [["male", 30], ["female", None]],
        "meta": {"fields": ["branch"], "values": [["north"], ["south"]]},
    },
    "response": {
        "fields": ["sex", "age", "prediction", "probability", "predictedLabel"],
        "labels": ["No Risk", "Risk"],
        "values": [["male", 30, 0.0, [0.9, 0.1], "No Risk"], ["female", None, 1.0, [0.2, 0.8], "Risk"]],
    },
    "scoring_id": "abc",
    "scoring_timestamp": "2026-01-02T03:04:05Z",
    "response_time": 12,
}


def changed(path: str, value: object) -> dict[str, Any]:
    pair = copy.deepcopy(PAIR)
    *parents, last = path.split(".")
    target = pair
    for name in parents:
        target = target[name]
    target[last] = value
    return pair


def test_a_pair_gives_its_columns_and_rows() -> None:
    table = FieldsValuesCodec().read_pair(PAIR, outputs=OUTPUTS)

    assert len(table) == 2
    assert (table.fields, table.rows) == (("sex", "age"), [["male", 30], ["female", None]])
    assert (table.meta_fields, table.meta_rows) == (("branch",), [["north"], ["south"]])
    assert table.predictions == [0.0, 1.0]
    assert table.probabilities == [[0.9, 0.1], [0.2, 0.8]]
    assert table.labels == ["No Risk", "Risk"]
    assert (table.scoring_id, table.scoring_timestamp) == ("abc", "2026-01-02T03:04:05Z")


def test_rows_are_handed_on_without_a_copy() -> None:
    assert FieldsValuesCodec().read_pair(PAIR, outputs=OUTPUTS).rows is PAIR["request"]["values"]


def test_wrapped_tables_are_read_like_bare_ones() -> None:
    wrapped = PAIR | {"request": {"input_data": [PAIR["request"]]}, "response": {"predictions": [PAIR["response"]]}}

    assert FieldsValuesCodec().read_pair(wrapped, outputs=OUTPUTS) == FieldsValuesCodec().read_pair(PAIR, outputs=OUTPUTS)


def test_an_answer_of_outputs_alone_is_read() -> None:
    pair = {"request": PAIR["request"], "response": {"fields": ["predictedLabel"], "values": [["Risk"], ["No Risk"]]}}

    table = FieldsValuesCodec().read_pair(pair, outputs=OutputFields())

    assert table.predictions == ["Risk", "No Risk"]
    assert table.probabilities is None
    assert table.labels is None
    assert table.scoring_id is None


def test_a_pair_without_meta_fields_has_none() -> None:
    pair = copy.deepcopy(PAIR)
    del pair["request"]["meta"]

    table = FieldsValuesCodec().read_pair(pair, outputs=OUTPUTS)

    assert (table.meta_fields, table.meta_rows) == ((), None)


@pytest.mark.parametrize(
    ("pair", "field", "message"),
    [
        (changed("request", None), "request", "must be an object, found nothing"),
        (changed("response", [1]), "response", "must be an object, found an array"),
        (changed("request.fields", "sex"), "request.fields", "must be an array of column names"),
        (changed("request.fields", ["sex", 1]), "request.fields", "must be an array of column names"),
        (changed("request.fields", ["sex", "sex"]), "request.fields[1]", "names the column 'sex' a second time"),
        (changed("request.values", {}), "request.values", "must be an array of rows"),
        (changed("request.values", [["male", 30], "female"]), "request.values[1]", "must be an array, found text"),
        (changed("request.values", [["male", 30], ["female"]]), "request.values[1]", "has 1 values for 2 fields"),
        (changed("request.meta", []), "request.meta", "must be an object"),
        (changed("request.meta", {"fields": ["branch"], "values": [["north"]]}), "request.meta.values", "has 1 rows where"),
        (changed("response.values", []), "response.values", "has 0 rows where request.values has 2"),
        (changed("response.fields", ["a", "b", "c", "d", "e"]), "response.fields", "has no prediction column"),
        (changed("request", {"input_data": []}), "request.input_data", "exactly one table, found 0 of them"),
        (changed("request", {"input_data": [3]}), "request.input_data[0]", "must be an object, found a number"),
        (changed("response", {"predictions": [{"fields": ["prediction"]}]}), "response.predictions[0].values", "found nothing"),
        (changed("scoring_id", 7), "scoring_id", "must be text, found a number"),
    ],
)
def test_a_pair_of_another_shape_is_refused_by_the_path_of_its_field(pair: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        FieldsValuesCodec().read_pair(pair, outputs=OUTPUTS)

    problem = caught.value.problems[0]
    assert problem.field == field
    assert message in problem.message


def test_every_ragged_row_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        FieldsValuesCodec().read_pair(changed("request.values", [["male"], ["female"]]), outputs=OUTPUTS)

    assert [problem.field for problem in caught.value.problems] == ["request.values[0]", "request.values[1]"]
