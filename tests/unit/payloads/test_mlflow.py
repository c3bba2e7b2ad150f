"""The MLflow codec."""

import json

import pytest

from app.base.errors import ScoringFailed
from app.domain.deployment import OutputFields
from app.domain.record import Prediction
from app.payloads.mlflow import MlflowCodec

CODEC = MlflowCodec()
PLAIN = OutputFields()
SCORED = OutputFields(probability="probability")


def decode(predictions: object, outputs: OutputFields = PLAIN, rows: int = 2) -> list[Prediction]:
    return CODEC.read_answer(json.dumps({"predictions": predictions}).encode(), outputs=outputs, expected_rows=rows).predictions


def test_a_request_is_a_dataframe_split() -> None:
    body = CODEC.write_request(["sex", "age"], [["male", 30]])

    assert json.loads(body) == {"dataframe_split": {"columns": ["sex", "age"], "data": [["male", 30]]}}


@pytest.mark.parametrize(
    "predictions",
    [
        ["no", "yes"],
        [["no"], ["yes"]],
        [{"prediction": "no"}, {"prediction": "yes"}],
        {"prediction": ["no", "yes"]},
    ],
    ids=["scalars", "one-element lists", "objects", "columns"],
)
def test_every_shape_that_mlflow_makes_of_a_result_is_read(predictions: object) -> None:
    assert decode(predictions) == [Prediction("no"), Prediction("yes")]


def test_named_columns_give_probability_and_label_too() -> None:
    outputs = OutputFields(probability="p", label="name")
    rows = [{"prediction": 1, "p": [0.5, 0.5], "name": "Risk"}]

    as_objects = decode(rows, outputs, rows=1)
    as_columns = decode({key: [value] for key, value in rows[0].items()}, outputs, rows=1)

    assert as_objects == as_columns == [Prediction(1, (0.5, 0.5), "Risk")]


def test_predictions_without_names_are_read_without_a_probability() -> None:
    assert decode([1, 0], SCORED) == [Prediction(1), Prediction(0)]


def test_predictions_without_names_are_refused_where_a_label_is_needed() -> None:
    with pytest.raises(ScoringFailed, match="without the label column 'name'"):
        decode([1, 0], OutputFields(label="name"))


@pytest.mark.parametrize(
    ("predictions", "sentence"),
    [
        ([1], "answered 1 rows for a page of 2."),
        ({"prediction": [1]}, "answered 1 rows for a page of 2."),
        ([[0.1, 0.9], [0.8, 0.2]], "gave 2 unnamed values in row 1"),
        ([[1], []], "gave 0 unnamed values in row 2"),
        ([1, [1]], "gave an array as the prediction of row 2"),
        ([1, {"prediction": 1}], "gave an object as the prediction of row 2"),
        ([1, None], "gave null as the prediction of row 2"),
        ([{"prediction": 1}, {"verdict": 1}], "other columns in row 2 than in row 1"),
        ([{"verdict": 1}, {"verdict": 1}], "has no prediction column 'prediction'"),
        ("1, 0", "did not answer"),
        (None, "did not answer"),
    ],
)
def test_an_answer_that_is_no_prediction_per_row_is_refused_in_words(predictions: object, sentence: str) -> None:
    with pytest.raises(ScoringFailed) as caught:
        decode(predictions)

    assert sentence in str(caught.value)


def test_an_answer_without_predictions_is_refused() -> None:
    with pytest.raises(ScoringFailed, match="missing required field predictions"):
        CODEC.read_answer(b'{"error_code": "BAD_REQUEST"}', outputs=PLAIN, expected_rows=1)


def test_a_whole_answer_has_all_columns_by_name() -> None:
    rows = [{"prediction": 1, "p": 0.5, "why": ["income"]}, {"why": [], "p": 0.25, "prediction": 0}]
    as_columns = {"prediction": [1, 0], "p": [0.5, 0.25], "why": [["income"], []]}
    outputs = OutputFields(probability="p")
    found = [
        CODEC.read_answer(json.dumps({"predictions": predictions}).encode(), outputs=outputs, expected_rows=2)
        for predictions in (rows, as_columns)
    ]

    assert found[0] == found[1]
    assert (found[0].fields, found[0].rows) == (["prediction", "p", "why"], [[1, 0.5, ["income"]], [0, 0.25, []]])
    assert found[0].predictions == [Prediction(1, 0.5), Prediction(0, 0.25)]


@pytest.mark.parametrize("predictions", [["no", "yes"], [["no"], ["yes"]]])
def test_a_whole_answer_without_names_is_called_as_the_deployment_calls_its_prediction(predictions: object) -> None:
    found = CODEC.read_answer(
        json.dumps({"predictions": predictions}).encode(), outputs=OutputFields(prediction="verdict"), expected_rows=2
    )

    assert (found.fields, found.rows) == (["verdict"], [["no"], ["yes"]])


def test_a_column_of_another_length_that_is_no_output_is_left_out() -> None:
    body = json.dumps({"predictions": {"prediction": [1, 0], "why": ["income"]}}).encode()

    found = CODEC.read_answer(body, outputs=PLAIN, expected_rows=2)

    assert (found.fields, found.rows) == (["prediction"], [[1], [0]])
